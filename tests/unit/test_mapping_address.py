from __future__ import annotations

import proton
import pytest

from bridge.codec import Described, Map, Symbol, ULong, encode
from bridge.mapping.address import read_to
from bridge.mapping.errors import MappingError
from bridge.model import conditions


def message(**fields: object) -> bytes:
    return bytes(proton.Message(body=b"body", **fields).encode())


def test_the_destination_of_a_message() -> None:
    assert read_to(message(address="orders")) == "orders"
    assert read_to(message(address="größe", id="1", user_id=b"me", durable=True)) == "größe"
    assert read_to(message(address="a" * 300)) == "a" * 300


def test_annotations_before_the_properties_are_passed_over() -> None:
    annotated = message(
        address="orders",
        annotations={proton.symbol("x-opt-a"): {"k": [1, 2]}},
        instructions={proton.symbol("b"): 1},
    )
    assert read_to(annotated) == "orders"


@pytest.mark.parametrize(
    "encoded",
    [
        message(),
        message(id="1"),
        message(subject="orders"),
        encode(Described(ULong(0x75), b"body")),
        encode(Described(ULong(0x73), [None, None])),
        b"",
    ],
)
def test_a_message_may_have_none(encoded: bytes) -> None:
    assert read_to(encoded) is None


def test_descriptors_may_be_symbols() -> None:
    encoded = encode(Described(Symbol("amqp:properties:list"), [None, None, "orders"]))
    assert read_to(encoded + encode(Described(Symbol("amqp:data:binary"), b"body"))) == "orders"


@pytest.mark.parametrize(
    "encoded",
    [
        b"\x00Ss\xc0\x05",
        b"nonsense",
        encode(Described(ULong(0x73), [None, None, Symbol("orders")])),
        encode(Described(ULong(0x73), Map())),
        b"\x00Ss\xc0\x06\x03@@\xa1\x01\xff",
    ],
)
def test_what_is_no_message_is_a_decode_error(encoded: bytes) -> None:
    with pytest.raises(MappingError) as raised:
        read_to(encoded)
    assert raised.value.condition == conditions.DECODE_ERROR
