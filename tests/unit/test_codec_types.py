from __future__ import annotations

import pytest

from bridge.codec import Array, Char, Decimal32, Float, Int, Map, Repeated, Symbol, Timestamp, UInt


def test_a_map_finds_keys_by_type_and_value() -> None:
    pairs = Map([(Int(1), "int"), (UInt(1), "uint"), (True, "true"), ("a", "string"), ([1], "list")])
    assert pairs.get(UInt(1)) == "uint"
    assert pairs.get(True) == "true"
    assert pairs.get([1]) == "list"
    assert pairs.get(Symbol("a")) is None
    assert pairs.get(Symbol("a"), "absent") == "absent"


def test_values_show_their_type() -> None:
    assert repr(Int(5)) == "Int(5)"
    assert f"{Timestamp(5)}" == "5"
    assert repr(Float(1.5)) == "Float(1.5)"
    assert repr(Symbol("a")) == "Symbol('a')"
    assert repr(Char("a")) == "Char('a')"
    assert repr(Decimal32(b"abcd")) == "Decimal32(b'abcd')"
    assert repr(Map([("a", Int(1))])) == "Map((('a', Int(1)),))"
    assert repr(Repeated(None, 3)) == "Repeated(None, 3)"


def test_a_repeated_value_is_a_sequence() -> None:
    repeated = Repeated("x", 5)
    assert list(repeated) == ["x"] * 5
    assert repeated[-5] == "x"
    assert repeated[1:4] == Repeated("x", 3)
    with pytest.raises(IndexError):
        repeated[5]


def test_repeated_values_are_equal_by_value_and_count() -> None:
    assert Repeated("x", 5) == Repeated("x", 5)
    assert hash(Repeated("x", 5)) == hash(Repeated("x", 5))
    assert Repeated("x", 5) != Repeated("x", 4)
    assert Repeated("x", 5) != Repeated("y", 5)
    assert Repeated("x", 0) == Repeated("y", 0)
    assert Repeated("x", 1) != ["x"]
    assert Array("null", Repeated(None, 2)) == Array("null", Repeated(None, 2))
