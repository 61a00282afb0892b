"""A Kafka record to an AMQP message, profile native: the sections from the headers, by their plan.

Never fails: what a header cannot mean is kept as binary and counted, and the headers as they were
go along as `x-opt-kafka-headers` wherever the message would not be stored as these headers again.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.mapping import bodies, delivery_header, eventhubs_values
from bridge.mapping.annotate import annotate
from bridge.mapping.encoding import NULL, as_map, octets, text
from bridge.mapping.from_text import string
from bridge.mapping.layout import layout as make_layout
from bridge.mapping.passage import (
    CREATE_TIME,
    TOMBSTONE,
    Passage,
    PlainMessages,
    event_stream_annotations,
    key_annotations,
    listed_headers,
)
from bridge.mapping.plans import Plan, Step, compile_plan, decisive_header

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.mapping.delivery_header import StoredHeader
    from bridge.mapping.layout import Layout
    from bridge.mapping.options import MappingOptions

Texts: TypeAlias = tuple[bytes | None, ...]
"""The values of a record's headers, in their order; behind them the CreateTime, encoded."""

_Plans: TypeAlias = tuple[int | None, tuple[dict[bytes | None, Plan], dict[bytes | None, Plan]]]
"""The place of the decisive header, and plans by its value: for records without a CreateTime, and
with."""

PLANS_REMEMBERED: Final = 256
HEADS_REMEMBERED: Final = 16
LONGEST_REMEMBERED: Final = 4096
"""How many plans a link remembers, and how many header sections a plan, before all are forgotten;
and the length of names and types, in characters, above which a plan is not remembered."""


USES_BEFORE_LAYOUT: Final = 64
"""A layout is made of a plan that so many records had: to make it takes as long as some hundred records."""


def _heads(section: bytes, code: int) -> tuple[bytes, ...]:
    """Encode the head of a section, up to its size in one byte; for size 0, of its 32-bit form."""
    sized = [b"\x00S" + section + bytes((code, size)) for size in range(256)]
    return (b"\x00S" + section + bytes((code + 0x10,)), *sized[1:])


_PROPERTIES: Final = _heads(b"s", 0xC0)
_APPLICATION: Final = _heads(b"t", 0xC1)
_DELIVERY_ANNOTATIONS: Final = b"\x00Sq"
_FOOTER: Final = b"\x00Sx"
_COUNTS: Final = tuple(bytes((count,)) for count in range(256))
_DATA8: Final = tuple(b"\x00Su\xa0" + bytes((size,)) for size in range(256))
_STRING8: Final = tuple(bytes((0xA1, size)) for size in range(256))
_MAX_8: Final = 0xFF
_TIMESTAMP: Final = 0x83
_TIMESTAMP_BYTES: Final = 8
_pack_long_data = Struct(">4sI").pack
_pack_timestamp = Struct(">Bq").pack
_pack_sizes = Struct(">II").pack


def record_to_message(topic: str, address: str, options: MappingOptions) -> RecordToMessage:
    """Make the function that maps records of `topic` to messages of a link with this address."""
    return RecordToMessage(topic, address, options)


