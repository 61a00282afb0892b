from __future__ import annotations

import pytest

from bridge.codec import Int, Long, Map, Symbol
from bridge.mapping import hop
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Message, parse
from bridge.mapping.native import message_to_record, record_to_message
from bridge.mapping.options import MappingOptions
from bridge.mapping.routing import Routed, Router


def annotated(*pairs: tuple[str, object]) -> Map:
    return Map((Symbol(name), value) for name, value in pairs)


def route(message: Message, options: MappingOptions | None = None) -> Routed:
    return Router(options or MappingOptions()).route(message)


def test_nothing_says_where_a_message_goes() -> None:
    assert route(Message()) == (None, -1, None)


def test_annotations_give_key_and_partition() -> None:
    message = Message(
        message_annotations=annotated(("x-opt-partition-key", "p"), ("x-opt-bridge.key", b"k")),
        delivery_annotations=annotated(("event-streams-target-partition", Symbol("3"))),
        properties={"group-id": "g"},
    )
    assert route(message) == (b"k", 3, None)


def test_the_partition_of_the_message_goes_before_that_of_the_delivery() -> None:
    message = Message(
        message_annotations=annotated(("x-opt-bridge.partition", Int(2))),
        delivery_annotations=annotated(("event-streams-target-partition", Symbol("3"))),
    )
    assert route(message).partition == 2


def test_group_id_gives_the_key_if_nothing_else_does() -> None:
    message = Message(properties={"group-id": "g"})
    assert route(message).key == b"g"
    assert route(message, MappingOptions(key_from_group_id=False)).key is None


def test_a_key_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(MappingError) as caught:
        route(Message(message_annotations=annotated(("x-opt-bridge.key", Long(5)))))
    assert caught.value.condition == "amqp:invalid-field"


def test_a_message_that_a_bridge_delivered_is_what_its_record_was() -> None:
    original = Message(
        header={"ttl": parse(b"\x00Sp\xc0\x04\x03\x40\x40\x43").header["ttl"]},
        message_annotations=annotated(("x-opt-a", "a")),
        properties={"subject": "s"},
    )
    delivered = record_to_message("orders", "orders", MappingOptions())(
        3, 17, 1, 5, b"k", b"", [("x-opt-a", b"a"), ("subject", b"s"), ("amqp.ttl", b"0")], 1
    )
    message = parse(delivered)
    routed = route(message)
    assert routed.key == b"k"
    assert routed.partition == 3
    assert routed.passage is not None
    sent = hop.sent_message(message, routed.passage)
    assert sent.header == original.header
    assert sent.message_annotations == original.message_annotations
    assert sent.properties == original.properties


def test_the_headers_of_a_record_may_be_listed() -> None:
    headers = [("a", b"1"), ("a", b"2")]
    delivered = record_to_message("orders", "orders", MappingOptions())(3, 17, 1, 5, None, b"", headers, 0)
    routed = route(parse(delivered))
    assert routed.passage is not None
    assert hop.verbatim(routed.passage) == headers
    assert message_to_record(MappingOptions())(delivered)[2] == headers
