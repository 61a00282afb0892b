from __future__ import annotations

from confluent_kafka import TIMESTAMP_CREATE_TIME
from confluent_kafka import Message as Record
from proton import Message

from bench.baselines.naive_mapping import to_headers, to_message
from bench.mapping_microseconds import TIME_MS, typical
from bridge.mapping.options import MappingOptions
from bridge.mapping.profiles import DEFAULT, PROFILES

PROFILE = PROFILES[DEFAULT]
ADDRESS = "orders/group.id/billing"
NUMBER = 123


def decoded(encoded: bytes) -> Message:
    message = Message()
    message.decode(encoded)
    return message


def test_the_record_of_a_typical_message_is_the_bridges() -> None:
    encoded = typical(NUMBER)
    value, key, headers, partition, timestamp_ms = PROFILE.message_to_record(MappingOptions())(encoded)
    message = decoded(encoded)
    found = [(name, text.encode() if isinstance(text, str) else text) for name, text in to_headers(message)]
    assert headers
    assert found == headers
    assert message.body == value
    # What the naive bridge leaves to Kafka, the bridge does as well.
    assert (key, partition, timestamp_ms) == (None, -1, 0)


def test_the_message_of_a_typical_record_is_the_bridges() -> None:
    value, _, headers, _, _ = PROFILE.message_to_record(MappingOptions())(typical(NUMBER))
    assert headers
    record = Record(
        topic="orders",
        partition=3,
        offset=NUMBER,
        value=value,
        headers=list(headers),
        timestamp=(TIMESTAMP_CREATE_TIME, TIME_MS),
    )
    to_encoded = PROFILE.record_to_message("orders", ADDRESS, MappingOptions())
    bridges = decoded(to_encoded(3, NUMBER, TIMESTAMP_CREATE_TIME, TIME_MS, None, value, headers, 0))
    naive = decoded(to_message(record, ADDRESS).encode())

    everything = parts(bridges)
    assert everything["properties"]
    assert parts(naive) == everything


def parts(message: Message) -> dict[str, object]:
    names = (
        *("durable", "priority", "ttl", "delivery_count", "instructions", "annotations"),
        *("id", "user_id", "address", "subject", "reply_to", "correlation_id", "content_type"),
        *("content_encoding", "expiry_time", "creation_time", "group_id", "group_sequence"),
        *("reply_to_group_id", "inferred", "body"),
    )
    properties: dict[str, object] = dict(message.properties or {})
    types = {name: type(value) for name, value in properties.items()}
    return {name: getattr(message, name) for name in names} | {"properties": properties, "types": types}
