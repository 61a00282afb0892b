from __future__ import annotations

import pytest

from bridge.codec import Described, Int, Long, Map, Symbol, Timestamp, ULong, decode
from bridge.mapping.passage import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    Passage,
    PlainMessages,
    event_stream_annotations,
    key_annotations,
)

TO_THEN_TIME = bytes.fromhex("005373c0150a" + "4040a10161" + "404040404040" + "83")
OFFSETS = [0, 9, 10, 123_456, 2**63 - 1]


def section(encoded: bytes, at: int = 0) -> tuple[object, object, int]:
    value, end = decode(encoded, at)
    assert isinstance(value, Described)
    return value.descriptor, value.value, end


def pairs(content: bytes, count: int) -> list[object]:
    values = []
    at = 0
    for _ in range(count):
        value, at = decode(content, at)
        values.append(value)
    assert at == len(content)
    return values


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize(("kind", "title"), [(CREATE_TIME, "CreateTime"), (LOG_APPEND_TIME, "LogAppendTime")])
def test_where_a_record_was(offset: int, kind: int, title: str) -> None:
    encoded = Passage("orders").begin(3, offset, kind, 1_700_000_000_123, (0, 0))
    assert section(encoded) == (
        ULong(0x72),
        Map(
            [
                (Symbol("x-opt-bridge.topic"), "orders"),
                (Symbol("x-opt-bridge.partition"), Int(3)),
                (Symbol("x-opt-bridge.offset"), Long(offset)),
                (Symbol("x-opt-sequence-number"), Long(offset)),
                (Symbol("x-opt-enqueued-time"), Timestamp(1_700_000_000_123)),
                (Symbol("x-opt-kafka-timestamp-type"), title),
                (Symbol("x-opt-offset"), str(offset)),
            ]
        ),
        len(encoded),
    )


def test_a_record_without_a_timestamp() -> None:
    encoded = Passage("orders").begin(3, 17, 0, -1, (0, 0))
    _, annotations, end = section(encoded)
    assert end == len(encoded)
    assert isinstance(annotations, Map)
    assert [name for name, _ in annotations] == [
        *("x-opt-bridge.topic", "x-opt-bridge.partition", "x-opt-bridge.offset"),
        *("x-opt-sequence-number", "x-opt-offset"),
    ]


def test_there_is_room_for_annotations_of_the_record() -> None:
    own = b"\xa3\x01a\xa1\x01b"
    encoded = Passage("orders").begin(3, 17, CREATE_TIME, 5, (len(own), 2)) + own
    _, annotations, end = section(encoded)
    assert end == len(encoded)
    assert isinstance(annotations, Map)
    assert annotations[-1] == (Symbol("a"), "b")


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (b"k", ["x-opt-bridge.key", "k", "x-opt-kafka-key", b"k", "x-opt-partition-key", "k"]),
        (b"", ["x-opt-bridge.key", "", "x-opt-kafka-key", b"", "x-opt-partition-key", ""]),
        (
            "é".encode(),
            ["x-opt-bridge.key", "é", "x-opt-kafka-key", "é".encode(), "x-opt-partition-key", "é"],
        ),
        (b"\xff", ["x-opt-bridge.key", b"\xff", "x-opt-kafka-key", b"\xff"]),
        (
            b"x" * 300,
            ["x-opt-bridge.key", "x" * 300, "x-opt-kafka-key", b"x" * 300, "x-opt-partition-key", "x" * 300],
        ),
    ],
)
def test_a_key_is_told_as_text_and_as_bytes(key: bytes, values: list[object]) -> None:
    assert pairs(*key_annotations(key)) == values
    assert pairs(*key_annotations(key, own_partition_key=True)) == values[:4]


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("key", [None, b"k", b"\xff"])
@pytest.mark.parametrize("size", [0, 255, 256])
def test_a_plain_message_is_whole(offset: int, key: bytes | None, size: int) -> None:
    passage = Passage("orders")
    encoded = PlainMessages(passage, TO_THEN_TIME).message(3, offset, 5, key, b"x" * size)
    header, fields, at = section(encoded)
    assert (header, fields) == (ULong(0x70), [True, None, None, True])
    _, annotations, at = section(encoded, at)
    own, count = (b"", 0) if key is None else key_annotations(key)
    expected = section(passage.begin(3, offset, CREATE_TIME, 5, (len(own), count)) + own)[1]
    assert isinstance(annotations, Map)
    assert isinstance(expected, Map)
    assert sorted(annotations, key=repr) == sorted(expected, key=repr)
    properties, fields, at = section(encoded, at)
    assert properties == ULong(0x73)
    assert fields == [None, None, "a", *[None] * 6, Timestamp(5)]
    assert section(encoded, at) == (ULong(0x75), b"x" * size, len(encoded))


def test_event_streams_annotate_the_delivery() -> None:
    assert pairs(*event_stream_annotations(3, 17, CREATE_TIME, 5)) == [
        *("event-streams-offset", Symbol("00000000000000000017")),
        *("event-streams-source-partition", Symbol("3"), "event-streams-timestamp", Timestamp(5)),
    ]
    assert pairs(*event_stream_annotations(3, 17, 0, 5))[-1] == Symbol("3")
