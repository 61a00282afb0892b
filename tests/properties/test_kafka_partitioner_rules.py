"""Keys go where Java's clients put them. The cluster here is one that librdkafka itself pretends."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from confluent_kafka import Producer
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support import murmur2

from bridge.kafka import settings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

TOPIC: Final = "topic"
LIMIT_SECONDS: Final = 60.0


@functools.cache
def producer() -> tuple[Producer, int]:
    """Make the producer of all examples, and count the partitions that its cluster has."""
    options = settings.producer(
        "", {"log_level": "0"}, acks="1", message_max_bytes=100_000, on_error=lambda *_: None
    )
    made = Producer({**options, "test.mock.num.brokers": 1, "linger.ms": 0})
    return made, len(made.list_topics(TOPIC, LIMIT_SECONDS).topics[TOPIC].partitions)


@hypothesis_settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode)), max_size=30, unique=True
    )
)
def test_keys_go_where_javas_clients_put_them(keys: list[bytes]) -> None:
    client, partitions = producer()
    chosen: dict[bytes, int | None] = {}

    def report(error: KafkaError | None, message: Message) -> None:
        assert error is None
        chosen[message.key() or b""] = message.partition()

    for key in keys:
        client.produce(TOPIC, b"value", key, on_delivery=report)
    assert client.flush(LIMIT_SECONDS) == 0

    assert partitions > 1
    assert chosen == {key: murmur2.partition(key, partitions) for key in keys}
