"""The client of python-qpid-proton, which is here a part of the test's own process.

Messages are made by `proton.Message`; what that cannot express (several sections of a body, an amqp-value
null, footers) is added in Proton's own codec. Received messages are read in the latter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interop.contract import Outcome
from interop.proton_receiver import attached
from interop.proton_values import decode, dictionary, encode, parse, to_python
from interop.values import described, value
from proton import Message
from support import load
from support.clients import send
from support.load_connection import PeerClosedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from interop.catalogue import Message as Described_
    from interop.contract import Attach, Receiver
    from interop.values import Value
    from proton import Delivery, Sender

_DATA: Final = "117"
_SEQUENCE: Final = "118"
_VALUE: Final = "119"
_FOOTER: Final = "120"
_HEADER: Final = ("durable", "priority", "ttl", "first-acquirer", "delivery-count")
_PROPERTIES: Final = {
    "message-id": "id",
    "user-id": "user_id",
    "to": "address",
    "subject": "subject",
    "reply-to": "reply_to",
    "correlation-id": "correlation_id",
    "content-type": "content_type",
    "content-encoding": "content_encoding",
    "absolute-expiry-time": "expiry_time",
    "creation-time": "creation_time",
    "group-id": "group_id",
    "group-sequence": "group_sequence",
    "reply-to-group-id": "reply_to_group_id",
}
"""Proton's names of the properties, in the order of the section's fields."""


class ProtonClient:
    """Sends and receives with Proton."""

    def send(
        self, port: int, address: str | None, messages: Sequence[Described_], *, settled: bool
    ) -> list[Outcome]:
        """Send on one link; gives the outcomes in order, none if they are settled."""
        mode = "settled" if settled else "mixed"
        made: Any = [_Encoded(encoded(message)) for message in messages]
        answers = send(port, address, made, mode)  # type: ignore[arg-type] # no address: the anonymous terminus
        return [Outcome(answers[at].state.lower(), answers[at].condition) for at in sorted(answers)]

    def receive(self, port: int, address: str, count: int) -> list[Described_]:
        """Receive so many messages, and accept them."""
        with load.Receiver(port, address, count=count, mode="unsettled", keep=True) as receiver:
            try:
                receiver.run()
            except PeerClosedError as error:
                raise AssertionError(str(error)) from error
        return [seen(payload) for payload in receiver.payloads]

    def attach(self, port: int, attach: Attach) -> AbstractContextManager[Receiver]:
        """Attach a receiver."""
        return attached(port, attach)


class _Encoded:
    """A message as a sender's `send` takes it, already encoded."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload

    def send(self, sender: Sender, tag: str | None = None) -> Delivery:
        delivery = sender.delivery(tag or sender.delivery_tag())
        sender.stream(self._payload)
        sender.advance()
        if sender.snd_settle_mode == sender.SND_SETTLED:
            delivery.settle()
        return delivery


def encoded(message: Described_) -> bytes:
    """Encode a described message."""
    made: Any = Message()  # Proton's annotations say of some attributes that they are always None
    for name, each in message.get("header", {}).items():
        plain = parse(each)
        setattr(made, name.replace("-", "_"), plain / 1000 if name == "ttl" else plain)  # seconds
    for name, each in message.get("properties", {}).items():
        plain = to_python(each)
        setattr(made, _PROPERTIES[name], plain / 1000 if each["type"] == "timestamp" else plain)
    if "delivery-annotations" in message:
        made.instructions = dictionary(message["delivery-annotations"])
    if "message-annotations" in message:
        made.annotations = dictionary(message["message-annotations"])
    if "application-properties" in message:
        made.properties = {name: to_python(each) for name, each in message["application-properties"]}
    rest = _body(made, message["body"])
    if "footer" in message:
        rest.append(_section(_FOOTER, value("map", message["footer"])))
    payload: bytes = made.encode()
    return payload + encode(*rest)


def _body(made: Message, body: Described_) -> list[Value]:
    """Set the body; gives the sections that have to be added if Message cannot hold it."""
    if body["kind"] == "value":
        made.body = to_python(body["value"])
        return [_section(_VALUE, body["value"])] if made.body is None else []
    if body["kind"] == "none":
        return []
    made.inferred = True
    if body["kind"] == "data":
        if len(body["sections"]) > 1:
            return [_section(_DATA, value("binary", each)) for each in body["sections"]]
        made.body = bytes.fromhex(body["sections"][0])
    else:
        if len(body["sections"]) > 1:
            return [_section(_SEQUENCE, value("list", each)) for each in body["sections"]]
        made.body = [to_python(each) for each in body["sections"][0]]
    return []


def _section(code: str, inner: Value) -> Value:
    return described(value("ulong", code), inner)


def seen(payload: bytes) -> Described_:
    """Describe a message that was received."""
    message: Described_ = {"body": {"kind": "none"}}
    for section in decode(payload):
        code, inner = section["descriptor"]["value"], section["value"]["value"]
        if code == "112":
            message["header"] = _fields(_HEADER, inner)
        elif code == "115":
            message["properties"] = _fields(tuple(_PROPERTIES), inner)
        elif code == "116":
            message["application-properties"] = [[key["value"], each] for key, each in inner]
        elif code in _MAPS:
            message[_MAPS[code]] = inner
        elif code == _VALUE:
            message["body"] = {"kind": "value", "value": section["value"]}
        else:
            kind = {_DATA: "data", _SEQUENCE: "sequence"}[code]
            sections = message["body"].get("sections", [])
            message["body"] = {"kind": kind, "sections": [*sections, inner]}
    return message


_MAPS: Final = {"113": "delivery-annotations", "114": "message-annotations", _FOOTER: "footer"}


def _fields(names: Sequence[str], values: list[Value]) -> dict[str, Value]:
    return {name: each for name, each in zip(names, values, strict=False) if each["type"] != "null"}
