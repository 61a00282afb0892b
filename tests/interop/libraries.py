"""What the clients' libraries cannot express, add by themselves and do not tell their applications."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from interop.values import PRIMITIVES, Value, described, string, symbol, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from interop.catalogue import Message
    from interop.contract import Outcome

_JMS_PROPERTIES: Final = frozenset(
    ("boolean", "byte", "short", "int", "long", "float", "double", "string", "null")
)
_JMS_KINDS: Final = {"null": 5, "string": 5, "map": 2, "list": 1, "array": 1}
"""What `x-opt-jms-msg-type` says of an amqp-value."""


@dataclass(frozen=True, slots=True)
class Library:
    """An AMQP library.

    `settle_mode`: what its senders ask for by default. `lacks`: features, as `features.features` names
    them, with the reasons. `ordered`: whether its maps have an order. `adds`: gives what a described
    message is when it leaves the library. `sees`: gives what an application gets for a value; it `hides`
    some properties, and the annotations unless it `sees_annotations`.
    """

    settle_mode: str = "mixed"
    lacks: dict[str, str] = field(default_factory=dict)
    ordered: bool = True
    adds: Callable[[Message, str, Outcome | None], Message] = lambda message, _address, _outcome: message
    sees: Callable[[Value], Value] = lambda found: found
    sees_no_body_as: Message = field(default_factory=lambda: {"kind": "none"})
    sees_annotations: bool = True
    hides: frozenset[str] = frozenset()


def proton_adds(message: Message, _address: str, _outcome: Outcome | None) -> Message:
    """Add what Proton adds: a message of a group has a sequence number."""
    properties = message.get("properties", {})
    if "group-id" not in properties:
        return message
    return {**message, "properties": {"group-sequence": value("uint", "0"), **properties}}


def jms_adds(message: Message, address: str, outcome: Outcome | None) -> Message:
    """Add what Qpid JMS adds: ids, times, destination, and annotations about types of Java."""
    body = message["body"]
    kind = {"none": 0, "data": 3, "sequence": 4}.get(body["kind"])
    if kind is None:
        kind = _JMS_KINDS[body["value"]["type"]]
    annotations = [
        [symbol("x-opt-jms-dest"), value("byte", "0")],
        [symbol("x-opt-jms-msg-type"), value("byte", str(kind))],
    ]
    properties = {
        **message.get("properties", {}),
        "to": string(address),
        **(outcome.generated if outcome else {}),
    }
    if "reply-to" in properties:
        annotations.append([symbol("x-opt-jms-reply-to"), value("byte", "0")])
    if body["kind"] == "data":
        properties["content-type"] = symbol("application/octet-stream")
    return {**message, "message-annotations": annotations, "properties": properties}


def rhea_sees(found: Value) -> Value:
    """Return a value with the types of JavaScript, as rhea decodes it."""
    kind, inner = found["type"], found["value"]
    if kind == "described":
        return described(rhea_sees(found["descriptor"]), rhea_sees(inner))
    if kind == "map":
        return value("map", [[_name(key), rhea_sees(each)] for key, each in inner])
    if kind in {"list", "array"}:
        seen = [rhea_sees(each) for each in inner]
        numbers = kind == "array" and found["of"] == "boolean"
        return value("list", [value("number", _NUMBERS[each["value"]]) for each in seen] if numbers else seen)
    return _RHEA_SEES.get(kind, _number)(inner)


_NUMBERS: Final = {"true": "1", "false": "0"}
"""What rhea makes of the elements of an array of booleans."""


def _number(text: str) -> Value:
    return value("number", text)


def _long(text: str) -> Value:
    if -_EXACT < int(text) < _EXACT:
        return _number(text)
    return value("bytes", (int(text) % 2**64).to_bytes(8, "big").hex())


def _float(text: str) -> Value:
    (number,) = struct.unpack(">f", struct.pack(">f", float(text)))
    return _number(str(number))


_RHEA_SEES: Final[dict[str, Callable[[str], Value]]] = {
    **{kind: partial(value, kind) for kind in ("null", "boolean", "string", "timestamp")},
    **dict.fromkeys(("binary", "decimal32", "decimal64", "decimal128"), partial(value, "bytes")),
    "symbol": string,
    "ulong": _long,
    "long": _long,
    "float": _float,
    "char": lambda text: _number(str(ord(text))),
    "uuid": lambda text: value("bytes", text.replace("-", "")),
}
_EXACT: Final = 2097153 * 2**32
"""Beyond this rhea gives bytes in place of a number."""


def _name(key: Value) -> Value:
    """Return a key as the name of a property of an object."""
    name = rhea_sees(key)
    if name["type"] == "bytes":
        return string(bytes.fromhex(name["value"]).decode(errors="replace"))
    return string(str(name["value"]))


def go_sees(found: Value) -> Value:
    """Return a value as go-amqp decodes it: symbols as strings."""
    if found["type"] == "symbol":
        return string(found["value"])
    if found["type"] in {"list", "array"}:
        return {**found, "value": [go_sees(each) for each in found["value"]]}
    if found["type"] == "map":
        return value("map", [[go_sees(key), go_sees(each)] for key, each in found["value"]])
    return found


def _each(reason: str, *features: str) -> dict[str, str]:
    return dict.fromkeys(features, reason)


LIBRARIES: Final[dict[str, Library]] = {
    "proton": Library(adds=proton_adds),
    "rhea": Library(
        lacks={
            **_each("a message without body is sent as an amqp-value null", "body none"),
            **_each("keys of annotations are properties of an object: symbols", "annotation key ulong"),
            **_each("is written before the body, and so refused: see the test of it", "footer"),
            **_each(
                "loses the descriptor, as an amqp-value is a described value too", "body value described"
            ),
        },
        sees=rhea_sees,
    ),
    "go": Library(
        lacks={
            **_each("not implemented by go-amqp's codec", "char", "char of two UTF-16 units"),
            **_each("not implemented by go-amqp's codec", "decimal32", "decimal64", "decimal128"),
            **_each("the type for it is internal to go-amqp", "described"),
            **_each("keys of annotations are strings, or signed integers", "annotation key ulong"),
            **_each("are cut to their last byte", "array of small and very negative numbers"),
            **_each("overflow, as they become nanoseconds first", "array of timestamps after 2262"),
        },
        ordered=False,
        sees=go_sees,
        sees_no_body_as={"kind": "value", "value": value("null", None)},
    ),
    "jms": Library(
        settle_mode="unsettled",
        lacks={
            **_each("sections of a body cannot be told apart", "body data many", "body sequence many"),
            **_each("stream messages hold Java's primitive types", "body sequence of any type"),
            **_each("map messages hold Java's primitive types", "map of any type"),
            **_each(
                "object messages hold strings, lists and arrays",
                *(f"body value {kind}" for kind in PRIMITIVES if kind not in {"null", "string"}),
                "body value described",
            ),
            **_each("Java's char has 16 bits", "char of two UTF-16 units"),
            **_each("its codec fails at arrays of booleans that are all alike", "array boolean"),
            **_each(
                "no interface of JMS",
                *("message-annotations", "delivery-annotations", "footer"),
                *(
                    "header first-acquirer",
                    "header delivery-count",
                    "property message-id",
                    "property user-id",
                ),
                *("property to", "property content-type", "property content-encoding"),
                *("property absolute-expiry-time", "property creation-time"),
                *(f"application-property {kind}" for kind in PRIMITIVES if kind not in _JMS_PROPERTIES),
            ),
        },
        ordered=False,
        adds=jms_adds,
        sees_annotations=False,
        hides=frozenset(("content-type",)),
    ),
}
"""The libraries, by the name of their clients."""
