"""A real Apache Kafka of one or three KRaft nodes on the loopback address.

Starts, stops, kills and restarts brokers. Never creates a topic and speaks no Kafka itself: that is
the business of its user's client.
"""

from __future__ import annotations

import atexit
import base64
import os
import shutil
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bridge.devkafka import ports, process
from bridge.devkafka.broker import Broker
from bridge.devkafka.errors import DevKafkaError
from bridge.devkafka.jars import ensure_jars
from bridge.devkafka.java import find_java
from bridge.devkafka.properties import CLIENT_LISTENER, Node, jvm_options, server_properties

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

_SIZES = (1, 3)
_STOP_SECONDS = 20.0


class DevKafka:
    """A Kafka cluster that lives no longer than the process that started it.

    Brokers are numbered from 1. The cluster ends with `stop`, at the end of a `with` block and at
    the interpreter's exit; should the process be killed, the kernel kills the brokers, and only a
    temporary data folder stays behind. Its methods may be called from any thread, one at a time.

    Args:
        brokers: 1 or 3. With three, every topic has three replicas by default, of which two must
            be in sync.
        port: loopback port of the first broker; the others take the next ones. Free ports are
            chosen by default. The ports stay the same over `stop` and `start`.
        data_folder: where the data is kept and found again. By default it is a temporary folder,
            which `stop` deletes. A folder belongs to the number of brokers it was first used with.
        extra_properties: additions to each `server.properties`; they win over the defaults.
        listeners: additional listeners, as security protocol by name (for example
            `{"SECURE": "SASL_PLAINTEXT"}`); their settings go into `extra_properties`.
        start_timeout_seconds: time for all brokers together to become ready.

    Raises ValueError for another number of brokers.
    """

    def __init__(
        self,
        *,
        brokers: int = 1,
        port: int | None = None,
        data_folder: Path | str | None = None,
        extra_properties: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
        start_timeout_seconds: float = 120.0,
    ) -> None:
        if brokers not in _SIZES:
            raise ValueError(f"A cluster has 1 or 3 brokers, not {brokers}")
        self._size = brokers
        self._port = port
        self._data_folder = None if data_folder is None else Path(data_folder).absolute()
        self._extra_properties = dict(extra_properties or {})
        self._listeners = dict(listeners or {})
        self._start_timeout_seconds = start_timeout_seconds
        self._nodes: list[Node] = []
        self._brokers: dict[int, Broker] = {}
        self._launcher: process.Launcher | None = None
        self._temporary_folder: Path | None = None
        self._owner_process_id = os.getpid()

    @property
    def bootstrap_servers(self) -> str:
        """Value of `bootstrap.servers` for plain-text clients: `HOST:PORT`, comma-separated.

        Raises DevKafkaError before the first `start`.
        """
        return self.addresses(CLIENT_LISTENER)

    def addresses(self, listener: str) -> str:
        """Value of `bootstrap.servers` for clients of the named listener.

        Raises DevKafkaError before the first `start`, KeyError for a listener that does not exist.
        """
        if not self._nodes:
            raise DevKafkaError("The cluster was not started yet: its ports are not chosen")
        return ",".join(f"{ports.LOOPBACK}:{node.ports[listener]}" for node in self._nodes)

    @property
    def process_ids(self) -> dict[int, int]:
        """Process ids of the brokers that run, by broker number."""
        running = {number: broker.process_id for number, broker in self._brokers.items()}
        return {number: pid for number, pid in running.items() if pid is not None}

    def log(self, broker: int = 1) -> Path:
        """File with everything that one broker printed. Raises DevKafkaError if there is none."""
        return self._broker(broker).log

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the cluster and wait until every broker serves. Does nothing if it was started.

        On a machine's first use this fetches Kafka (see `jars`). Raises DevKafkaError, with the end
        of the broker's log, when the cluster cannot be started; nothing is left running then.
        """
        if self._launcher is not None:
            return
        jars, java = ensure_jars(), find_java()
        self._owner_process_id = os.getpid()
        atexit.register(self.stop)
        try:
            self._prepare(java, jars)
            deadline = self._deadline()
            self._format(deadline)
            for broker in self._brokers.values():  # a quorum must run before any of them is ready
                broker.launch()
            for broker in self._brokers.values():
                broker.await_ready(deadline=deadline)
        except BaseException:  # Ctrl-C too leaves nothing behind
            self.stop()
            raise

    def stop(self) -> None:
        """End every broker, and delete the data if it is temporary. Idempotent.

        Data that is kept is closed in good order, so that the next start is quick; brokers whose
        data is deleted anyway are killed. A forked child does nothing: the brokers are its
        parent's.
        """
        if self._owner_process_id != os.getpid():
            return
        atexit.unregister(self.stop)
        if self._temporary_folder is None:
            for broker in self._brokers.values():  # all at once: they hand over to each other
                broker.request_stop()
            for broker in self._brokers.values():
                broker.stop(grace_seconds=_STOP_SECONDS)
        for broker in self._brokers.values():
            broker.kill()
        self._brokers.clear()
        if self._launcher is not None:
            self._launcher.close()
            self._launcher = None
        if self._temporary_folder is not None:
            shutil.rmtree(self._temporary_folder, ignore_errors=True)
            self._temporary_folder = None

    def kill(self, broker: int = 1) -> None:
        """Kill one broker (SIGKILL), as a power failure would; its data stays. Idempotent.

        Raises DevKafkaError when there is no such broker.
        """
        self._broker(broker).kill()

    def restart(self, broker: int = 1) -> None:
        """Start one broker again with its data and wait until it serves.

        One that still runs is stopped in good order before. After `kill` the start takes some
        seconds: the controller waits for the end of the dead broker's session.

        Raises DevKafkaError, with the end of the broker's log, when there is no such broker or it
        does not start.
        """
        node = self._broker(broker)
        node.stop(grace_seconds=_STOP_SECONDS)
        node.launch()
        node.await_ready(deadline=self._deadline())

    def _prepare(self, java: Path, jars: Path) -> None:
        """Choose the ports, unless an earlier start did, and write every broker's configuration."""
        if not self._nodes:
            self._nodes = self._choose_ports()
        folder = self._data_folder
        if folder is None:
            folder = self._temporary_folder = Path(tempfile.mkdtemp(prefix="devkafka-"))
        else:
            self._check_size(folder)
        self._launcher = process.Launcher()
        for node in self._nodes:
            own = folder / f"broker-{node.node_id}"
            command = [str(java), *jvm_options(self._size, own), "-cp", f"{jars}/*"]
            broker = Broker(node.node_id, own, command, self._launcher)
            broker.configure(
                server_properties(
                    node,
                    self._nodes,
                    broker.data,
                    listeners=self._listeners,
                    extra=self._extra_properties,
                )
            )
            self._brokers[node.node_id] = broker

    def _choose_ports(self) -> list[Node]:
        first = self._port
        fixed = [] if first is None else [first + index for index in range(self._size)]
        for port in fixed:
            if not ports.is_free(port):
                raise DevKafkaError(f"Port {port} of {ports.LOOPBACK} is taken")
        per_node = [*self._listeners, "controller"] + ([] if fixed else [CLIENT_LISTENER])
        free: Iterator[int] = iter(ports.free_ports(self._size * len(per_node), excluding=frozenset(fixed)))
        return [
            Node(
                node_id=index + 1,
                controller_port=next(free),
                ports={
                    CLIENT_LISTENER: fixed[index] if fixed else next(free),
                    **{name: next(free) for name in self._listeners},
                },
            )
            for index in range(self._size)
        ]

    def _check_size(self, folder: Path) -> None:
        """Raise DevKafkaError when `folder` was made for another number of brokers."""
        found = len(list(folder.glob("broker-*")))
        if found not in (0, self._size):
            raise DevKafkaError(f"{folder} holds {found} broker(s), not {self._size}")

    def _format(self, deadline: float) -> None:
        """Format the data folders that never were, for one cluster id. No other is touched."""
        known = {broker.cluster_id for broker in self._brokers.values()} - {None}
        if len(known) > 1:
            raise DevKafkaError(f"{self._data_folder} holds brokers of different clusters: {known}")
        cluster_id = known.pop() if known else None
        if cluster_id is None:
            cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        new = [broker for broker in self._brokers.values() if broker.cluster_id is None]
        for broker in new:
            broker.launch_format(cluster_id)
        for broker in new:
            broker.await_format(deadline=deadline)

    def _broker(self, number: int) -> Broker:
        try:
            return self._brokers[number]
        except KeyError:
            raise DevKafkaError(f"No broker {number} was started") from None

    def _deadline(self) -> float:
        return time.monotonic() + self._start_timeout_seconds
