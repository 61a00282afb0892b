from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

import pytest
from support import murmur2
from support.producing import ANY, LIMIT_SECONDS, Reports, Rig, run, until

from bridge.kafka import failures
from bridge.model.failures import Reach, Stored

if TYPE_CHECKING:
    from support.kafka import RealKafka

    from bridge.kafka.pool import Acks

NOBODY: Final = "127.0.0.1:1"
QUIET: Final = {"log_level": "0"}


@pytest.mark.parametrize("acks", ["all", "1"])
def test_each_record_is_stored_in_order_and_reported_once(kafka: RealKafka, acks: Acks) -> None:
    topic = kafka.create_topic()
    values = [b"%d" % number for number in range(5000)]

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, acks)
        for value in values:
            assert rig.produce(topic, value) is None
        await rig.reports.await_answers(len(values))

        assert rig.reports.answered == [(value, None) for value in values]
        assert rig.reports.flushes < len(values) / 10  # many reports, one answer
        assert rig.producer.outstanding() == 0

    run(test)
    assert [record.value() for record in kafka.records(topic)] == values


def test_a_record_keeps_all_its_parts(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=3)
    headers = [("one", b"1"), ("none", None), ("one", b"again"), ("empty", b"")]

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        assert rig.produce(topic, b"value", key=b"key", headers=headers, partition=2) is None
        assert rig.produce(topic, None, key=b"tombstone", partition=1, name="tombstone") is None
        assert rig.produce(topic, b"", partition=0) is None
        await rig.reports.await_answers(3)

    run(test)
    empty, tombstone, whole = kafka.records(topic)
    assert (whole.partition(), whole.key(), whole.value(), whole.headers()) == (2, b"key", b"value", headers)
    assert (tombstone.key(), tombstone.value(), tombstone.headers()) == (b"tombstone", None, None)
    assert (empty.key(), empty.value()) == (None, b"")


def test_keys_choose_the_partition_that_javas_clients_choose(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=7)

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        for key in murmur2.JAVAS:
            assert rig.produce(topic, b"value", key=key) is None
        await rig.reports.await_answers(len(murmur2.JAVAS))

    run(test)
    chosen = {record.key(): record.partition() for record in kafka.records(topic)}
    assert chosen == {key: partition for key, (_, partition) in murmur2.JAVAS.items()}


def test_a_key_may_be_empty_and_then_is_a_key_all_the_same(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=7)

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, options={"sticky.partitioning.linger.ms": "0"})
        for number in range(100):
            assert rig.produce(topic, b"%d" % number, key=b"") is None
            assert rig.produce(topic, b"%d" % number, key=None) is None
        await rig.reports.await_answers(200)

    run(test)
    records = kafka.records(topic)
    assert {record.partition() for record in records if record.key() == b""} == {murmur2.JAVAS[b""][1]}
    assert sum(record.key() is None for record in records) == 100
    assert len({record.partition() for record in records if record.key() is None}) > 1


def test_without_acknowledgement_only_errors_are_reported(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, "0")
        for number in range(100):
            assert rig.produce(topic, b"%d" % number) is None
        async with asyncio.timeout(LIMIT_SECONDS):
            while rig.pump.busy():  # noqa: ASYNC110 - librdkafka has no event to wait for
                await asyncio.sleep(0.001)
        assert rig.produce(topic, b"no such partition", partition=99) is not None
        assert rig.reports.answered == []

    run(test)
    while len(kafka.records(topic)) < 100:  # it is on its way
        time.sleep(0.05)


def test_what_is_known_to_be_wrong_is_refused_at_once(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        assert rig.produce(topic, b"the partitions are known from now on") is None
        await rig.reports.await_answers(1)

        partition = rig.produce(topic, b"value", partition=1)
        size = rig.produce(topic, b"x" * 200_000)
        header = rig.produce(topic, b"value", headers=[("name", 5)])

        assert partition is not None
        assert (partition.kafka_error, partition.condition) == ("_UNKNOWN_PARTITION", "amqp:invalid-field")
        assert size is not None
        assert (size.kafka_error, size.condition) == (
            "MSG_SIZE_TOO_LARGE",
            "amqp:link:message-size-exceeded",
        )
        assert header is not None
        assert header.condition == "amqp:internal-error"
        assert {each.stored for each in (partition, size, header)} == {Stored.NO}

        assert rig.produce(topic, b"the producer goes on") is None
        await rig.reports.await_answers(2)
        assert len(rig.reports.answered) == 2

    run(test)


def test_what_the_broker_refuses_is_reported(kafka: RealKafka) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "2000"})
    compacted = kafka.create_topic(config={"cleanup.policy": "compact"})

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        assert rig.produce(topic, b"x" * 3000, name="large") is None
        assert rig.produce(compacted, b"value", name="without a key") is None
        assert rig.produce("no-such-topic", b"value", name="unknown topic") is None
        await rig.reports.await_answers(3)

        refused = {
            name: (failure.condition, failure.stored)
            for name, failure in rig.reports.answered
            if failure is not None
        }
        assert refused == {
            "large": ("amqp:link:message-size-exceeded", Stored.NO),
            "without a key": ("amqp:precondition-failed", Stored.NO),
            "unknown topic": ("amqp:not-found", Stored.NO),
        }

    run(test)


