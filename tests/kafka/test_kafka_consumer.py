from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka import Producer
from support.consumer_link import LIMIT_SECONDS, PLENTY, QUICK, Link, ignore, run, until

from bridge.kafka import consumer, settings
from bridge.kafka.consumer import PAUSE_AFTER_SECONDS, ConsumerFeed

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Consumer, TopicPartition
    from support.kafka import RealKafka

RECORDS: Final = [b"%d" % number for number in range(1000)]


@pytest.fixture
def topic(kafka: RealKafka) -> str:
    """Give a topic of one partition with a thousand records."""
    name = kafka.create_topic()
    kafka.produce(name, RECORDS)
    return name


def test_it_hands_over_what_is_allowed_in_order(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic)
        link.feed.allow(10)
        await until(lambda: len(link.values) == 10)
        link.feed.allow(700)
        await until(lambda: len(link.values) == 700)
        link.feed.allow(10_000)
        await until(lambda: len(link.values) == len(RECORDS))
        await link.stop()

        assert link.values == RECORDS
        assert link.partitions == set()
        assert link.rebalances == [("assigned", [0]), ("revoked", [0])]
        assert link.failures == []

    run(test)


def test_one_that_has_stopped_is_freed_without_the_garbage_collector(kafka: RealKafka, topic: str) -> None:
    async def served() -> weakref.ref[ConsumerFeed]:
        link = Link(kafka, topic)
        link.feed.allow(10)
        await until(lambda: len(link.values) == 10)
        await link.stop({0: 5})
        feed = weakref.ref(link.feed)
        del link.feed  # which is its log, too
        return feed

    async def test() -> None:
        gc.disable()
        try:
            feed = await served()
            # Its thread ends a moment after it was said to have stopped.
            await until(lambda: feed() is None)
        finally:
            gc.enable()

    run(test)


def test_it_hands_over_little_more_than_the_buffer_holds(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"x" * 100_000 for _ in range(80)])

    async def test() -> None:
        link = Link(kafka, topic, buffer_bytes=1000)
        link.feed.allow(80)
        await until(lambda: bool(link.values))
        for number in range(5):  # in each turn it commits first, and then would hand over
            link.commit({0: number})
            await until(lambda: len(link.commits) == number + 1)  # noqa: B023 - awaited here
        # A batch is what librdkafka had fetched: at most 1 MiB, and a fetch more.
        held = len(link.values)
        assert held < 40

        link.feed.took(held * 100_000)
        await until(lambda: len(link.values) > held)
        await link.stop()

    run(test)


