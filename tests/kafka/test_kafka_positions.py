from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.consumer_link import ignore

from bridge.kafka import settings
from bridge.kafka.asking import OffsetAsker
from bridge.kafka.positions import OutOfRange, Positions, positions
from bridge.model.failures import Failure
from bridge.model.receiving import EARLIEST, LATEST, Position, Start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.kafka import RealKafka

HOUR_MS = 3_600_000
BEGAN_MS = 1_700_000_000_000


@pytest.fixture(scope="module")
def topic(kafka: RealKafka) -> str:
    """Give a topic with ten records an hour apart, of which two are gone, and an empty partition."""
    name = kafka.create_topic(partitions=2, config={"retention.ms": "-1"})
    kafka.append(name, [(None, b"", (), BEGAN_MS + hour * HOUR_MS) for hour in range(10)])
    kafka.delete_records(name, {0: 2})
    return name


def ask(kafka: RealKafka, topic: str, partitions: Sequence[int], start: Start, now_ms: int = 0) -> Positions:
    async def asking() -> Positions:
        options: dict[str, Any] = settings.asking(kafka.bootstrap_servers, {}, on_error=ignore)
        return await positions(OffsetAsker(options, 10.0), topic, partitions, start, now_ms=now_ms)

    return asyncio.run(asking())


def at(hour: float) -> int:
    return BEGAN_MS + round(hour * HOUR_MS)


@pytest.mark.parametrize(
    ("start", "offset"),
    [
        (EARLIEST, 2),
        (LATEST, 10),
        (Start(Position.TIME, at(5)), 5),
        (Start(Position.TIME, at(5.5)), 6),
        (Start(Position.TIME, at(9) + 1), 10),
        (Start(Position.TIME, 0), 2),
        (Start(Position.AGE, 3 * HOUR_MS), 7),  # at ten
        (Start(Position.AGE, 0), 10),
        (Start(Position.AGE, 2 * at(10)), 2),  # before all times
    ],
    ids=str,
)
def test_a_place_is_an_offset_in_each_partition(
    kafka: RealKafka, topic: str, start: Start, offset: int
) -> None:
    assert ask(kafka, topic, [0, 1], start, now_ms=at(10)) == {0: offset, 1: 0}


@pytest.mark.parametrize("offset", [2, 5, 10])
def test_an_offset_that_is_there_is_taken_and_so_is_the_next_one(
    kafka: RealKafka, topic: str, offset: int
) -> None:
    assert ask(kafka, topic, [0], Start(Position.OFFSET, offset)) == {0: offset}


@pytest.mark.parametrize("offset", [-1, 1, 11])
def test_an_offset_that_is_not_there_is_told_with_those_that_are(
    kafka: RealKafka, topic: str, offset: int
) -> None:
    assert ask(kafka, topic, [0], Start(Position.OFFSET, offset)) == OutOfRange(0, earliest=2, latest=10)


@pytest.mark.parametrize("position", Position)
def test_a_topic_that_is_not_there_any_more_is_kafkas_failure(kafka: RealKafka, position: Position) -> None:
    answer = ask(kafka, "no-such-topic", [0], Start(position, 1))

    assert isinstance(answer, Failure)
    # Whether the broker says so, or the client that knows no partition of it.
    assert answer.kafka_error in {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION"}
    assert answer.condition == "amqp:resource-deleted"


def test_a_kafka_that_is_away_is_a_failure_that_may_pass() -> None:
    async def asking() -> Positions:
        options = settings.asking("127.0.0.1:1", {}, on_error=ignore)
        return await positions(OffsetAsker(options, 0.2), "topic", [0], LATEST, now_ms=0)

    answer = asyncio.run(asking())
    assert isinstance(answer, Failure)
    assert answer.retriable


def test_options_that_librdkafka_refuses_are_told(kafka: RealKafka) -> None:
    async def make() -> None:
        options = settings.asking(kafka.bootstrap_servers, {"nonsense": "1"}, on_error=ignore)
        OffsetAsker(options, 1.0)

    with pytest.raises(ValueError, match="nonsense"):
        asyncio.run(make())
