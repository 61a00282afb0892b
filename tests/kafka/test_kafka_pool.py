from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest
from support.producing import Rig, run, until

from bridge.model.failures import Reach, Stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.kafka import OwnKafka, RealKafka

    from bridge.kafka.pool import Acks

LIMIT_BYTES: Final = 2000
SMALL_TOPIC: Final = {"max.message.bytes": str(LIMIT_BYTES)}


@pytest.mark.parametrize("acks", ["all", "1"])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_topic_for_small_messages_takes_many_at_once_and_refuses_a_large_one_alone(
    kafka: RealKafka, acks: Acks, compression: str
) -> None:
    topic = kafka.create_topic(config=SMALL_TOPIC)
    small = [b"%04d" % number + b"x" * (number * 7 % 200) for number in range(2000)]
    values = [*small[:1000], b"".join(bytes([n % 251]) for n in range(4000)) * 20, *small[1000:]]
    large = values[1000]

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, acks, {"compression.type": compression})
        for value in values:
            assert rig.produce(topic, value, limit_bytes=LIMIT_BYTES) is None
        await rig.reports.await_answers(len(values))

        if compression == "none":
            failure = rig.reports.failed().pop(large)
            assert (failure.condition, failure.stored) == ("amqp:link:message-size-exceeded", Stored.NO)
            assert rig.reports.stored() == small
        else:  # the large one is a batch of its own, and becomes small
            assert rig.reports.stored() == values
        assert rig.rebuilt == 0

    run(test)
    stored = [record.value() for record in kafka.records(topic)]
    assert stored == (small if compression == "none" else values)


def test_the_largest_records_of_a_topic_fit(kafka: RealKafka) -> None:
    topic = kafka.create_topic(config=SMALL_TOPIC)
    overhead = 61 + 12  # of the batch, and of a record without a key in it
    largest = [b"x" * (LIMIT_BYTES - overhead - less) for less in range(50)]

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        for number, value in enumerate(largest):
            assert rig.produce(topic, value, limit_bytes=LIMIT_BYTES, name=number) is None
        await rig.reports.await_answers(len(largest))

        assert rig.reports.failed() == {}

    run(test)


def test_without_acknowledgement_a_small_topic_takes_many_at_once_too(kafka: RealKafka) -> None:
    topic = kafka.create_topic(config=SMALL_TOPIC)
    values = [b"%04d" % number + b"x" * 100 for number in range(500)]

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, "0")
        for value in values:
            assert rig.produce(topic, value, limit_bytes=LIMIT_BYTES) is None
        await until(lambda: not rig.pump.busy())
        while len(await asyncio.to_thread(kafka.records, topic)) < len(values):
            continue  # it is on its way

    run(test)
    assert [record.value() for record in kafka.records(topic)] == values


def test_where_the_limit_was_not_known_records_of_a_large_batch_are_stored_alone(
    kafka: RealKafka,
) -> None:
    topic = kafka.create_topic(config=SMALL_TOPIC)
    values = [b"%d" % number + b"x" * 1000 for number in range(10)]

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, options={"linger.ms": "500"})
        for value in values:
            assert rig.produce(topic, value) is None
        await rig.reports.await_answers(len(values))
        assert {failure.reach for failure in rig.reports.failed().values()} == {Reach.BATCH}

        for value in values:
            assert rig.produce(topic, value, limit_bytes=0) is None
        await rig.reports.await_answers(len(values) * 2)
        assert rig.pool.alone("all") is rig.pool.get("all", 0)
        assert rig.reports.stored() == values

    run(test)
    assert [record.value() for record in kafka.records(topic)] == values


def test_after_a_fatal_error_each_record_is_accounted_for_and_the_next_ones_are_stored(
    kafka: RealKafka,
) -> None:
    topic = kafka.create_topic(config=SMALL_TOPIC)
    before = [b"a%04d" % number for number in range(500)]
    large = b"x" * 5000
    after = [b"b%04d" % number for number in range(5000)]
    later = [b"c%04d" % number for number in range(500)]

    async def test() -> None:
        # With this librdkafka calls fatal what it otherwise works around: a record that is refused.
        rig = Rig(kafka.bootstrap_servers, options={"enable.gapless.guarantee": "true"})
        taken = 0
        for value in [*before, large, *after]:
            taken += rig.produce(topic, value, limit_bytes=LIMIT_BYTES) is None
        await rig.reports.await_answers(taken)
        await until(lambda: rig.rebuilt == 1)
        assert [name for _, name, _, fatal in rig.errors if fatal] == ["_GAPLESS_GUARANTEE"]
        for value in later:
            assert rig.produce(topic, value, limit_bytes=LIMIT_BYTES) is None
        await rig.reports.await_answers(taken + len(later))
        await until(lambda: not rig.pump.busy())

        names = [name for name, _ in rig.reports.answered]
        assert len(names) == len(set(names)) == taken + len(later)
        # All that the former producer held was reported before anything of the new one.
        assert names[taken:] == later
        stored, failed = rig.reports.stored(), rig.reports.failed()
        assert stored[: len(before)] == before
        assert failed.pop(large).kafka_error == "MSG_SIZE_TOO_LARGE"
        assert failed
        assert {failure.retriable for failure in failed.values()} == {True}
        in_kafka = [record.value() for record in await asyncio.to_thread(kafka.records, topic)]
        perhaps = {name for name, failure in failed.items() if failure.stored is Stored.PERHAPS}
        assert [value for value in in_kafka if value in set(stored)] == stored
        assert set(in_kafka) - set(stored) <= perhaps

    run(test)


def test_what_is_refused_while_the_producer_is_replaced_is_not_stored(kafka: RealKafka) -> None:
    topic = kafka.create_topic(config=SMALL_TOPIC)

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, options={"enable.gapless.guarantee": "true"})
        assert rig.produce(topic, b"x" * 5000) is None
        while True:  # without giving the pump its turn
            refused = rig.produce(topic, b"value")
            if refused is not None:
                break
        assert (refused.kafka_error, refused.retriable, refused.stored) == ("_FATAL", True, Stored.NO)

    run(test)


@pytest.mark.parametrize("acks", ["all", "1"])
def test_order_is_kept_over_a_restart_of_the_broker(own_kafka: Callable[..., OwnKafka], acks: Acks) -> None:
    kafka = own_kafka()
    topic = kafka.create_topic()
    names: list[object] = []

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, acks, {"log_level": "0", "reconnect.backoff.max.ms": "500"})
        restart: asyncio.Task[None] | None = None
        while restart is None or not restart.done():
            for _ in range(200):
                if rig.produce(topic, b"%06d" % len(names)) is None:
                    names.append(b"%06d" % len(names))
            await asyncio.sleep(0.01)
            if restart is None and rig.reports.answered:
                kafka.cluster.kill()
                restart = asyncio.create_task(asyncio.to_thread(kafka.cluster.restart))
        await rig.reports.await_answers(len(names))

        assert rig.reports.answered == [(name, None) for name in names]

    run(test)
    stored = [record.value() for record in kafka.records(topic)]
    if acks == "all":
        assert stored == names
    else:  # what was in flight may be there twice, in its order
        assert list(dict.fromkeys(stored)) == names
