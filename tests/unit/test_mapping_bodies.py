from __future__ import annotations

import pytest

from bridge.codec import DecodeError, Described, Int, Map, Symbol, ULong, encode
from bridge.mapping.bodies import BodyReader, write
from bridge.mapping.errors import MappingError
from bridge.mapping.options import MappingOptions

read = BodyReader(MappingOptions()).read


def section(code: int, content: object) -> bytes:
    return encode(Described(ULong(code), content))


BODIES = [
    ([(0x75, b"")], b"", None),
    ([(0x75, b"abc")], b"abc", None),
    ([(0x75, b"x" * 300)], b"x" * 300, None),
    ([(0x75, b"abc"), (0x75, b""), (0x75, b"d" * 300)], b"abc" + b"d" * 300, b"data;3,0,300"),
    ([(0x77, "é")], b"\xc3\xa9", b"value;string"),
    ([(0x77, b"\xff")], b"\xff", b"value;binary"),
    ([(0x77, None)], None, b"value;null"),
    ([(0x77, Int(5))], b"5", b"value;int"),
    ([(0x77, True)], b"true", b"value;boolean"),
    ([(0x77, Symbol("a"))], b"a", b"value;symbol"),
    ([(0x77, 1.5)], b"1.5", b"value;double"),
    ([(0x77, Map([("a", Int(5))]))], b"\xc1\x06\x02\xa1\x01a\x54\x05", b"value;amqp"),
    ([(0x77, [])], b"\x45", b"value;amqp"),
    ([(0x76, [Int(1)])], b"\x00\x53\x76\xc0\x03\x01\x54\x01", b"sequence;1"),
    ([(0x76, []), (0x76, [])], b"\x00\x53\x76\x45\x00\x53\x76\x45", b"sequence;2"),
    ([], b"", b"none"),
]


@pytest.mark.parametrize(("sections", "value", "hint"), BODIES)
def test_each_kind_of_body_and_its_value(
    sections: list[tuple[int, object]], value: bytes | None, hint: bytes | None
) -> None:
    encoded = b"".join(section(*each) for each in sections)
    assert read(b"?" + encoded, 1) == (value, hint, 1 + len(encoded))
    assert hint is None or write(value, hint) == encoded


def test_a_body_ends_where_a_footer_begins() -> None:
    assert read(b"\x00Su\xa0\x01x\x00Sx\xc1\x01\x00", 0) == (b"x", None, 6)
    assert read(b"\x00Sx\xc1\x01\x00", 0) == (b"", b"none", 0)


def test_a_map_as_json() -> None:
    as_json = BodyReader(MappingOptions(value_as_json=True)).read
    encoded = section(0x77, Map([("a", Int(5))]))
    assert as_json(encoded, 0) == (b'{"a":{"$int":5}}', b"value;json", len(encoded))
    assert write(b'{"a":{"$int":5}}', b"value;json") == encoded
    assert as_json(section(0x77, "text"), 0)[:2] == (b"text", b"value;string")


def test_a_null_is_refused_where_tombstones_are() -> None:
    deny = BodyReader(MappingOptions(tombstones=False)).read
    with pytest.raises(MappingError) as caught:
        deny(section(0x77, None), 0)
    assert caught.value.condition == "amqp:not-allowed"
    assert deny(section(0x77, ""), 0)[0] == b""


@pytest.mark.parametrize("encoded", [section(0x75, "text"), section(0x76, Map()), b"\x00Sv\xa1\x01x"])
def test_a_section_of_the_wrong_type_is_malformed(encoded: bytes) -> None:
    with pytest.raises(DecodeError):
        read(encoded, 0)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (b"abc", None),
        (b"abc", b"nonsense"),
        (b"abc", b"none"),
        (None, b"none"),
        (None, b"data;0,0"),
        (None, b"sequence;1"),
        (None, b"value;string"),
        (b"", b"value;null"),
        (b"abc", b"data;3"),
        (b"abc", b"data;1,1"),
        (b"abc", b"data;01,2"),
        (b"abc", b"data;1,2,"),
        (b"abc", b"data;"),
        (b"abc", b"data;-1,4"),
        (b"abc", b"data;99999999999,1"),
        (b"abc", b"value;int"),
        (b"\xff", b"value;string"),
        (b"abc", b"value;nonsense"),
        (b"abc", b"value;annotation"),
        (b"abc", b"value;\xff"),
        (b"\x71\x00\x00\x00\x05", b"value;amqp"),
        (b"[1,", b"value;json"),
        (b"", b"sequence;0"),
        (b"\x00\x53\x76\x45", b"sequence;2"),
        (b"\x00\x53\x76\x45", b"sequence;01"),
        (b"\x00\x53\x77\x45", b"sequence;1"),
        (b"\x00\x53\x76\xa1\x01x", b"sequence;1"),
        (b"\x00\x80" + bytes(7) + b"\x76\x45", b"sequence;1"),
        (b"\x00\x53\x76", b"sequence;1"),
    ],
)
def test_a_hint_that_does_not_fit_is_damaged(value: bytes | None, hint: bytes | None) -> None:
    assert write(value, hint) is None
