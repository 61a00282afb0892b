from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

import pytest
from proton import (
    UNDESCRIBED,
    Array,
    Data,
    Described,
    Message,
    byte,
    char,
    decimal64,
    decimal128,
    float32,
    int32,
    short,
    symbol,
    timestamp,
    ubyte,
    uint,
    ulong,
    ushort,
)
from support import load
from support.blocking import Client
from support.clients import Answer, annotation, body_of, receive, send

if TYPE_CHECKING:
    from support.kafka import RealKafka
    from support.service import Service

LARGE_BYTES: Final = 10_000_000

VALUES: Final[dict[str, Any]] = {
    "null": None,
    "true": True,
    "false": False,
    "ubyte": ubyte(255),
    "ushort": ushort(65_535),
    "uint": uint(2**32 - 1),
    "ulong": ulong(2**64 - 1),
    "byte": byte(-128),
    "short": short(-32_768),
    "int": int32(-(2**31)),
    "long": -(2**63),
    "float": float32(0.5),
    "double": 1.1,
    "decimal64": decimal64(0x2FE38D7EA4C67FFF),
    "decimal128": decimal128(bytes(range(16))),
    "char": char("€"),
    "timestamp": timestamp(1_790_000_000_123),
    "uuid": uuid.UUID("12345678-1234-5678-1234-567812345678"),
    "binary": b"\x00\xff",
    "string": "grüße",
    "symbol": symbol("a-symbol"),
    "list": [1, "two", [3.0, None]],
    "map": {"a": 1, "b": {"c": [symbol("d")]}},
    "array": Array(UNDESCRIBED, Data.INT, int32(1), int32(2)),  # type: ignore[arg-type] # proton's own example
    "described": Described(symbol("example:point"), [1, 2]),
}
SIMPLE: Final = {
    name: value for name, value in VALUES.items() if name not in {"list", "map", "array", "described"}
}
"""What AMQP allows as an application-property."""


def there_and_back(service: Service, kafka: RealKafka, messages: list[Message]) -> list[Message]:
    topic = kafka.create_topic()
    assert set(send(service.amqp_port, topic, messages).values()) == {Answer("ACCEPTED")}
    back, _ = receive(service.amqp_port, f"{topic}/group.id/{topic}", len(messages))
    return back


def typed(value: Any) -> Any:  # noqa: ANN401 - any AMQP value
    """Return a value with its type, which Python's == does not look at: 1 == True == 1.0."""
    if isinstance(value, dict):
        return {typed(key): typed(each) for key, each in value.items()}
    if isinstance(value, Described):
        return Described, typed(value.descriptor), typed(value.value)
    if isinstance(value, Array):
        return Array, value.type, [typed(each) for each in value.elements]
    if isinstance(value, list):
        return [typed(each) for each in value]
    if isinstance(value, bytes | memoryview):
        return bytes(value)
    return type(value), value


def test_application_properties_keep_values_and_types(service: Service, kafka: RealKafka) -> None:
    (back,) = there_and_back(service, kafka, [Message(body=b"", inferred=True, properties=SIMPLE)])

    assert typed(back.properties) == typed(SIMPLE)


def test_properties_keep_values_and_types(service: Service, kafka: RealKafka) -> None:
    ids = [7, uuid.UUID(int=7), b"\x07", "seven"]  # proton sends an int as ulong, the type for it
    sent = [
        Message(
            body=b"",
            inferred=True,
            id=each,
            user_id=b"alice",
            subject="a subject",
            reply_to="replies",
            correlation_id=each,
            content_type="text/plain",
            content_encoding="gzip",
            expiry_time=2_000_000_000.5,
            creation_time=1_790_000_000.25,
            group_id="a group",
            group_sequence=2**32 - 1,
            reply_to_group_id="another",
        )
        for each in ids
    ]

    back = there_and_back(service, kafka, sent)

    for before, after, identifier in zip(sent, back, ids, strict=True):
        assert typed(after.id) == typed(identifier)
        assert typed(after.correlation_id) == typed(identifier)
        for name in (
            *("subject", "reply_to", "content_type", "content_encoding", "expiry_time", "creation_time"),
            *("group_id", "group_sequence", "reply_to_group_id"),
        ):
            assert getattr(after, name) == getattr(before, name), name
        assert bytes(after.user_id) == b"alice"
        assert after.durable  # Kafka has it


