from __future__ import annotations

import pytest

from bridge.mapping import eventhubs_values
from bridge.mapping.to_text import MALFORMED


@pytest.mark.parametrize(
    ("sent", "header"),
    [
        (b"\x71\x00\x00\x00\x05", b"\x71\x00\x00\x00\x05"),
        (b"\x54\x05", b"\x54\x05"),
        (b"\x56\x01", b"\x41"),
        (b"\x56\x00", b"\x42"),
        (b"\x40", b"\x40"),
        (b"\xb1\x00\x00\x00\x01a", b"\xb1\x00\x00\x00\x01a"),
        (b"\xc0\x03\x01\x56\x01", b"\xc0\x03\x01\x56\x01"),
    ],
)
def test_a_value_keeps_its_encoding_unless_it_is_a_long_boolean(sent: bytes, header: bytes) -> None:
    assert eventhubs_values.value(b"??" + sent + b"!", 2) == (header, 2 + len(sent))
    assert eventhubs_values.encoded(header) == header


@pytest.mark.parametrize("sent", [b"\x56\x02", b"\x01", b"", b"\x71\x00", b"\xa1\x01\xff", b"\xc0\x03\x01"])
def test_what_is_no_value_is_refused(sent: bytes) -> None:
    with pytest.raises(MALFORMED):
        eventhubs_values.value(sent, 0)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (None, b"\x40"),
        (b"", b"\xa1\x00"),
        (b"text", b"\xa1\x04text"),
        (b"\xff", b"\xa0\x01\xff"),
        (b"\x41\x41", b"\xa1\x02AA"),
        (b"\x56\x01", b"\x41"),
        (b"\x56\x00", b"\x42"),
    ],
)
def test_a_header_that_is_no_such_value_is_read_some_other_way(header: bytes | None, value: bytes) -> None:
    assert eventhubs_values.encoded(header) is None
    assert eventhubs_values.otherwise(header) == value


def test_the_hint_of_a_body_is_an_encoded_string() -> None:
    assert eventhubs_values.hint(b"\xa1\x04none") == b"none"
    refused = (None, b"", b"none", b"\xa3\x04none", b"\xb1\x00\x00\x00\x04none", b"\xa1\x05none", b"\x40")
    for header in refused:
        assert eventhubs_values.hint(header) is None


def test_only_the_bridges_own_marker_is_a_marker() -> None:
    assert eventhubs_values.marker(b"\x41") == b"\x41"
    assert eventhubs_values.marker(b"\x54\x00") is None


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("message-id", b"id", b"\xa1\x02id"),
        ("message-id", b"\xff", b"\xa0\x01\xff"),
        ("user-id", b"me", b"\xa0\x02me"),
        ("content-type", b"a/b", b"\xa3\x03a/b"),
        ("content-type", b"\xc3\xa9", b"\xa1\x02\xc3\xa9"),
        ("creation-time", b"5", b"\x83" + bytes(7) + b"\x05"),
        ("creation-time", b"now", None),
        ("to", None, None),
    ],
)
def test_the_seven_properties_are_text(name: str, text: bytes | None, value: bytes | None) -> None:
    assert eventhubs_values.TEXTS[name](text) == value
