"""Asks Kafka what it knows of a topic, and how far a consumer group has come in it.

Nothing is remembered: whoever asks wants to know how it is now. Each question has clients of its own, which
end with it, as nobody asks so often that connections should be kept for it. None of them joins a group, and
none creates a topic (a consumer's question never does). What is asked goes to the brokers that lead the
partitions, and to the group's coordinator; the controller may be away.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined] # re-exported there, its documented home

from bridge.kafka import failures, questions
from bridge.model.topic_info import PartitionInfo, TopicInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka.admin._metadata import TopicMetadata

    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure

QUESTIONS_AT_A_TIME: Final = 4
"""More wait, so that peers who ask again and again do not make threads and connections without end."""
NO_GROUP: Final = "amqp-kafka-bridge"
"""What a consumer is called that asks for no group's offsets; librdkafka wants a name."""
LEAST_SECONDS: Final = 0.1
"""What a part of a question gets at least when those before it took long."""

_EARLIEST: Final[OffsetSpec] = OffsetSpec.earliest()  # type: ignore[no-untyped-call]  # it has no types
_LATEST: Final[OffsetSpec] = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # it has no types


class TopicQuestions:
    """Puts such questions, a few at a time.

    `options` are those of `settings.admin`. For consumers that read committed records alone, a partition
    ends where its first open transaction begins; `uncommitted` is for those that read them all.
    """

    def __init__(self, options: Options, timeout_ms: int, *, uncommitted: bool = False) -> None:
        self._options = options
        self._timeout_seconds = timeout_ms / 1000
        self._level = IsolationLevel.READ_UNCOMMITTED if uncommitted else IsolationLevel.READ_COMMITTED
        self._places = asyncio.Semaphore(QUESTIONS_AT_A_TIME)

    async def ask(self, topic: str, group: str | None = None) -> TopicInfo | Failure:
        """Tell what there is to know, or why not; waits for its turn, then at most about the timeout.

        Raises RuntimeError when the machine has no thread to spare.
        """
        async with self._places:
            return await questions.ask(partial(self._ask, topic, group))

    # ------------------------------------------------------------------ in a thread of its own

    def _ask(self, topic: str, group: str | None) -> TopicInfo | Failure:
        deadline = time.monotonic() + self._timeout_seconds
        try:
            return self._put(topic, group, deadline)
        except KafkaException as error:
            return failures.classify_exception(error)

    def _put(self, topic: str, group: str | None, deadline: float) -> TopicInfo | Failure:
        options = {**self._options, "group.id": group or NO_GROUP, "allow.auto.create.topics": False}
        consumer = Consumer(options)
        try:
            metadata = consumer.list_topics(topic, _left(deadline)).topics[topic]
            if metadata.error is not None:
                return failures.classify(metadata.error)
            committed = {} if group is None else _committed(consumer, topic, metadata.partitions, deadline)
        finally:
            consumer.close()
        led = [each.id for each in metadata.partitions.values() if each.leader >= 0]
        admin = AdminClient(self._options)
        earliest = self._offsets(admin, topic, led, _EARLIEST, deadline)
        latest = self._offsets(admin, topic, led, _LATEST, deadline)
        partitions = _partitions(metadata, earliest, latest, committed)
        return TopicInfo(topic, partitions, group)

    def _offsets(
        self, admin: AdminClient, topic: str, partitions: Iterable[int], spec: OffsetSpec, deadline: float
    ) -> dict[int, int]:
        """Give the offsets of partitions, without those whose leaders do not tell theirs.

        Raises KafkaException when none does.
        """
        asked = {TopicPartition(topic, partition): spec for partition in partitions}
        if not asked:
            return {}
        told: dict[int, int] = {}
        refused: KafkaException | None = None
        answers = admin.list_offsets(asked, isolation_level=self._level, request_timeout=_left(deadline))
        for partition, answer in answers.items():
            try:
                told[partition.partition] = answer.result().offset
            except KafkaException as error:
                refused = error
        if refused is not None and not told:
            raise refused
        return told


def _committed(consumer: Consumer, topic: str, partitions: Iterable[int], deadline: float) -> dict[int, int]:
    """Give what the consumer's group has committed, by partition."""
    asked = [TopicPartition(topic, partition) for partition in partitions]
    answers = consumer.committed(asked, _left(deadline))
    for each in answers:
        if each.error is not None:
            raise KafkaException(each.error)
    return {each.partition: each.offset for each in answers if each.offset >= 0}


def _partitions(
    metadata: TopicMetadata, earliest: dict[int, int], latest: dict[int, int], committed: dict[int, int]
) -> tuple[PartitionInfo, ...]:
    return tuple(
        PartitionInfo(
            number,
            partition.leader if partition.leader >= 0 else None,
            tuple(partition.replicas),
            tuple(partition.isrs),
            earliest.get(number),
            latest.get(number),
            committed.get(number),
        )
        for number, partition in sorted(metadata.partitions.items())
    )


def _left(deadline: float) -> float:
    """Give the seconds that are left."""
    return max(LEAST_SECONDS, deadline - time.monotonic())
