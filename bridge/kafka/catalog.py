"""What topics there are: asked of Kafka when a link attaches, and remembered for a short while.

Nothing here creates a topic: the question is put in the way that does not (DescribeTopics).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from bridge.kafka import failures
from bridge.model.failures import Failure

if TYPE_CHECKING:
    from bridge.kafka.settings import Options

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
            self._admin = AdminClient(options)
        except KafkaException as error:
            raise ValueError(f"librdkafka refuses the options: {error}") from error
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
        self._admin.poll(0)

    async def reachable(self, seconds: float) -> bool:
        """Tell whether a broker answers within so long."""
        try:
            future = self._admin.describe_cluster(request_timeout=seconds)
            await asyncio.wait_for(asyncio.wrap_future(future), seconds + 1)
        except (KafkaException, TimeoutError):
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
            futures = self._admin.describe_topics(
                TopicCollection([name]), request_timeout=self._timeout_seconds
            )
            described = await asyncio.wait_for(asyncio.wrap_future(futures[name]), self._timeout_seconds + 1)
        except KafkaException as error:
            return failures.classify_exception(error)
        except TimeoutError:
            return failures.classify(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - librdkafka's local error codes begin with an underscore
        return Topic(name, len(described.partitions))
