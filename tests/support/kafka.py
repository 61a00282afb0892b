"""What a test does with a real Kafka besides what it tests: create topics, put records in, look."""

from __future__ import annotations

import time
import uuid
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridge.devkafka import DevKafka

_REQUEST_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.05
_QUIET = {"log_level": 0}  # librdkafka prints every refused connection to standard error


Record: TypeAlias = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]
"""Key, value, headers, timestamp in milliseconds; 0 stands for now."""


QUICK_SHARE_GROUPS: Final = {
    # A member hears of its partitions with a heartbeat, and every 5 seconds is no pace for tests.
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
}
"""Properties of brokers."""


class RealKafka:
    """A running Kafka cluster, as the tests see it. Raises KafkaException where Kafka refuses."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, **_QUIET})

    def create_topic(
        self, name: str | None = None, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic, wait until each partition has a leader, and return its name.

        Without a name it gets one that no other test has.
        """
        name = name or f"topic-{uuid.uuid4().hex[:12]}"
        topic = NewTopic(name, partitions, config=dict(config or {}))
        self._admin.create_topics([topic])[name].result(_REQUEST_SECONDS)
        self._await_leaders(name, partitions)
        return name

    def add_partitions(self, name: str, partitions: int) -> None:
        """Give a topic more partitions; return when each has a leader."""
        self._admin.create_partitions([NewPartitions(name, partitions)])[name].result(_REQUEST_SECONDS)
        self._await_leaders(name, partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic; brokers and clients learn of it by and by."""
        self._admin.delete_topics([name])[name].result(_REQUEST_SECONDS)

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete the records before an offset, in each of these partitions; as retention does."""
        wanted = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
        for answer in self._admin.delete_records(wanted).values():
            answer.result(_REQUEST_SECONDS)

    def produce(self, topic: str, values: Sequence[bytes], *, partition: int = 0) -> None:
        """Append one record for each value to a partition; return when all brokers have them."""
        self.append(topic, [(None, value, (), 0) for value in values], partition=partition)

    def append(self, topic: str, records: Sequence[Record], *, partition: int = 0) -> None:
        """Append whole records to a partition; return when all brokers have them."""
        failures: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                failures.append(error)

        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "acks": "all",
                "linger.ms": 0,
                "message.timeout.ms": round(_REQUEST_SECONDS * 1000),
                **_QUIET,
            }
        )
        for key, value, headers, timestamp_ms in records:
            producer.produce(
                topic,
                value,
                key,
                partition=partition,
                on_delivery=on_delivery,
                timestamp=timestamp_ms,
                headers=list(headers),
            )
        producer.flush()  # ends by itself: no record outlives its `message.timeout.ms`
        if failures:
            raise KafkaException(failures[0])

    def records(self, topic: str) -> list[Message]:
        """Return every committed record of a topic, from its beginning to its end at this moment.

        They are ordered by partition, then by offset. Raises TimeoutError when the end is not
        reached.
        """
        return sorted(self.each_record(topic), key=lambda each: (each.partition() or 0, each.offset() or 0))

    def each_record(self, topic: str) -> Iterator[Message]:
        """Give the same records one by one, for topics that do not fit into memory.

        They are ordered by offset within a partition.
        """
        partitions = self._partitions(topic)
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "records",  # required, though nothing is ever committed
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,  # the end is told by an empty answer, which else takes 500
                **_QUIET,
            }
        )
        try:
            # Offsets by number: to look for OFFSET_BEGINNING itself takes librdkafka half a second.
            consumer.assign([_beginning(consumer, topic, partition) for partition in partitions])
            yield from _read_to_end(consumer, partitions)
        finally:
            consumer.close()

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return the offsets that a group has committed, by partition; those without are left out."""
        partitions = [TopicPartition(topic, partition) for partition in self._partitions(topic)]
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": group, **_QUIET})
        try:
            committed = consumer.committed(partitions, timeout=_REQUEST_SECONDS)
        finally:
            consumer.close()
        return {each.partition: each.offset for each in committed if each.offset >= 0}

    def groups(self, topic: str) -> set[str]:
        """Return the names of the groups that read a topic, be it by their members or their offsets."""
        listed = self._admin.list_consumer_groups(request_timeout=_REQUEST_SECONDS).result()
        names = [group.group_id for group in listed.valid or ()]
        described = self._admin.describe_consumer_groups(names) if names else {}
        found = set()
        for name in names:
            asked = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])
            try:
                members = described[name].result(_REQUEST_SECONDS).members
                stored = asked[name].result(_REQUEST_SECONDS).topic_partitions
            except KafkaException:
                continue  # the group of another test, which has come to its end
            assigned = chain.from_iterable(member.assignment.topic_partitions for member in members)
            if topic in {each.topic for each in [*assigned, *stored]}:
                found.add(name)
        return found

    def _partitions(self, topic: str) -> set[int]:
        metadata = self._admin.list_topics(topic, timeout=_REQUEST_SECONDS).topics[topic]
        if metadata.error is not None:
            raise KafkaException(metadata.error)
        return set(metadata.partitions)

    def _await_leaders(self, name: str, partitions: int) -> None:
        deadline = time.monotonic() + _REQUEST_SECONDS
        while not self._has_leaders(name, partitions):
            if time.monotonic() >= deadline:
                raise TimeoutError(f"Topic {name} has no leaders for its {partitions} partition(s)")
            time.sleep(_POLL_SECONDS)

    def _has_leaders(self, topic: str, partitions: int) -> bool:
        """Tell whether the topic is visible with a leader for each partition."""
        metadata = self._admin.list_topics(topic, timeout=_REQUEST_SECONDS).topics[topic]
        leaders = [p.leader for p in metadata.partitions.values() if p.error is None]
        return metadata.error is None and len(leaders) == partitions and -1 not in leaders


class OwnKafka(RealKafka):
    """A cluster of one test alone, whose brokers it may kill."""

    def __init__(self, cluster: DevKafka) -> None:
        super().__init__(cluster.bootstrap_servers)
        self.cluster = cluster


def _beginning(consumer: Consumer, topic: str, partition: int) -> TopicPartition:
    """Return the position of the first record that a partition still holds."""
    sought = TopicPartition(topic, partition)
    watermarks = consumer.get_watermark_offsets(sought, timeout=_REQUEST_SECONDS)
    if watermarks is None:
        raise TimeoutError(f"The offsets of partition {partition} of {topic} were not told")
    return TopicPartition(topic, partition, watermarks[0])


def _read_to_end(consumer: Consumer, partitions: set[int]) -> Iterator[Message]:
    """Consume until the end of every assigned partition was met once."""
    unfinished = set(partitions)
    deadline = time.monotonic() + _REQUEST_SECONDS
    while unfinished:
        if time.monotonic() >= deadline:
            raise TimeoutError(f"The ends of partitions {unfinished} were not reached")
        messages = consumer.consume(num_messages=1000, timeout=_POLL_SECONDS)
        for message in messages:
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own name
                unfinished.discard(message.partition() or 0)
            elif not error.retriable():
                raise KafkaException(error)
        if messages:
            deadline = time.monotonic() + _REQUEST_SECONDS
