from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bridge.kafka.availability import KafkaAvailability

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LIMIT_SECONDS: Final = 60.0
ALL_DOWN: Final = ("producer", "_ALL_BROKERS_DOWN", "1/1 brokers are down", False)


class Kafka:
    """Answers questions, or not: when the test says so."""

    def __init__(self, check_seconds: float) -> None:
        self.waits: list[float] = []
        self.changes: list[bool] = []
        self._asked: asyncio.Queue[asyncio.Future[bool]] = asyncio.Queue()
        self.availability = KafkaAvailability(self._question, check_seconds=check_seconds, doubt_seconds=0.01)
        self.availability.subscribe(self.changes.append)

    async def _question(self, seconds: float) -> bool:
        self.waits.append(seconds)
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._asked.put_nowait(answer)
        return await answer

    async def asked(self) -> asyncio.Future[bool]:
        """Wait for the next question."""
        return await self._asked.get()

    async def answer(self, *, yes: bool) -> None:
        """Answer the next question, and let the answer come through."""
        (await self.asked()).set_result(yes)
        for _ in range(5):
            await asyncio.sleep(0)


def run(test: Callable[[Kafka], Awaitable[None]], *, check_seconds: float = 0.03) -> None:
    async def bounded() -> None:
        kafka = Kafka(check_seconds)
        watch = asyncio.create_task(kafka.availability.watch())
        await asyncio.wait_for(test(kafka), LIMIT_SECONDS)
        watch.cancel()

    asyncio.run(bounded())


def test_only_changes_are_told() -> None:
    async def test(kafka: Kafka) -> None:
        assert not kafka.availability.available
        for yes in (True, True, False, False, True):
            await kafka.answer(yes=yes)
            assert kafka.availability.available == yes
        assert kafka.changes == [True, False, True]

    run(test)


def test_that_kafka_is_away_from_the_start_is_told_too() -> None:
    async def test(kafka: Kafka) -> None:
        await kafka.answer(yes=False)
        assert kafka.changes == [False]

    run(test)


def test_librdkafkas_word_that_all_is_down_is_a_reason_to_ask_and_no_more() -> None:
    async def test(kafka: Kafka) -> None:
        await kafka.answer(yes=True)
        kafka.availability.kafka_said("producer", "_TRANSPORT", "disconnected", False)  # noqa: FBT003 - ErrorSink
        kafka.availability.kafka_said(*ALL_DOWN)
        await kafka.answer(yes=True)  # an idle connection was closed
        assert kafka.changes == [True]
        kafka.availability.kafka_said(*ALL_DOWN)
        await kafka.answer(yes=False)

        assert kafka.changes == [True, False]
        assert kafka.waits == [LIMIT_SECONDS * 2, 0.01, 0.01]

    run(test, check_seconds=LIMIT_SECONDS * 2)


def test_while_it_is_away_it_is_asked_often_and_has_all_the_time_to_answer() -> None:
    async def test(kafka: Kafka) -> None:
        await kafka.answer(yes=True)
        await kafka.answer(yes=False)
        kafka.availability.kafka_said(*ALL_DOWN)
        await kafka.answer(yes=True)

        assert kafka.waits == [0.03, 0.03, 0.03]

    run(test)


def test_a_record_that_was_stored_is_an_answer() -> None:
    async def test(kafka: Kafka) -> None:
        await kafka.answer(yes=False)
        question = await kafka.asked()
        kafka.availability.stored()
        kafka.availability.stored()
        assert kafka.changes == [False, True]
        question.set_result(False)  # it was stored meanwhile all the same
        await kafka.answer(yes=True)

        assert kafka.changes == [False, True]

    run(test)
