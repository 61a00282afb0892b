"""Messages of records whose headers have the same names, encoded by a function that is made for them.

A producer's records have the same headers again and again, so that a plan (`bridge.mapping.plans`) says the
same about each. A layout is that plan as a function. There are two ways to make it: `compiled_layout`, in C,
which needs a compiler when the bridge is built, and `generated_layout`, in Python, for where there was none.
Which one is used, `bridge.mapping.compiled` decides.

What a layout gives is what the ordinary way gives; it is an optimisation and decides nothing. Whatever is
not usual about a record (other names, a value that is not what its header's type says, a ttl) it leaves to
the ordinary way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.mapping.compiled import FOUND
from bridge.mapping.generated_layout import generated_layout
from bridge.mapping.passage import CREATE_TIME, TimedAnnotations, key_annotations

if TYPE_CHECKING:
    from bridge.mapping.delivery_header import StoredHeader
    from bridge.mapping.passage import Passage
    from bridge.mapping.plans import Plan

Texts: TypeAlias = tuple[bytes | None, ...]

Layout: TypeAlias = Callable[
    [int, int, int, bytes | None, bytes, Sequence[tuple[str, bytes | None]]], bytes | None
]
"""Encodes the first delivery of a record with a CreateTime and a value: partition, offset, timestamp in ms,
key, value, as many headers as there are names. Gives None for a record that is not one of those that it was
made for."""

HEADERS_MAX: Final = 64
"""Records with more headers have no layout: generated source grows with them, and so do the milliseconds in
which it is compiled, until the compiler gives up altogether."""

STARTS_REMEMBERED: Final = 16
"""How many section headers a layout remembers before all are forgotten."""


class Beginnings:
    """How messages begin: the section header and the annotations, by what the headers say of the former."""

    def __init__(self, plan: Plan, passage: Passage, head_of: Callable[[Plan, Texts], StoredHeader]) -> None:
        self._plan = plan
        self.passage = passage
        self._head_of = head_of
        self.starts: dict[Texts, TimedAnnotations] = {}

    def learn(self, fields: Texts, texts: Texts) -> TimedAnnotations | None:
        """Work out how messages with such a section header begin; None where they are unusual."""
        head = self._head_of(self._plan, texts)
        if head.ttl_ms is not None or head.unread:
            return None
        if len(self.starts) >= STARTS_REMEMBERED:
            self.starts.clear()
        count = 2 if head.annotation else 0
        start = self.starts[fields] = TimedAnnotations(self.passage, head.first, head.annotation, count)
        return start

    def own(
        self,
        start: TimedAnnotations,
        partition: int,
        offset: int,
        timestamp_ms: int,
        key: bytes | None,
        annotations: bytes = b"",
    ) -> bytes:
        """Encode header and annotations of a record that has a key, or annotations of its own."""
        own, count = b"", start.count + 2 * len(self._plan.annotations)
        if key is not None:
            own, key_count = key_annotations(key, own_partition_key=self._plan.own_partition_key)
            count += key_count
        own += annotations + start.own
        begin = self.passage.begin(partition, offset, CREATE_TIME, timestamp_ms, (len(own), count))
        return b"".join((start.before, begin, own))


Make: TypeAlias = Callable[["tuple[str, ...]", "Plan", "tuple[int, bytes | None] | None", Beginnings], Layout]
"""Makes a layout of names, their plan, the place and text of the decisive header, and beginnings."""


_make: Make = generated_layout if FOUND is None else FOUND.layout


def layout(
    names: tuple[str, ...],
    plan: Plan,
    decisive: tuple[int, bytes | None] | None,
    passage: Passage,
    head_of: Callable[[Plan, Texts], StoredHeader],
    make: Make = _make,
) -> Layout | None:
    """Make the layout of a plan; None where its messages are not of the usual kind, or have many headers.

    `decisive` is the place of the header whose value decides beside the names, and that value. `head_of`
    reads what a record's headers say of the section header. `make` is the way that is used.
    """
    usual = plan.exact and plan.body is None and plan.receivers_annotations is None
    if not usual or len(names) > HEADERS_MAX or plan.delivery_annotations or plan.footers:
        return None
    return make(names, plan, decisive, Beginnings(plan, passage, head_of))
