from __future__ import annotations

import pytest

from bridge.codec import (
    Byte,
    Int,
    Long,
    Map,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
    encode,
)
from bridge.mapping.annotations import Annotations, AnnotationsReader, target_partition
from bridge.mapping.errors import MappingError
from bridge.mapping.options import MappingOptions

PLAIN = MappingOptions()


def read(*pairs: tuple[object, object], options: MappingOptions = PLAIN) -> Annotations:
    encoded = b"?" + encode(Map([(Symbol(k) if isinstance(k, str) else k, v) for k, v in pairs]))
    reader = AnnotationsReader(options)
    annotations, stop = reader.read(encoded, 1)
    assert stop == len(encoded)
    assert reader.read(encoded, 1)[0] is annotations
    return annotations


def test_annotations_are_stored_as_headers() -> None:
    headers, hints, key, partition, hop, traced = read(
        ("x-opt-jms-msg-type", UByte(5)), ("plain", "x"), (ULong(7), Symbol("s")), ("x-opt-null", None)
    )
    assert headers == [
        ("x-opt-jms-msg-type", b"5"),
        ("amqp.ma.plain", b"x"),
        ("amqp.ma.#7", b"s"),
        ("x-opt-null", None),
    ]
    assert hints == [b"x-opt-jms-msg-type=ubyte", b"amqp.ma.%237=symbol", b"x-opt-null=null"]
    assert (key, partition, hop, traced) == (None, -1, None, False)


def test_a_key_that_is_a_string_stands_for_a_symbol() -> None:
    encoded = encode(Map([("x-opt-bridge.key", "k")]))
    assert AnnotationsReader(PLAIN).read(encoded, 0)[0][2] == b"k"


KEYS = ["x-opt-bridge.key", "x-opt-kafka-key", "event-streams-group-key", "x-opt-partition-key"]


@pytest.mark.parametrize("first", range(4))
def test_the_first_annotation_that_names_a_key_wins(first: int) -> None:
    pairs = [(name, f"key-{place}") for place, name in enumerate(KEYS)][first:]
    assert read(*pairs)[2] == f"key-{first}".encode()
    assert read(*reversed(pairs))[2] == f"key-{first}".encode()


def test_a_key_is_a_string_or_binary_and_may_be_empty_or_null() -> None:
    assert read(("x-opt-bridge.key", b"\xff"))[2] == b"\xff"
    assert read(("x-opt-bridge.key", "é"))[2] == "é".encode()
    assert read(("x-opt-bridge.key", Symbol("s")))[2] == b"s"
    assert read(("x-opt-bridge.key", ""))[2] == b""
    assert read(("x-opt-bridge.key", None), ("x-opt-partition-key", "p"))[2] == b"p"


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("value", [Int(5), True, [], Map(), Timestamp(5)])
def test_a_key_of_another_type_is_refused(name: str, value: object) -> None:
    with pytest.raises(MappingError, match=f"{name} must be a string or binary") as caught:
        read((name, value))
    assert caught.value.condition == "amqp:invalid-field"


def test_which_keys_are_stored_too() -> None:
    assert read(*((name, "k") for name in KEYS))[0] == [
        ("amqp.ma.event-streams-group-key", b"k"),
        ("x-opt-partition-key", b"k"),
    ]


def test_a_partition_key_may_be_only_a_header() -> None:
    headers, _, key, *_ = read(
        ("x-opt-partition-key", "p"), options=MappingOptions(key_from_partition_key=False)
    )
    assert (headers, key) == ([("x-opt-partition-key", b"p")], None)


@pytest.mark.parametrize("kind", [UByte, UShort, UInt, ULong, Byte, Short, Int, Long])
def test_a_partition_may_be_any_integer(kind: type[int]) -> None:
    headers, hints, key, partition, *_ = read(("x-opt-bridge.partition", kind(7)))
    assert (headers, hints, key, partition) == ([], [], None, 7)


def test_a_null_partition_is_none() -> None:
    assert read(("x-opt-bridge.partition", None))[3] == -1


@pytest.mark.parametrize("value", [Int(-1), Long(2**31), "7", Symbol("7"), b"7", True, 7.0, []])
def test_what_is_no_partition_is_refused(value: object) -> None:
    with pytest.raises(MappingError, match=r"x-opt-bridge\.partition must be") as caught:
        read(("x-opt-bridge.partition", value))
    assert caught.value.condition == "amqp:invalid-field"


def test_annotations_of_a_hop_are_not_stored() -> None:
    headers, _, key, _, hop, _ = read(
        *(("x-opt-bridge.topic", "t"), ("x-opt-bridge.offset", Long(5)), ("x-opt-bridge.key", "k")),
        *(("x-opt-offset", "5"), ("x-opt-enqueued-time", Timestamp(9)), ("x-opt-kafka-new", Map())),
    )
    assert headers == []
    assert key == b"k"
    assert hop == {"x-opt-bridge.offset": 5, "x-opt-bridge.key": "k", "x-opt-enqueued-time": 9}


def test_a_message_that_did_not_come_this_way_has_no_hop() -> None:
    assert read(("x-opt-enqueued-time", Timestamp(9)), ("x-opt-bridge.key", "k"))[4] is None


def test_trace_context_gets_the_names_that_instrumentation_reads() -> None:
    headers, hints, *_, traced = read(("traceparent", "00-a-b-01"), ("tracestate", b"x=1"))
    assert headers == [("traceparent", b"00-a-b-01"), ("amqp.ma.tracestate", b"x=1")]
    assert hints == [b"traceparent=annotation", b"amqp.ma.tracestate=binary"]
    assert traced


@pytest.mark.parametrize("value", [Symbol("7"), "7", Int(7), ULong(7)])
def test_event_streams_name_a_partition_for_the_delivery(value: object) -> None:
    encoded = encode(Map([(Symbol("other"), [Int(1)]), (Symbol("event-streams-target-partition"), value)]))
    assert target_partition(encoded, 0) == (7, len(encoded))


def test_most_deliveries_name_no_partition() -> None:
    assert target_partition(encode(Map([(Symbol("x"), "y")])), 0)[0] == -1


@pytest.mark.parametrize("value", [Symbol("a"), "", "-1", Symbol("9" * 5000), b"7", True])
def test_what_is_no_partition_in_event_streams_is_refused(value: object) -> None:
    with pytest.raises(MappingError) as caught:
        target_partition(encode(Map([(Symbol("event-streams-target-partition"), value)])), 0)
    assert caught.value.condition == "amqp:invalid-field"


def test_too_many_annotations_are_refused_before_they_are_read() -> None:
    few = MappingOptions(headers_max=3)
    assert len(read(*((f"x-opt-{n}", "x") for n in range(30)), options=few)[0]) == 30
    with pytest.raises(MappingError) as caught:
        AnnotationsReader(few).read(bytes.fromhex("d1000000ff" + "00000064"), 0)
    assert caught.value.condition == "amqp:resource-limit-exceeded"
