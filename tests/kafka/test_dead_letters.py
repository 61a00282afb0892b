"""What becomes of dead letters in a real Kafka: stored as they were, or a failure that says why not."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka import Message
from support.producing import Rig, run, until

from bridge.config import Settings
from bridge.config.routes import Route
from bridge.endpoints.dead_letters import dead_letters, find
from bridge.kafka import settings as kafka_settings
from bridge.kafka.catalog import Catalog
from bridge.model.conditions import Condition
from bridge.model.failures import Failure, Stored
from bridge.sink.ports import DeadLetter, Reason

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from support.kafka import RealKafka

    from bridge.endpoints import KafkaClients
    from bridge.sink.ports import ConsumedRecord

NOBODY: Final = "127.0.0.1:1"
REJECTED: Final = DeadLetter(Reason.REJECTED, 2, Condition("amqp:not-allowed", "no"))
HEADERS: Final[list[tuple[str, Any]]] = [("a", b"\xff"), ("a", None)]


class Told:
    """What the calls were told, in order."""

    def __init__(self) -> None:
        self.answers: list[tuple[bytes | None, Failure | None]] = []

    def of(self, record: ConsumedRecord) -> Callable[[Failure | None], None]:
        return lambda failure: self.answers.append((record.value(), failure))

    async def await_answers(self, count: int) -> list[tuple[bytes | None, Failure | None]]:
        await until(lambda: len(self.answers) >= count)
        return self.answers


def clients(servers: str, rig: Rig) -> KafkaClients:
    options = kafka_settings.admin(servers, {"log_level": "0"}, on_error=lambda *_: None)
    catalog = Catalog(options, 20_000 if servers != NOBODY else 300)
    of_interest: Any = SimpleNamespace(pool=rig.pool, catalog=catalog)
    clients: KafkaClients = of_interest
    return clients


def record(value: bytes | None, *, partition: int = 0, key: bytes | None = b"k") -> ConsumedRecord:
    made: Any = Message(
        topic="orders",
        value=value,
        key=key,
        headers=HEADERS,
        partition=partition,
        offset=7,
        timestamp=(1, 5),
    )
    consumed: ConsumedRecord = made  # its annotations say less than it gives
    return consumed


def send(
    kafka: RealKafka, topic: str, records: Sequence[ConsumedRecord]
) -> list[tuple[bytes | None, Failure | None]]:
    """Send dead letters to a topic; gives what was told, by value."""
    told = Told()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        letters = dead_letters(clients(kafka.bootstrap_servers, rig), topic, "orders", "billing")
        for each in records:
            letters(each, REJECTED, told.of(each))
            assert not told.answers, "it was called back from within the call"
        await told.await_answers(len(records))
        assert rig.defects == []

    run(test)
    return told.answers


def test_a_dead_letter_is_the_record_and_what_became_of_it(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=3)
    began_ms = time.time() * 1000
    values = [b"0", b"1", None]
    assert send(kafka, topic, [record(value, partition=2) for value in values]) == [
        (value, None) for value in values
    ]

    stored = kafka.records(topic)
    assert [each.value() for each in stored] == values
    assert {each.partition() for each in stored} == {2}
    assert {each.key() for each in stored} == {b"k"}
    assert all(each.timestamp()[1] >= began_ms - 1000 for each in stored)
    assert stored[0].headers() == [
        *HEADERS,
        ("amqp.dlt.reason", b"rejected"),
        ("amqp.dlt.condition", b"amqp:not-allowed"),
        ("amqp.dlt.description", b"no"),
        ("amqp.dlt.topic", b"orders"),
        ("amqp.dlt.partition", b"2"),
        ("amqp.dlt.offset", b"7"),
        ("amqp.dlt.timestamp", b"5"),
        ("amqp.dlt.attempts", b"2"),
        ("amqp.dlt.group", b"billing"),
    ]


def test_where_there_are_fewer_partitions_the_key_decides(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=2)
    records = [record(b"%d" % partition, partition=partition) for partition in range(2, 6)]
    assert len(send(kafka, topic, records)) == len(records)
    assert len({each.partition() for each in kafka.records(topic)}) == 1


def test_what_the_topic_does_not_take_fails_for_good_and_alone(kafka: RealKafka) -> None:
    small = kafka.create_topic(config={"max.message.bytes": "2000"})
    told = dict(send(kafka, small, [record(b"a"), record(b"x" * 3000), record(b"b")]))
    assert told[b"a"] is None
    assert told[b"b"] is None
    failure = told[b"x" * 3000]
    assert failure is not None
    assert (failure.condition, failure.retriable) == ("amqp:link:message-size-exceeded", False)
    assert [each.value() for each in kafka.records(small)] == [b"a", b"b"]


def test_a_compacted_topic_needs_a_key(kafka: RealKafka) -> None:
    compacted = kafka.create_topic(config={"cleanup.policy": "compact"})
    told = dict(send(kafka, compacted, [record(b"a"), record(b"b", key=None)]))
    assert told[b"a"] is None
    failure = told[b"b"]
    assert failure is not None
    assert (failure.condition, failure.retriable) == ("amqp:precondition-failed", False)


def test_a_topic_that_is_gone_fails_for_good(kafka: RealKafka) -> None:
    [(_, failure)] = send(kafka, "no-such-topic", [record(b"a")])
    assert failure is not None
    assert (failure.condition, failure.retriable, failure.stored) == ("amqp:not-found", False, Stored.NO)


def test_while_kafka_is_away_it_may_be_tried_again() -> None:
    async def test() -> None:
        rig, told = Rig(NOBODY, options={"log_level": "0"}), Told()
        letters = dead_letters(clients(NOBODY, rig), "orders.dlt", "orders", None)
        letters(record(b"a"), REJECTED, told.of(record(b"a")))
        [(_, failure)] = await told.await_answers(1)
        assert failure is not None
        assert failure.retriable

    run(test)


def test_a_full_queue_may_be_tried_again(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, options={"queue.buffering.max.messages": "1", "linger.ms": "1000"})
        told = Told()
        letters = dead_letters(clients(kafka.bootstrap_servers, rig), topic, "orders", "billing")
        for value in (b"a", b"b"):
            letters(record(value), REJECTED, told.of(record(value)))
        [(refused, failure), *_] = await told.await_answers(1)
        assert refused == b"b"
        assert failure is not None
        assert (failure.kafka_error, failure.retriable) == ("_QUEUE_FULL", True)
        assert (await told.await_answers(2))[1] == (b"a", None)

    run(test)


def test_a_defect_is_an_answer_too() -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        defects: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: defects.append(context))
        rig, told = Rig(NOBODY, options={"log_level": "0"}), Told()

        def broken(_: str) -> Awaitable[Failure]:
            raise RuntimeError("a defect")

        with_defect = clients(NOBODY, rig)
        with_defect.catalog.topic = broken  # type: ignore[method-assign,assignment] # a defect to order
        dead_letters(with_defect, "orders.dlt", "orders", None)(record(b"a"), REJECTED, told.of(record(b"a")))
        [(_, failure)] = await told.await_answers(1)
        assert failure is not None
        assert failure.retriable
        await until(lambda: bool(defects))  # it is logged as well

    run(test)


# ---------------------------------------------------------------------- when a receiver attaches


def found(servers: str, route: Route, template: str | None = None) -> object:
    settings = Settings()
    settings = replace(settings, sink=replace(settings.sink, dead_letter_topic=template))
    answer: list[object] = []

    async def test() -> None:
        rig = Rig(servers, options={"log_level": "0"})
        answer.append(await find(route, settings, clients(servers, rig), "billing"))

    run(test)
    return answer[0]


def test_without_a_template_there_is_no_place_for_dead_letters() -> None:
    assert found(NOBODY, Route("orders")) is None
    assert found(NOBODY, Route("orders", dead_letter="none"), "{topic}.dlt") is None


def test_a_topic_that_is_there_is_found(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    kafka.create_topic(f"{topic}.dlt")
    assert callable(found(kafka.bootstrap_servers, Route(topic), "{topic}.dlt"))


@pytest.mark.parametrize(
    ("route", "template", "option"),
    [
        (Route("orders-x"), "{topic}.dead", "sink.dead.letter.topic"),
        (
            Route("orders-x", dead_letter="{topic}.dead", match="orders-#"),
            None,
            "dead_letter of route 'orders-#'",
        ),
    ],
)
def test_a_topic_that_is_missing_refuses_the_attach(
    kafka: RealKafka, route: Route, template: str | None, option: str
) -> None:
    refusal = found(kafka.bootstrap_servers, route, template)
    assert isinstance(refusal, Condition)
    assert refusal.name == "amqp:precondition-failed"
    assert option in refusal.description
    assert "--topic orders-x.dead" in refusal.description
    assert refusal.info["retriable"] is False
    assert refusal.info["dead-letter-topic"] == "orders-x.dead"


def test_the_bridges_own_topic_is_none_for_dead_letters() -> None:
    refusal = found(NOBODY, Route("orders"), Settings().deduplication.topic)
    assert isinstance(refusal, Condition)
    assert refusal.name == "amqp:precondition-failed"


def test_while_kafka_is_away_the_attach_may_be_tried_again() -> None:
    refusal = found(NOBODY, Route("orders"), "{topic}.dlt")
    assert isinstance(refusal, Condition)
    assert (refusal.name, refusal.info["retriable"]) == ("amqp:internal-error", True)
