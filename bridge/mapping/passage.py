"""What the bridge itself writes into each message: where the record was, and its key.

`docs/mapping.md` tells the names. The annotations are the same for every record but for a few
numbers, so they are prepared as bytes, and packed in one call.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from bridge.mapping import names
from bridge.mapping.encoding import TRUE, as_list, name, octets, text
from bridge.mapping.from_text import string

if TYPE_CHECKING:
    from collections.abc import Sequence

CREATE_TIME: Final = 1
LOG_APPEND_TIME: Final = 2
"""The types of a record's timestamp as librdkafka numbers them; 0 is none."""

_DIGITS: Final = range(20)
_LONG: Final = b"\x81"
_INT: Final = b"\x71"
_TIMESTAMP: Final = b"\x83"

_KEY: Final = name(names.KEY)
_KAFKA_KEY: Final = name(names.KAFKA_KEY)
_PARTITION_KEY: Final = name(names.PARTITION_KEY)
KEY_NAMES: Final = (_KEY, _KAFKA_KEY, _PARTITION_KEY)
"""The names of the annotations with a record's key, encoded, in their order."""
_STRING_OFFSET: Final = tuple(name(names.EVENT_HUBS_OFFSET) + bytes((0xA1, n)) for n in _DIGITS)
_SEQUENCE_NUMBER: Final = name(names.SEQUENCE_NUMBER) + _LONG
_ENQUEUED_TIME: Final = name(names.ENQUEUED_TIME) + _TIMESTAMP
_STRING_SIZES: Final = tuple(bytes((0xA1, size)) for size in range(256))
_BINARY_SIZES: Final = tuple(bytes((0xA0, size)) for size in range(256))
_TITLES: Final = {
    kind: name(names.KAFKA_TIMESTAMP_TYPE) + text(title)
    for kind, title in ((CREATE_TIME, "CreateTime"), (LOG_APPEND_TIME, "LogAppendTime"))
}

TOMBSTONE: Final = name(names.KAFKA_TOMBSTONE) + TRUE
_KAFKA_HEADERS: Final = name(names.KAFKA_HEADERS)

HEADER: Final = b"\x00Sp\xc0\x05\x04\x41\x40\x40\x41"
"""The section header of a first attempt: durable, first-acquirer; no priority, no ttl."""

_NOT_TIMED: Final = 10
TIMED: Final = 14
"""How many keys and values tell where a record was, without its time and with it."""

_EVENT_OFFSET: Final = name("event-streams-offset")
_EVENT_TIMESTAMP: Final = name("event-streams-timestamp") + _TIMESTAMP
_EVENT_PARTITION: Final = name("event-streams-source-partition")
_MAP32: Final = b"\x00Sr\xd1"
_MAX_8: Final = 0xFF
_DATA8: Final = tuple(b"\x00Su\xa0" + bytes((size,)) for size in range(256))
_pack_long = Struct(">q").pack
_pack_sizes = Struct(">II").pack
_pack_data32 = Struct(">4sI").pack


