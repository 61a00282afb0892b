from __future__ import annotations

from uuid import UUID

import pytest
from support.filtering import message, view

from bridge.codec import Described, Int, Long, Map, Symbol, UByte, UInt, ULong, encode
from bridge.filters.view import View


def test_what_is_asked_for_is_decoded_with_its_type() -> None:
    seen = view(
        {"region": "eu", "count": Int(7), "trace": UUID(int=1), "long": "x" * 300},
        header={"durable": True, "priority": UByte(9), "delivery-count": UInt(2)},
        annotations={"x-opt-offset": "12", "x-opt-sequence-number": Long(12)},
        properties={"message-id": ULong(5), "subject": "orders", "group-sequence": UInt(3)},
    )
    assert seen.application_property("region") == "eu"
    assert type(seen.application_property("count")) is Int
    assert seen.application_property("trace") == UUID(int=1)
    assert seen.application_property("long") == "x" * 300
    assert seen.header("priority") == 9
    assert seen.header("delivery-count") == 2
    assert seen.header("ttl") is None
    assert seen.message_annotation("x-opt-sequence-number") == 12
    assert seen.properties("message-id") == 5
    assert seen.properties("subject") == "orders"
    assert seen.properties("group-sequence") == 3
    assert seen.properties("reply-to-group-id") is None


def test_what_is_not_there_is_none() -> None:
    seen = view()
    assert seen.header("durable") is None
    assert seen.properties("subject") is None
    assert seen.application_property("region") is None
    assert seen.message_annotation("x-opt-a") is None
    assert View(b"").application_property("region") is None


def test_a_property_that_is_null_is_there() -> None:
    seen = view({"region": None})
    assert seen.application_property("region") is None
    assert seen.has_application_property("region")
    assert not seen.has_application_property("count")


def test_names_of_any_length_and_symbols_for_names() -> None:
    pairs = Map([("n" * 300, Int(1)), (Symbol("region"), "eu"), ("", Int(2))])
    seen = View(encode(Described(ULong(0x74), pairs)))
    assert seen.application_property("n" * 300) == 1
    assert seen.application_property("region") == "eu"
    assert seen.application_property("") == 2


def test_the_first_of_two_properties_of_a_name_counts() -> None:
    pairs = Map([("a", Int(1)), ("a", Int(2))])
    assert View(encode(Described(ULong(0x74), pairs))).application_property("a") == 1


def test_values_of_every_size_are_walked_over() -> None:
    before = [None, True, Int(1), Long(2**40), 1.5, UUID(int=2), b"x" * 300, [Int(1)], Map(), ("t" * 300)]
    pairs = Map([*((f"p{place}", value) for place, value in enumerate(before)), ("last", "here")])
    described = Map([("p", Described(Symbol("d"), Described(Symbol("e"), [Int(1)]))), ("last", "here")])
    for each in (pairs, described):
        assert View(encode(Described(ULong(0x74), each))).application_property("last") == "here"


def test_keys_that_are_no_text_are_passed_over() -> None:
    pairs = Map([(ULong(4), "four"), (Symbol("x-opt-a"), Int(1))])
    assert View(encode(Described(ULong(0x72), pairs))).message_annotation("x-opt-a") == 1


def test_sections_may_have_symbols_for_descriptors() -> None:
    section = encode(Described(Symbol("amqp:application-properties:map"), Map([("a", Int(1))])))
    large = b"\x00\x80" + (0x74).to_bytes(8, "big") + encode(Map([("a", Int(1))]))
    for each in (section, large):
        assert View(encode(Described(ULong(0x70), [True])) + each).application_property("a") == 1


@pytest.mark.parametrize(
    "payload",
    [
        b"\x00",
        b"\x00St",
        b"\x00St\xc1",
        b"\x00St\xc1\x05\x02\xa1\x01a",
        b"\x00St\xc1\x05\x02\xa1\x09a\x41\x41",
        b"\x00St\xd1\x00\x00\x00\xff\x00\x00\x00\x02\xa1\x01a\x41",
        b"\x00Ss\xc0\xff\x0d\x40",
        b"\x00Ss\xc0\x02\x0d\x40",
        b"\x00Ss\x41",
        b"\x00St\x45",
        b"\x00\xff\xff",
        b"not AMQP",
    ],
)
def test_what_is_malformed_is_absent(payload: bytes) -> None:
    seen = View(payload)
    assert seen.application_property("a") is None
    assert seen.properties("subject") is None
    assert seen.header("durable") is None
    assert seen.message_annotation("a") is None


def test_a_malformed_value_is_absent_and_the_others_are_not() -> None:
    seen = View(b"\x00St\xc1\x0c\x04\xa1\x01a\xa1\x01\xff\xa1\x01b\x54\x07")
    assert seen.application_property("a") is None
    assert seen.application_property("b") == 7


def test_the_body_is_not_looked_at() -> None:
    assert View(message({"a": Int(1)}) + b"\xff\xff").application_property("a") == 1
    hidden = message() + encode(Described(ULong(0x74), Map([("a", Int(1))])))
    assert View(hidden).application_property("a") is None
