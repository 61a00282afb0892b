"""A real Kafka for every test that asks for one; and what several processes of tests need.

They are pytest-xdist's, whose workers have a `workerinput`; `make test` starts them, and `pytest` alone none.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from support import sharing_out
from support.container import docker_answers, kafka_container
from support.kafka import QUICK_SHARE_GROUPS, OwnKafka, RealKafka

from bridge.devkafka import DevKafka, DevKafkaError, ports
from bridge.devkafka.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# How long an example takes is the machine's affair: nothing is a failure because other things run as well.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> sharing_out.SharingOut | None:  # noqa: ANN401 - xdist's own
    """Share the tests out in our way, unless --dist names another."""
    return sharing_out.SharingOut(config, log) if config.getoption("dist") == "load" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let what takes long come first where tests are shared out."""
    if hasattr(config, "workerinput"):
        items.sort(key=sharing_out.turn_of)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fetch once what the workers would fetch all at the same time, on a machine's first run."""
    if hasattr(session.config, "workerinput"):
        sharing_out.fetch_what_is_missing(sharing_out.suite_of(item) for item in session.items)


@pytest.fixture(scope="session", autouse=True)
def _own_ports(pytestconfig: pytest.Config) -> Iterator[None]:
    """Give each worker ports that no other worker's brokers get."""
    given = getattr(pytestconfig, "workerinput", None)
    with pytest.MonkeyPatch.context() as patch:
        if given is not None:
            number = int(given["workerid"].removeprefix("gw"))
            patch.setattr(ports, "candidate_ports", sharing_out.own_ports(number, given["workercount"]))
        yield


@pytest.fixture(scope="session")
def kafka() -> Iterator[RealKafka]:
    """Give the one Kafka of this process; a test keeps to topics of its own and never stops it.

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
