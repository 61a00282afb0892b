from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Final, TypeVar

import pytest

from bridge.kafka import settings
from bridge.kafka.catalog import Catalog, Topic
from bridge.model.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from support.kafka import RealKafka

Answer = TypeVar("Answer")

NOBODY: Final = "127.0.0.1:1"
KAFKAS_LIMIT: Final = 1_048_588
"""`max.message.bytes` of a topic that does not say otherwise."""


def ask(
    servers: str, question: Callable[[Catalog], Awaitable[Answer]], *, timeout_ms: int = 20_000
) -> Answer:
    """Answer a question with a catalog of its own."""

    async def run() -> Answer:
        options = settings.admin(servers, {"log_level": "0"}, on_error=lambda *_: None)
        return await question(Catalog(options, timeout_ms))

    return asyncio.run(run())


def test_a_topic_is_found_with_its_partitions(kafka: RealKafka) -> None:
    name = kafka.create_topic(partitions=3)

    assert ask(kafka.bootstrap_servers, lambda catalog: catalog.topic(name)) == Topic(name, 3, KAFKAS_LIMIT)


@pytest.mark.parametrize(
    ("name", "condition"), [("no-such-topic", "amqp:not-found"), ("no topic", "amqp:invalid-field")]
)
def test_a_topic_that_is_not_there_is_told(kafka: RealKafka, name: str, condition: str) -> None:
    answer = ask(kafka.bootstrap_servers, lambda catalog: catalog.topic(name))

    assert isinstance(answer, Failure)
    assert (answer.condition, answer.retriable) == (condition, False)


def test_that_a_topic_was_missing_is_not_remembered(kafka: RealKafka) -> None:
    name = f"topic-{uuid.uuid4().hex}"

    async def before_and_after(catalog: Catalog) -> tuple[Topic | Failure, Topic | Failure]:
        before = await catalog.topic(name)
        await asyncio.to_thread(kafka.create_topic, name)
        return before, await catalog.topic(name)

    before, after = ask(kafka.bootstrap_servers, before_and_after)

    assert isinstance(before, Failure)
    assert after == Topic(name, 1, KAFKAS_LIMIT)


def test_many_may_ask_at_once_and_one_may_give_up(kafka: RealKafka) -> None:
    name = kafka.create_topic()

    async def at_once(catalog: Catalog) -> list[Topic | Failure | BaseException]:
        questions = [asyncio.create_task(catalog.topic(name)) for _ in range(100)]
        await asyncio.sleep(0)
        questions[0].cancel()
        return await asyncio.gather(*questions, return_exceptions=True)

    answers = ask(kafka.bootstrap_servers, at_once)

    assert isinstance(answers[0], asyncio.CancelledError)
    assert answers[1:] == [Topic(name, 1, KAFKAS_LIMIT)] * 99


def test_a_known_topic_is_remembered_until_it_is_to_be_forgotten(kafka: RealKafka) -> None:
    name = kafka.create_topic(config={"max.message.bytes": "2000"})

    async def again_and_again(catalog: Catalog) -> list[Topic | Failure]:
        answers = [await catalog.topic(name)]
        await asyncio.to_thread(kafka.add_partitions, name, 2)
        answers.append(await catalog.topic(name))
        catalog.forget(name)
        answers.append(await catalog.topic(name))
        return answers

    answers = ask(kafka.bootstrap_servers, again_and_again)

    assert answers == [Topic(name, 1, 2000), Topic(name, 1, 2000), Topic(name, 2, 2000)]


def test_what_was_asked_before_a_topic_was_to_be_forgotten_is_not_remembered(kafka: RealKafka) -> None:
    name = kafka.create_topic()

    async def forget_meanwhile(catalog: Catalog) -> bool:
        question = asyncio.create_task(catalog.topic(name))
        await asyncio.sleep(0)
        catalog.forget(name)
        await question
        return name in catalog._known  # noqa: SLF001 - what would be wrong cannot be seen from outside

    assert not ask(kafka.bootstrap_servers, forget_meanwhile)


def test_a_cluster_that_does_not_answer_is_a_failure_that_may_pass() -> None:
    answer = ask(NOBODY, lambda catalog: catalog.topic("any"), timeout_ms=500)

    assert isinstance(answer, Failure)
    assert answer.retriable


def test_a_question_without_an_answer_holds_nobody_up() -> None:
    async def meanwhile(catalog: Catalog) -> bool:
        question = asyncio.create_task(catalog.topic("any"))
        await asyncio.sleep(0)  # it is put
        catalog.poll()
        await asyncio.gather(catalog.reachable(0.1), catalog.reachable(0.1))
        return question.done()

    assert not ask(NOBODY, meanwhile, timeout_ms=5000)


def test_reachable_is_what_answers(kafka: RealKafka) -> None:
    assert ask(kafka.bootstrap_servers, lambda catalog: catalog.reachable(20.0))
    assert not ask(NOBODY, lambda catalog: catalog.reachable(0.5))


def test_an_option_that_librdkafka_refuses_is_told() -> None:
    async def make() -> None:
        options = settings.admin(NOBODY, {"no.such.option": "1"}, on_error=lambda *_: None)
        with pytest.raises(ValueError, match=r"no\.such\.option"):
            Catalog(options, 1000)

    asyncio.run(make())
