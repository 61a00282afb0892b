"""Strategies for AMQP values of every type, and for messages made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from bridge.codec import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Long,
    Map,
    Repeated,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
    encode,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

HEADER, ANNOTATIONS, PROPERTIES, APPLICATION, FOOTER = 0x70, 0x72, 0x73, 0x74, 0x78
DATA, SEQUENCE, VALUE = 0x75, 0x76, 0x77


def integers(kind: type[int], bits: int, *, signed: bool) -> SearchStrategy[object]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    near = st.integers(max(low, -200), min(high, 300))
    return (near | st.integers(low, high)).map(kind)


def _one_nan(value: float) -> float:
    return value if value == value else float("nan")  # noqa: PLR0124 - the test for NaN


symbols = st.text(st.characters(max_codepoint=127), max_size=12).map(Symbol)
strings = st.text(max_size=12) | st.text("ab", min_size=250, max_size=260)
binaries = st.binary(max_size=12) | st.binary(min_size=250, max_size=260)
chars = st.characters(exclude_categories=["Cs"]).map(Char)
doubles = st.floats().map(_one_nan)
floats = st.floats(width=32).map(_one_nan).map(Float)

BY_TYPE: dict[str, SearchStrategy[object]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "ubyte": integers(UByte, 8, signed=False),
    "ushort": integers(UShort, 16, signed=False),
    "uint": integers(UInt, 32, signed=False),
    "ulong": integers(ULong, 64, signed=False),
    "byte": integers(Byte, 8, signed=True),
    "short": integers(Short, 16, signed=True),
    "int": integers(Int, 32, signed=True),
    "long": integers(Long, 64, signed=True),
    "float": floats,
    "double": doubles,
    "decimal32": st.binary(min_size=4, max_size=4).map(Decimal32),
    "decimal64": st.binary(min_size=8, max_size=8).map(Decimal64),
    "decimal128": st.binary(min_size=16, max_size=16).map(Decimal128),
    "char": chars,
    "timestamp": integers(Timestamp, 64, signed=True),
    "uuid": st.uuids(),
    "binary": binaries,
    "string": strings,
    "symbol": symbols,
}

scalars: SearchStrategy[object] = st.one_of(*BY_TYPE.values())

_descriptors = st.lists(symbols | BY_TYPE["ulong"], max_size=2).map(tuple)


def _arrays_of(element: str, items: SearchStrategy[object]) -> SearchStrategy[object]:
    if element == "null":
        counts = st.integers(1, 2**32 - 1)
        repeated = st.builds(Repeated, st.none(), counts)
        return st.builds(Array, st.just(element), repeated, _descriptors)
    return st.builds(Array, st.just(element), st.lists(items, max_size=4).map(tuple), _descriptors)


def _compounds(inner: SearchStrategy[object]) -> SearchStrategy[object]:
    lists = st.lists(inner, max_size=4)
    maps = st.lists(st.tuples(inner, inner), max_size=3).map(Map)
    arrays = st.one_of(*(_arrays_of(name, values) for name, values in BY_TYPE.items()))
    nested = _arrays_of("list", lists) | _arrays_of("map", maps) | _arrays_of("array", arrays)
    described = st.builds(Described, symbols | BY_TYPE["ulong"] | inner, inner)
    return lists | maps | arrays | nested | described


values: SearchStrategy[object] = st.recursive(scalars, _compounds, max_leaves=8)
compounds: SearchStrategy[object] = _compounds(values)


@dataclass
class Message:
    """A message as its sections; a section that is empty is left out of the encoded message."""

    header: list[object] = field(default_factory=list)
    annotations: list[tuple[object, object]] = field(default_factory=list)
    properties: list[object] = field(default_factory=list)
    application: list[tuple[object, object]] = field(default_factory=list)
    body: list[tuple[int, object]] = field(default_factory=list)
    footer: list[tuple[object, object]] = field(default_factory=list)

    def encoded(self) -> bytes:
        sections: list[tuple[int, object]] = []
        if self.header:
            sections.append((HEADER, self.header))
        if self.annotations:
            sections.append((ANNOTATIONS, Map(self.annotations)))
        if self.properties:
            sections.append((PROPERTIES, self.properties))
        if self.application:
            sections.append((APPLICATION, Map(self.application)))
        sections += self.body
        if self.footer:
            sections.append((FOOTER, Map(self.footer)))
        return b"".join(encode(Described(ULong(code), value)) for code, value in sections)


def _named(
    keys: SearchStrategy[object], content: SearchStrategy[object]
) -> SearchStrategy[list[tuple[object, object]]]:
    return st.lists(st.tuples(keys, content), max_size=5, unique_by=lambda pair: encode(pair[0]))


_no_nul = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
_odd_names = st.sampled_from(
    [
        *("", "subject", "to", "creation-time", "user-id", "amqp-types", "amqp.body", "amqp.ma.a"),
        *("amqp.durable", "app.", "app.subject", "app.app.x", "x-opt-a", "traceparent"),
        *("tracestate", "AMQPheaders", "a;b=c", "a%3b", "é", "x-opt-é", "#1", "%23", "application"),
    ]
)
_annotation_names = st.sampled_from(
    [
        *("x-opt-jms-msg-type", "x-opt-a", "plain", "#1", "#", "%23", "%", "traceparent"),
        *("tracestate", "amqp.ma.x", "subject", "", "x-opt-", "event-streams-group-key-not"),
    ]
).map(Symbol)

_ids = BY_TYPE["ulong"] | st.uuids() | binaries | strings
_property_types: list[SearchStrategy[object]] = [
    *(_ids, binaries, strings, strings, strings, _ids, symbols, symbols),
    *(BY_TYPE["timestamp"], BY_TYPE["timestamp"], strings, BY_TYPE["uint"], strings),
]

bodies: SearchStrategy[list[tuple[int, object]]] = st.one_of(
    st.lists(st.tuples(st.just(DATA), binaries), min_size=1, max_size=3),
    st.lists(st.tuples(st.just(SEQUENCE), st.lists(values, max_size=3)), min_size=1, max_size=3),
    values.map(lambda value: [(VALUE, value)]),
    st.just([]),
)

messages: SearchStrategy[Message] = st.builds(
    Message,
    header=st.just([])
    | st.tuples(
        *(st.none() | st.booleans(), st.none() | BY_TYPE["ubyte"], st.none() | BY_TYPE["uint"]),
        *(st.none() | st.booleans(), st.none() | BY_TYPE["uint"]),
    ).map(list),
    annotations=_named(
        _annotation_names
        | BY_TYPE["ulong"]
        | _no_nul.filter(str.isascii).filter(lambda name: not name.startswith("x-opt")).map(Symbol),
        scalars | values,
    ),
    properties=st.just([]) | st.tuples(*(st.none() | kind for kind in _property_types)).map(list),
    application=_named(_odd_names | _no_nul, scalars | compounds),
    body=bodies,
    footer=_named(_no_nul.filter(str.isascii).map(Symbol) | BY_TYPE["ulong"], values),
)