class Passage:
    """The annotations of the records of one topic."""

    def __init__(self, topic: str) -> None:
        self.topic = name(names.TOPIC) + text(topic) + name(names.PARTITION) + _INT
        self.offset = name(names.OFFSET) + _LONG
        widths = (len(self.topic), len(self.offset), len(_SEQUENCE_NUMBER))
        layout = ">4sII{}si{}sq{}sq".format(*widths)
        self._pack = Struct(layout).pack
        self._pack_timed = Struct(f"{layout}{len(_ENQUEUED_TIME)}sq").pack
        self._size = Struct(layout).size - 8 + len(_STRING_OFFSET[0])
        times = {kind: len(_ENQUEUED_TIME) + 8 + len(_TITLES[kind]) for kind in _TITLES}
        self._sizes = {kind: self._size + size for kind, size in times.items()}

    def begin(
        self,
        partition: int,
        offset: int,
        timestamp_type: int,
        timestamp_ms: int,
        more: tuple[int, int],
    ) -> bytes:
        """Encode the section message-annotations, up to the entries that are the record's own.

        `more` tells how many bytes of these follow, and how many keys and values.
        """
        size, count = more
        digits = b"%d" % offset
        place = _STRING_OFFSET[len(digits)]
        if timestamp_type in _TITLES:
            return b"".join(
                (
                    self._pack_timed(
                        _MAP32,
                        self._sizes[timestamp_type] + len(digits) + size,
                        TIMED + count,
                        self.topic,
                        partition,
                        self.offset,
                        offset,
                        _SEQUENCE_NUMBER,
                        offset,
                        _ENQUEUED_TIME,
                        timestamp_ms,
                    ),
                    _TITLES[timestamp_type],
                    place,
                    digits,
                )
            )
        packed = self._pack(
            _MAP32,
            self._size + len(digits) + size,
            _NOT_TIMED + count,
            self.topic,
            partition,
            self.offset,
            offset,
            _SEQUENCE_NUMBER,
            offset,
        )
        return packed + place + digits

    def timed_form(self) -> tuple[bytes, tuple[int, int, int, int]]:
        """Give the annotations of records with a CreateTime as a form, and the places of what is filled in.

        These are the partition (4 bytes), the offset, the offset again as the sequence number, and the time
        (8 bytes each); they are zeros in the form. The number of the offset's digits (a byte) and the digits
        come behind it.
        """
        parts = (self.topic, self.offset, _SEQUENCE_NUMBER, _ENQUEUED_TIME)
        form, places = b"", []
        for part, width in zip(parts, (4, 8, 8, 8), strict=True):
            places.append(len(form) + len(part))
            form += part + bytes(width)
        partition, offset, sequence_number, time = places
        end = _TITLES[CREATE_TIME] + _STRING_OFFSET[0][:-1]
        return form + end, (partition, offset, sequence_number, time)


class TimedAnnotations:
    """The beginning of messages of records with a CreateTime: section header, and message-annotations.

    `before` is the section header, `own` the last of the annotations, `count` how many keys and values these
    are. There is one layout for each number of digits that an offset may have.
    """

    __slots__ = ("_ends", "_heads", "_offset", "_packs", "_topic", "before", "count", "own")

    def __init__(self, passage: Passage, before: bytes, own: bytes, count: int) -> None:
        self.before, self.own, self.count = before, own, count
        self._topic, self._offset = passage.topic, passage.offset
        annotations = f"s{len(self._topic)}si{len(self._offset)}sq"
        annotations += f"{len(_SEQUENCE_NUMBER)}sq{len(_ENQUEUED_TIME)}sq"
        heads, ends, packs = [], [], []
        for digits in _DIGITS:
            end = _TITLES[CREATE_TIME] + _STRING_OFFSET[digits]
            layout = f"{annotations}{len(end)}s{digits}s{len(own)}s"
            size = 4 + Struct(f">0{layout}").size
            head = before + _MAP32 + _pack_sizes(size, TIMED + count)
            heads.append(head)
            ends.append(end)
            packs.append(Struct(f">{len(head)}{layout}").pack)
        self._heads, self._ends, self._packs = tuple(heads), tuple(ends), tuple(packs)

    def section(self, partition: int, offset: int, timestamp_ms: int) -> bytes:
        """Encode both sections."""
        digits = b"%d" % offset
        length = len(digits)
        return self._packs[length](
            self._heads[length],
            self._topic,
            partition,
            self._offset,
            offset,
            _SEQUENCE_NUMBER,
            offset,
            _ENQUEUED_TIME,
            timestamp_ms,
            self._ends[length],
            digits,
            self.own,
        )


