"""The bridge as a process, for tests that talk to it as its clients do."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Protocol

import pytest
from support.service import Service, running_service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.kafka import RealKafka

WINDOW: Final = 100
"""The credit of the shared service's links: small, so that tests pass over it many times."""


class StartService(Protocol):
    """Starts a service on a Kafka; keyword arguments are options, `_` in place of `.`."""

    def __call__(self, kafka: RealKafka, **options: str) -> Service:
        """Start it and wait until clients may connect."""


@pytest.fixture(scope="module")
def service(kafka: RealKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give the service that the tests of a module share, with small credit windows."""
    log = tmp_path_factory.mktemp("service") / "service.log"
    options = {
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        "amqp.manual.credit": str(WINDOW),
        "amqp.prefetch.credit": str(WINDOW),
        "sink.commit.interval.ms": "100",
    }
    with running_service(log, options) as running:
        yield running


@pytest.fixture
def start_service(tmp_path: Path) -> Iterator[StartService]:
    """Give a function that starts a service which belongs to the test.

    Each is told to end after the test, which fails unless it ends with exit code 0.
    """
    with ExitStack() as stack:
        started: list[Service] = []

        def start(kafka: RealKafka, **options: str) -> Service:
            log = tmp_path / f"service-{len(started) + 1}.log"
            given = {name.replace("_", "."): value for name, value in options.items()}
            given["kafka.bootstrap.servers"] = kafka.bootstrap_servers
            running = stack.enter_context(running_service(log, given))
            started.append(running)
            return running

        yield start
        for each in started:
            _show(each.log, 0)


@pytest.fixture(autouse=True)
def _show_log_on_failure(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print what the shared service logged during the test, which pytest shows if the test fails."""
    if "service" not in request.fixturenames:
        yield
        return
    shared: Service = request.getfixturevalue("service")
    before = shared.log.stat().st_size
    yield
    _show(shared.log, before)


def _show(log: Path, position: int) -> None:
    print(f"{log.name}:\n{log.read_bytes()[position:].decode()}")  # noqa: T201 - for pytest's report
