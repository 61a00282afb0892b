"""Soak tests: what holds for a message holds for a million of them, over hours, while things break."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.soak import LIMIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TAIL_BYTES = 20_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test of this folder the time that a soak takes."""
    for item in items:
        if item.path.parent.name == "soak":
            item.add_marker(pytest.mark.timeout(LIMIT_SECONDS))


@pytest.fixture(autouse=True)
def _show_logs_on_failure(tmp_path: Path) -> Iterator[None]:
    """Print the ends of the services' logs, which pytest shows if the test fails."""
    yield
    for log in sorted(tmp_path.glob("*.log")):
        said = log.read_bytes()[-_TAIL_BYTES:].decode("utf-8", "replace")
        print(f"{log.name}:\n{said}")  # noqa: T201 - for pytest's report
