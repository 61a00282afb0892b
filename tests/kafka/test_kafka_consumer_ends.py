"""A link's consumer finds out that all is handed over that is there: what an AMQP drain wants."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import Producer
from support.consumer_link import LIMIT_SECONDS, QUICK, Link, run, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kafka import RealKafka

RECORDS: Final = [b"%d" % number for number in range(100)]


@pytest.fixture
def topic(kafka: RealKafka) -> str:
    """Give a topic of two partitions with a hundred records each."""
    name = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        kafka.produce(name, RECORDS, partition=partition)
    return name


def test_the_end_is_told_after_all_that_was_there_when_it_was_asked_for(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic)
        link.feed.allow(1000)
        assert await link.end_reached(1) == 200  # it had not joined its group yet
        assert await link.end_reached(2) == 200
        for number in range(10):
            kafka.produce(topic, [b"new"], partition=number % 2)
            assert await link.end_reached(3 + number) == 201 + number
        await link.stop()

    run(test)


def test_a_paused_link_hears_of_the_end(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic)
        link.feed.allow(200)
        await until(lambda: len(link.values) == 200)
        await until(lambda: link.feed.is_paused)
        assert await link.end_reached(1) == 200
        kafka.produce(topic, [b"new"])
        link.feed.allow(201)
        assert await link.end_reached(2) == 201
        await link.stop()

    run(test)


def test_another_search_replaces_the_one_before(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic)
        link.feed.find_end(1)
        link.feed.allow(200)
        assert await link.end_reached(2) == 200
        await link.end_reached(3)
        assert [token for token, _ in link.ends_reached] == [2, 3]
        await link.stop()

    run(test)


def transactional(kafka: RealKafka, topic: str) -> Producer:
    """Give a producer of transactions."""
    options = {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic, "log_level": 0}
    producer = Producer(options)
    producer.init_transactions(LIMIT_SECONDS)
    return producer


def transactions(kafka: RealKafka, topic: str) -> Callable[[list[bytes], bool], None]:
    """Give a function that writes values in a transaction of their own, and commits or aborts it."""
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic, "log_level": 0}
    )
    producer.init_transactions(LIMIT_SECONDS)

    def write(values: list[bytes], commit: bool) -> None:  # noqa: FBT001 - of this module alone
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=0)
        producer.flush()
        if commit:
            producer.commit_transaction(LIMIT_SECONDS)
        else:
            producer.abort_transaction(LIMIT_SECONDS)

    return write


def test_what_is_never_handed_over_is_passed_and_what_was_aborted_is_never_handed_over(
    kafka: RealKafka,
) -> None:
    topic = kafka.create_topic()
    write = transactions(kafka, topic)
    write([b"kept"], True)  # noqa: FBT003 - likewise
    write([b"aborted"], False)  # noqa: FBT003 - likewise

    async def test() -> None:
        member = Link(kafka, topic, end_wait_seconds=LIMIT_SECONDS)
        reader = Link(
            kafka, topic, starts={0: 0}, assigned=True, commits=False, end_wait_seconds=LIMIT_SECONDS
        )
        for link in (member, reader):
            link.feed.allow(100)
            assert await link.end_reached(1) == 1
        await asyncio.to_thread(write, [b"aborted"], False)  # noqa: FBT003 - likewise
        await asyncio.to_thread(write, [b"kept as well"], True)  # noqa: FBT003 - likewise
        for link in (member, reader):
            assert await link.end_reached(2) == 2
            assert link.values == [b"kept", b"kept as well"]
            await link.stop()

    run(test)


def test_a_transaction_that_is_open_is_not_waited_for(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, RECORDS)
    producer = transactional(kafka, topic)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush()

    async def test() -> None:
        link = Link(kafka, topic, end_wait_seconds=LIMIT_SECONDS)
        link.feed.allow(1000)
        assert await link.end_reached(1) == len(RECORDS)
        assert link.values == RECORDS
        await link.stop()

    run(test)
    producer.abort_transaction(LIMIT_SECONDS)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_an_idle_member_has_nothing_to_wait_for(kafka: RealKafka, protocol: str) -> None:
    options = QUICK if protocol == "classic" else {"group.protocol": protocol}
    topic = kafka.create_topic()

    async def test() -> None:
        first = Link(kafka, topic, options)
        await until(lambda: first.partitions == {0})
        # The newer protocol tells an idle member nothing: it is waited for so long, once.
        wait = LIMIT_SECONDS if protocol == "classic" else 0.5
        idle = Link(kafka, topic, options, end_wait_seconds=wait)
        idle.feed.allow(10)
        assert await idle.end_reached(1) == 0
        assert await idle.end_reached(2) == 0
        assert idle.partitions == set()
        await idle.stop()
        await first.stop()

    run(test)


def test_who_may_not_take_more_hears_of_it_when_the_time_is_over(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic, end_wait_seconds=0.3)
        link.feed.allow(10)
        await until(lambda: len(link.values) == 10)
        assert await link.end_reached(1) == 10
        await link.stop()

    run(test)
