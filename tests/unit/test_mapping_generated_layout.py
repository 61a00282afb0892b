"""What is particular to layouts that are generated source: see test_mapping_layout.py for all others."""

from __future__ import annotations

from support.layouts import TIME_MS, Headers, made, ordinary

from bridge.mapping.generated_layout import Heads


def test_no_name_and_no_value_gets_into_the_source() -> None:
    hostile: Headers = [('"); raise SystemExit(1) #', b"'); raise SystemExit(1) #"), ("{x}\n", b"\n")]
    encode = made("generated", hostile)
    assert encode is not None
    assert encode(3, 17, TIME_MS, None, b"body", hostile) == ordinary(hostile)


def test_the_head_of_a_section_by_its_size() -> None:
    heads = Heads((b"\x00St", 0xC1), 4)
    assert heads[0] == b""
    assert heads[254] == b"\x00St\xc1\xff\x04"
    assert heads[255] == b"\x00St\xd1\x00\x00\x01\x03\x00\x00\x00\x04"
    assert Heads((b"\x00St", 0xC1), 256)[3] == b"\x00St\xd1\x00\x00\x00\x07\x00\x00\x01\x00"
