"""Where a link's consumer begins to read, as a member of a group and without one."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import pytest
from support.consumer_link import QUICK, Link, run, until

from bridge.kafka.contract import BEGINNING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.kafka import RealKafka

RECORDS: Final = [b"%d" % number for number in range(100)]
PROTOCOLS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "cooperative-sticky": QUICK,
        "range": {**QUICK, "partition.assignment.strategy": "range"},
        "consumer": {"group.protocol": "consumer"},
    }
)


@pytest.fixture
def topic(kafka: RealKafka) -> str:
    """Give a topic of two partitions with a hundred records each."""
    name = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        kafka.produce(name, RECORDS, partition=partition)
    return name


@pytest.mark.parametrize("options", PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_member_begins_where_it_is_told_unless_its_group_was_there(
    kafka: RealKafka, topic: str, options: Mapping[str, str]
) -> None:
    async def test() -> None:
        first = Link(kafka, topic, options, starts={0: 97, 1: 98})
        first.feed.allow(1000)
        await until(lambda: len(first.values) == 5)
        assert sorted(first.values) == [b"97", b"98", b"98", b"99", b"99"]
        await first.stop({0: 99})

        second = Link(kafka, topic, options, starts={0: 0, 1: 98})
        second.feed.allow(1000)
        await until(lambda: len(second.values) == 3)
        await second.stop()
        assert sorted(second.values) == [b"98", b"99", b"99"]

    run(test)


@pytest.mark.parametrize("options", PROTOCOLS.values(), ids=PROTOCOLS)
def test_partitions_without_a_start_begin_where_the_options_say(
    kafka: RealKafka, topic: str, options: Mapping[str, str]
) -> None:
    async def test() -> None:
        link = Link(kafka, topic, {**options, "auto.offset.reset": "latest"}, starts={0: 99})
        link.feed.allow(1000)
        await until(lambda: link.values == [b"99"])
        await link.end_reached(1)  # of the other partition as well: the end is where it begins
        kafka.produce(topic, [b"new"], partition=1)
        await until(lambda: link.values == [b"99", b"new"])
        await link.stop()

    run(test)


def test_a_reader_of_partitions_joins_no_group_and_commits_nothing(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        reader = Link(kafka, topic, starts={1: 50}, assigned=True, commits=False)
        reader.feed.allow(1000)
        await until(lambda: len(reader.values) == 50)
        other = Link(kafka, topic, starts={1: 98}, assigned=True, commits=False, commit_first=True)
        other.feed.allow(1000)
        await until(lambda: len(other.values) == 2)

        assert reader.values == RECORDS[50:]
        assert reader.rebalances == [("assigned", [1])]
        reader.commit({1: 70})
        await reader.stop({1: 80})
        await other.stop({1: 100})
        assert reader.commits == reader.commits_refused == other.commits == []
        assert kafka.committed(topic, topic) == {}

    run(test)


def test_a_reader_of_partitions_goes_on_where_its_group_was(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        for expected in (RECORDS[10:], RECORDS[60:]):
            reader = Link(kafka, topic, starts={0: 10}, assigned=True, resumes=True)
            reader.feed.allow(1000)
            await until(lambda: len(reader.values) == len(expected))  # noqa: B023 - awaited here
            assert reader.values == expected
            reader.commit({0: 50})
            await until(lambda: {0: 50} in reader.commits)  # noqa: B023 - awaited here
            await reader.stop({0: 60})
        assert kafka.committed(topic, topic) == {0: 60}

    run(test)


@pytest.mark.parametrize("commit_first", [True, False])
def test_a_reader_of_partitions_cannot_commit_for_a_group_with_members(
    kafka: RealKafka, topic: str, *, commit_first: bool
) -> None:
    async def test() -> None:
        member = Link(kafka, topic)
        await until(lambda: member.partitions == {0, 1})
        reader = Link(kafka, topic, starts={0: 0}, assigned=True, commit_first=commit_first)
        reader.feed.allow(10)
        if not commit_first:
            await until(lambda: len(reader.values) == 10)
            reader.commit({0: 5})
        await until(lambda: bool(reader.failures))

        assert reader.failures[0].condition == "amqp:precondition-failed"
        assert "has members" in reader.failures[0].description
        await reader.stop()
        await member.stop()

    run(test)


@pytest.mark.parametrize("options", PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_reader_that_retention_overtook_goes_on_and_operators_hear_of_it(
    kafka: RealKafka, topic: str, options: Mapping[str, str]
) -> None:
    async def test() -> None:
        small = {**options, "fetch.message.max.bytes": "100", "queued.min.messages": "1"}
        link = Link(kafka, topic, small, starts={0: 0, 1: 99})
        link.feed.allow(5)
        await until(lambda: len(link.values) == 5)
        await until(lambda: link.feed.is_paused)
        kafka.delete_records(topic, {0: 90})
        link.feed.allow(1000)
        await until(lambda: b"99" in link.values[5:])
        await link.end_reached(1)
        await link.stop()

        ((partition, offset, to),) = link.resets
        assert (partition, to) == (0, 90)
        assert 5 - 1 <= offset <= 5
        assert len(link.values) == offset + 10 + 1
        assert link.failures == []

    run(test)


def test_a_partition_that_begins_anew_is_a_new_assignment(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic, starts={0: 5000}, assigned=True, commits=False)
        await until(lambda: link.partitions == {0})
        before = link.generations[0]
        link.feed.allow(1000)
        await until(lambda: len(link.values) == len(RECORDS))

        assert link.resets == [(0, 5000, 0)]
        assert link.generations[0] > before
        await link.stop()

    run(test)


def test_a_reset_that_operators_forbid_ends_the_link(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        link = Link(kafka, topic, {"auto.offset.reset": "error"}, starts={0: 0})
        link.feed.allow(1000)
        await until(lambda: bool(link.failures))  # of the partition without a start

        assert link.failures[0].kafka_error == "_AUTO_OFFSET_RESET"
        assert not link.failures[0].retriable
        await link.stop()

    run(test)


def test_a_member_begins_at_the_first_record_if_it_says_so(kafka: RealKafka, topic: str) -> None:
    async def test() -> None:
        reader = Link(
            kafka, topic, {**QUICK, "auto.offset.reset": "latest"}, starts={0: BEGINNING, 1: BEGINNING}
        )
        reader.feed.allow(1000)
        await until(lambda: len(reader.values) == 2 * len(RECORDS))
        await reader.stop({})

    run(test)


def test_a_group_that_begins_at_the_end_has_what_comes_while_nobody_reads(
    kafka: RealKafka, topic: str
) -> None:
    async def test() -> None:
        first = Link(kafka, topic, starts={0: 100, 1: 100})
        first.feed.allow(1000)
        await until(lambda: kafka.committed(topic, topic) == {0: 100, 1: 100})
        await first.stop({})
        kafka.produce(topic, [b"meanwhile"], partition=0)
        second = Link(kafka, topic, starts={0: 101, 1: 100})
        second.feed.allow(1000)
        await until(lambda: second.values == [b"meanwhile"])
        await second.stop({})

    run(test)
