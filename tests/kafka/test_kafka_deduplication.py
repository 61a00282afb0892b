from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from support.deduplication import (
    BY_DELIVERY_TAG,
    BY_MESSAGE_ID,
    LIMIT_SECONDS,
    Replica,
    ledger_settings,
    new_ledger,
    run,
    send_and_die,
    until,
)

from bridge.kafka import ledger_transactions
from bridge.kafka.ledger_topic import LedgerTopic
from bridge.model.deduplication import Deduplication
from bridge.model.failures import Failure, Stored
from bridge.source.ledger import LinkName

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kafka import OwnKafka, RealKafka

DEATHS: Final = 10


def ids(count: int, first: int = 0) -> list[bytes]:
    return [b"id-%d" % number for number in range(first, first + count)]


def values(kafka: RealKafka, topic: str) -> list[bytes | None]:
    return [record.value() for record in kafka.records(topic)]


# ---------------------------------------------------------------------- one link


@pytest.mark.parametrize("options", [BY_MESSAGE_ID, BY_DELIVERY_TAG], ids=lambda each: each.by)
def test_messages_are_stored_in_order_and_a_repeated_one_is_accepted_and_not_stored(
    kafka: RealKafka, options: Deduplication
) -> None:
    topic = kafka.create_topic()
    sent = ids(3000)

    async def test() -> None:
        link = await Replica(ledger_settings(kafka.bootstrap_servers, new_ledger()), options).attach(topic)
        await link.deliver(sent)
        assert link.order == sent
        assert link.producer.transactions < len(sent) / 10  # many messages, one transaction
        assert link.producer.duplicates_suppressed == 0

        await link.deliver(sent)
        assert link.producer.duplicates_suppressed == len(sent)
        assert set(map(tuple, link.answers.values())) == {(None, None)}
        await link.end()

    run(test)
    assert values(kafka, topic) == sent


def test_a_duplicate_of_a_message_in_flight_gets_the_outcome_of_the_first(kafka: RealKafka) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "20000"})

    async def test() -> None:
        link = await Replica(ledger_settings(kafka.bootstrap_servers, new_ledger())).attach(topic)
        for _ in range(3):
            assert link.send(b"good") is None
            assert link.send(b"large", b"x" * 30_000) is None
        await link.answered(6)
        assert link.producer.duplicates_suppressed == 4
        assert link.answers[b"good"] == [None] * 3
        failures = link.answers[b"large"]
        assert len(failures) == 3
        assert {f.condition for f in failures if isinstance(f, Failure)} == {
            "amqp:link:message-size-exceeded"
        }
        await link.end()

    run(test)
    assert values(kafka, topic) == [b"good"]


def test_what_kafka_will_not_have_is_refused_alone(kafka: RealKafka) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "20000"})
    sent = ids(40)
    large = {b"id-7", b"id-30"}

    async def test() -> None:
        link = await Replica(ledger_settings(kafka.bootstrap_servers, new_ledger())).attach(topic)
        for identity in sent:
            assert link.send(identity, b"x" * 30_000 if identity in large else None) is None
        await link.answered(len(sent))
        refused = {identity for identity, [error] in link.answers.items() if error is not None}
        assert refused == large
        assert link.send(b"no such partition's neighbour") is None
        failed = link.producer.produce(topic, b"", None, None, 99, 0, lambda *_: None, b"no such partition")
        assert failed is None
        await until(lambda: not link.producer.outstanding())

        # A message that was refused is not remembered: repaired, it is stored.
        await link.deliver([b"id-7"])
        await link.end()

    run(test)
    assert values(kafka, topic) == [
        *[identity for identity in sent if identity not in large],
        b"no such partition's neighbour",
        b"id-7",
    ]


def test_each_message_without_its_key_is_refused_by_a_compacted_topic(kafka: RealKafka) -> None:
    topic = kafka.create_topic(config={"cleanup.policy": "compact"})

    async def test() -> None:
        link = await Replica(ledger_settings(kafka.bootstrap_servers, new_ledger())).attach(topic)
        for number, identity in enumerate(ids(30)):
            assert link.send(identity, key=None if number % 3 else identity) is None
        await link.answered(30)
        errors = [link.answers[identity][0] for identity in ids(30)]
        for number, error in enumerate(errors):
            if number % 3:
                assert isinstance(error, Failure)
                assert error.condition == "amqp:precondition-failed"
            else:
                assert error is None
        await link.end()

    run(test)
    assert values(kafka, topic) == ids(30)[::3]


