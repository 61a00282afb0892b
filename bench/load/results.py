"""What a run measures, in the form that it is printed in."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PERCENTILES: Final = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p999": 99.9, "max": 100.0}


@dataclass(slots=True)
class Clock:
    """Seconds on the wall and of this process's CPU, user and system; it starts when it is made."""

    started: float = field(default_factory=time.time)
    _began: float = field(default_factory=time.perf_counter)
    _cpu: float = field(default_factory=time.process_time)

    def stop(self) -> dict[str, float]:
        """Give what passed since the start, and when that was (seconds since 1970)."""
        seconds, cpu_seconds = time.perf_counter() - self._began, time.process_time() - self._cpu
        return {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "started": self.started,
            "finished": self.started + seconds,
        }


def percentiles(microseconds: NDArray[np.uint32]) -> dict[str, float] | None:
    """Give the percentiles of latencies in milliseconds, or None without any."""
    if not len(microseconds):
        return None
    values = np.percentile(microseconds, list(_PERCENTILES.values()))
    return {name: round(float(value) / 1000, 3) for name, value in zip(_PERCENTILES, values, strict=True)}
