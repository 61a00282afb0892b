from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.codec import DecodeError, Int, Map, Symbol, Timestamp, UByte, UInt, ULong, encode
from bridge.mapping.errors import MappingError
from bridge.mapping.sections import (
    ApplicationReader,
    HeaderReader,
    Hints,
    annotation_name,
    list_frame,
    map_frame,
    read_encoded,
    read_properties,
)
from bridge.mapping.to_text import MALFORMED

if TYPE_CHECKING:
    from bridge.mapping.record import Headers


def header(*fields: object) -> Headers:
    encoded = b"?" + encode([*fields])
    headers, stop = HeaderReader().read(encoded, 1)
    assert stop == len(encoded)
    return headers


def properties(fields: list[object]) -> tuple[Headers, Hints, bytes | None]:
    headers: Headers = []
    hints: Hints = []
    encoded = b"?" + encode(fields)
    stop, group_id = read_properties(encoded, 1, headers, hints)
    assert stop == len(encoded)
    return headers, hints, group_id


def application(
    *pairs: tuple[object, object], reader: ApplicationReader | None = None
) -> tuple[Headers, Hints]:
    headers: Headers = []
    hints: Hints = []
    encoded = b"?" + encode(Map(pairs))
    assert (reader or ApplicationReader(256)).read(encoded, 1, headers, hints) == len(encoded)
    return headers, hints


def test_only_what_is_not_the_default_is_stored_of_a_header() -> None:
    assert header() == []
    assert header(None, None, None, None, None) == []
    assert header(False, UByte(4), None, False, UInt(0)) == []  # noqa: FBT003 - fields of a header
    assert header(True, UByte(9), UInt(60_000), True, UInt(3)) == [  # noqa: FBT003 - the same
        ("amqp.durable", b"true"),
        ("amqp.priority", b"9"),
        ("amqp.ttl", b"60000"),
        ("amqp.first-acquirer", b"true"),
        ("amqp.delivery-count", b"3"),
    ]


def test_a_ttl_of_0_is_not_the_same_as_none() -> None:
    assert header(None, None, UInt(0)) == [("amqp.ttl", b"0")]


@pytest.mark.parametrize(
    "fields", [[Int(1)], [None, Int(5)], [None, None, Timestamp(5)], [None] * 6, [None, None, "5"]]
)
def test_a_header_of_other_fields_is_malformed(fields: list[object]) -> None:
    with pytest.raises(DecodeError):
        header(*fields)


def test_a_header_is_remembered_by_its_bytes() -> None:
    reader = HeaderReader()
    encoded = encode([True])
    assert reader.read(encoded, 0)[0] is reader.read(b"?" + encoded, 1)[0]


def test_properties_of_their_usual_types_need_no_hints() -> None:
    fields: list[object] = [
        *("id", b"\xffuser", "to", "subject", "reply-to", "correlation", Symbol("a/b"), Symbol("gzip")),
        *(Timestamp(5), Timestamp(-1), "group", UInt(7), "reply-group"),
    ]
    assert properties(fields) == (
        [
            ("message-id", b"id"),
            ("user-id", b"\xffuser"),
            ("to", b"to"),
            ("subject", b"subject"),
            ("reply-to", b"reply-to"),
            ("correlation-id", b"correlation"),
            ("content-type", b"a/b"),
            ("content-encoding", b"gzip"),
            ("absolute-expiry-time", b"5"),
            ("creation-time", b"-1"),
            ("group-id", b"group"),
            ("group-sequence", b"7"),
            ("reply-to-group-id", b"reply-group"),
        ],
        [],
        b"group",
    )


def test_properties_of_other_types_have_hints() -> None:
    assert properties([ULong(7), "user", None, Symbol("s")]) == (
        [("message-id", b"7"), ("user-id", b"user"), ("subject", b"s")],
        [b"message-id=ulong", b"user-id=string", b"subject=symbol"],
        None,
    )