# ---------------------------------------------------------------------- windows


def test_the_window_ends_by_count_and_by_time(kafka: RealKafka) -> None:
    by_count, by_time = kafka.create_topic(), kafka.create_topic()
    settings = ledger_settings(kafka.bootstrap_servers, new_ledger())

    async def test() -> None:
        counting = Replica(settings, Deduplication("message-id", window_count=10))
        link = await counting.attach(by_count)
        await link.deliver(ids(15))
        await link.deliver(ids(15))  # the first five are forgotten, and push out one each
        await link.end()

        timing = Replica(settings, Deduplication("delivery-tag", window_ms=1500))
        link = await timing.attach(by_time)
        await link.deliver([b"again"])
        await link.deliver([b"again"])
        assert link.producer.duplicates_suppressed == 1
        await asyncio.sleep(1.6)
        await link.deliver([b"again"])
        assert link.producer.duplicates_suppressed == 1
        await link.end()

    run(test)
    assert Counter(values(kafka, by_count))[b"id-0"] == 2
    assert values(kafka, by_time) == [b"again", b"again"]


def test_the_ledger_of_a_link_is_a_ring(kafka: RealKafka) -> None:
    topic, ledger = kafka.create_topic(), new_ledger()
    settings = ledger_settings(kafka.bootstrap_servers, ledger)
    options = Deduplication("delivery-tag", window_count=7)

    async def test() -> None:
        for first in (0, 50):  # it goes on in the ring where another replica left it
            link = await Replica(settings, options).attach(topic)
            await link.deliver(ids(50, first))
            await link.end()
        link = await Replica(settings, options).attach(topic)
        await link.deliver(ids(7, 93))
        assert link.producer.duplicates_suppressed == 7
        await link.deliver(ids(1, 92))
        assert link.producer.duplicates_suppressed == 7
        await link.end()

    run(test)
    records = kafka.records(ledger)
    assert len(records) == 101 + 3
    assert len({record.key() for record in records}) == 7 + 1  # its claim
    entries = [record.key() for record in records if record.value() and len(record.value() or b"") == 33]
    # What compaction leaves, the last record of each key, is the last entries.
    assert all(len(set(entries[at : at + 7])) == 7 for at in range(len(entries) - 6))


# ---------------------------------------------------------------------- replicas


def test_what_one_replica_stored_another_one_recognises(kafka: RealKafka) -> None:
    topic, other = kafka.create_topic(), kafka.create_topic()
    settings = ledger_settings(kafka.bootstrap_servers, new_ledger())

    async def test() -> None:
        for options, names in ((BY_MESSAGE_ID, ("one", "two")), (BY_DELIVERY_TAG, ("same", "same"))):
            where = topic if options is BY_MESSAGE_ID else other
            first, second = Replica(settings, options), Replica(settings, options)
            link = await first.attach(where, names[0])
            await link.deliver(ids(100))
            await link.end()
            link = await second.attach(where, names[1])
            await link.deliver(ids(150, 50))
            assert link.producer.duplicates_suppressed == 50
            await link.end()

    run(test)
    assert values(kafka, topic) == ids(200)
    assert values(kafka, other) == ids(200)