def test_a_message_with_an_address_keeps_it_and_one_without_gets_the_links(
    service: Service, kafka: RealKafka
) -> None:
    topic = kafka.create_topic()
    sent = [Message(body=b"", inferred=True, address="of its own"), Message(body=b"", inferred=True)]
    send(service.amqp_port, topic, sent)

    back, _ = receive(service.amqp_port, f"{topic}/group.id/{topic}", 2)

    assert [each.address for each in back] == ["of its own", f"{topic}/group.id/{topic}"]


def test_annotations_and_key_and_partition(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=3)
    annotations = {symbol("x-opt-custom"): "kept", symbol("x-opt-count"): int32(3)}
    where = {symbol("x-opt-bridge.partition"): 2, symbol("x-opt-bridge.key"): "a key"}
    send(service.amqp_port, topic, [Message(body=b"", inferred=True, annotations={**annotations, **where})])

    (record,) = kafka.records(topic)
    (back,), _ = receive(service.amqp_port, f"{topic}/group.id/{topic}", 1)

    assert (record.partition(), record.key()) == (2, b"a key")
    assert typed({key: annotation(back, key) for key in annotations}) == typed(annotations)
    assert annotation(back, "x-opt-bridge.topic") == topic
    assert annotation(back, "x-opt-bridge.partition") == 2
    assert annotation(back, "x-opt-bridge.offset") == 0
    assert annotation(back, "x-opt-bridge.key") == "a key"


def test_a_partition_that_is_not_there_is_refused_alone(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=3)
    messages = [
        Message(body=b"", inferred=True, annotations={symbol("x-opt-bridge.partition"): number})
        for number in (1, 7, 2)
    ]

    answers = send(service.amqp_port, topic, messages)

    assert answers == {
        0: Answer("ACCEPTED"),
        1: Answer("REJECTED", "amqp:invalid-field"),
        2: Answer("ACCEPTED"),
    }
    assert [record.partition() for record in kafka.records(topic)] == [1, 2]


@pytest.mark.parametrize("name", VALUES)
def test_a_value_body_keeps_value_and_type(service: Service, kafka: RealKafka, name: str) -> None:
    (back,) = there_and_back(service, kafka, [Message(body=VALUES[name])])

    assert typed(back.body) == typed(VALUES[name])
    assert not back.inferred  # an amqp-value


def test_data_and_sequence_bodies_come_back_as_such(service: Service, kafka: RealKafka) -> None:
    data, sequence = there_and_back(
        service, kafka, [Message(body=b"\x00data", inferred=True), Message(body=[1, "two"], inferred=True)]
    )

    assert (body_of(data), data.inferred) == (b"\x00data", True)
    assert (sequence.body, sequence.inferred) == ([1, "two"], True)


def test_a_null_body_is_a_tombstone(service: Service, kafka: RealKafka) -> None:
    topic = kafka.create_topic(config={"cleanup.policy": "compact"})
    key = {symbol("x-opt-bridge.key"): "deleted"}
    # Proton writes no body at all for None: here its last section is exchanged for a null.
    encoded = Message(body="", annotations=key).encode()
    with Client(service.amqp_port) as client:
        sender = client.sender(topic).link
        delivery = sender.delivery(sender.delivery_tag())
        sender.stream(encoded.removesuffix(b"\0Sw\xa1\0") + b"\0Sw\x40")
        sender.advance()
        client.wait(lambda: delivery.settled, "the outcome")

    (record,) = kafka.records(topic)

    assert (record.key(), record.value()) == (b"deleted", None)


@pytest.mark.parametrize("mode", ["settled", "unsettled"])
def test_a_large_message_in_many_frames_goes_both_ways_intact(
    service: Service, kafka: RealKafka, mode: str
) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": str(LARGE_BYTES + 100_000)})
    address = f"{topic}/group.id/{topic}"
    with load.Sender(service.amqp_port, topic, count=2, size=LARGE_BYTES, mode=mode) as sender:
        sender.run()
        with load.Receiver(service.amqp_port, address, count=2, mode=mode, keep=True) as receiver:
            receiver.run()
        bodies = [sender.body(0), sender.body(1)]

    assert [record.value() for record in kafka.records(topic)] == bodies
    assert [payload[-LARGE_BYTES:] for payload in receiver.payloads] == bodies
