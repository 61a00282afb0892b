"""A link's consumer among the members of its group: fencing, static membership, what ends it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from support.consumer_link import QUICK, Link, run, until

from bridge.kafka import telling
from bridge.model.failures import Reach

if TYPE_CHECKING:
    import pytest
    from support.kafka import RealKafka


def test_what_is_committed_of_an_assignment_that_has_ended_is_dropped(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=2)

    async def test() -> None:
        first = Link(kafka, topic)
        await until(lambda: first.partitions == {0, 1})
        generations = dict(first.generations)
        second = Link(kafka, topic)
        await until(lambda: len(first.partitions) == len(second.partitions) == 1)
        (moved,), (kept,) = second.partitions, first.partitions
        first.feed.commit({moved: (generations[moved], 7), kept: (generations[kept], 3)})
        await until(lambda: first.commits == [{kept: 3}])
        await second.stop()
        await until(lambda: first.partitions == {0, 1})
        assert first.generations[moved] > generations[moved]
        assert first.generations[kept] == generations[kept]  # it was never away
        await first.stop({})
        assert kafka.committed(topic, topic) == {kept: 3}

    run(test)


def test_what_a_link_that_hangs_wants_committed_after_a_revoke_is_dropped(
    kafka: RealKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "LOOP_ANSWER_SECONDS", 0.2)
    topic = kafka.create_topic(partitions=2)

    async def test() -> None:
        first = Link(kafka, topic, revoke_wait_seconds=0.1)
        await until(lambda: first.partitions == {0, 1})
        before = dict(first.generations)
        first.when_revoking = lambda _drained: time.sleep(2.0)  # the loop hangs, and the consumer goes on
        first.to_commit_on_revoke = {0: 7, 1: 7}
        second = Link(kafka, topic)
        await until(lambda: len(second.partitions) == 1)
        (moved,) = second.partitions
        first.feed.commit({moved: (before[moved], 8)})
        await second.stop()
        first.when_revoking = lambda drained: drained()
        first.to_commit_on_revoke = {}
        await first.stop()
        assert kafka.committed(topic, topic) == {}

    run(test)


def test_a_static_member_that_comes_back_soon_disturbs_nobody(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        kafka.produce(topic, [b"%d" % partition] * 10, partition=partition)

    async def test() -> None:
        other = Link(kafka, topic)
        await until(lambda: other.partitions == {0, 1})
        first = Link(kafka, topic, instance_id="link-1")
        first.feed.allow(100)
        await until(lambda: len(first.values) == 10 and len(other.partitions) == 1)
        (number,) = first.partitions
        await asyncio.sleep(0.5)  # five heartbeats: the rebalance has come to its end
        disturbed = len(other.rebalances)
        await first.stop({number: 4})

        again = Link(kafka, topic, instance_id="link-1")
        again.feed.allow(100)
        await until(lambda: len(again.values) == 6)
        assert again.partitions == {number}
        await asyncio.sleep(0.5)
        assert len(other.rebalances) == disturbed
        await again.stop()
        await other.stop()

    run(test)


def test_who_comes_under_the_same_identity_takes_the_partitions_over(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"%d" % number for number in range(10)])

    async def test() -> None:
        first = Link(kafka, topic, instance_id="link-1")
        first.feed.allow(5)
        await until(lambda: len(first.values) == 5)
        second = Link(kafka, topic, instance_id="link-1")
        second.feed.allow(5)
        await until(lambda: bool(first.failures))

        assert first.failures[0].kafka_error == "FENCED_INSTANCE_ID"
        assert first.failures[0].reach is Reach.OWNER
        assert first.failures[0].condition == "amqp:link:stolen"
        await first.stop({0: 3})
        await until(lambda: len(second.values) == 5)
        await second.stop()
        assert kafka.committed(topic, topic) == {}  # not by the one who was fenced

    run(test)


def test_a_reader_of_a_topic_that_vanishes_hears_of_it(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"last words"])

    async def test() -> None:
        options: dict[str, Any] = {**QUICK, "topic.metadata.refresh.interval.ms": "100"}
        link = Link(kafka, topic, options, starts={0: 0}, assigned=True, commits=False)
        link.feed.allow(10)
        await until(lambda: link.values == [b"last words"])

        kafka.delete_topic(topic)
        await until(lambda: bool(link.failures))

        assert link.failures[0].condition == "amqp:resource-deleted"
        assert topic in link.failures[0].description
        await link.stop()

    run(test)
