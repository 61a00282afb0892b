from __future__ import annotations

import pytest
from support.java_bridge import ADDRESS, OFFSET, PARTITION, TOPIC, to_message, to_record

from bridge.codec import Described, Int, Map, Symbol, ULong, encode
from bridge.mapping import strimzi
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Data, Value, parse
from bridge.mapping.options import MappingOptions

OPTIONS = MappingOptions()
RECORDS = to_record("default")
MESSAGES = to_message("default")
TIME_MS = 1_700_000_000_123


def sent(*sections: tuple[int, object]) -> bytes:
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


@pytest.mark.parametrize("case", RECORDS)
def test_a_message_becomes_the_record_that_it_became_there(case: str) -> None:
    vector = RECORDS[case]
    record = strimzi.message_to_record(OPTIONS)(vector.message)
    assert record == (vector.value, vector.key, None, vector.partition, 0)


@pytest.mark.parametrize("case", MESSAGES)
def test_a_record_becomes_the_message_that_it_became_there_and_more(case: str) -> None:
    vector = MESSAGES[case]
    read = strimzi.record_to_message(TOPIC, ADDRESS, OPTIONS)
    message = parse(read(PARTITION, OFFSET, 1, TIME_MS, vector.key, vector.value, None, 0))
    there = parse(vector.message)
    assert (message.body, message.properties) == (there.body, there.properties)
    assert message.application_properties == there.application_properties
    for name, value in there.message_annotations:
        # Where there was no key, the Java bridge had the annotation, with null.
        assert encode(message.message_annotations.get(name)) == encode(value)


def test_several_data_sections_are_one_value() -> None:
    # The Java bridge took the first one, and lost the rest.
    message = sent((0x75, b"ab"), (0x75, b"cd"))
    assert strimzi.message_to_record(OPTIONS)(message)[0] == b"abcd"


def test_a_null_body_is_a_tombstone_if_the_route_allows_it() -> None:
    # The Java bridge failed with a NullPointerException.
    message = sent((0x77, None))
    assert strimzi.message_to_record(OPTIONS)(message)[0] is None
    with pytest.raises(MappingError) as caught:
        strimzi.message_to_record(MappingOptions(tombstones=False))(message)
    assert caught.value.condition == "amqp:not-allowed"


@pytest.mark.parametrize(
    ("message", "what"),
    [
        # The Java bridge wrote tombstones of all these ...
        (sent((0x73, [None, None, None, "subject"])), "a message without a body"),
        (sent((0x76, [Int(1)])), "amqp-sequence"),
        (sent((0x77, Int(5))), "a body of the type int"),
        (sent((0x77, b"octets")), "a body of the type binary"),
        (sent((0x77, Symbol("s"))), "a body of the type symbol"),
        (sent((0x77, Described(Symbol("d"), "x"))), "a body of the type described"),
        # ... and failed for these.
        (sent((0x77, [b"octets"])), "a body of the type list that holds binary"),
        (sent((0x77, Map([("a", Symbol("s"))]))), "a body of the type map that holds a symbol"),
    ],
)
def test_a_body_without_bytes_is_refused(message: bytes, what: str) -> None:
    with pytest.raises(MappingError, match=what) as caught:
        strimzi.message_to_record(OPTIONS)(message)
    assert caught.value.condition == "amqp:not-implemented"


def test_a_tombstone_is_delivered_as_null() -> None:
    read = strimzi.record_to_message(TOPIC, ADDRESS, OPTIONS)
    message = parse(read(PARTITION, OFFSET, 1, TIME_MS, b"k", None, None, 0))
    assert message.body == Value.of(None)
    assert message.message_annotations.get(Symbol("x-opt-kafka-tombstone")) is True


def test_the_headers_of_a_record_go_along_and_come_back() -> None:
    headers: list[tuple[str, bytes | None]] = [("a", b"\xff"), ("subject", b"s"), ("a", None)]
    read = strimzi.record_to_message(TOPIC, ADDRESS, OPTIONS)
    delivered = read(PARTITION, OFFSET, 1, TIME_MS, None, b"value", headers, 1)
    message = parse(delivered)
    assert message.body == Data((b"value",))
    assert not message.application_properties
    assert "subject" not in message.properties
    assert strimzi.message_to_record(OPTIONS)(delivered) == (b"value", None, headers, PARTITION, 0)
