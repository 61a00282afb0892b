"""Annotations of an AMQP message: which give the record's key and partition, which are stored.

Message-annotations are stored as headers, except those that describe a passage through the bridge
(`names.is_hop`). Those are consumed: a message that was received from the bridge and is sent to it
again says by them what the record was (`bridge.mapping.hop`).

May raise `to_text.MALFORMED`, and MappingError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.codec import decode
from bridge.mapping import names, type_hints
from bridge.mapping.errors import MappingError
from bridge.mapping.record import ANY_PARTITION, Headers
from bridge.mapping.sections import (
    REMEMBERED,
    Hints,
    annotation_name,
    check_count,
    check_map_end,
    map_frame,
)
from bridge.mapping.to_text import CODES, READ, Reader
from bridge.model import conditions

if TYPE_CHECKING:
    from bridge.mapping.options import MappingOptions

Hop: TypeAlias = dict[str, object]
"""The annotations of an earlier passage: name to decoded value."""

Annotations: TypeAlias = tuple[Headers, Hints, bytes | None, int, Hop | None, bool]
"""Headers, hints, key, partition (-1: none), earlier passage, whether trace context is among
them."""

_MAX_PARTITION: Final = 2**31 - 1
_PARTITION_DIGITS: Final = 10
_SYMBOL8: Final = 0xA3
_LONGEST_REMEMBERED: Final = 512
_NOT_STORED: Final = 32
"""More annotations than the bridge itself adds, which make no headers."""

KEY_RANKS: Final = {
    names.KEY: 0,
    names.KAFKA_KEY: 1,
    names.GROUP_KEY: 2,
    names.PARTITION_KEY: 3,
}
"""The annotations that give the record's key; the first one that is there wins."""

KEY_TYPES: Final = frozenset(("string", "binary", "symbol", "null"))
"""What these annotations may be."""

_INTEGRAL: Final = frozenset(("ubyte", "ushort", "uint", "ulong", "byte", "short", "int", "long", "null"))
_OF_A_HOP: Final = frozenset(
    (names.OFFSET, names.KEY, names.STORED, names.KAFKA_HEADERS, names.ENQUEUED_TIME)
)

_NO_RANK: Final = 4
_PARTITION_ROLE: Final = 5
_HOP_ROLE: Final = 6
_TRACE_ROLE: Final = 7

_Entry: TypeAlias = tuple[str, str | None, Reader, bytes | None, int | None]
"""Annotation, its header (None: not stored), reader, hint, role (a rank of key, or one of the
above)."""


class AnnotationsReader:
    """Reads message-annotations.

    Sections are remembered by their bytes: many senders annotate all their messages alike. What
    `read` gives must therefore not be modified.
    """

    def __init__(self, options: MappingOptions) -> None:
        self._options = options
        self._sections: dict[bytes, Annotations] = {}
        self._known: dict[bytes, _Entry] = {}

    def read(self, buffer: bytes, at: int) -> tuple[Annotations, int]:
        """Give what the annotations at `at` say, and the place behind them."""
        start, stop, count = map_frame(buffer, at)
        check_count(count, self._options.headers_max + _NOT_STORED)
        section = buffer[at:stop]
        found = self._sections.get(section)
        if found is None:
            found = self._pairs(buffer, start, stop, count)
            if len(section) <= _LONGEST_REMEMBERED:
                if len(self._sections) >= REMEMBERED:
                    self._sections.clear()
                self._sections[section] = found
        return found, stop

    def _pairs(self, buffer: bytes, at: int, stop: int, count: int) -> Annotations:
        headers: Headers = []
        hints: Hints = []
        hop: Hop = {}
        key, rank, partition, number, traced = None, _NO_RANK, ANY_PARTITION, 0, False
        while at < stop:
            middle = at + 2 + buffer[at + 1]
            entry = self._known.get(buffer[at : middle + 1])
            if entry is None:
                entry, middle = self._learn(buffer, at)
            name, header, reader, hint, role = entry
            text, at = reader(buffer, middle + 1)
            number += 1
            if header is not None:
                headers.append((header, text))
                if hint is not None:
                    hints.append(hint)
            if role is None:
                continue
            if role == _PARTITION_ROLE:
                partition = _partition(name, text)
            elif role < rank and text is not None:
                rank, key = role, text
            traced = traced or role == _TRACE_ROLE
            if name in _OF_A_HOP:
                hop[name] = decode(buffer, middle)[0]
        check_map_end(at, stop, number, count)
        came_by = hop if names.OFFSET in hop or names.KAFKA_HEADERS in hop else None
        return headers, hints, key, partition, came_by, traced

    def _learn(self, buffer: bytes, at: int) -> tuple[_Entry, int]:
        key, middle = annotation_name(buffer, at)
        entry = _entry(key, buffer[middle], self._options)
        if buffer[at] == _SYMBOL8:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[buffer[at : middle + 1]] = entry
        return entry, middle


def _entry(key: str | int, code: int, options: MappingOptions) -> _Entry:
    if isinstance(key, int):
        header = names.annotation_header(names.ANNOTATION_PREFIX, key)
        return header, header, READ[code], _hint(header, CODES[code]), None
    role = None
    if key == names.PARTITION:
        _expect(key, CODES[code], _INTEGRAL, "an integer")
        role = _PARTITION_ROLE
    elif key in KEY_RANKS:
        _expect(key, CODES[code], KEY_TYPES, "a string or binary")
        if key != names.PARTITION_KEY or options.key_from_partition_key:
            role = KEY_RANKS[key]
    elif names.is_hop(key):
        role = _HOP_ROLE
    elif key in names.TRACE_CONTEXT and CODES[code] == "string":
        hint = type_hints.entry(key, type_hints.ANNOTATION)
        return key, key, READ[code], hint, _TRACE_ROLE
    if names.is_hop(key):
        return key, None, READ[code], None, role
    header = names.check(names.annotation_header(names.ANNOTATION_PREFIX, key))
    return key, header, READ[code], _hint(header, CODES[code]), role


def _hint(header: str, code: str) -> bytes | None:
    return None if code == "string" else type_hints.entry(header, code)


def _expect(key: str, code: str, codes: frozenset[str], words: str) -> None:
    if code not in codes:
        raise MappingError(conditions.INVALID_FIELD, f"the annotation {key} must be {words}, it is a {code}")


def _partition(name: str, text: bytes | None) -> int:
    if text is None:
        return ANY_PARTITION
    if not text.isdigit() or len(text) > _PARTITION_DIGITS or int(text) > _MAX_PARTITION:
        raise MappingError(
            conditions.INVALID_FIELD,
            f"{name} must be a partition's number, it is {text[:20].decode(errors='replace')}",
        )
    return int(text)


def target_partition(buffer: bytes, at: int) -> tuple[int, int]:
    """Find the partition that delivery-annotations ask for (event streams, 4.6.5), or -1.

    Gives it and the place behind the section. The annotation is a symbol of digits; an integer or
    a string will do.
    """
    at, stop, count = map_frame(buffer, at)
    partition, number = ANY_PARTITION, 0
    while at < stop:
        key, middle = annotation_name(buffer, at)
        text, at = READ[buffer[middle]](buffer, middle + 1)
        if key == names.TARGET_PARTITION:
            code = CODES[buffer[middle]]
            _expect(key, code, _INTEGRAL | {"symbol", "string"}, "a symbol of digits")
            partition = _partition(key, text)
        number += 1
    check_map_end(at, stop, number, count)
    return partition, stop
