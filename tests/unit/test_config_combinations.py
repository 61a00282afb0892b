from __future__ import annotations

from dataclasses import replace

import pytest

from bridge.config import (
    AmqpSettings,
    BridgeSettings,
    KafkaSettings,
    ManagementSettings,
    Settings,
    SinkSettings,
    SourceSettings,
)
from bridge.config.combinations import contradictions


def _keys(settings: Settings) -> list[tuple[str, ...]]:
    found = list(contradictions(settings))
    for contradiction in found:
        assert contradiction.keys[0] in contradiction.message
    return [contradiction.keys for contradiction in found]


def test_the_defaults_do_not_contradict_each_other() -> None:
    assert _keys(Settings()) == []


@pytest.mark.parametrize(
    ("amqp", "management", "collides"),
    [
        (("127.0.0.1", 1), ("127.0.0.1", 1), True),
        (("127.0.0.1", 1), ("localhost", 1), True),
        (("0.0.0.0", 1), ("127.0.0.1", 1), True),  # noqa: S104 - not bound to
        (("10.0.0.1", 1), ("::", 1), True),
        (("10.0.0.1", 1), ("10.0.0.2", 1), False),
        (("127.0.0.1", 1), ("127.0.0.1", 2), False),
        (("127.0.0.1", 0), ("127.0.0.1", 0), False),
    ],
)
def test_one_port_for_two_listeners(
    amqp: tuple[str, int], management: tuple[str, int], *, collides: bool
) -> None:
    settings = Settings(
        amqp=AmqpSettings(host=amqp[0], port=amqp[1]),
        management=ManagementSettings(host=management[0], port=management[1]),
    )
    assert _keys(settings) == ([("management.port", "amqp.port")] if collides else [])
    off = replace(settings, management=replace(settings.management, enabled=False))
    assert _keys(off) == []


def test_a_session_window_holds_a_frame() -> None:
    amqp = AmqpSettings(max_frame_size_bytes=4096, session_window_bytes=4096)
    assert _keys(Settings(amqp=amqp)) == []
    amqp = AmqpSettings(max_frame_size_bytes=4097, session_window_bytes=4096)
    assert _keys(Settings(amqp=amqp)) == [("amqp.session.window.bytes", "amqp.max.frame.size.bytes")]


@pytest.mark.parametrize(("workers", "contradicts"), [(1, False), (4, False), (5, True)])
def test_each_worker_has_a_part_of_the_budget_that_is_worth_it(workers: int, *, contradicts: bool) -> None:
    settings = Settings(
        bridge=BridgeSettings(workers=workers), source=SourceSettings(budget_bytes=4 * 1_048_576)
    )
    assert _keys(settings) == ([("source.budget.bytes", "bridge.workers")] if contradicts else [])


@pytest.mark.parametrize(("kib", "contradicts"), [("16384", False), ("16383", True), ("x", False)])
def test_the_producers_queue_holds_a_message(kib: str, *, contradicts: bool) -> None:
    kafka = KafkaSettings(producer={"queue.buffering.max.kbytes": kib})
    assert bool(_keys(Settings(kafka=kafka))) is contradicts


@pytest.mark.parametrize(
    ("acks", "in_flight", "contradicts"),
    [("1", "5", True), ("1", "1", False), ("all", "5", False)],
)
def test_requests_in_flight_do_not_cost_the_order(acks: str, in_flight: str, *, contradicts: bool) -> None:
    kafka = KafkaSettings(
        acks="1" if acks == "1" else "all",
        producer={"max.in.flight.requests.per.connection": in_flight},
    )
    expected = [("kafka.producer.max.in.flight.requests.per.connection", "kafka.acks")]
    assert _keys(Settings(kafka=kafka)) == (expected if contradicts else [])


@pytest.mark.parametrize(
    ("wait_ms", "interval_ms", "contradicts"),
    [
        (3000, "3000", True),
        (3000, "3001", False),
        (300_000, None, True),
        (299_999, None, False),
        (3000, "soon", False),
    ],
)
def test_a_consumer_is_not_expelled_while_it_waits(
    wait_ms: int, interval_ms: str | None, *, contradicts: bool
) -> None:
    consumer = {} if interval_ms is None else {"max.poll.interval.ms": interval_ms}
    settings = Settings(sink=SinkSettings(revoke_wait_ms=wait_ms), kafka=KafkaSettings(consumer=consumer))
    assert bool(_keys(settings)) is contradicts


@pytest.mark.parametrize(("longest_ms", "contradicts"), [(99, True), (100, False)])
def test_the_longest_pause_is_not_shorter_than_the_first(longest_ms: int, *, contradicts: bool) -> None:
    settings = Settings(sink=SinkSettings(redelivery_backoff_ms=100, redelivery_backoff_max_ms=longest_ms))
    expected = [("sink.redelivery.backoff.max.ms", "sink.redelivery.backoff.ms")]
    assert _keys(settings) == (expected if contradicts else [])


def test_the_ledger_is_no_dead_letter_topic() -> None:
    ledger = Settings().deduplication.topic
    assert _keys(Settings(sink=SinkSettings(dead_letter_topic=ledger))) == [
        ("sink.dead.letter.topic", "deduplication.topic")
    ]
    assert _keys(Settings(sink=SinkSettings(dead_letter_topic=f"{ledger}{{topic}}"))) == []


def test_two_names_of_one_property() -> None:
    producer = {"linger.ms": "5", "queue.buffering.max.ms": "6"}
    assert _keys(Settings(kafka=KafkaSettings(producer=producer))) == [
        ("kafka.producer.linger.ms", "kafka.producer.queue.buffering.max.ms")
    ]


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"sasl.password": "x"}, "kafka.sasl.password"),
        ({"sasl.mechanism": "PLAIN", "security.protocol": "SSL"}, "kafka.sasl.mechanism"),
        ({"ssl.ca.location": "ca.pem"}, "kafka.ssl.ca.location"),
        ({"ssl.ca.pem": "x", "security.protocol": "sasl_plaintext"}, "kafka.ssl.ca.pem"),
        ({"sasl.username": "x", "security.protocol": "sasl_ssl"}, "kafka.sasl.username"),
        ({"ssl.ca.pem": "x", "security.protocol": "SSL"}, None),
        (
            {
                "sasl.username": "x",
                "sasl.mechanisms": "PLAIN",
                "ssl.ca.pem": "x",
                "security.protocol": "SASL_SSL",
            },
            None,
        ),
        ({"security.protocol": "sasl_plaintext"}, None),
    ],
)
def test_credentials_that_would_not_be_used(options: dict[str, str], key: str | None) -> None:
    found = _keys(Settings(kafka=KafkaSettings(common=options)))
    assert [keys[0] for keys in found] == ([] if key is None else [key])


def test_clients_inherit_the_protocol() -> None:
    kafka = KafkaSettings(common={"security.protocol": "ssl"}, producer={"ssl.key.pem": "x"})
    assert _keys(Settings(kafka=kafka)) == []
    kafka = KafkaSettings(common={"security.protocol": "ssl"}, consumer={"sasl.password": "x"})
    assert _keys(Settings(kafka=kafka)) == [
        ("kafka.consumer.sasl.password", "kafka.consumer.security.protocol")
    ]
