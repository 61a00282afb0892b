"""Runs the programs of the benchmarks: those that make load, and end, and those that serve until told to end.

Every one is a process of its own, ends by its id, and never outlives its time limit; servers die with this
process, whatever way it ends. Never decides what is run.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from bridge.devkafka import DevKafkaError
from bridge.devkafka import process as children

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

ROOT: Final = Path(__file__).parents[1]
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0
PROGRAM_SECONDS: Final = 120.0
"""How long a program may take that is told nothing else."""
_POLL_SECONDS: Final = 0.02
_TAIL_CHARACTERS: Final = 4000


class BenchError(Exception):
    """The benchmark cannot go on; the message says why, with what the program at fault printed."""


class Program:
    """A program that makes load: it ends by itself, with one line of JSON on standard output.

    A context manager, whose end kills it if it still runs.
    """

    def __init__(self, module: str, *arguments: object) -> None:
        words = [str(argument) for argument in arguments]
        self.command = " ".join(["python -m", module, *words])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
        # Read at the end alone: it is one line.
        self._process = subprocess.Popen(  # noqa: S603 - our own modules
            [sys.executable, "-m", module, *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    @property
    def is_running(self) -> bool:
        """Tell whether it has not ended."""
        return self._process.poll() is None

    def said(self, text: str) -> bool:
        """Tell whether it has printed this on standard error."""
        return text in self._error_text()

    def await_said(self, text: str, seconds: float) -> None:
        """Wait until it has printed this on standard error. Raises BenchError."""
        await_true(
            lambda: self.said(text) or not self.is_running,
            seconds,
            lambda: f"{self.command}: did not say {text!r} within {seconds:.0f} s{self._tail()}",
        )
        if not self.said(text):
            raise BenchError(f"{self.command}: ended before it said {text!r}{self._tail()}")

    def result(self, seconds: float = PROGRAM_SECONDS) -> dict[str, Any]:
        """Wait for the end, and give what it measured.

        Raises BenchError when it takes longer, when its exit code is not 0, or when it printed no JSON.
        """
        try:
            output, _ = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise BenchError(f"{self.command}: did not end within {seconds:.0f} s{self._tail()}") from None
        if self._process.returncode != 0:
            raise BenchError(f"{self.command}: exit code {self._process.returncode}{self._tail()}")
        try:
            found = json.loads(output)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise BenchError(f"{self.command}: printed no JSON object, but {output[:200]!r}")
        return found

    def end(self) -> None:
        """Kill it if it still runs."""
        if self.is_running:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def _error_text(self) -> str:
        # By its own place in the file, since the program writes at the shared one.
        size = os.fstat(self._errors.fileno()).st_size
        return os.pread(self._errors.fileno(), size, 0).decode(errors="replace")

    def _tail(self) -> str:
        text = self._error_text().strip()
        return f"\n--- its standard error:\n{text[-_TAIL_CHARACTERS:]}" if text else ""


def run(module: str, *arguments: object, seconds: float = PROGRAM_SECONDS) -> dict[str, Any]:
    """Run a program to its end and give what it measured. Raises BenchError."""
    with Program(module, *arguments) as program:
        return program.result(seconds)


class Servers:
    """Starts servers, each with its log in a file of the folder. A context manager that ends them all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._launcher = children.Launcher()
        self._running: list[Server] = []
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in reversed(self._running):
            server.kill()
        self._launcher.close()

    @property
    def running(self) -> list[Server]:
        """Those that have not ended."""
        return [server for server in self._running if server.is_running]

    def start(self, module: str, *arguments: object, environment: Mapping[str, str] | None = None) -> Server:
        """Start a module; `environment` is added to this process's own, without its BRIDGE_* variables."""
        self._count += 1
        log = self._folder / f"{self._count:03}-{module}.log"
        given = [f"{name}={value}" for name, value in (environment or {}).items()]
        unset = children.without_bridge_options()
        command = ["/usr/bin/env", *unset, "-C", str(ROOT), *given, sys.executable, "-m", module]
        process = self._launcher.spawn([*command, *map(str, arguments)], log)
        server = Server(module, process, log)
        self._running = [*self.running, server]
        return server


class Server:
    """A process that serves."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self._process = process
        self._reader = children.LogReader(log)

    @property
    def process_id(self) -> int:
        """Its id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Tell whether it has not ended."""
        return self._process.poll() is None

    def await_ready_line(self) -> None:
        """Wait until it has printed "ready". Raises BenchError."""
        try:
            children.wait_for_line(
                self._process,
                self._reader,
                "ready",
                deadline=time.monotonic() + START_SECONDS,
                name=self.name,
            )
        except DevKafkaError as error:
            raise BenchError(f"{error}{self.tail()}") from None

    def await_probe(self, port: int) -> None:
        """Wait until the probe /readyz on this port is answered with 200. Raises BenchError."""
        await_true(
            lambda: not self.is_running or _is_ready(port),
            START_SECONDS,
            lambda: f"{self.name}: was not ready within {START_SECONDS:.0f} s{self.tail()}",
        )
        self.check()

    def check(self) -> None:
        """Raise BenchError, with the end of its log, if it has ended."""
        if not self.is_running:
            raise BenchError(f"{self.name}: ended with exit code {self._process.returncode}{self.tail()}")

    def ask_to_stop(self) -> None:
        """Tell it to end, as an orchestrator does (SIGTERM). Raises BenchError if it has ended before."""
        self.check()
        self._process.terminate()

    def await_end(self) -> None:
        """Wait for the end that was asked for. Raises BenchError if its exit code is not 0."""
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise BenchError(f"{self.name}: did not end within {STOP_SECONDS:.0f} s{self.tail()}") from None
        if self._process.returncode != 0:
            raise BenchError(f"{self.name}: ended with exit code {self._process.returncode}{self.tail()}")

    def kill(self) -> None:
        """See to it that it does not run."""
        children.kill(self._process)

    def tail(self) -> str:
        """Give the end of its log, to be appended to a message."""
        return children.tail(self.log)


def await_true(happened: Callable[[], bool], seconds: float, otherwise: Callable[[], str]) -> None:
    """Wait until something is so. Raises BenchError with what `otherwise` says."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() >= deadline:
            raise BenchError(otherwise())
        time.sleep(_POLL_SECONDS)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2.0)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def explained(*servers: Server) -> Iterator[None]:
    """Add what the servers printed last to a BenchError of the block: the client's word is half of it."""
    try:
        yield
    except BenchError as error:
        logs = "".join(server.tail() for server in servers)
        raise BenchError(f"{error}{logs}") from error
