from __future__ import annotations

import pytest
from support.java_bridge import to_record

from bridge.codec import (
    Array,
    Char,
    Decimal32,
    Described,
    Int,
    Map,
    Repeated,
    Symbol,
)
from bridge.mapping import java_objects
from bridge.mapping.java_classes import NotSerializableError
from bridge.mapping.message import Value, parse

VECTORS = {
    case: (body.value, vector.value)
    for case, vector in to_record("default").items()
    if isinstance(body := parse(vector.message).body, Value) and type(body.value) is not str
}


@pytest.mark.parametrize("case", VECTORS)
def test_a_value_is_written_as_java_wrote_it(case: str) -> None:
    value, written = VECTORS[case]
    assert java_objects.write(value) == written


def test_a_string_of_more_than_64_kilobytes_has_a_longer_length() -> None:
    written = java_objects.write(["x" * 65535, "x" * 65536])
    assert b"t\xff\xffx" in written
    assert written.endswith(b"|\x00\x00\x00\x00\x00\x01\x00\x00" + b"x" * 65536 + b"x")


def test_a_reference_has_room_for_more_than_65536_objects() -> None:
    # The class of the list, the list, the class of Integer, that of Number; then one handle each.
    written = java_objects.write([*map(Int, range(1000, 71_000)), Int(5), Int(5)])
    assert written.endswith(b"\x00\x00\x00\x05q" + (0x7E0000 + 4 + 70_000).to_bytes(4) + b"x")


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([b"octets"], "binary"),
        ([Symbol("s")], "a symbol"),
        (Map([(Symbol("s"), None)]), "a symbol"),
        ([Described(Symbol("d"), "x")], "a described value"),
        ([Decimal32(b"\0\0\0\5")], "a decimal"),
        ([Char("\U0001f600")], "first plane"),
        (Array("char", (Char("\U0001f600"),)), "first plane"),
        (Array("symbol", (Symbol("s"),)), "an array of symbol"),
        (Array("int", (Int(1),), (Symbol("d"),)), "a described value"),
        (Array("null", Repeated(None, 2**32 - 1)), "take no bytes"),
        (Map([(Array("int", (Int(1),)), "x")]), "a key"),
    ],
)
def test_what_java_could_not_write_is_refused(value: object, what: str) -> None:
    with pytest.raises(NotSerializableError, match=what):
        java_objects.write(value)