def test_what_is_committed_is_where_the_next_one_begins(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        first = Link(kafka, topic)
        first.feed.allow(100)
        await until(lambda: len(first.values) == 100)
        first.commit({0: 30})
        await until(lambda: first.commits == [{0: 30}])
        await first.stop({0: 40})
        assert kafka.committed(topic, topic) == {0: 40}

        second = Link(kafka, topic)
        second.feed.allow(1)
        await until(lambda: len(second.values) == 1)
        await second.stop()

        assert second.values == [b"40"]

    run(test)


def test_at_most_once_is_committed_before_it_is_handed_over(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic, commit_first=True)
        committed = []
        link.when_consumed = lambda: committed.append(kafka.committed(topic, topic)[0])
        link.feed.allow(100)
        await until(lambda: len(link.values) == 100)
        await link.stop()

        assert committed[-1] == 100
        assert committed == sorted(committed)

    run(test)


def test_a_partition_moves_when_what_is_in_flight_is_answered(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        kafka.produce(topic, [b"a", b"b", b"c"], partition=partition)

    async def test() -> None:
        first = Link(kafka, topic)
        first.feed.allow(100)
        await until(lambda: len(first.values) == 6)
        asked: list[Callable[[], None]] = []
        first.when_revoking = asked.append
        first.to_commit_on_revoke = {0: 2, 1: 2}

        second = Link(kafka, topic)
        second.feed.allow(100)
        await until(lambda: bool(asked))
        assert second.values == []  # nothing moves before the answer
        asked[0]()
        await until(lambda: len(second.values) == 1)

        assert second.values == [b"c"]
        assert len(first.partitions) == len(second.partitions) == 1
        (moved,) = second.partitions
        assert kafka.committed(topic, topic) == {moved: 2}
        await second.stop()
        await until(lambda: first.partitions == {0, 1})
        first.when_revoking = lambda drained: drained()
        await first.stop()

    run(test)


def test_a_link_that_does_not_answer_is_waited_for_so_long_and_no_longer(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=2)

    async def test() -> None:
        first = Link(kafka, topic, revoke_wait_seconds=0.1)
        first.when_revoking = lambda _drained: None
        await until(lambda: first.partitions == {0, 1})

        second = Link(kafka, topic)
        await until(lambda: len(second.partitions) == 1)

        await first.stop()
        await second.stop()

    run(test)


def test_without_demand_it_stays_in_its_group_and_hands_nothing_over(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic)
        await until(lambda: link.partitions == {0})
        link.feed.allow(1)
        await until(lambda: len(link.values) == 1)

        # It takes part in a rebalance while it is paused.
        other = Link(kafka, topic)
        await until(lambda: bool(other.rebalances))
        await other.stop()
        await until(lambda: link.partitions == {0})

        link.feed.allow(2)
        await until(lambda: len(link.values) == 2)
        await link.stop()
        assert link.values == RECORDS[:2]

    run(test)


class SuddenDemand(ConsumerFeed):
    """A consumer whose link wants something just when partitions come."""

    demand = 0

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        super()._on_assign(consumer, partitions)
        self.allow(self.demand)


def test_partitions_that_come_to_a_paused_link_leave_none_paused(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        kafka.produce(topic, [b"%d" % partition], partition=partition)

    async def test() -> None:
        link = Link(kafka, topic, feed=SuddenDemand)
        await until(lambda: link.partitions == {0, 1})
        other = Link(kafka, topic)
        await until(lambda: len(link.partitions) == len(other.partitions) == 1)
        await asyncio.sleep(PAUSE_AFTER_SECONDS * 2)  # nobody wants anything: both are paused

        SuddenDemand.demand = 2
        await other.stop()
        await until(lambda: len(link.values) == 2)

        await link.stop()

    run(test)


def test_a_partition_that_was_paused_when_it_left_is_read_when_it_comes_back(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=2)

    async def test() -> None:
        first = Link(kafka, topic)
        await until(lambda: first.partitions == {0, 1})
        await until(lambda: first.feed.is_paused)
        second = Link(kafka, topic)
        await until(lambda: len(second.partitions) == 1)
        await until(lambda: len(first.partitions) == 1)
        first.feed.allow(1000)
        await until(lambda: not first.feed.is_paused)

        await second.stop()
        await until(lambda: first.partitions == {0, 1})
        for partition in (0, 1):
            kafka.produce(topic, RECORDS[:10], partition=partition)
        await until(lambda: len(first.values) == 20)
        await first.stop()

    run(test)


def test_a_defect_of_the_link_is_told_to_it_alone(kafka: RealKafka, topic: str) -> None:
    def fail() -> None:
        raise RuntimeError("a defect")

    async def test() -> None:
        link = Link(kafka, topic)
        link.when_consumed = fail
        link.feed.allow(1)
        await until(lambda: bool(link.failures))

        assert [str(error) for error in link.broken] == ["a defect"]
        assert link.failures[0].condition == "amqp:internal-error"
        await link.stop()

    run(test)


def test_options_that_librdkafka_refuses_end_the_link(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic, {"no.such.option": "1"})
        await asyncio.wait_for(link.feed.stopped, LIMIT_SECONDS)
        await until(lambda: bool(link.failures))

        assert link.failures[0].kafka_error == "_INVALID_ARG"

    run(test)


def test_options_are_judged_without_a_group(kafka: RealKafka) -> None:
    def options(**given: str) -> dict[str, Any]:
        return settings.consumer(
            kafka.bootstrap_servers, given, group="group", queue_bytes=PLENTY, on_error=ignore
        )

    consumer.check(options())
    with pytest.raises(ValueError, match="nonsense"):
        consumer.check(options(nonsense="1"))


def test_a_topic_that_vanishes_ends_the_link(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"last words"])

    async def test() -> None:
        link = Link(kafka, topic, {**QUICK, "topic.metadata.refresh.interval.ms": "100"})
        link.feed.allow(10)
        await until(lambda: link.values == [b"last words"])

        kafka.delete_topic(topic)
        await until(lambda: bool(link.failures))

        assert link.failures[0].condition == "amqp:resource-deleted"
        assert topic in link.failures[0].description
        await asyncio.wait_for(link.feed.stopped, LIMIT_SECONDS)

    run(test)


def test_at_most_once_passes_over_nothing_when_the_group_changes(kafka: RealKafka) -> None:
    count = 10_000
    topic = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        kafka.produce(topic, [b"%d-%d" % (partition, n) for n in range(count)], partition=partition)

    async def test() -> None:
        first = Link(kafka, topic, commit_first=True)
        links = [first]
        allowed = 0
        for _ in range(3):
            other = Link(kafka, topic, commit_first=True)
            links.append(other)
            while not other.partitions:
                allowed += 20
                first.feed.allow(allowed)
                await asyncio.sleep(0.005)
            other.feed.allow(100)
            await until(lambda other=other: len(other.values) >= 100)  # type: ignore[misc] # the one of this turn
            await other.stop()
        first.feed.allow(2 * count)
        await until(lambda: len({value for link in links for value in link.values}) == 2 * count)
        await first.stop()

    run(test)


def test_a_record_larger_than_all_bounds_comes_through(kafka: RealKafka) -> None:
    size = 16 << 20
    topic = kafka.create_topic(config={"max.message.bytes": str(size + 65_536)})
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "message.max.bytes": size + 65_536, "log_level": 0}
    )
    for value in (b"before", b"x" * size, b"after"):
        producer.produce(topic, value, partition=0)
    producer.flush()

    async def test() -> None:
        link = Link(kafka, topic, buffer_bytes=1000)
        link.feed.allow(10)
        for count in range(1, 4):
            await until(lambda: len(link.values) >= count)  # noqa: B023 - awaited here
            link.feed.took(size)
        await link.stop()

        assert [len(value) for value in link.values] == [6, size, 5]

    run(test)
