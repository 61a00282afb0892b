"""Which producer is given for which topic. No broker is needed: librdkafka's clients begin without one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import KafkaError

from bridge.kafka.pool import PoolSettings, ProducerPool, batch_class
from bridge.kafka.producers import ReportPump

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOBODY: Final = "127.0.0.1:1"
USUAL: Final = 1_000_000


@pytest.mark.parametrize(
    ("limit_bytes", "batch_bytes"),
    [
        (None, None),
        (1_048_588, None),  # Kafka's default
        (USUAL, None),
        (USUAL - 1, 524_288),
        (65_536, 65_536),
        (65_535, 32_768),
        (2000, 1024),
        (1024, 1024),
        (1023, 1),
        (0, 1),
    ],
)
def test_a_batch_is_no_larger_than_its_topic_takes(limit_bytes: int | None, batch_bytes: int | None) -> None:
    assert batch_class(limit_bytes, USUAL) == batch_bytes


def test_few_sizes_serve_all_topics() -> None:
    assert len({batch_class(limit_bytes, USUAL) for limit_bytes in range(USUAL + 1)}) == 12


def with_pool(test: Callable[[ProducerPool], None], pass_through: Mapping[str, str] | None = None) -> None:
    async def run() -> None:
        pump = ReportPump(lambda error: pytest.fail(str(error)))
        settings = PoolSettings(
            NOBODY, {"log_level": "0", **(pass_through or {})}, message_max_bytes=1_000_000
        )
        test(ProducerPool(settings, pump, on_error=lambda *_: None))

    asyncio.run(run())


def test_topics_share_the_producer_whose_batches_fit() -> None:
    def test(pool: ProducerPool) -> None:
        usual = pool.get("all")
        assert pool.get("all", 1_048_588) is usual
        assert pool.get("all", None) is usual
        assert len(pool) == 1

        small = pool.get("all", 2000)
        assert small is not usual
        assert pool.get("all", 1500) is small
        assert pool.get("all", 5000) not in {usual, small}
        assert len(pool) == 3

        assert pool.get("0") is not usual
        assert pool.get("1", 2000) is not small

    with_pool(test)


def test_what_is_usual_is_for_operators_to_say() -> None:
    def test(pool: ProducerPool) -> None:
        assert pool.get("all", 5000) is pool.get("all")
        assert pool.get("all", 3999) is not pool.get("all")

    with_pool(test, {"batch.size": "4000"})


def test_a_topic_with_a_small_limit_may_be_the_first() -> None:
    def test(pool: ProducerPool) -> None:
        assert pool.get("all", 2000) is not pool.get("all")

    with_pool(test)


def test_an_option_that_librdkafka_refuses_is_told() -> None:
    def test(pool: ProducerPool) -> None:
        with pytest.raises(ValueError, match=r"no\.such\.option"):
            pool.get("all")

    with_pool(test, {"no.such.option": "1"})


def test_a_producer_that_fails_again_and_again_is_replaced_at_once_only_at_first() -> None:
    fatal = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no idempotent writes", fatal=True)
    told: list[tuple[str, bool]] = []
    rebuilt: list[None] = []

    async def run() -> None:
        pump = ReportPump(lambda error: pytest.fail(str(error)))
        pool = ProducerPool(
            PoolSettings(NOBODY, {"log_level": "0"}, message_max_bytes=1000),
            pump,
            on_error=lambda _, name, _text, is_fatal: told.append((name, is_fatal)),
            on_rebuilt=lambda: rebuilt.append(None),
        )
        says = pool.get("all")._options["error_cb"]  # noqa: SLF001 - no broker is there that could make it say so

        says(KafkaError(KafkaError._TRANSPORT))  # noqa: SLF001 - librdkafka's own name
        says(fatal)
        says(fatal)
        assert rebuilt == []  # not from within its own callback
        await asyncio.sleep(0.01)
        assert rebuilt == [None]
        says(fatal)
        await asyncio.sleep(0.01)
        assert rebuilt == [None]
        assert pool.get("all").produce("topic", b"value", None, None, -1, 0, lambda *_: None) is None

    asyncio.run(run())
    name = "CLUSTER_AUTHORIZATION_FAILED"
    assert told == [("_TRANSPORT", False), (name, True), (name, True), (name, True)]


def test_what_a_producer_gives_up_has_the_reason_for_that_if_it_lasts() -> None:
    def test(pool: ProducerPool) -> None:
        says = pool.get("all")._options["error_cb"]  # noqa: SLF001 - no broker is there that could make it say so
        given_up = KafkaError(KafkaError._PURGE_QUEUE)  # noqa: SLF001 - librdkafka's own name
        timed_out = KafkaError(KafkaError._MSG_TIMED_OUT)  # noqa: SLF001 - the same
        assert pool.classify(given_up).retriable

        says(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no idempotent writes", fatal=True))
        denied = pool.classify(given_up)
        assert (denied.kafka_error, denied.retriable) == ("CLUSTER_AUTHORIZATION_FAILED", False)
        assert pool.classify(denied) is denied
        assert pool.classify(timed_out).retriable

        says(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "lost track", fatal=True))
        assert pool.classify(given_up).retriable

    with_pool(test)


@pytest.mark.parametrize(
    "given",
    [
        PoolSettings(NOBODY, {}, 1000, {"all": 640 << 20}),
        PoolSettings(NOBODY, {"queue.buffering.max.kbytes": str(640 << 10)}, 1000, {"all": 1}),
    ],
)
def test_all_queues_of_a_class_together_hold_what_they_may(given: PoolSettings) -> None:
    sizes = {batch_class(limit_bytes, USUAL) for limit_bytes in range(USUAL + 1)}
    shares = [given.queue_share("all", size) for size in sizes]

    assert min(shares) == 10 << 20
    assert given.queue_share("all", None) == 480 << 20
    assert sum(shares) <= 640 << 20