class RecordToMessage:
    """Maps records to whole encoded messages.

    With `event_hubs` a message that comes back will be stored by profile `eventhubs`, and not by
    `native`; records of both are read all the same, and foreign ones.

    `damaged` counts the records with a hint that could not be read or did not fit its value.
    """

    def __init__(
        self, topic: str, address: str, options: MappingOptions, *, event_hubs: bool = False
    ) -> None:
        self.damaged = 0
        self._address = address
        self._options = options
        self._event_hubs = event_hubs
        self._event_streams = options.event_streams
        self._foreign_fallback = _replaced if options.foreign_headers == "string" else _auto
        self._plans: dict[tuple[str, ...], _Plans] = {}
        self._remembered = 0
        self._layouts: dict[int, Layout] = {}
        """By the number of headers, the layout that such records had the last time."""
        passage = Passage(topic)
        self._passage = passage
        self._begin = passage.begin
        self._plain: PlainMessages | None = None
        self.plain: Callable[[int, int, int, bytes], bytes] | None = None
        """What `__call__` does for the first delivery of a record with a CreateTime and a value, but neither
        key nor headers, in half the time; None where there is no such way."""
        if options.creation_time_from_record and not options.event_streams:
            plan = self._plan((), (), timed=True)
            before = plan.properties[0][1] + bytes((_TIMESTAMP,))
            size = len(before) + _TIMESTAMP_BYTES
            properties = _head_of(_PROPERTIES, size, plan.property_count) + before
            self._plain = PlainMessages(passage, properties)
            self.plain = self._plain.of_value

    def __call__(  # noqa: PLR0913, PLR0917 - a record has that many parts, and a tuple costs time
        self,
        partition: int,
        offset: int,
        timestamp_type: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
        delivery_count: int,
        again: bool = False,  # noqa: FBT001, FBT002 - positional: the hot path
    ) -> bytes:
        """Encode the message for one delivery of a record.

        `timestamp_type` is 0 (none), 1 (CreateTime) or 2 (LogAppendTime), `delivery_count` the
        number of attempts before this one that failed, `again` whether there was any attempt. Gives
        b"" for a record whose ttl has passed, where the options say that such are skipped.
        """
        timed = timestamp_type == CREATE_TIME
        if not headers and timed and value is not None and not again and not delivery_count and self._plain:
            return self._plain.message(partition, offset, timestamp_ms, key, value)
        is_usual = timed and headers and value is not None and not again and not delivery_count
        if is_usual and (layout := self._layouts.get(len(headers))) is not None:  # type: ignore[arg-type] # there are headers
            message = layout(partition, offset, timestamp_ms, key, value, headers)  # type: ignore[arg-type] # and a value
            if message is not None:
                return message
        names, texts = zip(*headers) if headers else ((), ())  # noqa: B905 - pairs are all alike
        plan = self._plan(names, texts, timed=timed)
        if is_usual:
            self._learn(plan, names, texts)
        if plan.timed:
            texts = (*texts, _pack_timestamp(_TIMESTAMP, timestamp_ms))
        head = plan.head or _head(plan, texts)
        start = head.first
        again = again or delivery_count > 0
        if again or head.ttl_ms is not None:
            left_ms = delivery_header.left_ms(head.ttl_ms, timestamp_ms, self._options.now_ms)
            if left_ms == 0 and self._options.expired == "skip":
                return b""
            start = head.section(delivery_count, left_ms, again=again)
        if self._event_streams or plan.delivery_annotations:
            where = (partition, offset, timestamp_type, timestamp_ms)
            start += self._delivery_annotations(plan, texts, where)
        own, count, rest = self._sections(plan, texts, head, key, value, headers)
        annotations = self._begin(partition, offset, timestamp_type, timestamp_ms, (len(own), count))
        message = b"".join((start, annotations, own, *rest))
        if plan.receivers_annotations is not None:
            return annotate(message, texts[plan.receivers_annotations] or b"")
        return message

    def _sections(
        self,
        plan: Plan,
        texts: Texts,
        head: StoredHeader,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
    ) -> tuple[bytes, int, tuple[bytes, ...]]:
        """Encode the record's own annotations, their count, and all the sections behind them."""
        failed: list[int] = []
        own, count = b"", 2 * len(plan.annotations)
        if key is not None:
            own, key_count = key_annotations(key, own_partition_key=plan.own_partition_key)
            count += key_count
        if plan.annotations:
            own += _encode(plan.annotations, texts, octets, failed)
        if head.annotation:
            own += head.annotation
            count += 2
        properties = _encode(plan.properties, texts, _null, failed) + plan.property_end
        fallback = plan.otherwise if plan.bridged or plan.event_hubs else self._foreign_fallback
        application = _encode(plan.application, texts, fallback, failed)
        application_count = 2 * len(plan.application)
        footer = _encode(plan.footers, texts, _null, failed) if plan.footers else b""
        body_head, body, fits = _body(plan, texts, value)
        if not (plan.exact and fits) or failed or head.unread:
            if plan.bridged and (plan.damaged or failed or head.unread or not fits):
                self.damaged += 1
            unread, unread_count = _unread(plan, texts, (*head.unread, *failed))
            application += unread
            application_count += unread_count
            own += listed_headers(headers)
            count += 2
        if value is None:
            own += TOMBSTONE
            count += 2
        sections = (
            _head_of(_PROPERTIES, len(properties), plan.property_count),
            properties,
            _head_of(_APPLICATION, len(application), application_count),
            application,
            body_head,
            body,
            _FOOTER + as_map(footer, 2 * len(plan.footers)) if footer else b"",
        )
        return own, count, sections

    def _plan(self, names: tuple[str, ...], texts: Texts, *, timed: bool) -> Plan:
        known = self._plans.get(names)
        if known is not None:
            place, plans = known
            plan = plans[timed].get(None if place is None else texts[place])
            if plan is not None:
                return plan
        return self._make_plan(names, texts, timed=timed)

    def _make_plan(self, names: tuple[str, ...], texts: Texts, *, timed: bool) -> Plan:
        place = decisive_header(names)
        decisive = None if place is None else texts[place]
        plan = compile_plan(
            names, decisive, self._address, self._options, timed=timed, event_hubs=self._event_hubs
        )
        if sum(map(len, names)) + len(decisive or b"") <= LONGEST_REMEMBERED:
            if self._remembered >= PLANS_REMEMBERED:
                self._plans.clear()
                self._remembered = 0
            self._plans.setdefault(names, (place, ({}, {})))[1][timed][decisive] = plan
            self._remembered += 1
        return plan

    def _learn(self, plan: Plan, names: tuple[str, ...], texts: Texts) -> None:
        """Have records with so many headers encoded by the plan's layout, made when it is worth it."""
        plan.uses += 1
        if plan.uses == USES_BEFORE_LAYOUT and not self._event_streams:
            place = decisive_header(names)
            decisive = None if place is None else (place, texts[place])
            plan.layout = make_layout(names, plan, decisive, self._passage, _head)
        if plan.layout is not None:
            self._layouts[len(names)] = plan.layout

    def _delivery_annotations(self, plan: Plan, texts: Texts, where: tuple[int, int, int, int]) -> bytes:
        content = _encode(plan.delivery_annotations, texts, _null, [])
        count = 2 * len(plan.delivery_annotations)
        if self._event_streams:
            events, events_count = event_stream_annotations(*where)
            content += events
            count += events_count
        return _DELIVERY_ANNOTATIONS + as_map(content, count)


