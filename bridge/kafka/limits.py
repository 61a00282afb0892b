"""What each topic takes: the largest batch, and whether records need a key, as far as Kafka tells.

A hint that makes senders' lives better and that no attach may depend on: whoever asks waits a moment
only, and gets the last known value, or None, where Kafka is slow, away, or does not let the bridge see
configurations.

The question goes to a broker that has just answered another one. librdkafka would ask the controller,
which may be away when Kafka works all the same; any broker knows the configurations of topics (KIP-133).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined] # re-exported there, its documented home

from bridge.kafka import failures, questions

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure

QUESTIONS_AT_A_TIME: Final = 8
ANSWER_SECONDS: Final = 5.0
"""How long an answer is taken after which nobody waits any more: it serves those who ask later."""
PATIENCE_SECONDS: Final = 1.0
"""How long one who asks waits."""
IMPATIENT_SECONDS: Final = 30.0
"""How long nobody waits any more, once somebody waited in vain."""


class Limits(NamedTuple):
    """What a topic takes.

    `max_message_bytes` is its `max.message.bytes`; `needs_key` whether it is compacted, so that Kafka
    refuses records without a key, and with each of them the whole batch that it is in.
    """

    max_message_bytes: int
    needs_key: bool


class TopicLimits:
    """Asks for limits, and remembers them.

    `on_unknown` is told why Kafka does not tell them: once, until it tells one again. Raises ValueError
    when librdkafka refuses an option, with its words.
    """

    def __init__(self, options: Options, on_unknown: Callable[[Failure], None]) -> None:
        try:
            self._client = AdminClient(options)
        except KafkaException as error:
            raise ValueError(f"librdkafka refuses the options: {error}") from error
        self._on_unknown = on_unknown
        self._loop = asyncio.get_running_loop()
        self._known: dict[str, Limits] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._places = asyncio.Semaphore(QUESTIONS_AT_A_TIME)
        self._impatient_until = 0.0
        self._told = False

    def known(self, topic: str) -> Limits | None:
        """Give the last known limits."""
        return self._known.get(topic)

    async def learn(self, topic: str, broker_id: int) -> None:
        """Ask a broker for a topic's limit, and wait a moment for it."""
        question = self._asked.get(topic)
        if question is None:
            question = self._asked[topic] = self._loop.create_task(self._ask(topic, broker_id))
        if self._loop.time() < self._impatient_until:
            return
        _, waiting = await asyncio.wait([question], timeout=PATIENCE_SECONDS)
        if waiting:
            self._impatient_until = self._loop.time() + IMPATIENT_SECONDS

    def forget(self, topic: str | None) -> None:
        """Forget a topic's limit, or all, and what was asked about them and is not answered yet."""
        if topic is None:
            self._known.clear()
            self._asked.clear()
        else:
            self._known.pop(topic, None)
            self._asked.pop(topic, None)

    def poll(self) -> None:
        """Serve errors and logs."""
        self._client.poll(0)

    async def _ask(self, topic: str, broker_id: int) -> None:
        try:
            async with self._places:
                limits = await questions.ask(lambda: self._describe(topic, broker_id))
        except (KafkaException, LookupError, TypeError, ValueError, RuntimeError) as error:
            if not self._told:
                self._told = True
                self._on_unknown(failures.classify_exception(error))
        else:
            self._told = False
            self._impatient_until = 0.0
            if self._asked.get(topic) is asyncio.current_task():  # not forgotten since
                self._known[topic] = limits
        finally:
            if self._asked.get(topic) is asyncio.current_task():
                del self._asked[topic]

    def _describe(self, topic: str, broker_id: int) -> Limits:
        """Ask; this blocks, and holds the client, which must not end in the thread that answers."""
        client = self._client
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        futures = client.describe_configs([resource], request_timeout=ANSWER_SECONDS, broker=broker_id)
        said = futures[resource].result()
        return Limits(int(said["max.message.bytes"].value), "compact" in said["cleanup.policy"].value)
