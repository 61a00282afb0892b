from __future__ import annotations

import re

import pytest

from bridge.config import librdkafka
from bridge.config.librdkafka import JAVA_ONLY, OWNED, Clients, join, refusal, split
from bridge.config.librdkafka_names import READ_BY
from bridge.config.options import BY_KEY

OF_THE_PYTHON_CLIENT = {"default.topic.config", "logger", "on_commit", "on_delivery"}
NOT_LISTED_BY_LIBRDKAFKA = {"test.mock.num.brokers"}
CLIENTS: tuple[Clients, ...] = ("common", "producer", "consumer")


def test_keys_are_split_and_joined() -> None:
    for key, clients, name in (
        ("kafka.client.id", "common", "client.id"),
        ("kafka.producer.linger.ms", "producer", "linger.ms"),
        ("kafka.consumer.check.crcs", "consumer", "check.crcs"),
        ("kafka.producer", "common", "producer"),
    ):
        assert split(key) == (clients, name)
        assert join(split(key)[0], name) == key


@pytest.mark.parametrize("clients", CLIENTS)
@pytest.mark.parametrize(
    "name",
    [
        "acks",
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "bootstrap.servers",
        "delivery.report.only.error",
        "dr_msg_cb",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.idempotence",
        "enable.partition.eof",
        "error_cb",
        "group.id",
        "group.instance.id",
        "message.max.bytes",
        "metadata.broker.list",
        "oauthbearer_token_refresh_cb",
        "request.required.acks",
        "some.future_cb",
        "ssl.certificate.verify_cb",
        "transactional.id",
    ],
)
def test_what_the_bridge_owns_is_refused_under_every_prefix(clients: Clients, name: str) -> None:
    message = refusal(clients, name)
    assert message is not None
    assert message.startswith("cannot be set: ")


def test_names_that_are_owned_exist() -> None:
    assert OWNED.keys() - READ_BY.keys() == OF_THE_PYTHON_CLIENT | NOT_LISTED_BY_LIBRDKAFKA


def test_advice_names_keys_that_exist() -> None:
    for advice in (*OWNED.values(), *JAVA_ONLY.values()):
        for key in re.findall(r"\b(?:amqp|kafka|sink|log)\.[a-z.]+[a-z]", advice):
            assert key in BY_KEY, advice
        for name in re.findall(r"name is ([a-z.]+)", advice):
            assert name in READ_BY, advice
            assert any(refusal(clients, name) is None for clients in CLIENTS), advice


def test_javas_names_are_not_librdkafkas() -> None:
    assert JAVA_ONLY.keys().isdisjoint(READ_BY)
    assert JAVA_ONLY.keys().isdisjoint(OWNED)
    message = refusal("producer", "buffer.memory")
    assert message == ("is of Java's Kafka clients: librdkafka's name is queue.buffering.max.kbytes (in KiB)")


@pytest.mark.parametrize(
    ("clients", "name", "right"),
    [
        ("common", "linger.ms", "kafka.producer.linger.ms"),
        ("consumer", "linger.ms", "kafka.producer.linger.ms"),
        ("common", "auto.offset.reset", "kafka.consumer.auto.offset.reset"),
        ("producer", "auto.offset.reset", "kafka.consumer.auto.offset.reset"),
    ],
)
def test_a_property_that_its_clients_would_ignore_is_refused(clients: Clients, name: str, right: str) -> None:
    message = refusal(clients, name)
    assert message is not None
    assert message.endswith(f"write {right}")
    assert refusal(*split(right)) is None


@pytest.mark.parametrize(
    ("clients", "name"),
    [
        ("common", "security.protocol"),
        ("producer", "security.protocol"),
        ("common", "sasl.password"),
        ("producer", "compression.type"),
        ("consumer", "isolation.level"),
        ("common", "property.of.tomorrow"),
    ],
)
def test_the_rest_is_passed_on(clients: Clients, name: str) -> None:
    assert refusal(clients, name) is None


def test_nearest_names_are_such_as_can_be_passed_on() -> None:
    assert librdkafka.nearest("kafka.producer.ling.ms") == "kafka.producer.linger.ms"
    assert librdkafka.nearest("kafka.securty.protocol") == "kafka.security.protocol"
    assert librdkafka.nearest("kafka.consumer.enable.auto.comit") is None
    assert librdkafka.nearest("kafka.zzz") is None


def test_a_misspelt_option_of_the_bridge_is_known() -> None:
    assert librdkafka.misspelt_option("kafka.bootstrap.server") == "kafka.bootstrap.servers"
    assert librdkafka.misspelt_option("kafka.property.of.tomorrow") is None


def test_a_property_without_its_prefix_is_known() -> None:
    assert librdkafka.with_prefix("linger.ms") == "kafka.producer.linger.ms"
    assert librdkafka.with_prefix("check.crcs") == "kafka.consumer.check.crcs"
    assert librdkafka.with_prefix("security.protocol") == "kafka.security.protocol"
    assert librdkafka.with_prefix("group.id") is None
    assert librdkafka.with_prefix("amqp.port") is None
