"""The subjects that are compared: the bridge with its default settings, the bare pump, the naive bridge.

Each is one process, or a process for each direction, on free ports of the loopback address. "Kafka alone" is
none: its program makes the load itself.
"""

from __future__ import annotations

from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bench.cases import BARE, BRIDGE, KAFKA, NAIVE, WORKERS_2
from bench.measure import CpuTrace, usage
from bench.programs import explained
from bridge.devkafka.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from bench.cases import Case
    from bench.measure import Usage
    from bench.programs import Server, Servers

BRIDGE_OPTIONS: Final[dict[str, dict[str, str]]] = {
    BRIDGE: {},
    WORKERS_2: {"BRIDGE_BRIDGE_WORKERS": "2"},
}
"""What each of the bridges is started with besides ports and servers."""
BASELINES: Final = {BARE: "bare", NAIVE: "naive"}


class Subject:
    """A subject that runs: where it is reached, and what it uses.

    `ports` are by what is served there: "source", "sink". `probe` is the port of the readiness probe; servers
    without one say on standard output when they are ready.
    """

    def __init__(
        self, name: str, ports: Mapping[str, int], servers: Sequence[Server], probe: int | None = None
    ) -> None:
        self.name = name
        self.ports = ports
        self._servers = servers
        self._probe = probe

    def await_ready(self) -> None:
        """Wait until clients may connect. Raises BenchError."""
        for server in self._servers:
            if self._probe is None:
                server.await_ready_line()
            else:
                server.await_probe(self._probe)

    def trace(self) -> CpuTrace:
        """Give what writes down the CPU of its processes. Raises BenchError if one has ended."""
        return CpuTrace(self._process_ids())

    def usage(self) -> Usage:
        """Add up what its processes have used so far. Raises BenchError if one has ended."""
        return usage(self._process_ids())

    def _process_ids(self) -> list[int]:
        for server in self._servers:
            server.check()
        return [server.process_id for server in self._servers]

    def explained(self) -> AbstractContextManager[None]:
        """Add the end of its log to a BenchError of the block."""
        return explained(*self._servers)

    def ask_to_stop(self) -> None:
        """Tell it to end. Raises BenchError if it has ended before."""
        for server in self._servers:
            server.ask_to_stop()

    def await_end(self) -> None:
        """Wait until it has ended. Raises BenchError if that was not in good order."""
        for server in self._servers:
            server.await_end()


@contextmanager
def running(
    names: Sequence[str],
    case: Case,
    servers: Servers,
    bootstrap_servers: str,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[dict[str, Subject]]:
    """Run the subjects of a case, as far as they are processes, by their names; they start side by side.

    `options` are environment variables for the bridge.
    """
    subjects = {
        name: _start(name, case, servers, bootstrap_servers, options) for name in names if name != KAFKA
    }
    for subject in subjects.values():
        subject.await_ready()
    yield subjects
    # After an exception the servers are killed by their context manager, which is quicker.
    for subject in subjects.values():
        subject.ask_to_stop()
    for subject in subjects.values():
        subject.await_end()


def _start(
    name: str, case: Case, servers: Servers, bootstrap_servers: str, options: Mapping[str, str]
) -> Subject:
    if name in BRIDGE_OPTIONS:
        return _start_bridge(name, servers, bootstrap_servers, options)
    directions = ("source", "sink") if case.direction == "round trip" else (case.direction,)
    mapping = ["--mapping"] if name == NAIVE and case.shape == "typical" else []
    ports = dict(zip(directions, free_ports(len(directions)), strict=True))
    started = [
        servers.start(
            f"bench.baselines.{BASELINES[name]}_{direction}",
            *("--bootstrap", bootstrap_servers, "--port", port),
            *mapping,
        )
        for direction, port in ports.items()
    ]
    return Subject(name, ports, started)


def _start_bridge(name: str, servers: Servers, bootstrap_servers: str, options: Mapping[str, str]) -> Subject:
    amqp, management = free_ports(2)
    environment = {
        "BRIDGE_KAFKA_BOOTSTRAP_SERVERS": bootstrap_servers,
        "BRIDGE_AMQP_PORT": str(amqp),
        "BRIDGE_MANAGEMENT_PORT": str(management),
        **BRIDGE_OPTIONS[name],
        **options,
    }
    server = servers.start("bridge", "run", environment=environment)
    return Subject(name, {"source": amqp, "sink": amqp}, [server], probe=management)
