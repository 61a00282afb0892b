from __future__ import annotations

import json
import math
from uuid import UUID

import pytest

from bridge.codec import (
    Array,
    Byte,
    Char,
    Decimal64,
    Described,
    Float,
    Int,
    Long,
    Map,
    Repeated,
    Symbol,
    Timestamp,
    ULong,
    encode,
)
from bridge.mapping import strimzi_json_values as values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (-0.012, "-0.012"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (1234567.125, "1234567.125"),
        (12345678.125, "1.2345678125E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (Float(0.1), "0.1"),
        (Float(16777216.0), "1.6777216E7"),
        (math.nan, '"NaN"'),
        (-math.inf, '"-Infinity"'),
    ],
)
def test_numbers_have_the_text_that_java_gives_them(value: float, text: str) -> None:
    assert values.write(value) == text


def test_characters_are_escaped_as_java_does() -> None:
    assert values.write('\x00\x1f\b\t\n\f\r"\\/\x7f\u2028é') == (
        '"\\u0000\\u001F\\b\\t\\n\\f\\r\\"\\\\/\x7f\u2028é"'
    )


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (Timestamp(5), Int(5)),
        (Long(2**31), Long(2**31)),
        (Long(-(2**31)), Int(-(2**31))),
        (ULong(2**63), ULong(2**63)),
        (Float(0.1), 0.1),
        (Symbol("s"), "s"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (b"\xfb\xff", b"\xfb\xff"),
        (Array("byte", (Byte(-1),)), "_w"),
        (Array("char", (Char("a"), Char("b"))), "ab"),
        (Array("int", (Int(1),)), [Int(1)]),
        (
            Array("int", (Int(1),), (Symbol("a"), Symbol("b"))),
            [
                Map(
                    [
                        ("descriptor", "a"),
                        ("described", Map([("descriptor", "b"), ("described", Int(1))])),
                    ]
                )
            ],
        ),
        (Described(ULong(1), None), Map([("descriptor", Int(1)), ("described", None)])),
        (Map([(Long(5), "a"), (True, "b"), (1.5, "c")]), Map([("5", "a"), ("true", "b"), ("1.5", "c")])),
        (Map([("a", Int(1)), ("b", Int(2)), ("a", Int(3))]), Map([("a", Int(3)), ("b", Int(2))])),
        (Map([("length", Int(1))]), Map([("length", Int(1))])),
    ],
)
def test_a_value_is_read_as_what_json_leaves_of_it(value: object, back: object) -> None:
    text = values.write(value)
    assert encode(values.read(json.loads(text))) == encode(back)


@pytest.mark.parametrize(
    "text",
    [
        '{"length":3,"array":"AP8","arrayOffset":0}',
        '{"length":2,"array":"AP8","arrayOffset":1}',
        '{"length":2,"array":"*","arrayOffset":0}',
        '{"length":2,"array":5,"arrayOffset":0}',
        '{"length":2,"array":"AP8"}',
    ],
)
def test_what_only_looks_like_binary_is_a_map(text: str) -> None:
    assert isinstance(values.read(json.loads(text)), Map)


@pytest.mark.parametrize("text", ["+/8=", "+/8", "-_8=", "-_8"])
def test_base64_is_read_in_both_alphabets(text: str) -> None:
    assert values.decode_base64(text) == b"\xfb\xff"


@pytest.mark.parametrize("text", ["A", "é", "a b", 5, None])
def test_what_is_no_base64_is_none(text: object) -> None:
    assert values.decode_base64(text) is None


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (Decimal64(bytes(8)), "a decimal"),
        (Array("decimal64", (Decimal64(bytes(8)),)), "a decimal"),
        (Array("null", Repeated(None, 2**32 - 1)), "take no bytes"),
        (Map([(Timestamp(5), "x")]), "a key"),
        (Map([(b"", "x")]), "a key"),
        (Map([(None, "x")]), "a key"),
        (Map([("1", "x"), (Int(1), "y")]), "the same text"),
    ],
)
def test_a_value_without_a_form_is_refused(value: object, what: str) -> None:
    with pytest.raises(values.NoFormError, match=what):
        values.write(value)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_an_integer_that_amqp_does_not_have_is_refused(number: int) -> None:
    with pytest.raises(values.NoFormError):
        values.read([number])


def test_a_property_is_text_whatever_it_was() -> None:
    assert values.text_of("é") == "é"
    assert values.text_of({"a": [1, None]}) == '{"a":[1,null]}'
