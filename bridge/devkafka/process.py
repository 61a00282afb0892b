"""Runs child processes that never outlive this one, and reads in their logs when they are ready.

Never decides what runs or when it ends; that is `jars` and `cluster`.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.devkafka.errors import DevKafkaError

if TYPE_CHECKING:
    from collections.abc import Sequence

_GUARD = Path(__file__).with_name("die_with_parent.py")
_POLL_SECONDS = 0.05
_TAIL_LINES = 25
_KEPT = frozenset({"BRIDGE_DEVKAFKA_CACHE", "BRIDGE_PURE_PYTHON"})


class Launcher:
    """Starts every child from one thread, so that they live as long as this process and no longer.

    The kernel ties a child's life to the *thread* that started it (`die_with_parent`). Were that
    the caller's, a broker started from a short-lived worker thread would die with the worker. This
    thread is a daemon: it lives until `close` or until the process ends in any way, kill -9
    included, and still runs while `atexit` functions stop the brokers in good order.
    """

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="devkafka-launcher", daemon=True)
        self._thread.start()

    def spawn(self, command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Start `command` with its output appended to the file `log`, and return it running.

        It gets a session of its own: Ctrl-C at the terminal reaches only this process, which then
        stops its children in the order it wants. Raises OSError when no process can be started.
        """
        request = _Request(command, log)
        self._requests.put(request)
        return request.started.result()

    def close(self) -> None:
        """End the thread. The kernel kills (SIGKILL) every child that still runs."""
        self._requests.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (request := self._requests.get()) is not None:
            request.fulfil()


class _Request:
    """One command to start, and where its starter waits for it."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log
        self.started: Future[subprocess.Popen[bytes]] = Future()

    def fulfil(self) -> None:
        guard = [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid())]
        try:
            with self._log.open("ab") as output:
                process = subprocess.Popen(  # noqa: S603 - callers pass Java and its arguments
                    [*guard, *self._command],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            self.started.set_exception(error)
        else:
            self.started.set_result(process)


class LogReader:
    """Follows what is appended to a log file from the moment of construction."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size if path.exists() else 0
        self._partial = ""

    def new_lines(self) -> list[str]:
        """Return the lines that were completed since the last call."""
        with self._path.open("rb") as log:
            log.seek(self._position)
            content = log.read()
        self._position += len(content)
        *lines, self._partial = (self._partial + content.decode(errors="replace")).split("\n")
        return lines


def without_bridge_options() -> list[str]:
    """Give arguments of env(1) that hide the caller's BRIDGE_* variables, those that are options."""
    hidden = [name for name in os.environ if name.startswith("BRIDGE_") and name not in _KEPT]
    return [word for name in hidden for word in ("-u", name)]


def wait_for_line(
    process: subprocess.Popen[bytes], reader: LogReader, text: str, *, deadline: float, name: str
) -> None:
    """Wait until a line that contains `text` appears in the log of `process`.

    `deadline` is a reading of `time.monotonic`; `name` is what error messages call the process.
    Raises DevKafkaError when the process ends first or the deadline passes. Neither kills it.
    """
    while True:
        ended = process.poll()  # before the last look at the log, which then is complete
        if any(text in line for line in reader.new_lines()):
            return
        if ended is not None:
            raise DevKafkaError(f"{name} ended with exit code {ended} before it was ready")
        if time.monotonic() >= deadline:
            raise DevKafkaError(f"{name} was not ready in time")
        time.sleep(_POLL_SECONDS)


def finish(process: subprocess.Popen[bytes], *, deadline: float, name: str) -> None:
    """Wait until `process` ends with exit code 0; raise DevKafkaError and kill it otherwise."""
    try:
        code = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        kill(process)
        raise DevKafkaError(f"{name} did not end in time") from None
    if code != 0:
        raise DevKafkaError(f"{name} ended with exit code {code}")


def terminate(process: subprocess.Popen[bytes], *, deadline: float) -> None:
    """Ask `process` to end (SIGTERM), wait until it has, and kill it when the deadline passes."""
    process.terminate()
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill `process` (SIGKILL) and wait until it is gone."""
    process.kill()
    process.wait()


def tail(log: Path, lines: int = _TAIL_LINES) -> str:
    """Return the last lines of a log file, ready to be appended to an error message."""
    if not log.exists():
        return ""
    text = log.read_text(errors="replace").rstrip("\n")
    return f"\n--- the end of {log.name}:\n" + "\n".join(text.split("\n")[-lines:])
