"""Latency at a rate that every subject manages easily: what the bridge adds to Kafka's own.

From the moment of the send to the accepted outcome; for Kafka alone from the call to its delivery report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bench.cases import BARE, BRIDGE, KAFKA, Case
from bench.figures import Spread
from bench.findings import Finding
from bench.programs import run
from bench.runner import LOAD, produce_alone, send_arguments
from bench.subjects import running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.runner import Effort, Stage
    from bench.subjects import Subject

RATE: Final = 1000
WARM_UP: Final = 300
SECONDS_MIN: Final = 2.0
"""A sample has p99 of at least so many seconds' messages."""
ADDED_MS: Final = 2.0
LIMITS: Final = {"p50": 1.5, "p99": 2.0}
"""How many times Kafka's own latency the bridge's may be, besides ADDED_MS."""
SUBJECTS: Final = (BRIDGE, BARE, KAFKA)
CASE: Final = Case("source", "unsettled", 100, subjects=SUBJECTS)
TABLE: Final = f"Latency of unsettled messages at {RATE:,} a second"


def steps(effort: Effort) -> int:
    """Give how many steps it takes."""
    return len(SUBJECTS) * (effort.rounds + 1)


def measure(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Send at the rate, by all subjects in turns. Raises BenchError."""
    count = round(RATE * max(effort.seconds, SECONDS_MIN))
    taken: list[dict[str, Mapping[str, float]]] = []
    with running(SUBJECTS, CASE, stage.servers, stage.bootstrap_servers) as subjects:
        for number in range(-1, effort.rounds):
            names = SUBJECTS[number % 3 :] + SUBJECTS[: number % 3]
            row = {}
            for name in names:
                stage.told(f"latency: {name}, " + (f"round {number + 1}" if number >= 0 else "warming up"))
                row[name] = _latency(stage, subjects.get(name), count if number >= 0 else WARM_UP)
            if number >= 0:
                taken.append(row)
    yield from found(taken)


def found(taken: Sequence[Mapping[str, Mapping[str, float]]]) -> Iterator[Finding]:
    """Give the latencies, and by how much the bridge's are within what they may be. Pure.

    `taken` has the percentiles in milliseconds of every subject, for each round.
    """
    for name in SUBJECTS:
        for percentile in ("p50", "p99", "p999", "max"):
            yield Finding(TABLE, name, percentile, Spread.of(row[name][percentile] for row in taken), "ms")
    for percentile, times in LIMITS.items():
        over = Spread.of(row[BRIDGE][percentile] - times * row[KAFKA][percentile] for row in taken)
        what = f"{percentile} beyond {times:g} x Kafka's"
        yield Finding(TABLE, BRIDGE, what, over, "ms", ADDED_MS)


def _latency(stage: Stage, subject: Subject | None, count: int) -> Mapping[str, float]:
    with stage.topics.temporary() as topic:
        said: dict[str, Any]
        if subject is None:
            said = produce_alone(stage, CASE, topic, count, "--rate", RATE)
        else:
            with subject.explained():
                arguments = send_arguments(subject, CASE, topic, count)
                said = run(LOAD, "send", *arguments, "--warm-up", WARM_UP, "--rate", RATE)
        latency: Mapping[str, float] = said["latency_ms"]
        return latency
