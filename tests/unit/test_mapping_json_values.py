from __future__ import annotations

import math
from uuid import UUID

import pytest

from bridge.codec import (
    Array,
    Char,
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
from bridge.mapping import json_values

VALUES = [
    ([None, True, "é", 1.5, Long(5)], '[null,true,"é",1.5,5]'),
    (Map([("a", []), ("$b", Map())]), '{"a":[],"$$b":{}}'),
    (Map([(Int(1), "x")]), '{"$map":[[{"$int":1},"x"]]}'),
    (Map([("a", Int(1)), ("a", Int(2))]), '{"$map":[["a",{"$int":1}],["a",{"$int":2}]]}'),
    (
        [Symbol("s"), Float(0.1), math.inf, 1e300],
        '[{"$symbol":"s"},{"$float":"0.1"},{"$double":"Infinity"},1e+300]',
    ),
    ([b"\x00\xff", Char("c"), Timestamp(5)], '[{"$binary":"AP8="},{"$char":"c"},{"$timestamp":"5"}]'),
    ([UUID(int=5)], '[{"$uuid":"00000000-0000-0000-0000-000000000005"}]'),
    (Described(ULong(1), "x"), '{"$described":[{"$ulong":1},"x"]}'),
    (
        Array("int", (Int(1), Int(2)), (Symbol("d"),)),
        '{"$array":["int",[{"$symbol":"d"}],[{"$int":1},{"$int":2}]]}',
    ),
]


@pytest.mark.parametrize(("value", "text"), VALUES)
def test_a_value_is_written_and_read(value: object, text: str) -> None:
    assert json_values.write(value) == text.encode()
    assert json_values.read(text.encode()) == encode(value)


def test_elements_without_bytes_are_not_written_out() -> None:
    assert json_values.write(Array("null", Repeated(None, 2**32 - 1))) is None


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"",
        b"\xff",
        b"5",
        b'"text"',
        b"null",
        b'{"$int":5}',
        b"[1, 2]",
        b'{"a":1,"a":2}',
        b'[{"$int":"5"}]',
        b'[{"$int":2147483648}]',
        b'[{"$int":true}]',
        b'[{"$nonsense":5}]',
        b'{"$map":[1]}',
        b'{"$map":[["a",1]]}',
        b'{"$described":[1]}',
        b'{"$array":["int",[],[5]]}',
        b'{"$array":["nonsense",[],[]]}',
        b'[{"$binary":"AP8"}]',
        b"[NaN]",
        b"[9223372036854775808]",
        b'["\\ud800"]',
        b"[" * 100_000,
    ],
)
def test_json_that_no_value_gives_is_none(text: bytes | None) -> None:
    assert json_values.read(text) is None
