from __future__ import annotations

import pytest
from support.java_bridge import ADDRESS, OFFSET, PARTITION, TOPIC, to_message, to_record

from bridge.codec import Decimal32, Described, Int, Map, Symbol, ULong, encode
from bridge.mapping import strimzi_json
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Data, Message, Value, parse
from bridge.mapping.options import MappingOptions

OPTIONS = MappingOptions()
RECORDS = to_record("json")
MESSAGES = to_message("json")
TIME_MS = 1_700_000_000_123


def sent(*sections: tuple[int, object]) -> bytes:
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


def delivered(value: bytes | None) -> Message:
    read = strimzi_json.record_to_message(TOPIC, ADDRESS, OPTIONS)
    message = parse(read(PARTITION, OFFSET, 1, TIME_MS, None, value, None, 0))
    assert read.damaged == 0
    return message


@pytest.mark.parametrize("case", RECORDS)
def test_a_message_becomes_the_record_that_it_became_there(case: str) -> None:
    vector = RECORDS[case]
    record = strimzi_json.message_to_record(OPTIONS)(vector.message)
    assert record == (vector.value, vector.key, None, vector.partition, 0)


@pytest.mark.parametrize("case", MESSAGES)
def test_a_record_becomes_the_message_that_it_became_there_and_more(case: str) -> None:
    vector = MESSAGES[case]
    read = strimzi_json.record_to_message(TOPIC, ADDRESS, OPTIONS)
    message = parse(read(PARTITION, OFFSET, 1, TIME_MS, vector.key, vector.value, None, 0))
    there = parse(vector.message)
    assert (message.body, message.properties) == (there.body, there.properties)
    assert encode(message.application_properties) == encode(there.application_properties)
    for name, value in there.message_annotations:
        assert encode(message.message_annotations.get(name)) == encode(value)


@pytest.mark.parametrize("case", RECORDS)
def test_what_was_written_is_read_without_damage(case: str) -> None:
    delivered(RECORDS[case].value)


@pytest.mark.parametrize("section", [b"YUdWc2JHOD0", b"YUdWc2JHOD0="])
def test_the_padding_of_older_versions_is_read(section: bytes) -> None:
    message = delivered(b'{"body":{"type":"data","section":"' + section + b'"}}')
    assert message.body == Data((b"hello",))


def test_several_data_sections_are_one() -> None:
    # The Java bridge took the first one, and lost the rest.
    value = strimzi_json.message_to_record(OPTIONS)(sent((0x75, b"he"), (0x75, b"llo")))[0]
    assert value == b'{"body":{"type":"data","section":"YUdWc2JHOD0"}}'


def test_a_null_body_is_a_null_section_and_no_tombstone() -> None:
    # The Java bridge failed with a NullPointerException.
    value = strimzi_json.message_to_record(OPTIONS)(sent((0x77, None)))[0]
    assert value == b'{"body":{"type":"amqpValue","section":null}}'
    assert delivered(value).body == Value.of(None)


def test_a_tombstone_comes_back_as_one() -> None:
    read = strimzi_json.record_to_message(TOPIC, ADDRESS, OPTIONS)
    message = read(PARTITION, OFFSET, 1, TIME_MS, b"k", None, [("a", b"b")], 0)
    assert parse(message).body == Value.of(None)
    record = strimzi_json.message_to_record(OPTIONS)(message)
    assert record == (None, b"k", [("a", b"b")], PARTITION, 0)


@pytest.mark.parametrize(
    ("section", "value"),
    [(b"5", Int(5)), (b"true", True), (b"1.5", 1.5)],
)
def test_scalars_that_the_java_bridge_passed_over_are_read(section: bytes, value: object) -> None:
    message = delivered(b'{"body":{"type":"amqpValue","section":' + section + b"}}")
    assert message.body == Value.of(value)


@pytest.mark.parametrize("value", [b"{}", b'{"body":{}}', b'{"body":{"type":"amqpValue"}}', b'{"x":[1]}'])
def test_a_body_that_the_java_bridge_lost_is_none(value: bytes) -> None:
    assert delivered(value).body is None


def test_ids_have_types_that_ids_may_have() -> None:
    message = delivered(b'{"properties":{"messageId":18446744073709551615,"correlationId":-1}}')
    assert message.properties["correlation-id"] == "-1"
    assert encode(message.properties["message-id"]) == encode(ULong(2**64 - 1))
    octets = delivered(b'{"properties":{"messageId":{"array":"AP8","arrayOffset":0,"length":2}}}')
    assert octets.properties["message-id"] == b"\x00\xff"


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"text",
        b"\xff",
        b"[]",
        b"null",
        b"5",
        b"{} x",
        b'{"properties":[]}',
        b'{"applicationProperties":"x"}',
        b'{"applicationProperties":{"a":18446744073709551616}}',
        b'{"applicationProperties":{"a":NaN}}',
        b'{"applicationProperties":{"a":"\\ud800"}}',
        b'{"messageAnnotations":{"\xc3\xa9":1}}',
        b'{"body":"x"}',
        b'{"body":{"section":"x"}}',
        b'{"body":{"type":"x","section":"a"}}',
        b'{"body":{"type":["x"],"section":"a"}}',
        b'{"body":{"type":["x"]}}',
        b'{"body":{"type":"data"}}',
        b'{"body":{"type":"data","section":5}}',
        b'{"body":{"type":"data","section":"aGVsbG8="}}',
        b'{"body":{"type":"data","section":"gICA"}}',
        b'{"body":{"type":"data","section":"*"}}',
        b'{"body":{"type":"amqpValue","section":' + b"[" * 80 + b"]" * 80 + b"}}",
        b'{"a":' + b"[" * 100_000,
        b'{"a":' + b"1" * 5000 + b"}",
    ],
)
def test_a_value_that_is_no_such_json_is_delivered_as_it_is(value: bytes) -> None:
    read = strimzi_json.record_to_message(TOPIC, ADDRESS, OPTIONS)
    message = parse(read(PARTITION, OFFSET, 1, TIME_MS, b"k", value, None, 0))
    assert message.body == Data((value,))
    assert read.damaged == 1


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (sent((0x76, [Int(1)])), "amqp-sequence"),
        (sent((0x77, Int(5))), "a body of the type int"),
        (sent((0x77, b"octets")), "a body of the type binary"),
        (sent((0x77, Described(Symbol("d"), "x"))), "a body of the type described"),
        (sent((0x74, Map([("a", Decimal32(b"\0\0\0\5"))])), (0x75, b"")), "a decimal"),
        (sent((0x72, Map([(ULong(5), "a")])), (0x75, b"")), "an annotation that is named by a number"),
    ],
)
def test_what_has_no_form_is_refused(message: bytes, what: str) -> None:
    with pytest.raises(MappingError, match=what) as caught:
        strimzi_json.message_to_record(OPTIONS)(message)
    assert caught.value.condition == "amqp:not-implemented"
