"""Each test of the engine runs twice: as it is in Python, and with its hot path in C."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.compiled import module

from bridge.amqp import engine, hot_path, usual_path
from bridge.amqp.links import OutgoingLink

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="module", params=["Python", "C"])
def _way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have what is usual done in one of the ways, whatever the installation would choose."""
    way = hot_path if request.param == "Python" else module("bridge.amqp.compiled_path")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "take_usual", getattr(way, "take_usual", None))
        for name in ("accept", "settle_all"):
            patch.setattr(usual_path, name, getattr(way, name))
        for name in ("send", "send_settled"):
            patch.setattr(OutgoingLink, name, getattr(way, name))
        yield
