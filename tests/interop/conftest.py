"""The bridge as a process, and the clients. In CI, REQUIRE_INTEROP=1 turns a skip into a failure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest
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
def service(kafka: RealKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give the service that all clients share, as it is by default."""
    log = tmp_path_factory.mktemp("service") / "service.log"
    with running_service(log, {"kafka.bootstrap.servers": kafka.bootstrap_servers}) as running:
        yield running


@pytest.fixture(scope="session", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Give the name of each client."""
    parameter: str = request.param
    return parameter


@pytest.fixture(scope="session")
def client(name: str) -> Client:
    """Give each client, built."""
    if name == "proton":
        return ProtonClient()
    (toolchain,) = (each for each in TOOLCHAINS if each.name == name)
    try:
        return ProcessClient(build(toolchain))
    except MissingToolError as error:
        if os.environ.get("REQUIRE_INTEROP"):
            pytest.fail(str(error))
        pytest.skip(str(error))


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
