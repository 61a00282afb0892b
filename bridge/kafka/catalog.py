"""What topics there are, and the largest batch each takes: asked when a link attaches, remembered a while.

The question goes to any broker that is connected: one that needs the controller would have no answer
while that is away, when Kafka works all the same. It is put by a consumer that joins no group, since a
consumer's question never creates a topic. A consumer serves one call at a time: whoever calls it, even to
poll, waits for the question that it has under way. So each question has one for itself while it lasts.

That a topic exists is a condition for a link, how much it takes is not: see `limits`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, KafkaError, KafkaException

from bridge.kafka import failures, questions
from bridge.kafka.limits import TopicLimits
from bridge.model.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka.admin._metadata import ClusterMetadata

    from bridge.kafka.settings import Options

QUESTIONS_AT_A_TIME: Final = 8
"""How many topics are asked for at a time; one that does not answer should not hold the others up.
No more than so many consumers are made, and one to see whether a broker answers."""
ALWAYS_THERE: Final = "__consumer_offsets"
"""Asked for to see whether a broker answers; whatever it answers will do."""
REMEMBERED_SECONDS: Final = 30.0
REMEMBERED_TOPICS: Final = 10_000
UNKNOWN_RETRY_SECONDS: Final = 0.3
"""A topic that was made a moment ago may be unknown to the broker that is asked."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that exists.

    `max_message_bytes` is its `max.message.bytes`: the size of its largest batch, which is that of its
    largest record with a little overhead, both compressed if they are. None where Kafka does not tell.
    """

    name: str
    partitions: int
    max_message_bytes: int | None = None
    needs_key: bool = False
    """It is compacted."""


class Catalog:
    """Looks topics up, one question for all who ask for the same topic at the same time.

    `on_limit_unknown` is told why Kafka does not tell how much topics take: once, until it does again.
    Raises ValueError when librdkafka refuses an option, with its words.
    """

    def __init__(
        self,
        options: Options,
        timeout_ms: int,
        on_limit_unknown: Callable[[Failure], None] = lambda _: None,
    ) -> None:
        self._options = {**options, "group.id": "catalog", "allow.auto.create.topics": False}
        try:
            self._idle = [Consumer(self._options)]
        except KafkaException as error:
            raise ValueError(f"librdkafka refuses the options: {error}") from error
        self._limits = TopicLimits(options, on_limit_unknown)
        self._places = asyncio.Semaphore(QUESTIONS_AT_A_TIME)
        self._timeout_seconds = timeout_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._known: dict[str, tuple[float, int]] = {}
        """Until when a topic is known, and its partitions."""
        self._asked: dict[str, asyncio.Task[Topic | Failure]] = {}

    async def topic(self, name: str) -> Topic | Failure:
        """Find a topic: itself, or why not. Waits at most about the metadata timeout."""
        known = self._known.get(name)
        if known is not None and known[0] > self._loop.time():
            return self._described(name, known[1])
        task = self._asked.get(name)
        if task is None:
            task = self._asked[name] = self._loop.create_task(self._ask(name))
        return await asyncio.shield(task)

    def forget(self, name: str) -> None:
        """Forget what is remembered of a topic, and what is being asked: it has changed, or may have."""
        self._known.pop(name, None)
        self._asked.pop(name, None)
        self._limits.forget(name)

    def poll(self) -> None:
        """Serve errors and logs."""
        for consumer in self._idle:
            consumer.poll(0)
        self._limits.poll()

    async def reachable(self, seconds: float) -> bool:
        """Tell whether a broker answers within so long."""
        try:
            await self._metadata(ALWAYS_THERE, seconds)
        except (KafkaException, RuntimeError):
            # RuntimeError: the machine has no thread to spare that could ask.
            return False
        return True

    async def _ask(self, name: str) -> Topic | Failure:
        try:
            answer = await self._ask_once(name)
            if isinstance(answer, Failure) and answer.kafka_code == KafkaError.UNKNOWN_TOPIC_OR_PART:
                await asyncio.sleep(UNKNOWN_RETRY_SECONDS)
                answer = await self._ask_once(name)
            if isinstance(answer, Failure):
                return answer
            partitions, broker_id = answer
            if len(self._known) >= REMEMBERED_TOPICS:
                self._known.clear()
                self._limits.forget(None)
            if broker_id >= 0:
                await self._limits.learn(name, broker_id)
            if self._is_current(name):
                self._known[name] = (self._loop.time() + REMEMBERED_SECONDS, partitions)
            return self._described(name, partitions)
        finally:
            if self._is_current(name):
                del self._asked[name]

    def _described(self, name: str, partitions: int) -> Topic:
        limits = self._limits.known(name)
        return Topic(name, partitions) if limits is None else Topic(name, partitions, *limits)

    def _is_current(self, name: str) -> bool:
        """Tell whether the topic was not forgotten since this question was put."""
        return self._asked.get(name) is asyncio.current_task()

    async def _ask_once(self, name: str) -> tuple[int, int] | Failure:
        """Give the topic's partitions, and a broker that answers; -1 where none is known."""
        try:
            async with self._places:
                metadata = await self._metadata(name, self._timeout_seconds)
        except KafkaException as error:
            return failures.classify_exception(error)
        topic = metadata.topics[name]
        if topic.error is not None:
            return failures.classify(topic.error)
        answered_by = metadata.orig_broker_id
        if answered_by < 0:
            # A first connection, to an address whose broker's number is not known yet.
            answered_by = max((partition.leader for partition in topic.partitions.values()), default=-1)
        return len(topic.partitions), answered_by

    async def _metadata(self, topic: str, seconds: float) -> ClusterMetadata:
        consumer = self._idle.pop() if self._idle else Consumer(self._options)
        try:
            return await questions.ask(partial(self._put, consumer, topic, seconds))
        except RuntimeError:  # there was no thread
            if consumer not in self._idle:
                self._idle.append(consumer)
            raise

    def _put(self, consumer: Consumer, topic: str, seconds: float) -> ClusterMetadata:
        """Put the question; the consumer is idle when it is through, and not when nobody waits any more."""
        try:
            metadata: ClusterMetadata = consumer.list_topics(topic, seconds)
            return metadata
        finally:
            self._idle.append(consumer)
