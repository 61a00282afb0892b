from __future__ import annotations

import pytest

from bridge.codec import Map, Symbol, encode
from bridge.mapping.encoding import as_list, as_map, name, octets, text


@pytest.mark.parametrize("size", [0, 1, 255, 256])
def test_texts_and_octets_are_what_the_codec_writes(size: int) -> None:
    assert text("x" * size) == encode("x" * size)
    assert name("x" * size) == encode(Symbol("x" * size))
    assert octets(b"x" * size) == encode(b"x" * size)


def test_null_octets() -> None:
    assert octets(None) == b"\x40"


@pytest.mark.parametrize("size", [0, 1, 252, 253, 300])
def test_lists_and_maps_are_what_the_codec_writes(size: int) -> None:
    content = text("x" * size)
    assert as_list(content, 1) == encode(["x" * size])
    assert as_map(content + b"\x40", 2) == encode(Map([("x" * size, None)]))


def test_many_small_elements_take_the_wide_form() -> None:
    assert as_list(b"\x40" * 300, 300) == encode([None] * 300)
