"""The bridge as its own process, as an operator runs it: started, watched through its log, ended."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from bridge.model.compiled import PURE_PYTHON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

LIMIT_SECONDS: Final = 60.0
"""How long anything is waited for: a bound for what has failed, never a measure."""
_POLL_SECONDS: Final = 0.02


class ServiceError(Exception):
    """The service did not do what a test waited for."""


class Service:
    """One `bridge run`, on free ports of the loopback address, with its log in a file.

    `options` are those of bridge.properties (`amqp.manual.credit`), given as environment variables;
    `arguments` those of the command.
    """

    def __init__(self, log: Path, options: Mapping[str, str], *arguments: str) -> None:
        self.log = log
        given = {"amqp.port": "0", "management.port": "0", **options}
        ours = {f"BRIDGE_{key.replace('.', '_').upper()}": value for key, value in given.items()}
        others = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("BRIDGE_") or key == PURE_PYTHON
        }
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - the tests' own arguments
                [sys.executable, "-m", "bridge", "run", *arguments],
                env={**others, **ours},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.amqp_port = 0
        self.management_port = 0

    @property
    def process_id(self) -> int:
        """Id of the process, also after its end."""
        return self._process.pid

    def await_start(self) -> None:
        """Wait until clients may connect."""
        (started,) = self.await_events("service started")
        self.amqp_port = _port(started["amqp"])
        self.management_port = _port(started["management"])

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return what was logged so far under the name of one event, in order."""
        found = []
        for line in self.log.read_text("utf-8").splitlines():
            # The last line may be there in part only; other lines are not of the log.
            if line.startswith("{") and line.endswith("}"):
                event = json.loads(line)
                if event["event"] == name:
                    found.append(event)
        return found

    def await_events(self, name: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until an event was logged so often. Raises ServiceError."""
        wait_until(
            lambda: len(self.events(name)) >= count or not self.is_running(),
            lambda: f"{count} x {name!r} in the log",
        )
        events = self.events(name)
        if len(events) < count:
            raise ServiceError(f"the service ended before it logged {name!r}{self.report()}")
        return events

    def is_running(self) -> bool:
        """Tell whether the process has not ended."""
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def exit_code(self) -> int:
        """Wait for the end and return the exit code."""
        try:
            return self._process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise ServiceError(f"the service did not end{self.report()}") from None

    def stop(self) -> None:
        """End the service as an orchestrator does. Raises ServiceError if that is not clean."""
        if self.is_running():
            self.signal(signal.SIGTERM)
        code = self.exit_code()
        if code != 0:
            raise ServiceError(f"the service ended with exit code {code}{self.report()}")

    def kill(self) -> None:
        """See to it that no process is left, whatever the test did."""
        self._process.kill()
        self._process.wait()

    def probe(self, path: str) -> tuple[int, dict[str, Any]]:
        """Ask a probe; gives the status and the JSON of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.management_port, timeout=LIMIT_SECONDS)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def report(self) -> str:
        """Return the log as an appendix to a message."""
        return f"\n--- {self.log.name}:\n{self.log.read_text('utf-8')}"


@contextmanager
def running_service(log: Path, options: Mapping[str, str], *arguments: str) -> Iterator[Service]:
    """Run a service, and end it cleanly if the test has not.

    An exit code but 0 is an error, and so is a link that a defect of the bridge has ended.
    """
    service = Service(log, options, *arguments)
    try:
        service.await_start()
        yield service
        service.stop()
        if service.events("link handler failed"):
            raise ServiceError(f"a link has failed by a defect{service.report()}")
    finally:
        service.kill()


def wait_until(happened: Callable[[], bool], what: Callable[[], str] | str) -> None:
    """Wait until something is so. Raises ServiceError that says what was waited for."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not happened():
        if time.monotonic() >= deadline:
            raise ServiceError(f"in vain waited for {what if isinstance(what, str) else what()}")
        time.sleep(_POLL_SECONDS)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])