@pytest.mark.parametrize("encoded", ["45", "c00100", "c0020140", "d00000000500000001" + "40"])
def test_properties_may_be_empty(encoded: str) -> None:
    headers: Headers = []
    assert read_properties(bytes.fromhex(encoded), 0, headers, []) == (len(encoded) // 2, None)
    assert headers == []


@pytest.mark.parametrize(
    "encoded",
    [
        "c10100",
        "c00e0d" + "40" * 12,
        "c00f0e" + "40" * 14,
        "c0040140" + "4040",
        "c00401a102ff61",
        "c00301a305",
    ],
)
def test_properties_that_do_not_fit_are_malformed(encoded: str) -> None:
    with pytest.raises(MALFORMED):
        read_properties(bytes.fromhex(encoded), 0, [], [])


def test_application_properties_become_headers_and_hints() -> None:
    headers, hints = application(
        *(
            ("region", "eu"),
            ("count", Int(5)),
            ("none", None),
            ("subject", True),
            ("ü", "ö"),
            ("a" * 300, "b" * 300),
        ),
        ("list", [Int(1)]),
    )
    assert headers == [
        ("region", b"eu"),
        ("count", b"5"),
        ("none", None),
        ("app.subject", b"true"),
        ("ü", "ö".encode()),
        ("a" * 300, b"b" * 300),
        ("list", b"\xc0\x03\x01\x54\x01"),
    ]
    assert hints == [b"count=int", b"none=null", b"app.subject=boolean", b"list=amqp"]


def test_a_name_that_is_known_is_read_with_any_type() -> None:
    reader = ApplicationReader(256)
    for value, text, hints in ((Int(5), b"5", [b"a=int"]), ("5", b"5", []), (None, None, [b"a=null"])) * 2:
        assert application(("a", value), reader=reader) == ([("a", text)], hints)


def test_a_symbol_is_taken_for_a_string_as_a_key() -> None:
    assert application((Symbol("a"), "x")) == ([("a", b"x")], [])


@pytest.mark.parametrize(
    "encoded",
    [
        "c00100",
        *("c1030154a1", "c10202a1", "c10602540140", "c10802a1016b5405" + "41", "c10603a1016b5405"),
        *("c10602a1016bff05", "c10602a101ff5405", "c10702a1016ba101ff", "c1ff02a1016b5405", "c1"),
    ],
)
def test_application_properties_that_do_not_fit_are_malformed(encoded: str) -> None:
    with pytest.raises(MALFORMED):
        ApplicationReader(256).read(bytes.fromhex(encoded), 0, [], [])


def test_a_name_that_kafka_cannot_have_is_refused() -> None:
    with pytest.raises(MappingError, match="NUL"):
        application(("a\0b", "x"))


def test_footers_keep_the_encoding_of_their_values() -> None:
    headers: Headers = []
    encoded = encode(Map([(Symbol("crc"), Int(5)), (ULong(7), "x"), ("text", None)]))
    assert read_encoded(encoded, 0, "amqp.ft.", headers) == len(encoded)
    assert headers == [("amqp.ft.crc", b"\x54\x05"), ("amqp.ft.#7", b"\xa1\x01x"), ("amqp.ft.text", b"\x40")]


@pytest.mark.parametrize("key", [Int(5), True, [], b"x", None])
def test_a_footer_named_by_something_else_is_malformed(key: object) -> None:
    with pytest.raises(DecodeError, match="a symbol or ulong for a key"):
        annotation_name(encode(key), 0)


def test_frames_in_all_widths() -> None:
    assert map_frame(bytes.fromhex("c10502"), 0) == (3, 7, 2)
    assert map_frame(bytes.fromhex("d10000000800000002"), 0) == (9, 13, 2)
    assert list_frame(bytes.fromhex("c00502"), 0) == (3, 7, 2)
    assert list_frame(bytes.fromhex("d00000000800000002"), 0) == (9, 13, 2)
    assert list_frame(b"\x45", 0) == (1, 1, 0)
    with pytest.raises(DecodeError, match="a map, found 0x45"):
        map_frame(b"\x45", 0)
    with pytest.raises(DecodeError, match="a list, found 0xc1"):
        list_frame(b"\xc1", 0)


def test_too_many_are_refused_before_they_are_read() -> None:
    announced = bytes.fromhex("d1000000ff" + "00000202")
    with pytest.raises(MappingError, match="makes 257 headers, 256 are allowed") as caught:
        ApplicationReader(256).read(announced, 0, [], [])
    assert caught.value.condition == "amqp:resource-limit-exceeded"
