"""What the kernel says about processes, for tests that no process is left behind."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

_LIMIT_SECONDS: Final = 20.0
_POLL_SECONDS: Final = 0.02


def children(process_id: int) -> set[int]:
    """Return the ids of the running children of a process."""
    stats = {pid: _stat(pid) for pid in _process_ids()}
    return {pid for pid, (state, parent) in stats.items() if parent == process_id and state != "Z"}


def descendants(process_id: int) -> set[int]:
    """Return the ids of the running children of a process, of their children, and so on."""
    found: set[int] = set()
    parents = {process_id}
    while parents:
        parents = {child for parent in parents for child in children(parent)} - found
        found |= parents
    return found


def command_line(process_id: int) -> str:
    """Return the command of a process with its arguments; empty when it has ended."""
    try:
        return Path(f"/proc/{process_id}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_running(process_id: int) -> bool:
    """Tell whether a process runs; one that only waits to be reaped by its parent does not."""
    state, _parent = _stat(process_id)
    return state not in {"", "Z", "X"}


def resident_bytes(process_id: int) -> int:
    """Return how much memory a process has at the moment (proc_pid_status(5), VmRSS)."""
    return _memory(process_id, "VmRSS")


def peak_bytes(process_id: int) -> int:
    """Return the most memory that a process had since it was started (VmHWM)."""
    return _memory(process_id, "VmHWM")


def descriptors(process_id: int) -> int:
    """Count the open file descriptors of a process."""
    return len(list(Path(f"/proc/{process_id}/fd").iterdir()))


def await_end(process_id: int) -> None:
    """Wait until a process that is no child of ours has ended. Raises TimeoutError."""
    deadline = time.monotonic() + _LIMIT_SECONDS
    while is_running(process_id):
        if time.monotonic() >= deadline:
            raise TimeoutError(f"Process {process_id} still runs")
        time.sleep(_POLL_SECONDS)


def _process_ids() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdecimal()]


def _memory(process_id: int, name: str) -> int:
    for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024  # the unit is always kB
    raise ProcessLookupError(f"process {process_id} has no memory any more")


def _stat(process_id: int) -> tuple[str, int]:
    """Return state and parent (proc_pid_stat(5)); an empty state when there is no such process."""
    try:
        stat = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "", 0
    state, parent, *_ = stat.rpartition(")")[2].split()  # the name before may hold spaces
    return state, int(parent)
