"""Messages that look alike: the head of a message read by comparing it with an earlier one.

A sender's messages mostly differ in a few values of the same lengths: an id, a time, a count. A
`Shape` is the head of one such message cut into pieces, constant ones and values in turn. Another
message has the same shape if all its constant pieces, in which every name, constructor, length and
size is, are the same. Then its values are known without reading it, in half the time.

What a shape gives is what the ordinary reader gives; it is an optimisation and decides nothing. There is
another one in C, `compiled_shape`, for where there was a compiler when the bridge was built.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from bridge.codec import decode
from bridge.codec.names import TYPE_NAMES
from bridge.mapping import names
from bridge.mapping.annotations import KEY_RANKS
from bridge.mapping.record import ARRIVAL_TIME
from bridge.mapping.sections import annotation_name, list_frame, map_frame
from bridge.mapping.to_text import READ, as_it_is

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.mapping.record import Record
    from bridge.mapping.to_text import Reader

REMEMBERED: Final = 256
"""How many shapes are remembered; all are forgotten when there are more."""

_ALL_OF: Final = 256
_ONE_OF: Final = 8
"""Of the messages that are like none, all of the first so many are looked at, then one of so
many."""

_ANNOTATIONS: Final = 0x72
_PROPERTIES: Final = 0x73
_APPLICATION_PROPERTIES: Final = 0x74
_DATA: Final = 0x75
_NULL: Final = 0x40
_BINARY8: Final = 0xA0
_BEFORE_DATA8: Final = 5
_BEFORE_DATA32: Final = 8
_unpack_size = Struct(">I").unpack_from

_TEXTS: Final = {0xA0: 2, 0xA1: 2, 0xB0: 5, 0xB1: 5}
"""Strings and binaries: where their bytes begin, counted from the constructor."""

_CONSTANT: Final = frozenset(
    (*(0x00, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45), *(0xA3, 0xB3, 0xC0, 0xC1, 0xD0, 0xD1, 0xE0, 0xF0))
)
"""Values that are compared as a whole: those without bytes, symbols (mostly names of something,
such as types of content), and compound ones."""

_INTEGERS: Final[dict[Reader | None, str]] = {
    READ[code]: layout for code, layout in ((0x70, "I"), (0x71, "i"), (0x80, "Q"), (0x81, "q"), (0x83, "q"))
}
"""Readers of integers, and what `struct` calls these."""

NO_HEADER: Final = -1
"""In the place of a header's place: there is none."""

Cut: TypeAlias = tuple[int, int, "Reader | None", int]
"""Where a value's bytes begin and end, its reader (None: a string), the place of its header."""


class Learnt(Protocol):
    """A shape: `Shape`, or the one in C, which leaves more messages to the ordinary reader."""

    hits: int

    def record(self, message: bytes, /) -> Record | None:
        """Give the message's record; None if the message has another shape."""


MakeShape: TypeAlias = Callable[[bytes, int, list[Cut], "Record", "Cut | None"], Learnt]
"""Makes a shape of a message, the place of its body, its values, its record, and which of them is the key."""


class Shape:
    """One shape, and the record of a message of that shape but for its values."""

    __slots__ = (
        "_body_at",
        "_constants",
        "_integers",
        "_key",
        "_key_piece",
        "_long",
        "_others",
        "_partition",
        "_strings",
        "_template",
        "_unpack",
        "_varies",
        "hits",
    )

    def __init__(
        self,
        message: bytes,
        body_at: int,
        cuts: list[Cut],
        record: Record,
        key_cut: Cut | None,
    ) -> None:
        """Cut `message` where its values begin and end.

        With each value comes its reader (None: a string), and which header of the record it is.
        One of the cuts may be the record's key.
        """
        layout = ">"
        last = 0
        for start, stop, read, _ in cuts:
            layout += f"{start - last}s{_INTEGERS.get(read, f'{stop - start}s')}"
            last = stop
        self._long = message[body_at + 3] != _BINARY8
        self._body_at = body_at + (_BEFORE_DATA32 if self._long else _BEFORE_DATA8)
        cut = Struct(f"{layout}{body_at + 4 - last}s")
        self._unpack = cut.unpack_from
        self._constants = cut.unpack_from(message)[::2]
        self._template = record[2]
        self._strings: list[tuple[int, int, str]] = []
        self._integers: list[tuple[int, int, str]] = []
        self._others: list[tuple[int, int, str, Reader]] = []
        self._key, self._partition = record[1], record[3]
        self._key_piece: int | None = None
        for number, (_, _, read, place) in enumerate(cuts):
            if cuts[number] is key_cut:
                self._key_piece = 2 * number + 1
            if self._template and place != NO_HEADER:
                slot = 2 * number + 1, place, self._template[place][0]
                if read is None:
                    self._strings.append(slot)
                elif read in _INTEGERS:
                    self._integers.append(slot)
                else:
                    self._others.append((*slot, read))
        self._varies = bool(self._strings or self._integers or self._others)
        self.hits = 0

    def record(self, message: bytes) -> Record | None:  # noqa: C901 - a call for a part of it costs time
        """Give the message's record; None if the message has another shape.

        Raises UnicodeDecodeError for a string that is not UTF-8, and what else readers raise.
        """
        body_at = self._body_at
        if len(message) < body_at:
            return None
        pieces = self._unpack(message)
        if pieces[::2] != self._constants:
            return None
        size = _unpack_size(message, body_at - 4)[0] if self._long else message[body_at - 1]
        if body_at + size != len(message):
            return None
        key = self._key
        if self._key_piece is not None:
            key = pieces[self._key_piece]
            if not key.isascii():
                return None
        headers = self._template
        if headers:
            headers = headers.copy()
            if self._varies:
                for piece, place, name in self._strings:
                    text = pieces[piece]
                    if not text.isascii():
                        text.decode()
                    headers[place] = (name, text)
                for piece, place, name in self._integers:
                    headers[place] = (name, b"%d" % pieces[piece])
                for piece, place, name, read in self._others:
                    headers[place] = (name, read(pieces[piece], 0)[0])
        self.hits += 1
        return message[body_at:], key, headers, self._partition, ARRIVAL_TIME