@pytest.mark.parametrize("acks", ["all", "1"])
def test_a_record_that_is_not_valid_is_refused_alone_if_all_of_its_batch_are_sent_again_alone(
    kafka: RealKafka, acks: Acks
) -> None:
    topic = kafka.create_topic()
    values = [b"%d" % number for number in range(10)]
    day_ms = 24 * 60 * 60 * 1000
    times_ms = dict.fromkeys(values, 0) | {b"5": round(time.time() * 1000) + day_ms}

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, acks, options={"linger.ms": "500"})  # one batch for all
        for value in values:
            assert rig.produce(topic, value, timestamp_ms=times_ms[value]) is None
        await rig.reports.await_answers(len(values))
        assert {failure.reach for failure in rig.reports.failed().values()} == {Reach.BATCH}
        assert {failure.stored for failure in rig.reports.failed().values()} == {Stored.NO}

        alone, again = rig.pool.alone(acks), Reports(rig.pump)
        for value in values:
            assert alone.produce(topic, value, None, None, ANY, times_ms[value], again.report(value)) is None
        await again.await_answers(len(values))

        assert again.stored() == values[:5] + values[6:]
        assert [failure.kafka_error for failure in again.failed().values()] == ["INVALID_TIMESTAMP"]

    run(test)
    assert [record.value() for record in kafka.records(topic)] == values[:5] + values[6:]


def test_that_a_topic_vanished_is_told(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        assert rig.produce(topic, b"before") is None
        await rig.reports.await_answers(1)
        await asyncio.to_thread(kafka.delete_topic, topic)
        reaches = []
        while Reach.TOPIC not in reaches:
            failure = rig.produce(topic, b"after")
            if failure is None:
                count = len(rig.reports.answered)
                await rig.reports.await_answers(count + 1)
                _, failure = rig.reports.answered[-1]
            if failure is not None:
                reaches.append(failure.reach)

        # What waited in the queue is told that its partition went away, the next one the whole truth.
        assert set(reaches) <= {Reach.PARTITION, Reach.TOPIC}

    run(test)


def test_a_full_queue_refuses_and_takes_again_when_it_has_room(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, options={"queue.buffering.max.messages": "10"})
        assert rig.producer.room() == 10
        taken = [rig.produce(topic, b"%d" % number) for number in range(20)]
        assert taken == [None] * 10 + [failures.QUEUE_FULL] * 10
        assert rig.producer.room() == 0
        await rig.reports.await_answers(10)
        assert rig.producer.room() == 10

        assert rig.produce(topic, b"later") is None
        await rig.reports.await_answers(11)

    run(test)


def test_a_link_that_fails_does_not_stop_the_others(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        defective = Reports(rig.pump)
        defective.raises = RuntimeError("a defect")
        defect_in_report = ZeroDivisionError("another")

        def report_that_raises(_error: object, _message: object) -> None:
            raise defect_in_report

        for reports in (defective.report("first"), report_that_raises, rig.reports.report("second")):
            assert rig.producer.produce(topic, b"value", None, None, ANY, 0, reports) is None
        await rig.reports.await_answers(1)
        await until(lambda: bool(defective.broken and rig.defects))

        assert defective.broken == [defective.raises]
        assert rig.defects == [defect_in_report]
        assert rig.reports.answered == [("second", None)]

    run(test)


def test_a_rebuilt_producer_gives_up_what_it_held_with_a_report_for_each() -> None:
    async def test() -> None:
        rig = Rig(NOBODY, options=QUIET)
        for number in range(10):
            assert rig.produce("topic", b"%d" % number) is None

        rig.producer.rebuild()
        await rig.reports.await_answers(10)

        assert {failure and failure.kafka_error for _, failure in rig.reports.answered} == {"_PURGE_QUEUE"}
        assert rig.producer.outstanding() == 0

    run(test)


def test_a_rebuilt_producer_works(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        assert rig.produce(topic, b"before") is None
        await rig.reports.await_answers(1)

        rig.producer.rebuild()
        assert rig.produce(topic, b"after") is None
        await rig.reports.await_answers(2)

    run(test)
    assert [record.value() for record in kafka.records(topic)] == [b"before", b"after"]


def test_the_pump_is_busy_while_a_record_has_no_report() -> None:
    async def test() -> None:
        rig = Rig(NOBODY, options=QUIET)
        await until(lambda: not rig.pump.busy())  # an error that nobody took counts as well
        assert rig.produce("topic", b"it goes nowhere") is None

        assert rig.pump.busy()
        rig.pump.close()

    run(test)


def test_errors_of_an_idle_producer_are_reported() -> None:
    async def test() -> None:
        rig = Rig(NOBODY, options=QUIET)
        await until(lambda: bool(rig.errors))

        client, name, _text, fatal = rig.errors[0]
        assert (client, name, fatal) == ("producer", "_TRANSPORT", False)

    run(test)


def test_a_producers_option_that_librdkafka_refuses_is_told() -> None:
    async def test() -> None:
        with pytest.raises(ValueError, match=r"no\.such\.option"):
            Rig(NOBODY, options={"no.such.option": "1"})

    run(test)
