from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from support.deduplication import (
    BY_DELIVERY_TAG,
    BY_MESSAGE_ID,
    LIMIT_SECONDS,
    Replica,
    ledger_settings,
    new_ledger,
    run,
    until,
)

from bridge.kafka import deduplication, ledger_transactions, settings
from bridge.kafka.ledger_reader import LedgerReader
from bridge.kafka.ledger_topic import LedgerTopic
from bridge.model.failures import Failure
from bridge.source.ledger import LinkName

if TYPE_CHECKING:
    import pytest
    from support.kafka import RealKafka

    from bridge.kafka.deduplication import DeduplicatingProducer

ENTRY_BYTES = 33


def ids(count: int, first: int = 0) -> list[bytes]:
    return [b"id-%d" % number for number in range(first, first + count)]


def values(kafka: RealKafka, topic: str) -> list[bytes | None]:
    return [record.value() for record in kafka.records(topic)]


def claims(kafka: RealKafka, ledger: str) -> int:
    return sum(len(record.value() or b"") != ENTRY_BYTES for record in kafka.records(ledger))


# ---------------------------------------------------------------------- links that did not last


def test_links_that_ended_before_they_began_take_no_place_and_nobody_s_name(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        replica = Replica(ledger_settings(kafka.bootstrap_servers, new_ledger(), links_max=2))
        link = await replica.attach(topic)
        for _ in range(5):
            ledger = replica.windows.ledger(LinkName("client", "link", topic), BY_MESSAGE_ID)
            producer = await replica.producers.open(ledger)
            assert not isinstance(producer, Failure), producer
            producer.close()
            assert producer.stopped.done()
            producer.start(link)  # does nothing any more
        assert len(replica.producers) == 1
        assert not link.is_stolen.is_set()
        await link.deliver(ids(10))
        await link.end()
        await replica.producers.stopped(LIMIT_SECONDS)
        assert len(replica.producers) == 0

    run(test)
    assert values(kafka, topic) == ids(10)


def test_a_link_that_ended_while_it_waited_for_its_predecessor_claims_nothing(kafka: RealKafka) -> None:
    topic, ledger = kafka.create_topic(), new_ledger()

    async def test() -> None:
        replica = Replica(ledger_settings(kafka.bootstrap_servers, ledger), BY_DELIVERY_TAG)
        former = await replica.attach(topic)
        former.send_all(ids(300))
        brief = await replica.begin(topic)
        assert not former.producer.stopped.done()
        await brief.end()
        assert former.producer.stopped.done()
        assert set(map(tuple, former.answers.values())) == {(None,)}
        now = await replica.attach(topic)
        await now.deliver(ids(310))
        assert now.producer.duplicates_suppressed == 300
        assert not brief.is_ready.is_set()
        await now.end()
        await until(lambda: len(replica.producers) == 0)

    run(test)
    assert values(kafka, topic) == ids(310)
    assert claims(kafka, ledger) == 2


# ---------------------------------------------------------------------- readers and producers that break


def test_a_reader_that_failed_is_replaced_before_the_next_message_is_judged(
    kafka: RealKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.create_topic()
    ledgers = ledger_settings(kafka.bootstrap_servers, new_ledger())
    failing: set[int] = set()
    failures = 0
    step = LedgerReader._step  # noqa: SLF001 - there is no other way to make a reader fail

    def failing_step(reader: LedgerReader, consumer: Consumer) -> None:
        nonlocal failures
        if id(reader._window) in failing:  # noqa: SLF001 - to tell the replicas
            failures += 1
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        step(reader, consumer)

    monkeypatch.setattr(LedgerReader, "_step", failing_step)

    async def test() -> None:
        one = await Replica(ledgers).attach(topic, "one")
        two = await Replica(ledgers).attach(topic, "two")
        await one.deliver(ids(20))
        await until(lambda: len(two.ledger.window) == 20)
        failing.add(id(two.ledger.window))
        await until(lambda: failures >= 2)  # so it was noticed once, and is read again
        await one.deliver(ids(20, 20))
        two.send_all([*ids(30, 20), *ids(30, 20)])
        assert two.producer.outstanding() == 30
        failing.clear()
        await two.answered(60)
        assert set(map(tuple, two.answers.values())) == {(None, None)}
        assert two.failure is None
        assert two.producer.duplicates_suppressed == 20 + 30
        # And from here on it learns as before.
        await one.deliver(ids(10, 50))
        await until(lambda: two.ledger.remembers(two.ledger.fingerprint(b"id-59"), 0))
        await two.deliver(ids(10, 50))
        await one.end()
        await two.end()

    run(test)
    assert values(kafka, topic) == ids(60)


def test_a_link_whose_ledger_may_not_be_read_any_more_ends(
    kafka: RealKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.create_topic()

    def refused(_reader: LedgerReader, _consumer: Consumer) -> None:
        raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))

    async def test() -> None:
        link = await Replica(ledger_settings(kafka.bootstrap_servers, new_ledger())).attach(topic)
        await link.deliver(ids(1))
        monkeypatch.setattr(LedgerReader, "_step", refused)
        await asyncio.wait_for(asyncio.shield(link.producer.stopped), LIMIT_SECONDS)
        assert link.failure is not None
        assert link.failure.condition == "amqp:unauthorized-access"
        assert link.send(b"late") is link.failure

    run(test)


def test_a_producer_whose_fatal_error_is_raised_while_it_is_served_is_replaced(
    kafka: RealKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.create_topic()
    made: list[Producer] = []
    broken: set[int] = set()

    class BreakingProducer(Producer):
        """A producer whose fatal error comes as confluent_kafka gives it."""

        def __init__(self, options: dict[str, Any]) -> None:
            super().__init__(options)
            made.append(self)

        def poll(self, timeout: float = -1) -> int:
            if id(self) in broken:
                raise KafkaException(KafkaError(KafkaError.UNKNOWN_PRODUCER_ID, "it broke", fatal=True))
            return super().poll(timeout)

    monkeypatch.setattr(ledger_transactions, "Producer", BreakingProducer)

    async def test() -> None:
        link = await Replica(ledger_settings(kafka.bootstrap_servers, new_ledger())).attach(topic)
        await link.deliver(ids(10))
        broken.add(id(made[0]))
        await until(lambda: len(made) == 2)
        await link.deliver(ids(20))
        assert link.producer.duplicates_suppressed == 10
        assert link.failure is None
        await link.end()

    run(test)
    assert values(kafka, topic) == ids(20)


def test_what_the_clients_say_of_errors_is_heard_on_the_loop_s_thread(
    kafka: RealKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.create_topic()
    said: set[int] = set()
    heard: set[tuple[str, int]] = set()

    class SayingProducer(Producer):
        """A producer that meets an error at once, in the thread that it belongs to."""

        def __init__(self, options: dict[str, Any]) -> None:
            said.add(threading.get_ident())
            options["error_cb"](KafkaError(KafkaError.BROKER_NOT_AVAILABLE))
            super().__init__(options)

    monkeypatch.setattr(ledger_transactions, "Producer", SayingProducer)

    def hear(_client: str, name: str, _description: str, _fatal: bool) -> None:  # noqa: FBT001 - ErrorSink
        heard.add((name, threading.get_ident()))

    async def test() -> None:
        options = settings.producer(
            kafka.bootstrap_servers, {}, acks="all", message_max_bytes=1_000_000, on_error=hear
        )
        ledgers = ledger_settings(kafka.bootstrap_servers, new_ledger(), producer=options)
        link = await Replica(ledgers).attach(topic)
        await link.end()
        assert said
        assert threading.get_ident() not in said
        assert heard == {("BROKER_NOT_AVAILABLE", threading.get_ident())}

    run(test)


def test_a_system_without_threads_refuses_a_link_and_not_those_after_it(
    kafka: RealKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def starts_no_more(thread: threading.Thread) -> None:
        if thread.name == "ledger topic":
            raise RuntimeError("can't start new thread")
        start(thread)

    async def test() -> None:
        topic = LedgerTopic(ledger_settings(kafka.bootstrap_servers, new_ledger()))
        monkeypatch.setattr(threading.Thread, "start", starts_no_more)
        refusals = await asyncio.gather(topic.partitions(), topic.partitions())
        assert all(isinstance(each, Failure) for each in refusals)
        monkeypatch.setattr(threading.Thread, "start", start)
        assert await topic.partitions() == 2

    run(test)


# ---------------------------------------------------------------------- what waits


def test_the_bytes_that_wait_are_bounded_and_those_sent_settled_before_others(
    kafka: RealKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.create_topic()
    monkeypatch.setattr(deduplication, "SETTLED_BYTES", 2500)
    monkeypatch.setattr(deduplication, "QUEUE_BYTES", 3500)
    reported: list[object] = []

    def settled(producer: DeduplicatingProducer, identity: bytes, size: int) -> str | None:
        failure = producer.produce_settled(
            topic, bytes(size), None, None, -1, 0, lambda error, _: reported.append(error), identity
        )
        return None if failure is None else failure.kafka_error

    def unsettled(producer: DeduplicatingProducer, identity: bytes, size: int) -> str | None:
        failure = producer.produce(
            topic, bytes(size), None, None, -1, 0, lambda error, _: reported.append(error), identity
        )
        return None if failure is None else failure.kafka_error

    async def test() -> None:
        link = await Replica(ledger_settings(kafka.bootstrap_servers, new_ledger())).attach(topic)
        producer = link.producer
        # Nothing is decided before the loop goes on.
        assert [settled(producer, identity, 1000) for identity in ids(3)] == [None, None, "_QUEUE_FULL"]
        assert [unsettled(producer, identity, 1000) for identity in ids(2, 3)] == [None, "_QUEUE_FULL"]
        assert producer.room() > 0
        assert unsettled(producer, b"small", 500) is None
        assert producer.room() == 0
        await until(lambda: len(reported) == 4)
        assert producer.room() == deduplication.QUEUE_RECORDS
        assert settled(producer, b"larger than all that may wait", 5000) is None
        assert unsettled(producer, b"next", 1) == "_QUEUE_FULL"
        await until(lambda: len(reported) == 5)
        assert reported == [None] * 5
        await link.end()

    run(test)
    assert [len(value or b"") for value in values(kafka, topic)] == [1000, 1000, 1000, 500, 5000]
