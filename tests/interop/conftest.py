"""The bridge as a process, and the clients. In CI, REQUIRE_INTEROP=1 turns a skip into a failure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest
from interop.jms_client import JmsClient
from interop.libraries import LIBRARIES
from interop.process_client import ProcessClient
from interop.proton_client import ProtonClient
from interop.toolchain import TOOLCHAINS, MissingToolError, build
from support.service import Service, running_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interop.contract import Client
    from support.kafka import RealKafka

NAMES: Final = tuple(LIBRARIES)


@pytest.fixture(scope="session")
def service(
    kafka: RealKafka, dead_letters: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Give the service that all clients share: with a dead-letter topic, and quicker than by default."""
    log = tmp_path_factory.mktemp("service") / "service.log"
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "sink.dead.letter.topic": dead_letters,
        "sink.commit.interval.ms": "50",
        "kafka.consumer.heartbeat.interval.ms": "100",  # by which members learn of a change in their group
    }
    with running_service(log, options) as running:
        yield running


@pytest.fixture(scope="session")
def dead_letters(kafka: RealKafka) -> str:
    """Give the topic for what no receiver takes, of all topics."""
    return kafka.create_topic()


@pytest.fixture(scope="session", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Give the name of each client."""
    parameter: str = request.param
    return parameter


@pytest.fixture(scope="session")
def client(request: pytest.FixtureRequest, name: str) -> Iterator[Client]:
    """Give each client, built."""
    if name == "proton":
        yield ProtonClient()
    elif name == "jms":
        yield request.getfixturevalue("jms")
    else:
        made = ProcessClient(command(name))
        yield made
        made.close()


def command(name: str) -> list[str]:
    """Build a client and return its command; the test is skipped where its tools are missing."""
    (toolchain,) = (each for each in TOOLCHAINS if each.name == name)
    try:
        return build(toolchain)
    except MissingToolError as error:
        if os.environ.get("REQUIRE_INTEROP"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def jms() -> Iterator[JmsClient]:
    """Give the client of Qpid JMS, which can do more than the others."""
    made = JmsClient(command("jms"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _show_log_on_failure(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print what the service logged during the test, which pytest shows if the test fails."""
    if "service" not in request.fixturenames:
        yield
        return
    running: Service = request.getfixturevalue("service")
    before = running.log.stat().st_size
    yield
    print(running.log.read_bytes()[before:].decode())  # noqa: T201 - for pytest's report
