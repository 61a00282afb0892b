"""The processes of the demo: each dies with it, whatever way it ends, and has its log in a file."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, Final, Self

from bridge.devkafka import process as children

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 40.0
_POLL_SECONDS: Final = 0.05


class DemoError(Exception):
    """The demo cannot go on; the message says why."""


class Processes:
    """Starts `bridge` commands without the BRIDGE_* variables of the caller. A context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._launcher = children.Launcher()
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process that still runs, the last one first."""
        for process in reversed(self._running):
            if process.poll() is None:
                children.terminate(process, deadline=time.monotonic() + STOP_SECONDS)
        self._launcher.close()

    def start(self, name: str, arguments: Sequence[str]) -> tuple[subprocess.Popen[bytes], Path]:
        """Start `bridge ARGUMENTS`; gives the process and its log."""
        log = self._folder / f"{name}.log"
        command = [
            "/usr/bin/env",
            *children.without_bridge_options(),
            sys.executable,
            "-m",
            "bridge",
            *arguments,
        ]
        process = self._launcher.spawn(command, log)
        self._running.append(process)
        return process, log

    def stop(self, process: subprocess.Popen[bytes]) -> int:
        """Ask a process to end as an orchestrator does (SIGTERM); gives its exit code."""
        children.terminate(process, deadline=time.monotonic() + STOP_SECONDS)
        return process.returncode


def await_event(process: subprocess.Popen[bytes], log: Path, event: str) -> dict[str, Any]:
    """Wait for a log event of the service. Raises DemoError with the end of the log."""
    deadline = time.monotonic() + START_SECONDS
    reader = children.LogReader(log)
    while time.monotonic() < deadline:
        ended = process.poll()
        for line in reader.new_lines():
            entry = _entry(line)
            if entry.get("event") == event:
                return entry
        if ended is not None:
            raise DemoError(f"the bridge ended with exit code {ended}{children.tail(log)}")
        time.sleep(_POLL_SECONDS)
    raise DemoError(f"the bridge did not start in time{children.tail(log)}")


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
