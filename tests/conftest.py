"""A real Kafka for every test that asks for one."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from support.container import docker_answers, kafka_container
from support.kafka import QUICK_SHARE_GROUPS, OwnKafka, RealKafka

from bridge.devkafka import DevKafka, DevKafkaError
from bridge.devkafka.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def kafka() -> Iterator[RealKafka]:
    """Give the one Kafka of this test run; a test keeps to topics of its own and never stops it.

    It is the cluster that KAFKA_BOOTSTRAP_SERVERS names, else a container where a Docker engine
    answers, else a broker as a child process.
    """
    with ExitStack() as stack:
        if given := os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
            bootstrap_servers = given
        elif docker_answers():
            bootstrap_servers = stack.enter_context(kafka_container())
        else:
            bootstrap_servers = stack.enter_context(
                DevKafka(extra_properties=QUICK_SHARE_GROUPS)
            ).bootstrap_servers
        yield RealKafka(bootstrap_servers)


@pytest.fixture
def own_kafka() -> Iterator[Callable[..., OwnKafka]]:
    """Give a function that starts a cluster which belongs to the test: `own_kafka(brokers=3)`.

    Its arguments are those of `DevKafka`; `own_kafka(...).cluster` kills and restarts brokers. All
    are stopped after the test.
    """
    try:
        find_java()
    except DevKafkaError as error:
        pytest.skip(str(error))
    with ExitStack() as stack:

        def start(**options: Any) -> OwnKafka:  # noqa: ANN401 - passed on to DevKafka as they are
            return OwnKafka(stack.enter_context(DevKafka(**options)))

        yield start