class Shapes:
    """The shapes that were seen of late, one for each way in which messages begin."""

    def __init__(self, make: MakeShape) -> None:
        self._make = make
        self.known: dict[bytes, Learnt | None] = {}
        self._misses: dict[bytes, int] = {}
        self._missed = 0

    def record(self, message: bytes) -> Record | None:
        """Give the record of a message that is like an earlier one, else None."""
        shape = self.known.get(message[:12] if message[2:3] == b"p" else message[:8])
        return None if shape is None else shape.record(message)

    def missed(self, message: bytes, record: Record) -> None:
        """Learn, now and then, from a message that was like none.

        The second message that begins alike is learnt, then the 8th, the 32nd ..., so that messages
        of all sorts cost little; after the first few only some of them are looked at. A shape that
        is not worth its trials is forgotten in between.
        """
        self._missed += 1
        if self._missed > _ALL_OF and self._missed % _ONE_OF:
            return
        beginning = message[:12] if message[2:3] == b"p" else message[:8]
        misses = self._misses.get(beginning, 0) + 1
        if misses == 1 and len(self._misses) >= REMEMBERED:
            self.known.clear()
            self._misses.clear()
        self._misses[beginning] = misses
        if misses == 1 or misses & (misses - 1):
            return
        shape = self.known.get(beginning)
        if shape is None or shape.hits < misses:
            learns = misses.bit_length() % 2 == 0  # 2, 8, 32 ...
            shape = learn(message, record, self._make) if learns else None
            self.known[beginning] = shape
        if shape is not None:
            shape.hits = 0


def learn(message: bytes, record: Record, make: MakeShape) -> Learnt | None:
    """Make a shape of a message that was read as `record`; None if it is not of the common kind.

    That is: descriptors in three bytes, a body of one data section, no footer, not delivered by
    a bridge before, and a key, if any, that is an annotation.
    """
    headers = record[2] or []
    values: list[tuple[int, int]] = []
    key_cut: Cut | None = None
    at = 0
    while message[at : at + 2] == b"\x00S" and message[at + 2] < _DATA:
        if message[at + 2] == _ANNOTATIONS:
            key_cut = _key_cut(message, at + 3, record)
        values += _values(message, at + 3, message[at + 2])
        at = decode(message, at)[1]
    if message[at : at + 3] != b"\x00Su" or decode(message, at)[1] != len(message):
        return None
    if _depends(message[:at], record):
        return None
    last = len(headers) - any(name == names.TYPES_HEADER for name, _ in headers)
    cuts = [
        (*_cut(message, start, stop), place)
        for place, (start, stop) in enumerate(values, last - len(values))
        if message[start] not in _CONSTANT
    ]
    return make(message, at, cuts if key_cut is None else [key_cut, *cuts], record, key_cut)


def _values(message: bytes, at: int, code: int) -> Iterator[tuple[int, int]]:
    """Give where the values begin and end that the section at `at` makes headers of."""
    if code == _PROPERTIES:
        at, _, count = list_frame(message, at)
        for _ in range(count):
            start, at = at, decode(message, at)[1]
            if message[start] != _NULL:
                yield start, at
    elif code == _APPLICATION_PROPERTIES:
        at, _, count = map_frame(message, at)
        for _ in range(count // 2):
            start = decode(message, at)[1]
            at = decode(message, start)[1]
            yield start, at


def _key_cut(message: bytes, at: int, record: Record) -> Cut | None:
    """Cut out the annotation that gives the record's key, if there is one and it is text."""
    at, stop, _ = map_frame(message, at)
    found: tuple[int, str, int, int] | None = None
    while at < stop:
        name, start = annotation_name(message, at)
        at = decode(message, start)[1]
        rank = KEY_RANKS.get(str(name))
        if rank is not None and message[start] in _TEXTS and (found is None or rank < found[0]):
            found = rank, str(name), start + _TEXTS[message[start]], at
    if found is None or message[found[2] : found[3]] != record[1]:
        return None
    _, name, start, at = found
    if names.is_hop(name):
        return start, at, None, NO_HEADER
    header = names.annotation_header(names.ANNOTATION_PREFIX, name)
    return start, at, None, [title for title, _ in record[2] or ()].index(header)


def _cut(message: bytes, start: int, stop: int) -> tuple[int, int, Reader | None]:
    code = message[start]
    if code in _TEXTS:
        return start + _TEXTS[code], stop, None if TYPE_NAMES[code] == "string" else as_it_is
    return start + 1, stop, READ[code]


def _depends(head: bytes, record: Record) -> bool:
    """Tell whether the record depends on values in a manner that no shape knows."""
    if names.OFFSET.encode() in head or names.KAFKA_HEADERS.encode() in head:
        return True
    return record[1] is not None and any(name == "group-id" for name, _ in record[2] or ())
