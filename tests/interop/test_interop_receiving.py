"""Each client gets back what it has sent, as far as its library shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interop.catalogue import kinds, messages
from interop.expectation import unordered
from interop.libraries import LIBRARIES
from interop.values import canonical, value
from support.service import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interop.catalogue import Message
    from interop.contract import Client
    from interop.libraries import Library
    from interop.values import Value
    from support.kafka import RealKafka
    from support.service import Service

AT_LEAST: Final = 100
"""How many messages come back: all kinds that the client can send, and no fewer than these."""
OF_ONE_PASSAGE: Final = ("x-opt-bridge.", "x-opt-kafka-")
FILLED_IN: Final = {"to", "creation-time"}
"""Properties that the bridge gives to messages without."""


def test_a_client_receives_what_it_has_sent(
    name: str, client: Client, service: Service, kafka: RealKafka
) -> None:
    library = LIBRARIES[name]
    topic = kafka.create_topic()
    group = f"interop-{name}"
    sent = messages(library.lacks, max(AT_LEAST, kinds(library.lacks)))
    outcomes = client.send(service.amqp_port, topic, sent, settled=False)
    assert {outcome.state for outcome in outcomes} == {"accepted"}

    received = client.receive(service.amqp_port, f"{topic}/group.id/{group}", len(sent))

    differences = [
        f"{message['kind']}: {part}:\n {expected}\n {seen}"
        for message, outcome, found in zip(sent, outcomes, received, strict=True)
        for part, expected, seen in compare(library, library.adds(message, topic, outcome), found)
    ]
    assert not differences, "\n".join([f"{len(differences)} differences:", *differences[:5]])
    wait_until(lambda: kafka.committed(group, topic) == {0: len(sent)}, "the offset of all accepted messages")


def compare(library: Library, message: Message, found: Message) -> Iterable[tuple[str, Any, Any]]:
    """Give each part of a message that the client does not see as it was sent."""

    def see(one: Value) -> Any:  # noqa: ANN401 - any part of a typed value
        return unordered(canonical(library.sees(one)))

    for part in ("properties", "application-properties", "message-annotations", "footer"):
        if part in {"message-annotations", "footer"} and not library.sees_annotations:
            continue
        expected = {key: see(each) for key, each in _pairs(part, message.get(part, ()))}
        seen = {key: unordered(canonical(each)) for key, each in _pairs(part, found.get(part, ()))}
        # Annotations come along that tell of the record.
        keys = expected.keys() if part == "message-annotations" else expected.keys() | seen.keys()
        for key in keys:
            if key in library.hides or (key in FILLED_IN and key not in expected):
                continue
            if expected.get(key) != seen.get(key):
                yield f"{part} {key}", expected.get(key), seen.get(key)
    body = _body(message["body"], see)
    if body["kind"] == "none":
        body = library.sees_no_body_as
    seen_body = _body(found["body"], lambda one: unordered(canonical(one)))
    if body != seen_body:
        yield "body", body, seen_body
    priority = see(message.get("header", {}).get("priority", value("ubyte", "4")))
    seen_priority = canonical(found.get("header", {}).get("priority", library.sees(value("ubyte", "4"))))
    if priority != seen_priority:
        yield "priority", priority, seen_priority


def _pairs(part: str, section: Any) -> Iterable[tuple[str, Value]]:  # noqa: ANN401 - a map or pairs
    if isinstance(section, dict):
        return section.items()
    if part == "application-properties":
        return [(name, each) for name, each in section]
    return [(key["value"], each) for key, each in section if not key["value"].startswith(OF_ONE_PASSAGE)]


def _body(body: Message, see: Any) -> Message:  # noqa: ANN401 - a function of values
    if body["kind"] == "value":
        return {"kind": "value", "value": see(body["value"])}
    if body["kind"] == "sequence":
        return {"kind": "sequence", "sections": [[see(each) for each in part] for part in body["sections"]]}
    return {**body}
