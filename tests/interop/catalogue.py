"""The messages that every client sends: each kind of body and property, again and again.

A message is described in JSON by its sections:

    {"kind": "value ulong", "repetition": 1,
     "header": {"priority": <value>},
     "message-annotations": [[<key>, <value>], ...],       (delivery-annotations and footer too)
     "properties": {"message-id": <value>},
     "application-properties": [["name", <value>], ...],
     "body": {"kind": "none"} | {"kind": "data", "sections": [<hexadecimal digits>, ...]}
             | {"kind": "value", "value": <value>} | {"kind": "sequence", "sections": [[<value>, ...], ...]}}

The n-th repetition of a kind is the same message for every client. Knows nothing of the bridge but the
names of annotations that it understands.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from interop.features import JMS_TYPES, features
from interop.values import (
    PRIMITIVES,
    Source,
    Value,
    array,
    described,
    string,
    symbol,
    value,
)

if TYPE_CHECKING:
    from collections.abc import Collection

MESSAGES: Final = 1000
"""How many every client sends."""

Message: TypeAlias = dict[str, Any]
Build: TypeAlias = Callable[[Source], Message]

ARRAYS: Final = (
    *("boolean", "ushort", "uint", "ulong", "short", "int", "long", "float", "double"),
    *("timestamp", "uuid", "binary", "string", "symbol"),
)
"""Types of elements of arrays."""
TRACEPARENT: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

_SIMPLE: Final[Message] = {"kind": "data", "sections": ["6d657373616765"]}
_FUTURE_MS: Final = 4_102_444_800_000
"""The year 2100: a message that had expired would not come back."""


def messages(lacking: Collection[str] = (), count: int = MESSAGES) -> list[Message]:
    """Give the messages that need none of the features that a client lacks."""
    fit = (each for each in _all() if features(each).isdisjoint(lacking))
    return list(itertools.islice(fit, count))


def kinds(lacking: Collection[str] = ()) -> int:
    """Tell how many messages there are until the kinds repeat."""
    return sum(features(_message(kind, 0)).isdisjoint(lacking) for kind in _KINDS)


def _all() -> Iterator[Message]:
    for repetition in itertools.count():
        for kind in _KINDS:
            yield _message(kind, repetition)


def _message(kind: str, repetition: int) -> Message:
    built = _KINDS[kind](Source(kind, repetition))
    return {"kind": kind, "repetition": repetition, "body": _SIMPLE, **built}


def _body_value(inner: Value) -> Message:
    return {"body": {"kind": "value", "value": inner}}


def _sections(*sections: str) -> Message:
    return {"body": {"kind": "data", "sections": list(sections)}}


def _primitive(kind: str) -> Build:
    return lambda source: _body_value(source.value(kind))


def _application(kind: str) -> Build:
    return lambda source: {"application-properties": [["name", source.value(kind)]]}


def _annotation(kind: str) -> Build:
    return lambda source: {"message-annotations": [[symbol(f"x-opt-{kind}"), source.value(kind)]]}


def _annotations(*pairs: tuple[str, Value]) -> Build:
    return lambda _: {"message-annotations": [[symbol(name), each] for name, each in pairs]}


def _property(name: str, kind: str) -> Build:
    return lambda source: {"properties": {name: _property_value(source, name, kind)}}


def _header(*names: str) -> Build:
    return lambda source: {"header": {name: _header_value(source, name) for name in names}}


def _array_of(kind: str) -> Build:
    return lambda source: _body_value(array(kind, (source.value(kind), Source(kind, 1).value(kind))))


def _header_value(source: Source, name: str) -> Value:
    number = source.repetition
    return {
        "durable": value("boolean", "true"),
        "priority": value("ubyte", str(number % 10)),
        "ttl": value("uint", str(3_600_000 + number)),
        "first-acquirer": value("boolean", "true"),
        "delivery-count": value("uint", str(1 + number)),
    }[name]


def _property_value(source: Source, name: str, kind: str) -> Value:
    if kind == "timestamp":  # in eighths of a second: Proton's API has seconds, in floating point
        return value(kind, str(_FUTURE_MS + 125 * source.random.randrange(1_000_000)))
    if name == "group-sequence":  # the libraries do not agree on whether 0 is a value
        return value(kind, str(2**32 - 1 - source.repetition))
    if name in {"message-id", "correlation-id"}:
        return source.value(kind)
    text = f"{name} {source.repetition}"
    if kind == "binary":
        return value(kind, text.encode().hex())
    return value(kind, text.replace(" ", "/") if kind == "symbol" else f"{text} grüße")


def _list(source: Source) -> Message:
    common = ("null", "boolean", "int", "long", "double", "string", "binary")
    elements = [source.value(kind) for kind in common[: source.repetition + 1]]
    nested = value("list", [*elements, value("map", [[string("a"), value("list", [])]])])
    return _body_value(value("list", [] if source.repetition == 0 else [*elements, nested]))


def _list_of(kind: str) -> Build:
    return lambda source: _body_value(value("list", [source.value(kind), string("next")]))


def _map(source: Source) -> Message:
    pairs = [[string(f"{kind} key"), source.value(kind)] for kind in sorted(JMS_TYPES - {"char", "null"})]
    return _body_value(value("map", [] if source.repetition == 0 else pairs))


def _map_of_anything(source: Source) -> Message:
    inner = value("map", [[string("list"), value("list", [source.value("ulong")])]])
    keys = (source.value("symbol"), source.value("int"), source.value("uuid"), string("map"))
    return _body_value(value("map", [*([key, source.value("uint")] for key in keys[:3]), [keys[3], inner]]))


def _described(source: Source) -> Message:
    descriptor = symbol("example:point") if source.repetition % 2 else value("ulong", "300")
    return _body_value(described(descriptor, value("list", [source.value("int"), source.value("string")])))


def _list_of_described(source: Source) -> Message:
    return _body_value(value("list", [_described(source)["body"]["value"], source.value("int")]))


def _sequence(source: Source) -> Message:
    elements = [source.value(kind) for kind in sorted(JMS_TYPES)]
    return {"body": {"kind": "sequence", "sections": [[] if source.repetition == 0 else elements]}}


def _sequences(source: Source) -> Message:
    sections = [
        [source.value("int"), source.value("symbol")],
        [],
        [value("list", [source.value("string")])],
    ]
    return {"body": {"kind": "sequence", "sections": sections}}


def _all_properties(source: Source) -> Message:
    return {
        "properties": {name: _property_value(source, name, kinds[0]) for name, kinds in _PROPERTIES.items()}
    }


def _names(source: Source) -> Message:
    names = (
        *("plain", "grüße 日本", "with space", "a;b=c%25", "message-id", "subject", "amqp-types"),
        *("AMQPheaders", "amqp.durable", "amqp.body", "app.name", "x-opt-name", "traceparent"),
    )
    return {"application-properties": [[name, source.value("string")] for name in names]}


def _many(source: Source) -> Message:
    kinds = ("boolean", "int", "double", "string", "long")
    pairs = [[f"p{number}", source.value(kinds[number % 5])] for number in range(40)]
    return {"application-properties": pairs}


def _traces(source: Source) -> Message:
    traces = [[symbol("traceparent"), string(TRACEPARENT)], [symbol("tracestate"), string("a=1")]]
    built: Message = {"message-annotations": traces}
    if source.repetition % 2:
        built["application-properties"] = [["traceparent", string("of the application")]]
    return built


def _compound_annotations(source: Source) -> Message:
    return {
        "message-annotations": [
            [symbol("x-opt-list"), value("list", [source.value("int"), source.value("string")])],
            [symbol("x-opt-map"), value("map", [[string("key"), source.value("long")]])],
        ]
    }


def _footer(source: Source) -> Message:
    pairs = [[symbol(f"x-opt-{kind}"), source.value(kind)] for kind in ("int", "string", "binary")]
    return {"footer": [*pairs, [symbol("x-opt-list"), value("list", [source.value("ulong")])]]}


def _delivery_annotations(source: Source) -> Message:
    pairs = [[symbol("x-opt-one-hop"), source.value("string")]]
    if source.repetition % 2:
        pairs.append([symbol("event-streams-target-partition"), symbol("0")])
    return {"delivery-annotations": pairs}


def _all_of_jms(source: Source) -> Message:
    names = ("subject", "reply-to", "correlation-id", "group-id", "group-sequence", "reply-to-group-id")
    kinds = ("boolean", "byte", "short", "int", "long", "float", "double", "string")
    return {
        "header": {name: _header_value(source, name) for name in ("durable", "priority", "ttl")},
        "properties": {name: _property_value(source, name, _PROPERTIES[name][0]) for name in names},
        "application-properties": [[kind, source.value(kind)] for kind in kinds],
        **_primitive("string")(source),
    }


def _everything(source: Source) -> Message:
    return {
        "header": {name: _header_value(source, name) for name in _HEADER},
        "message-annotations": [[symbol("x-opt-int"), source.value("int")], [symbol("custom"), string("a")]],
        "properties": {name: _property_value(source, name, kinds[0]) for name, kinds in _PROPERTIES.items()},
        "application-properties": [[kind, source.value(kind)] for kind in ("int", "string", "boolean")],
        **_list(source),
        "footer": [[symbol("x-opt-footer"), source.value("int")]],
    }


_HEADER: Final = ("durable", "priority", "ttl", "first-acquirer", "delivery-count")
_PROPERTIES: Final = {
    "message-id": ("string", "ulong", "uuid", "binary"),
    "user-id": ("binary",),
    "to": ("string",),
    "subject": ("string",),
    "reply-to": ("string",),
    "correlation-id": ("string", "ulong", "uuid", "binary"),
    "content-type": ("symbol",),
    "content-encoding": ("symbol",),
    "absolute-expiry-time": ("timestamp",),
    "creation-time": ("timestamp",),
    "group-id": ("string",),
    "group-sequence": ("uint",),
    "reply-to-group-id": ("string",),
}

_KEYS: Final = {
    "event-streams-group-key": string("of the group"),
    "x-opt-partition-key": string("for the partition"),
    "x-opt-kafka-key": value("binary", "00ff"),
    "x-opt-bridge.key": string("of the bridge"),
}
"""The last that is there is the record's key."""

