from __future__ import annotations

import asyncio
import time
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pytest

from bridge.kafka import failures, settings
from bridge.kafka.producers import ReportPump, SharedProducer
from bridge.model.failures import Stored

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from support.kafka import RealKafka

    from bridge.model.failures import Failure

LIMIT_SECONDS: Final = 60.0
ANY: Final = -1
NOBODY: Final = "127.0.0.1:1"
QUIET: Final = {"log_level": "0"}

# Kafka's own test vectors (org.apache.kafka.common.utils.UtilsTest), and the hash of no bytes.
MURMUR2: Final = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
    b"": 275646681,
}


class Reports:
    """A link, as far as the pump knows it: reports come in, and are answered by `flush`."""

    def __init__(self, pump: ReportPump) -> None:
        self._pump = pump
        self._new: list[tuple[object, object]] = []
        self.answered: list[tuple[object, Failure | None]] = []
        self.flushes = 0
        self.broken: list[Exception] = []
        self.raises: Exception | None = None

    def report(self, name: object) -> Callable[[object, object], None]:
        """Return what to give to `produce` for the record of that name."""
        return partial(self._reported, name)

    def flush(self) -> None:
        self.flushes += 1
        new, self._new = self._new, []
        if self.raises is not None:
            raise self.raises
        self.answered += [
            (name, None if error is None else failures.classify_report(error)) for name, error in new
        ]

    def broke(self, error: Exception) -> None:
        self.broken.append(error)

    def _reported(self, name: object, error: object, _message: object) -> None:
        if not self._new:
            self._pump.ready(self)
        self._new.append((name, error))

    async def await_answers(self, count: int) -> None:
        await until(lambda: len(self.answered) >= count)


async def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not happened():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


class Rig:
    """A producer and a pump as the service has them."""

    def __init__(
        self, servers: str, acks: str = "all", options: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.defects: list[Exception] = []
        self.errors: list[tuple[str, str, str, bool]] = []
        self.pump = ReportPump(self.defects.append)
        self.producer = SharedProducer(
            settings.producer(
                servers,
                options,
                acks=acks,
                message_max_bytes=100_000,
                on_error=lambda *error: self.errors.append(error),
            ),
            self.pump.wake,
        )
        self.pump.start([self.producer])
        self.reports = Reports(self.pump)

    def produce(self, topic: str, value: bytes | None, **given: Any) -> Failure | None:  # noqa: ANN401 - passed on
        """Produce a record under the name of its value."""
        return self.producer.produce(
            topic,
            value,
            given.get("key"),
            given.get("headers"),
            given.get("partition", ANY),
            given.get("timestamp_ms", 0),
            self.reports.report(given.get("name", value)),
        )


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), LIMIT_SECONDS)

    asyncio.run(bounded())


@pytest.mark.parametrize("acks", ["all", "1"])
def test_each_record_is_stored_in_order_and_reported_once(kafka: RealKafka, acks: str) -> None:
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
    partitions = 7
    topic = kafka.create_topic(partitions=partitions)

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        for key in MURMUR2:
            assert rig.produce(topic, b"value", key=key) is None
        await rig.reports.await_answers(len(MURMUR2))

    run(test)
    chosen = {record.key(): record.partition() for record in kafka.records(topic)}
    assert chosen == {key: (number & 0x7FFFFFFF) % partitions for key, number in MURMUR2.items()}


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


def test_a_full_queue_refuses_and_takes_again_when_it_has_room(kafka: RealKafka) -> None:
    topic = kafka.create_topic()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers, options={"queue.buffering.max.messages": "10"})
        taken = [rig.produce(topic, b"%d" % number) for number in range(20)]
        assert taken == [None] * 10 + [failures.QUEUE_FULL] * 10
        await rig.reports.await_answers(10)

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
