"""Layouts, made in either way."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import pytest
from support.compiled import compiled

from bridge.mapping import delivery_header, to_message
from bridge.mapping.generated_layout import generated_layout
from bridge.mapping.layout import layout
from bridge.mapping.options import MappingOptions
from bridge.mapping.passage import Passage
from bridge.mapping.plans import compile_plan, decisive_header
from bridge.mapping.to_message import record_to_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.mapping.delivery_header import StoredHeader
    from bridge.mapping.layout import Layout, Make
    from bridge.mapping.plans import Plan

Headers: TypeAlias = list[tuple[str, bytes | None]]

WAYS: Final = ("generated", "compiled")
TIME_MS: Final = 1_700_000_000_123


def maker(way: str) -> Make:
    """Give the function that makes layouts in one of the ways."""
    if way == "generated":
        return generated_layout
    return compiled().layout


@contextmanager
def made_by(way: str) -> Iterator[None]:
    """Have all layouts made in one way, whatever the installation would choose."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(to_message, "make_layout", partial(layout, make=maker(way)))
        yield


def head(plan: Plan, texts: tuple[bytes | None, ...]) -> StoredHeader:
    """Read the section header that a record has stored."""
    fields = [(place, name, texts[place]) for place, name in plan.header_fields]
    return plan.head or delivery_header.read(fields, plan.stored, are_encoded=plan.event_hubs)


def made(way: str, headers: Headers) -> Layout | None:
    """Make the layout of records like one with these headers, of partition 3 of `orders`."""
    names, texts = zip(*headers, strict=True)
    place = decisive_header(names)
    decisive = None if place is None else texts[place]
    plan = compile_plan(names, decisive, "", MappingOptions(), timed=True)
    deciding = None if place is None else (place, decisive)
    return layout(names, plan, deciding, Passage("orders"), head, maker(way))


def ordinary(
    headers: Headers, *, offset: int = 17, value: bytes = b"body", key: bytes | None = None
) -> bytes:
    """Encode such a record without a layout."""
    encode = record_to_message("orders", "", MappingOptions())
    return encode(3, offset, 1, TIME_MS, key, value, headers, 0)
