from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka import admin
from confluent_kafka.admin import AdminClient

from bridge.kafka import settings
from bridge.kafka.catalog import Catalog, Topic
from bridge.kafka.limits import Limits, TopicLimits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from support.kafka import OwnKafka, RealKafka

    from bridge.model.failures import Failure

LIMIT_SECONDS: Final = 60.0
NOBODY: Final = "127.0.0.1:1"
BROKER: Final = 1
JAAS: Final = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'


class Rig:
    """What asks for limits, and what it told."""

    def __init__(self, servers: str, options: Mapping[str, str] | None = None) -> None:
        self.unknown: list[Failure] = []
        given = settings.admin(servers, {"log_level": "0", **(options or {})}, on_error=lambda *_: None)
        self.limits = TopicLimits(given, self.unknown.append)

    async def until(self, happened: Callable[[], bool]) -> None:
        while not happened():  # noqa: ASYNC110 - librdkafka has no event to wait for
            await asyncio.sleep(0.01)


def state(process_id: int) -> str:
    """Return the kernel's letter for what a process does."""
    return Path(f"/proc/{process_id}/stat").read_text("utf-8").rpartition(")")[2].split()[0]


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), LIMIT_SECONDS)

    asyncio.run(bounded())


def does_not_wait(coroutine: Awaitable[None]) -> bool:
    """Tell whether a coroutine is through at once."""
    try:
        coroutine.__await__().send(None)
    except StopIteration:
        return True
    return False


def test_a_topics_limit_is_learnt(kafka: RealKafka) -> None:
    small, usual = kafka.create_topic(config={"max.message.bytes": "2000"}), kafka.create_topic()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        assert rig.limits.known(small) is None
        await asyncio.gather(*(rig.limits.learn(topic, BROKER) for topic in (small, usual, small)))

        assert rig.limits.known(small) == Limits(2000, needs_key=False)
        assert rig.limits.known(usual) == Limits(1_048_588, needs_key=False)
        assert rig.unknown == []

    run(test)


def test_a_kafka_that_is_away_is_waited_for_once_and_not_again() -> None:
    async def test() -> None:
        rig = Rig(NOBODY)
        await rig.limits.learn("topic", BROKER)

        assert does_not_wait(rig.limits.learn("topic", BROKER))
        assert does_not_wait(rig.limits.learn("another", BROKER))
        assert rig.limits.known("topic") is None

    run(test)


def test_an_answer_for_which_nobody_waited_serves_those_who_ask_later(
    own_kafka: Callable[..., OwnKafka],
) -> None:
    kafka = own_kafka()
    topic = kafka.create_topic(config={"max.message.bytes": "2000"})
    another = kafka.create_topic(config={"max.message.bytes": "3000", "cleanup.policy": "compact,delete"})
    [process_id] = kafka.cluster.process_ids.values()

    async def test() -> None:
        rig = Rig(kafka.bootstrap_servers)
        await rig.limits.learn(topic, BROKER)
        os.kill(process_id, signal.SIGSTOP)
        try:
            await rig.until(lambda: state(process_id) == "T")
            await rig.limits.learn(another, BROKER)
            await rig.limits.learn(topic, BROKER)
            assert rig.limits.known(another) is None
            assert rig.limits.known(topic) == Limits(2000, needs_key=False)  # the last known
        finally:
            os.kill(process_id, signal.SIGCONT)
        await rig.until(lambda: rig.limits.known(another) == Limits(3000, needs_key=True))

        assert rig.unknown == []

    run(test)


def test_a_bridge_that_may_not_see_configurations_works_all_the_same(
    own_kafka: Callable[..., OwnKafka],
) -> None:
    kafka = own_kafka(
        listeners={"SECURE": "SASL_PLAINTEXT"},
        extra_properties={
            "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secure.plain.sasl.jaas.config": JAAS,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        },
    )
    topic = kafka.create_topic(config={"max.message.bytes": "2000"})
    alice = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "secret",
    }
    servers = kafka.cluster.addresses("SECURE")

    def allow(operation: str) -> None:
        client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        names: Any = admin  # mypy sees none of those that it has from elsewhere
        topics, literal = names.ResourceType.TOPIC, names.ResourcePatternType.LITERAL
        binding = names.AclBinding(
            topics,
            topic,
            literal,
            "User:alice",
            "*",
            names.AclOperation[operation],
            names.AclPermissionType.ALLOW,
        )
        client.create_acls([binding])[binding].result(LIMIT_SECONDS)

    async def test() -> None:
        allow("WRITE")
        unknown: list[Failure] = []
        options = settings.admin(servers, alice, on_error=lambda *_: None)
        catalog = Catalog(options, 20_000, unknown.append)
        while not isinstance(found := await catalog.topic(topic), Topic):
            continue  # until the broker knows what is allowed
        assert found == Topic(topic, 1, None)
        catalog.forget(topic)
        assert await catalog.topic(topic) == found
        assert [failure.kafka_error for failure in unknown] == ["TOPIC_AUTHORIZATION_FAILED"]

        allow("DESCRIBE_CONFIGS")
        while await catalog.topic(topic) == found:
            catalog.forget(topic)
        assert await catalog.topic(topic) == Topic(topic, 1, 2000)

    run(test)


def test_an_option_that_librdkafka_refuses_is_told() -> None:
    async def test() -> None:
        with pytest.raises(ValueError, match=r"no\.such\.option"):
            Rig(NOBODY, {"no.such.option": "1"})

    run(test)
