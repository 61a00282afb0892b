"""What one sample of a subject is, and what the kernel says of the processes that were measured.

CPU and memory are read from outside, for the whole process tree: a subject has no part in its own figures.
"""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import psutil

from bench.figures import KIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

_SCHEDULED_TIME: Final = 2
_TRACE_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class Usage:
    """What processes have used: seconds of CPU (user and system), bytes of memory, now and at most."""

    cpu_seconds: float
    resident_bytes: int
    peak_bytes: int
    """The sum of each process's own peak (VmHWM of proc_pid_status(5)), so an upper bound for several."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement of one subject.

    Its `seconds` and CPU are those between the first message that counts and the last: links were attached
    and warm before. `bytes` are those of the bodies.
    """

    subject: str
    round: int
    messages: int
    bytes: int
    seconds: float
    cpu_seconds: float
    generator_cpu_seconds: float
    """What the load generator used while the clock ran; 0 where the subject makes its load itself."""
    resident_bytes: int
    peak_bytes: int
    latency_ms: Mapping[str, float] | None = None
    first_message_seconds: float | None = None

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds

    @property
    def bytes_rate(self) -> float:
        """Bytes of bodies a second."""
        return self.bytes / self.seconds

    @property
    def microseconds(self) -> float:
        """CPU of the subject for a message."""
        return self.cpu_seconds / self.messages * 1e6

    @property
    def generator_share(self) -> float:
        """The part of one core that the load generator used."""
        return self.generator_cpu_seconds / self.seconds


def sample(
    subject: str, number: int, said: Mapping[str, Any], cpu_seconds: float | None, after: Usage | None
) -> Sample:
    """Make a sample of what the load generator said, the subject's CPU meanwhile, and its usage afterwards.

    Without them the program that said it is the subject itself.
    """
    own_cpu = float(said["cpu_seconds"])
    return Sample(
        subject=subject,
        round=number,
        messages=int(said["messages"]),
        bytes=int(said["bytes"]),
        seconds=float(said["seconds"]),
        cpu_seconds=own_cpu if cpu_seconds is None else cpu_seconds,
        generator_cpu_seconds=0.0 if cpu_seconds is None else own_cpu,
        resident_bytes=0 if after is None else after.resident_bytes,
        peak_bytes=0 if after is None else after.peak_bytes,
        latency_ms=said.get("latency_ms"),
        first_message_seconds=said.get("first_message_seconds"),
    )


class CpuTrace:
    """Writes down the CPU clocks of processes and their descendants, a hundred times a second, in a thread.

    A context manager. The load generator tells afterwards from when to when its clock ran: `between` gives
    what the processes have used in that time. Raises ProcessLookupError from its start if one has ended.
    """

    def __init__(self, process_ids: Iterable[int]) -> None:
        # Looked for once: that takes longer than all clocks together.
        self._process_ids = list(_trees(process_ids))
        self._points: list[tuple[float, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cpu-trace", daemon=True)

    def __enter__(self) -> Self:
        self._note()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def between(self, started: float, finished: float) -> float:
        """Give the seconds of CPU from one moment to another (time.time())."""
        return interpolated(self._points, finished) - interpolated(self._points, started)

    def _run(self) -> None:
        try:
            while not self._stop.wait(_TRACE_SECONDS):
                self._note()
            self._note()
        except ProcessLookupError:
            return  # whoever asks for its usage hears of it

    def _note(self) -> None:
        cpu_seconds = sum(map(_cpu_seconds, self._process_ids))
        self._points.append((time.time(), cpu_seconds))


def interpolated(points: Sequence[tuple[float, float]], place: float) -> float:
    """Give the value at a place, on the line between the points around it; beyond them that of the last one.

    Raises ValueError without points. Pure.
    """
    if not points:
        raise ValueError("nothing was measured")
    after = bisect(points, (place, math.inf))
    if after in (0, len(points)):
        return points[max(0, after - 1)][1]
    (left, low), (right, high) = points[after - 1], points[after]
    return low + (high - low) * (place - left) / (right - left)


def usage(process_ids: Iterable[int]) -> Usage:
    """Add up what these processes and their descendants use. Raises ProcessLookupError if one has ended."""
    cpu_seconds, resident_bytes, peak_bytes = 0.0, 0, 0
    for process_id in _trees(process_ids):
        cpu_seconds += _cpu_seconds(process_id)
        resident_bytes += _memory_bytes(process_id, "VmRSS")
        peak_bytes += _memory_bytes(process_id, "VmHWM")
    return Usage(cpu_seconds, resident_bytes, peak_bytes)


def _trees(process_ids: Iterable[int]) -> Iterator[int]:
    for process_id in process_ids:
        yield process_id
        try:
            children = psutil.Process(process_id).children(recursive=True)
        except psutil.NoSuchProcess as error:
            raise ProcessLookupError(f"process {process_id} has ended") from error
        yield from (child.pid for child in children)


def _cpu_seconds(process_id: int) -> float:
    """Read the CPU clock of a process, with all its threads, also those that have ended.

    Its number is what clock_getcpuclockid(3) gives. /proc counts in ticks of 10 ms, too coarse for a sample.
    """
    try:
        return time.clock_gettime(~process_id << 3 | _SCHEDULED_TIME)
    except OSError as error:
        raise ProcessLookupError(f"process {process_id} has ended") from error


def _memory_bytes(process_id: int, name: str) -> int:
    """Read a line of proc_pid_status(5)."""
    for line in Path(f"/proc/{process_id}/status").read_text("utf-8", "replace").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * KIB  # the unit is always kB
    raise ProcessLookupError(f"process {process_id} has ended")