class PlainMessages:
    """Whole messages of records that have a value, a CreateTime, perhaps a key, and no headers.

    The hottest path of the sink endpoint. Such messages of a link differ only in a few numbers, the
    key and the value, so that all before the value is packed in one call if there is no key; there
    is one layout for each number of digits that an offset may have.
    """

    def __init__(self, passage: Passage, properties: bytes) -> None:
        """Take the section properties up to the 8 bytes of creation-time, with which it ends."""
        self._begin = passage.begin
        self._properties = properties
        self._end = _TITLES[CREATE_TIME] + properties
        self._topic, self._offset = passage.topic, passage.offset
        annotations = f"s{len(self._topic)}si{len(self._offset)}sq"
        annotations += f"{len(_SEQUENCE_NUMBER)}sq{len(_ENQUEUED_TIME)}sq"
        heads, packs = [], []
        for digits in _DIGITS:
            layout = f"{digits}{annotations}"
            place = _STRING_OFFSET[digits]
            size = 4 + len(place) + Struct(f">{layout}").size + len(_TITLES[CREATE_TIME])
            head = HEADER + _MAP32 + _pack_sizes(size, TIMED) + place
            heads.append(head)
            packs.append(Struct(f">{len(head)}s{layout}{len(self._end)}sq").pack)
        self._heads, self._packs = tuple(heads), tuple(packs)

    def message(
        self, partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes
    ) -> bytes:
        """Encode the message of a first attempt."""
        if key is None:
            return self.of_value(partition, offset, timestamp_ms, value)
        size = len(value)
        data = _DATA8[size] if size <= _MAX_8 else _pack_data32(b"\x00Su\xb0", size)
        own, count = key_annotations(key)
        place = self._begin(partition, offset, CREATE_TIME, timestamp_ms, (len(own), count))
        time = _pack_long(timestamp_ms)
        return b"".join((HEADER, place, own, self._properties, time, data, value))

    def of_value(self, partition: int, offset: int, timestamp_ms: int, value: bytes) -> bytes:
        """Encode the message of a first attempt of a record without a key."""
        size = len(value)
        digits = b"%d" % offset
        length = len(digits)
        packed = self._packs[length](
            self._heads[length],
            digits,
            self._topic,
            partition,
            self._offset,
            offset,
            _SEQUENCE_NUMBER,
            offset,
            _ENQUEUED_TIME,
            timestamp_ms,
            self._end,
            timestamp_ms,
        )
        data = _DATA8[size] if size <= _MAX_8 else _pack_data32(b"\x00Su\xb0", size)
        return b"".join((packed, data, value))


def key_annotations(key: bytes, *, own_partition_key: bool = False) -> tuple[bytes, int]:
    """Encode the key's annotations, and their count.

    With `own_partition_key` the record has an `x-opt-partition-key` of its own, which goes before.
    """
    size = len(key)
    if size <= _MAX_8 and key.isascii() and not own_partition_key:  # the common case, in one join
        string_size, binary_size = _STRING_SIZES[size], _BINARY_SIZES[size]
        parts = (_KEY, string_size, key, _KAFKA_KEY, binary_size, key)
        return b"".join((*parts, _PARTITION_KEY, string_size, key)), 6
    as_string = string(key)
    as_binary = octets(key)
    encoded = _KEY + (as_string or as_binary) + _KAFKA_KEY + as_binary
    if as_string is None or own_partition_key:
        return encoded, 4
    return encoded + _PARTITION_KEY + as_string, 6


def event_stream_annotations(
    partition: int, offset: int, timestamp_type: int, timestamp_ms: int
) -> tuple[bytes, int]:
    """Encode the delivery-annotations of OASIS Event Stream Extensions (4.6.4, 5.1), and count."""
    content = _EVENT_OFFSET + name(f"{offset:020d}") + _EVENT_PARTITION + name(str(partition))
    count = 4
    if timestamp_type in _TITLES:
        content += _EVENT_TIMESTAMP + _pack_long(timestamp_ms)
        count += 2
    return content, count


def listed_headers(headers: Sequence[tuple[str, bytes | None]] | None) -> bytes:
    """Encode `x-opt-kafka-headers`, key and value: all of a record's headers, in order."""
    pairs = [as_list(text(header) + octets(value), 2) for header, value in headers or ()]
    return _KAFKA_HEADERS + as_list(b"".join(pairs), len(pairs))
