from __future__ import annotations

import pytest

from bridge.codec import Described, Int, Map, Symbol, UInt, ULong, encode
from bridge.mapping import native
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Data, parse
from bridge.mapping.options import MappingOptions
from bridge.mapping.raw import message_to_record, record_to_message

TIME_MS = 1_700_000_000_123
HEADERS = [("amqp.raw", b"0")]
to_record = message_to_record(MappingOptions())


def sent(*sections: tuple[int, object]) -> bytes:
    return b"".join(encode(Described(ULong(code), content)) for code, content in sections)


BARE = sent((0x75, b"body"))


def test_a_message_is_its_record_value() -> None:
    # Wide descriptors, wide lengths and an empty section: nothing is put in another form.
    message = b"\x00\x80" + bytes(7) + b"\x70\xd0\x00\x00\x00\x04\x00\x00\x00\x00\x00Sw\xb1\x00\x00\x00\x01x"
    assert to_record(message) == (message, None, HEADERS, -1, 0)
    to_message = record_to_message("t", "a", MappingOptions())
    assert to_message(3, 17, 1, TIME_MS, None, message, HEADERS, 0) == message
    assert to_message(3, 17, 1, TIME_MS, None, message, HEADERS, 5, True) == message  # noqa: FBT003 - as it is called
    assert to_message.damaged == 0


def test_key_and_partition_are_those_of_every_profile() -> None:
    annotations = Map([(Symbol("x-opt-bridge.key"), "k"), (Symbol("x-opt-bridge.partition"), Int(2))])
    message = sent((0x72, annotations), (0x75, b""))
    assert to_record(message) == (message, b"k", HEADERS, 2, 0)
    message = sent((0x71, Map([(Symbol("event-streams-target-partition"), Symbol("4"))])), (0x75, b""))
    assert to_record(message)[3] == 4
    message = sent((0x73, [*[None] * 10, "g"]), (0x75, b""))
    assert to_record(message)[1] == b"g"
    assert message_to_record(MappingOptions(key_from_group_id=False))(message)[1] is None


def test_what_forbids_headers_forbids_no_raw_message() -> None:
    strict = message_to_record(MappingOptions(headers_max=1, header_bytes_max=1, tombstones=False))
    null = sent((0x74, Map([("a", "1"), ("b", "2")])), (0x77, None))
    assert strict(null)[0] == null
    named = sent((0x72, Map([(Symbol("x-opt-bridge.key"), "k")])), (0x74, Map([("a\0b", "1")])), (0x75, b""))
    assert strict(named) == (named, b"k", HEADERS, -1, 0)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"no message",
        BARE[:-1],
        BARE + b"\x00",
        sent((0x77, "a")) + BARE,
        b"\x00St\xc1\x05\x02\xa1\x01a\x01\x00Su\xa0\x00",
        b"\x00Sw\xa1\x01\xff",
    ],
)
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(MappingError) as caught:
        to_record(message)
    assert caught.value.condition == "amqp:decode-error"


def test_a_key_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(MappingError) as caught:
        to_record(sent((0x72, Map([(Symbol("x-opt-bridge.key"), Int(5))])), (0x75, b"")))
    assert caught.value.condition == "amqp:invalid-field"


@pytest.mark.parametrize("value", [b"", b"no message", None])
def test_a_record_that_only_says_it_is_raw_is_read_as_what_it_is(value: bytes | None) -> None:
    to_message = record_to_message("t", "a", MappingOptions())
    delivered = to_message(3, 17, 1, TIME_MS, b"k", value, HEADERS, 0)
    expected = native.record_to_message("t", "a", MappingOptions())
    assert delivered == expected(3, 17, 1, TIME_MS, b"k", value, HEADERS, 0)
    assert to_message.damaged == 1
    # Sent to the native profile, it is the record that it was.
    assert native.message_to_record(MappingOptions())(delivered)[:3] == (value, b"k", HEADERS)


def test_a_raw_value_that_would_not_be_taken_is_delivered_all_the_same() -> None:
    message = sent((0x72, Map([(Symbol("x-opt-bridge.key"), Int(5))])), (0x75, b""))
    to_message = record_to_message("t", "a", MappingOptions())
    assert to_message(3, 17, 1, TIME_MS, None, message, HEADERS, 0) == message


def test_headers_that_others_added_change_nothing() -> None:
    to_message = record_to_message("t", "a", MappingOptions())
    assert to_message(3, 17, 1, TIME_MS, None, BARE, [("trace", b"1"), *HEADERS], 0) == BARE


def test_other_records_are_read_as_native_reads_them() -> None:
    to_message = record_to_message("t", "a", MappingOptions())
    stored = [("amqp.ttl", b"1000"), ("subject", b"s")]
    delivered = parse(to_message(3, 17, 1, TIME_MS, None, b"body", stored, 0))
    assert delivered.header["ttl"] == UInt(1000)
    assert delivered.properties["subject"] == "s"
    assert delivered.body == Data((b"body",))


def test_native_reads_a_raw_record_as_bytes() -> None:
    to_message = native.record_to_message("t", "a", MappingOptions())
    delivered = parse(to_message(3, 17, 1, TIME_MS, None, BARE, HEADERS, 0))
    assert delivered.body == Data((BARE,))
    assert delivered.application_properties == Map([("amqp.raw", "0")])