def _encode(
    steps: Sequence[Step],
    texts: Texts,
    fallback: Callable[[bytes | None], bytes],
    failed: list[int],
) -> bytes:
    """Encode headers one after another; the places of those that fall back go into `failed`."""
    parts = []
    for place, before, write in steps:
        value = texts[place]
        parts.append(before)
        if write is string and value is not None and value.isascii() and len(value) <= _MAX_8:
            # The common case, without a call.
            parts.append(_STRING8[len(value)])
            parts.append(value)
            continue
        encoded = write(value)
        if encoded is None:
            encoded = fallback(value)
            failed.append(place)
        parts.append(encoded)
    return b"".join(parts)


def _head(plan: Plan, texts: Texts) -> StoredHeader:
    """Read the section header that the record has stored."""
    stored = plan.header_texts(texts)
    head = plan.heads.get(stored)
    if head is None:
        if len(plan.heads) >= HEADS_REMEMBERED:
            plan.heads.clear()
        fields = [(place, name, texts[place]) for place, name in plan.header_fields]
        head = delivery_header.read(fields, plan.stored, are_encoded=plan.event_hubs)
        plan.heads[stored] = head
    return head


def _head_of(heads: tuple[bytes, ...], size: int, count: int) -> bytes:
    """Encode what stands before the elements of a section that is a list or map, if it has any."""
    if not size:
        return b""
    if size < _MAX_8 and count <= _MAX_8:
        return heads[size + 1] + _COUNTS[count]
    return heads[0] + _pack_sizes(size + 4, count)


def _body(plan: Plan, texts: Texts, value: bytes | None) -> tuple[bytes, bytes, bool]:
    """Encode the body in two pieces, so that a large value is copied once; and tell if it fits."""
    if plan.body is not None:
        hint = texts[plan.body]
        sections = bodies.write(value, eventhubs_values.hint(hint) if plan.event_hubs else hint)
        if sections is not None:
            return b"", sections, True
    if value is None:
        return bodies.NULL_VALUE, b"", False
    size = len(value)
    start = _DATA8[size] if size <= _MAX_8 else _pack_long_data(b"\x00Su\xb0", size)
    return start, value, plan.body is None


def _null(_text: bytes | None) -> bytes:
    return NULL


def _auto(value: bytes | None) -> bytes:
    return string(value) or octets(value)


def _replaced(value: bytes | None) -> bytes:
    return NULL if value is None else text(value.decode(errors="replace"))


def _unread(plan: Plan, texts: Texts, places: Sequence[int]) -> tuple[bytes, int]:
    """Encode, as application-properties, the headers that are not what their names say."""
    content = b""
    count = 0
    for place in places:
        name = plan.elsewhere.get(place)
        if name is not None and name not in plan.application_keys:
            content += text(name) + _auto(texts[place])
            count += 2
    return content, count
