"""One broker of a development cluster: its folder, its process, and when it is ready.

Never chooses ports and knows no other broker; that is `cluster`.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import javaproperties

from bridge.devkafka import process
from bridge.devkafka.errors import DevKafkaError
from bridge.devkafka.properties import LOG4J2_PROPERTIES, render

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_READY = "Kafka Server started"  # an open port is not enough: it answers before the broker serves


class Broker:
    """A KRaft node in a folder of its own, which may be started, killed and started again.

    The folder holds `server.properties`, `log4j2.properties`, `server.log` (everything the broker
    printed, over all its runs), `data` (what must survive) and `tmp`. `java` is the command line up
    to the name of the main class.
    """

    def __init__(self, node_id: int, folder: Path, java: Sequence[str], launcher: process.Launcher) -> None:
        self.name = f"Kafka broker {node_id}"
        self.log = folder / "server.log"
        self.data = folder / "data"
        self._folder = folder
        self._java = java
        self._launcher = launcher
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = process.LogReader(self.log)

    @property
    def process_id(self) -> int | None:
        """Id of the running process, or None."""
        if self._process is None or self._process.poll() is not None:
            return None
        return self._process.pid

    @property
    def cluster_id(self) -> str | None:
        """Cluster that the data folder was formatted for, or None if it never was."""
        meta = self.data / "meta.properties"
        if not meta.exists():
            return None
        return javaproperties.loads(meta.read_text("utf-8"))["cluster.id"]

    def configure(self, properties: Mapping[str, str]) -> None:
        """Write the files that the broker reads when it starts."""
        for folder in (self.data, self._folder / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "server.properties").write_text(render(properties), "utf-8")
        (self._folder / "log4j2.properties").write_text(LOG4J2_PROPERTIES, "utf-8")

    def launch_format(self, cluster_id: str) -> None:
        """Begin to format the data folder for `cluster_id`; `await_format` waits for the end."""
        self._launch(
            "kafka.tools.StorageTool",
            "format",
            f"--cluster-id={cluster_id}",  # `-t ID` fails for an id that begins with a hyphen
            f"--config={self._folder / 'server.properties'}",
        )

    def await_format(self, *, deadline: float) -> None:
        """Wait until the data folder is formatted.

        `deadline` is a reading of `time.monotonic`. Raises DevKafkaError when formatting failed.
        """
        with self._explained():
            process.finish(self._started(), deadline=deadline, name=f"Formatting {self.name}")

    def launch(self) -> None:
        """Start the process; `await_ready` waits until it serves. Does nothing if it runs."""
        if self.process_id is None:
            self._launch("kafka.Kafka", str(self._folder / "server.properties"))

    def await_ready(self, *, deadline: float) -> None:
        """Wait until the broker serves.

        `deadline` is a reading of `time.monotonic`. Raises DevKafkaError, with the end of the
        broker's log, when it ends before or is not ready in time.
        """
        with self._explained():
            process.wait_for_line(self._started(), self._reader, _READY, deadline=deadline, name=self.name)

    def stop(self, *, grace_seconds: float) -> None:
        """Let the broker end in good order, or kill it after `grace_seconds`. Idempotent."""
        if self._process is not None:
            process.terminate(self._process, deadline=time.monotonic() + grace_seconds)

    def request_stop(self) -> None:
        """Ask the broker to end, and return at once. Idempotent."""
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        """Kill the broker (SIGKILL), as a power failure would, and see it gone. Idempotent."""
        if self._process is not None:
            process.kill(self._process)

    def _launch(self, *arguments: str) -> None:
        self._reader = process.LogReader(self.log)
        self._process = self._launcher.spawn([*self._java, *arguments], self.log)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise DevKafkaError(f"{self.name} was not started")
        return self._process

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Append the end of the broker's log to an error's message."""
        try:
            yield
        except DevKafkaError as error:
            raise DevKafkaError(f"{error}{process.tail(self.log)}") from None
