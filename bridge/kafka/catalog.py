"""What topics there are: asked of Kafka when a link attaches, and remembered for a short while.

The question goes to any broker that is connected: one that needs the controller would have no answer
while that is away, when Kafka works all the same. It is put by a consumer that joins no group, since a
consumer's question never creates a topic.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, KafkaError, KafkaException

from bridge.kafka import failures
from bridge.model.failures import Failure

if TYPE_CHECKING:
    from confluent_kafka.admin._metadata import ClusterMetadata

    from bridge.kafka.settings import Options

QUESTIONS_AT_A_TIME: Final = 8
"""How many topics are asked for at a time; one that does not answer should not hold the others up."""
ALWAYS_THERE: Final = "__consumer_offsets"
"""Asked for to see whether a broker answers; whatever it answers will do."""
REMEMBERED_SECONDS: Final = 30.0
REMEMBERED_TOPICS: Final = 10_000
UNKNOWN_RETRY_SECONDS: Final = 0.3
"""A topic that was made a moment ago may be unknown to the broker that is asked."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that exists."""

    name: str
    partitions: int


class Catalog:
    """Looks topics up, one question for all who ask for the same topic at the same time.

    Raises ValueError when librdkafka refuses an option, with its words.
    """

    def __init__(self, options: Options, timeout_ms: int) -> None:
        try:
            self._client = Consumer({**options, "group.id": "catalog", "allow.auto.create.topics": False})
        except KafkaException as error:
            raise ValueError(f"librdkafka refuses the options: {error}") from error
        self._places = asyncio.Semaphore(QUESTIONS_AT_A_TIME)
        self._timeout_seconds = timeout_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._known: dict[str, tuple[float, Topic]] = {}
        self._asked: dict[str, asyncio.Task[Topic | Failure]] = {}

    async def topic(self, name: str) -> Topic | Failure:
        """Find a topic: itself, or why not. Waits at most about the metadata timeout."""
        known = self._known.get(name)
        if known is not None and known[0] > self._loop.time():
            return known[1]
        task = self._asked.get(name)
        if task is None:
            task = self._asked[name] = self._loop.create_task(self._ask(name))
            task.add_done_callback(lambda _: self._asked.pop(name, None))
        return await asyncio.shield(task)

    def poll(self) -> None:
        """Serve errors and logs."""
        self._client.poll(0)

    async def reachable(self, seconds: float) -> bool:
        """Tell whether a broker answers within so long."""
        try:
            await self._metadata(ALWAYS_THERE, seconds)
        except KafkaException:
            return False
        return True

    async def _ask(self, name: str) -> Topic | Failure:
        answer = await self._ask_once(name)
        if isinstance(answer, Failure) and answer.kafka_code == KafkaError.UNKNOWN_TOPIC_OR_PART:
            await asyncio.sleep(UNKNOWN_RETRY_SECONDS)
            answer = await self._ask_once(name)
        if isinstance(answer, Topic):
            if len(self._known) >= REMEMBERED_TOPICS:
                self._known.clear()
            self._known[name] = (self._loop.time() + REMEMBERED_SECONDS, answer)
        return answer

    async def _ask_once(self, name: str) -> Topic | Failure:
        try:
            async with self._places:
                topic = (await self._metadata(name, self._timeout_seconds)).topics[name]
        except KafkaException as error:
            return failures.classify_exception(error)
        if topic.error is not None:
            return failures.classify(topic.error)
        return Topic(name, len(topic.partitions))

    async def _metadata(self, topic: str, seconds: float) -> ClusterMetadata:
        future: asyncio.Future[ClusterMetadata] = self._loop.create_future()

        def answer(metadata: ClusterMetadata | None, error: BaseException | None) -> None:
            if future.done():
                return
            if metadata is not None:
                future.set_result(metadata)
            elif error is not None:
                future.set_exception(error)

        def ask() -> None:
            metadata, failed = None, None
            try:
                metadata = self._client.list_topics(topic, seconds)
            except Exception as error:  # noqa: BLE001 - handed over
                failed = error
            with suppress(RuntimeError):
                # The loop may be gone: the process ends without waiting for an answer.
                self._loop.call_soon_threadsafe(answer, metadata, failed)

        # A daemon, unlike an executor's threads: the end of the process does not wait for it.
        threading.Thread(target=ask, name="catalog", daemon=True).start()
        return await future