_KINDS: Final[dict[str, Build]] = {
    "no body": lambda source: {**_property("subject", "string")(source), "body": {"kind": "none"}},
    "data": lambda source: _sections(source.value("binary")["value"]),
    "data many": lambda source: _sections(source.value("binary")["value"], "", "0102"),
    **{f"value {kind}": _primitive(kind) for kind in PRIMITIVES},
    "value list": _list,
    "value map": _map,
    "value map of anything": _map_of_anything,
    "value described": _described,
    "value list of described": _list_of_described,
    **{f"value array {kind}": _array_of(kind) for kind in ARRAYS},
    "value array of nothing": lambda _: _body_value(array("int", ())),
    **{f"value list of {kind}": _list_of(kind) for kind in PRIMITIVES},
    "sequence": _sequence,
    "sequence many": _sequences,
    **{f"header {name}": _header(name) for name in _HEADER},
    "header": _header(*_HEADER),
    **{
        f"property {name} {kind}": _property(name, kind)
        for name, types in _PROPERTIES.items()
        for kind in types
    },
    "all properties": _all_properties,
    **{f"application-property {kind}": _application(kind) for kind in PRIMITIVES},
    "names of application-properties": _names,
    "many application-properties": _many,
    **{f"annotation {kind}": _annotation(kind) for kind in PRIMITIVES},
    "names of annotations": _annotations(("custom", string("a")), ("#5", string("b")), ("%25", string("c"))),
    "annotations named by numbers": lambda source: {
        "message-annotations": [[source.value("ulong"), source.value("string")]]
    },
    "compound annotations": _compound_annotations,
    "trace context": _traces,
    **{f"key by {name}": _annotations((name, each)) for name, each in _KEYS.items()},
    "key by all": _annotations(*_KEYS.items()),
    "partition": _annotations(("x-opt-bridge.partition", value("int", "0"))),
    "footer": _footer,
    "delivery-annotations": _delivery_annotations,
    "all that Java Message Service has": _all_of_jms,
    "everything": _everything,
}
