from __future__ import annotations

from bridge.codec import Int, Map, Symbol, Timestamp, UByte, UInt, encode
from bridge.mapping import hop
from bridge.mapping.message import Data, Message, Value, parse
from bridge.mapping.native import record_to_message as native
from bridge.mapping.options import MappingOptions
from bridge.mapping.plain_delivery import PlainRecordToMessage, RecordHeaders, Stored
from bridge.mapping.routing import Router

TIME_MS = 1_700_000_000_123
OPTIONS = MappingOptions()


def deliver(
    stored: Stored,
    *,
    options: MappingOptions = OPTIONS,
    value: bytes | None = b"body",
    headers: list[tuple[str, bytes | None]] | None = None,
    delivery_count: int = 0,
) -> bytes:
    def read(_key: bytes | None, _value: bytes | None, _headers: RecordHeaders) -> Stored:
        return stored

    to_message = PlainRecordToMessage("orders", "address", options, read)
    return to_message(3, 17, 1, TIME_MS, b"k", value, headers, delivery_count)


def test_a_plain_delivery_is_what_native_delivers() -> None:
    sections = Message(
        header={"priority": UByte(7), "ttl": UInt(1000)},
        message_annotations=Map([(Symbol("x-opt-a"), "a")]),
        properties={"subject": "s"},
        application_properties=Map([("b", "c")]),
        body=Data((b"body",)),
    )
    headers: list[tuple[str, bytes | None]] = [
        *[("amqp.priority", b"7"), ("amqp.ttl", b"1000"), ("x-opt-a", b"a"), ("subject", b"s"), ("b", b"c")]
    ]
    for options in (OPTIONS, MappingOptions(event_streams=True, now_ms=lambda: TIME_MS + 400)):
        for count in (0, 2):
            expected = native("orders", "address", options)(3, 17, 1, TIME_MS, b"k", b"body", headers, count)
            encoded = deliver(Stored(sections), options=options, delivery_count=count)
            assert parse(encoded) == parse(expected)
            assert encoded == expected


def test_creation_time_is_filled_in_for_foreign_records() -> None:
    plain, own = Message(body=Value.of(None)), Message(properties={"creation-time": Timestamp(5)})
    assert parse(deliver(Stored(plain))).properties == {"to": "address"}
    filled = parse(deliver(Stored(plain, foreign=True))).properties
    assert filled == {"to": "address", "creation-time": Timestamp(TIME_MS)}
    assert parse(deliver(Stored(own, foreign=True))).properties["creation-time"] == Timestamp(5)
    never = MappingOptions(creation_time_from_record=False)
    assert "creation-time" not in parse(deliver(Stored(plain, foreign=True), options=never)).properties


def test_an_expired_message_is_delivered_or_skipped() -> None:
    stored = Stored(Message(header={"ttl": UInt(1000)}))
    late = MappingOptions(now_ms=lambda: TIME_MS + 5000)
    assert parse(deliver(stored, options=late)).header["ttl"] == UInt(0)
    skipping = MappingOptions(now_ms=lambda: TIME_MS + 5000, expired="skip")
    assert deliver(stored, options=skipping) == b""


def test_headers_that_would_not_come_back_go_along() -> None:
    headers: list[tuple[str, bytes | None]] = [("a", None), ("a", b"\xff")]
    passage = Router(OPTIONS).route(parse(deliver(Stored(Message(), exact=False), headers=headers))).passage
    assert passage is not None
    assert hop.verbatim(passage) == headers


def test_a_tombstone_says_so() -> None:
    annotations = parse(deliver(Stored(Message(body=Value.of(None))), value=None)).message_annotations
    assert annotations.get(Symbol("x-opt-kafka-tombstone")) is True


def test_what_a_message_says_of_another_passage_is_not_delivered() -> None:
    stored = Stored(
        Message(
            delivery_annotations=Map([(Symbol("d"), Int(1))]),
            message_annotations=Map([(Symbol("x-opt-bridge.offset"), Int(99)), (Symbol("a"), "b")]),
        )
    )
    message = parse(deliver(stored))
    assert message.delivery_annotations == Map([(Symbol("d"), Int(1))])
    offsets = [value for name, value in message.message_annotations if name == "x-opt-bridge.offset"]
    assert offsets == [17]
    assert message.message_annotations.get(Symbol("a")) == "b"


def test_what_the_record_had_itself_is_told() -> None:
    sections = Message(
        header={"durable": True, "delivery-count": UInt(4)},
        message_annotations=Map([(Symbol("x-opt-partition-key"), "own")]),
        properties={"to": "elsewhere"},
    )
    message = parse(deliver(Stored(sections)))
    passage = Router(OPTIONS).route(message).passage
    assert passage is not None
    assert hop.own_fields(passage).keys() == {
        *("amqp.durable", "amqp.delivery-count", "to", "x-opt-partition-key")
    }
    back = hop.sent_message(message, passage)
    assert back == sections
    assert encode(back.message_annotations) == encode(sections.message_annotations)


def test_damaged_records_are_counted() -> None:
    read = iter([Stored(Message()), Stored(Message(), damaged=True)])
    to_message = PlainRecordToMessage("orders", "", OPTIONS, lambda *_: next(read))
    for _ in range(2):
        assert parse(to_message(3, 17, 0, 0, None, b"", None, 0)).properties == {}
    assert to_message.damaged == 1
