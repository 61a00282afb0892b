"""Topics from outside the service: create them, and count what is in them.

For commands and the demo; the service itself creates no topic. These calls block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

if TYPE_CHECKING:
    from collections.abc import Iterable

TIMEOUT_SECONDS: Final = 15.0


def create_topics(bootstrap_servers: str, names: Iterable[str], partitions: int) -> None:
    """Create topics with the cluster's default replication. Raises RuntimeError, naming the topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    futures = admin.create_topics([NewTopic(name, partitions) for name in names])
    for name, future in futures.items():
        try:
            future.result(TIMEOUT_SECONDS)
        except (KafkaException, TimeoutError) as error:
            raise RuntimeError(f"topic {name!r} could not be created: {error}") from error


def count_records(bootstrap_servers: str, topic: str, partitions: int) -> int:
    """Count the offsets of a topic: its records, where nothing was compacted, deleted or transactional.

    Raises RuntimeError when Kafka does not answer.
    """
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "count"})
    try:
        count = 0
        for partition in range(partitions):
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), TIMEOUT_SECONDS)
            count += high - low
    except KafkaException as error:
        raise RuntimeError(f"the records of topic {topic!r} could not be counted: {error}") from error
    finally:
        consumer.close()
    return count
