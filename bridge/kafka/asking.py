"""Asks Kafka for offsets: where partitions begin and end, and what was written when.

One consumer asks for the whole process. It reads nothing, and so its connections are free: on those of a
consumer that reads, a question would wait behind a fetch, which Kafka holds back until there is a record
or `fetch.wait.max.ms` have passed.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from bridge.kafka import failures, questions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure

END: Final = -1
"""In the place of a time: where a partition ends, for those who read what is committed (the last stable
offset) if `isolation.level` says so. Source: ListOffsets in Kafka's protocol guide."""
BEGINNING: Final = -2
"""In the place of a time: the first offset that is still there."""
QUESTIONS_AT_A_TIME: Final = 8
"""One that is not answered should not hold the others up."""


class OffsetAsker:
    """Asks for offsets, for all links. Raises ValueError when librdkafka refuses an option.

    Its options are those of `settings.asking`.
    """

    def __init__(self, options: Options, timeout_seconds: float) -> None:
        try:
            self._consumer = Consumer(options)
        except KafkaException as error:
            raise ValueError(f"librdkafka refuses the options: {error}") from error
        self._timeout_seconds = timeout_seconds
        self._questions: set[asyncio.Future[list[TopicPartition]]] = set()
        self._places = asyncio.Semaphore(QUESTIONS_AT_A_TIME)

    async def ask(self, topic: str, partitions: Iterable[int], time_ms: int) -> dict[int, int] | Failure:
        """Give each partition's first offset that was not written before a time, or why that is not known.

        The time is in milliseconds since the epoch, or END or BEGINNING. Where all was written before
        that time the answer is END. Waits at most about the timeout, once it is its turn.
        """
        wanted = [TopicPartition(topic, partition, time_ms) for partition in partitions]
        question = asyncio.ensure_future(self._asked(wanted))
        self._questions.add(question)
        question.add_done_callback(self._answered)
        try:
            # Who does not wait any more leaves the question its place, until its thread is through.
            answers = await asyncio.shield(question)
        except (KafkaException, RuntimeError) as error:
            # RuntimeError: the machine has no thread to spare that could ask.
            return failures.classify_consumer_exception(error, topic)
        for answer in answers:
            if answer.error is not None:
                return failures.classify_consumer(answer.error, topic, answer.partition)
        return {answer.partition: answer.offset for answer in answers}

    async def _asked(self, wanted: list[TopicPartition]) -> list[TopicPartition]:
        async with self._places:
            return await questions.ask(partial(self._put, wanted))

    def _answered(self, question: asyncio.Future[list[TopicPartition]]) -> None:
        self._questions.discard(question)
        if not question.cancelled():
            question.exception()  # perhaps nobody waits for it any more

    def poll(self) -> None:
        """Serve errors and logs."""
        self._consumer.poll(0)

    def _put(self, wanted: list[TopicPartition]) -> list[TopicPartition]:
        return self._consumer.offsets_for_times(wanted, timeout=self._timeout_seconds)
