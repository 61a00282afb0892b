"""What is measured besides the cases, by name: latency, the drain of a backlog, and what grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench import drain, end_to_end, latency, scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.findings import Finding
    from bench.runner import Effort, Stage


@dataclass(frozen=True, slots=True)
class Measurement:
    """One of them: `steps` says how many steps `measure` will tell of."""

    name: str
    steps: Callable[[Effort], int]
    measure: Callable[[Stage, Effort], Iterator[Finding]]


MEASUREMENTS: Final = (
    Measurement("latency", latency.steps, latency.measure),
    Measurement("latency from end to end", end_to_end.steps, end_to_end.measure),
    Measurement("drain of a backlog", drain.steps, drain.measure),
    Measurement("idle connections", scale.crowd_steps, scale.crowds),
    Measurement("idle links", scale.links_steps, scale.links),
    Measurement("memory", scale.memory_steps, scale.memory),
)