def test_a_live_link_learns_what_links_of_other_replicas_store(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    settings = ledger_settings(kafka.bootstrap_servers, new_ledger())

    async def test() -> None:
        replicas = Replica(settings), Replica(settings)
        one = await replicas[0].attach(topic, "one")
        two = await replicas[1].attach(topic, "two")
        await one.deliver(ids(20))
        await until(lambda: len(two.ledger.window) == 20)
        await two.deliver(ids(20))
        assert two.producer.duplicates_suppressed == 20
        await one.end()
        await two.end()
        assert len(replicas[0].producers) == 0

    run(test)
    assert values(kafka, topic) == ids(20)


def test_no_message_is_judged_while_a_transaction_before_it_is_open(kafka: RealKafka) -> None:
    topic, ledger = kafka.create_topic(), new_ledger()
    settings = ledger_settings(kafka.bootstrap_servers, ledger, partitions=1)

    async def test() -> None:
        one = await Replica(settings).attach(topic, "one")
        # That of a replica which died, say: nothing behind it is to be read until Kafka gives it up.
        dead = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": ledger})
        await asyncio.to_thread(dead.init_transactions, LIMIT_SECONDS)
        dead.begin_transaction()
        dead.produce(ledger, b"", b"", 0)
        await asyncio.to_thread(dead.flush)
        await one.deliver(ids(20))
        two = await Replica(settings).begin(topic, "two")
        with suppress(TimeoutError):
            await asyncio.wait_for(two.is_ready.wait(), 2.0)
        assert not two.is_ready.is_set()
        refusal = two.send(b"too early")
        assert refusal is not None
        assert refusal.kafka_error == "_QUEUE_FULL"  # held by its link until there is room

        await asyncio.to_thread(dead.abort_transaction, LIMIT_SECONDS)
        await asyncio.wait_for(two.is_ready.wait(), LIMIT_SECONDS)
        await two.deliver(ids(20))
        assert two.producer.duplicates_suppressed == 20
        await one.end()
        await two.end()

    run(test)
    assert values(kafka, topic) == ids(20)


def test_delivery_tags_of_two_links_have_nothing_to_do_with_each_other(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    replica_settings = ledger_settings(kafka.bootstrap_servers, new_ledger())

    async def test() -> None:
        replica = Replica(replica_settings, BY_DELIVERY_TAG)
        for link, container in (("one", "a"), ("two", "a"), ("one", "b")):
            attached = await replica.attach(topic, link, container=container)
            await attached.deliver([b"0"])
            await attached.end()

    run(test)
    assert values(kafka, topic) == [b"0"] * 3


def test_a_link_that_is_attached_elsewhere_stores_nothing_more_and_is_told(kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    settings = ledger_settings(kafka.bootstrap_servers, new_ledger())

    async def test() -> None:
        for options in (BY_DELIVERY_TAG, BY_MESSAGE_ID):
            former = await Replica(settings, options).attach(topic, options.by)
            await former.deliver([b"before " + options.by.encode()])
            now = await Replica(settings, options).attach(topic, options.by)
            if options is BY_DELIVERY_TAG:  # it notices when it stores; the other reads it in the ledger
                assert former.send(b"late") is None
            await asyncio.wait_for(former.is_stolen.wait(), LIMIT_SECONDS)
            await asyncio.wait_for(asyncio.shield(former.producer.stopped), LIMIT_SECONDS)
            assert former.answers.get(b"late", [None])[0] is not None or options is BY_MESSAGE_ID
            refusal = former.send(b"too late")
            assert refusal is not None
            assert refusal.condition == "amqp:link:stolen"
            await now.deliver([b"after " + options.by.encode()])
            assert not now.is_stolen.is_set()
            await now.end()

    run(test)
    assert b"late" not in values(kafka, topic)
    assert len(values(kafka, topic)) == 4


def test_a_link_attached_again_in_the_same_process_takes_over_what_was_under_way(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        replica = Replica(ledger_settings(kafka.bootstrap_servers, new_ledger()), BY_DELIVERY_TAG)
        former = await replica.attach(topic)
        former.send_all(ids(500))
        now = await replica.begin(topic)
        assert former.is_stolen.is_set()
        await asyncio.wait_for(now.is_ready.wait(), LIMIT_SECONDS)
        await now.deliver(ids(600))
        assert now.producer.duplicates_suppressed == 500
        await now.end()

    run(test)
    assert values(kafka, topic) == ids(600)


# ---------------------------------------------------------------------- deaths


@pytest.mark.parametrize("death", ["before:2", "after:2", "before:4", "after:4"])
def test_a_process_that_died_at_a_commit_leaves_nothing_in_doubt(kafka: RealKafka, death: str) -> None:
    topic, ledger = kafka.create_topic(), new_ledger()
    servers, sent = kafka.bootstrap_servers, ids(300)

    # The claim is the first commit: the second one is that of messages.
    answered = send_and_die(servers, topic, ledger, "link", death, sent)
    stored = values(kafka, topic)
    assert answered <= set(stored)
    assert len(stored) < len(sent)
    if death == "after:2":
        assert set(stored) - answered  # stored, and its sender does not know
    again = [identity for identity in sent if identity not in answered]
    assert send_and_die(servers, topic, ledger, "link", "never", again) == set(again)

    assert values(kafka, topic) == sent


def test_ten_deaths_at_any_moment_leave_one_record_for_each_message(
    own_kafka: Callable[..., OwnKafka],
) -> None:
    # A broker that looks for transactions to give up every half second instead of every ten.
    interval = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    kafka = own_kafka(extra_properties={interval: "500"})
    topic, ledger = kafka.create_topic(), new_ledger()
    servers, sent = kafka.bootstrap_servers, ids(6000)
    unanswered = sent
    seed = random.Random(20261121)  # noqa: S311 - a test's
    for number in range(DEATHS):
        # Under two names by turns, so that a former owner is shut out or has to be waited for.
        death = f"timer:{seed.randrange(5, 120)}"
        answered = send_and_die(servers, topic, ledger, f"link-{number % 2}", death, unanswered)
        unanswered = [identity for identity in unanswered if identity not in answered]
    assert 0 < len(unanswered) < len(sent)
    assert send_and_die(servers, topic, ledger, "link-0", "never", unanswered) == set(unanswered)

    assert Counter(values(kafka, topic)) == Counter(sent)


# ---------------------------------------------------------------------- Kafka's own failures


def test_a_broker_that_dies_within_transactions_loses_and_doubles_nothing(
    own_kafka: Callable[..., OwnKafka],
) -> None:
    kafka = own_kafka()
    topic = kafka.create_topic()
    sent = ids(4000)

    async def test() -> None:
        link = await Replica(ledger_settings(kafka.bootstrap_servers, new_ledger())).attach(topic)

        async def send() -> None:
            for identity in sent:
                while link.producer.outstanding() >= 100:  # noqa: ASYNC110 - as credit would have it
                    await asyncio.sleep(0.001)
                assert link.send(identity) is None

        sending = asyncio.create_task(send())
        await link.answered(300)
        await asyncio.to_thread(kafka.cluster.kill, 1)
        await asyncio.sleep(1.0)
        await asyncio.to_thread(kafka.cluster.restart, 1)
        await link.answered(1500)
        await asyncio.to_thread(kafka.cluster.kill, 1)
        await asyncio.to_thread(kafka.cluster.restart, 1)
        await asyncio.wait_for(sending, LIMIT_SECONDS)
        await link.answered(len(sent))
        assert set(map(tuple, link.answers.values())) == {(None,)}
        assert not link.is_stolen.is_set()
        await link.end()

    run(test)
    assert values(kafka, topic) == sent


@pytest.mark.parametrize("is_committed", [True, False])
def test_the_ledger_says_what_became_of_a_commit_without_an_answer(
    kafka: RealKafka,
    monkeypatch: pytest.MonkeyPatch,
    is_committed: bool,  # noqa: FBT001 - pytest gives it by name
) -> None:
    topic = kafka.create_topic()

    class LosingProducer(Producer):
        """A producer that breaks at its third commit, and perhaps had it done."""

        commits = 0

        def commit_transaction(self, timeout: float = -1) -> None:
            LosingProducer.commits += 1
            if LosingProducer.commits != 3:
                super().commit_transaction(timeout)
                return
            if is_committed:
                super().commit_transaction(LIMIT_SECONDS)
            else:
                self.flush(LIMIT_SECONDS)
            broken = KafkaError._FATAL  # noqa: SLF001 - librdkafka's own name
            raise KafkaException(KafkaError(broken, "it broke", fatal=True))

    monkeypatch.setattr(ledger_transactions, "Producer", LosingProducer)

    async def test() -> None:
        for options, where in ((BY_MESSAGE_ID, topic), (BY_DELIVERY_TAG, other)):
            LosingProducer.commits = 0
            link = await Replica(ledger_settings(kafka.bootstrap_servers, new_ledger()), options).attach(
                where
            )
            await link.deliver(ids(10))
            link.send_all(ids(10, 10))
            link.send_all(ids(20))  # some are stored, some in flight, some wait behind those
            link.send_all(ids(10, 20))
            await link.answered(50)
            assert LosingProducer.commits > 3
            assert {error for errors in link.answers.values() for error in errors} == {None}
            await link.end()

    other = kafka.create_topic()
    run(test)
    assert values(kafka, topic) == ids(30)
    assert values(kafka, other) == ids(30)


def test_a_transaction_that_kafka_gave_up_is_made_again_and_nobody_is_robbed(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        settings = ledger_settings(kafka.bootstrap_servers, new_ledger())
        link = await Replica(settings, BY_DELIVERY_TAG).attach(topic)
        await link.deliver(ids(10))
        # Kafka fences a producer whose transaction took too long; so does another producer of its name,
        # and this one claims nothing.
        intruder = Producer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "transactional.id": settings.transactional_id_prefix + link.ledger.writer.hex(),
            }
        )
        await asyncio.to_thread(intruder.init_transactions, LIMIT_SECONDS)
        await link.deliver(ids(10, 5))
        assert link.producer.duplicates_suppressed == 5
        assert not link.is_stolen.is_set()
        await link.end()

    run(test)
    assert values(kafka, topic) == ids(15)


def test_while_kafka_is_away_messages_wait_as_long_as_they_may(own_kafka: Callable[..., OwnKafka]) -> None:
    kafka = own_kafka()
    topic = kafka.create_topic()

    async def test() -> None:
        settings = ledger_settings(kafka.bootstrap_servers, new_ledger(), delivery_timeout_seconds=2.0)
        link = await Replica(settings).attach(topic)
        await link.deliver_until_accepted(ids(10))  # a new broker's first transaction may take too long
        answered = len(link.order)
        # The only broker is to die with nothing under way in it: the mark of the commit is written as well.
        assert await asyncio.to_thread(values, kafka, topic) == ids(10)
        await asyncio.to_thread(kafka.cluster.kill, 1)
        assert link.send(b"under way") is None
        await asyncio.sleep(0.5)
        assert link.send(b"waiting") is None
        await link.answered(answered + 2)
        [under_way], [waiting] = link.answers[b"under way"], link.answers[b"waiting"]
        assert isinstance(under_way, Failure)
        assert isinstance(waiting, Failure)
        assert (under_way.retriable, under_way.stored) == (True, Stored.PERHAPS)
        assert (waiting.retriable, waiting.stored) == (True, Stored.NO)

        await asyncio.to_thread(kafka.cluster.restart, 1)
        await link.deliver_until_accepted([b"under way", b"waiting"])
        await link.end()

    run(test)
    stored = values(kafka, topic)
    assert Counter(stored) == Counter([*ids(10), b"under way", b"waiting"])


# ---------------------------------------------------------------------- the ledger's topic


def test_the_ledger_is_created_once_and_refused_when_it_forgets_too_early(kafka: RealKafka) -> None:
    ledger = new_ledger()

    async def test() -> None:
        settings = ledger_settings(kafka.bootstrap_servers, ledger, retention_ms=3_600_000)
        assert await asyncio.gather(*(LedgerTopic(settings).partitions() for _ in range(3))) == [2, 2, 2]
        longer = ledger_settings(kafka.bootstrap_servers, ledger, retention_ms=7_200_000)
        refusal = await LedgerTopic(longer).partitions()
        assert isinstance(refusal, Failure)
        assert refusal.condition == "amqp:precondition-failed"
        assert f"--entity-name {ledger} --add-config retention.ms=7200000" in refusal.description

        impossible = ledger_settings(kafka.bootstrap_servers, new_ledger(), replication_factor=7)
        refusal = await LedgerTopic(impossible).partitions()
        assert isinstance(refusal, Failure)

    run(test)


def test_there_are_no_more_links_than_configured(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        replica = Replica(ledger_settings(kafka.bootstrap_servers, new_ledger(), links_max=1))
        link = await replica.attach(topic)
        ledger = replica.windows.ledger(LinkName("client", "second", topic), BY_MESSAGE_ID)
        refusal = await replica.producers.open(ledger)
        assert isinstance(refusal, Failure)
        assert refusal.condition == "amqp:resource-limit-exceeded"
        assert not refusal.kafka_error
        await link.end()
        again = await replica.attach(topic, "second")
        await again.end()

    run(test)
