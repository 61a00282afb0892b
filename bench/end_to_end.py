"""Latency from sender to receiver, through Kafka, at a rate that is easily managed.

Measured from the moment in which a message was due, so that a pause counts for all whom it holds up.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Final

from bench.cases import BARE, BRIDGE, Case
from bench.figures import Spread, percentile
from bench.findings import Finding
from bench.load.errors import LoadError
from bench.load.loop import Loop
from bench.numbered import NumberedReceiver
from bench.programs import BenchError, Program
from bench.runner import LOAD, send_arguments
from bench.subjects import running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.numbered import Arrival
    from bench.runner import Effort, Stage
    from bench.subjects import Subject

RATE: Final = 1000
WARM_UP: Final = 300
SECONDS_MIN: Final = 2.0
SUBJECTS: Final = (BRIDGE, BARE)
CASE: Final = Case("round trip", "unsettled", 100)
TABLE: Final = f"Latency from sender to receiver at {RATE:,} a second"
PERCENTILES: Final = {"p50": 50.0, "p99": 99.0, "max": 100.0}
LIMIT_SECONDS: Final = 30.0
TURN_SECONDS: Final = 0.005


def steps(effort: Effort) -> int:
    """Give how many steps it takes."""
    return len(SUBJECTS) * effort.rounds


def measure(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Send and receive at the rate, by all subjects in turns. Raises BenchError."""
    count = round(RATE * max(effort.seconds, SECONDS_MIN))
    taken: dict[str, list[list[float]]] = {name: [] for name in SUBJECTS}
    with running(SUBJECTS, CASE, stage.servers, stage.bootstrap_servers) as subjects:
        for number in range(effort.rounds):
            for name, subject in subjects.items():
                stage.told(f"latency from end to end: {name}, round {number + 1}")
                with subject.explained():
                    taken[name].append(_latencies(stage, subject, count))
    for name, rounds in taken.items():
        for text, percent in PERCENTILES.items():
            yield Finding(TABLE, name, text, Spread.of(percentile(each, percent) for each in rounds), "ms")


def latencies(arrivals: Sequence[Arrival], started: float, count: int) -> list[float]:
    """Give the latencies in milliseconds of `count` messages, those after the warm-up. Pure.

    `started` is when the first of them was due (time.perf_counter). Raises BenchError if one did not come, or
    came before it was due.
    """
    found = [
        (each.at - started - (number - WARM_UP) / RATE) * 1000
        for each in arrivals
        for number in range(max(each.first, WARM_UP), each.last + 1)
    ]
    if len(found) != count or min(found) < 0:
        raise BenchError(
            f"{len(found)} of {count} messages came, the first after {min(found, default=0):.1f} ms"
        )
    return found


def _latencies(stage: Stage, subject: Subject, count: int) -> list[float]:
    # One partition, so that messages come in the order of their numbers.
    with stage.topics.temporary(partitions=1) as topic:
        loop = Loop()
        receiver = NumberedReceiver(subject.ports["sink"], f"{topic}/group.id/bench-{uuid.uuid4().hex[:12]}")
        try:
            loop.add(receiver)
            loop.run(lambda: bool(receiver.attached), "a link")
            arguments = send_arguments(subject, CASE, topic, count)
            with Program(LOAD, "send", *arguments, "--warm-up", WARM_UP, "--rate", RATE) as sender:
                deadline = time.monotonic() + LIMIT_SECONDS + count / RATE
                while receiver.next_number < WARM_UP + count:
                    loop.turn(TURN_SECONDS)
                    if time.monotonic() > deadline:
                        raise BenchError(f"{receiver.next_number} of {WARM_UP + count} messages came")
                said = sender.result()
            loop.close()
        except LoadError as error:
            raise BenchError(f"receiving: {error}") from error
        clocks_differ_by = time.time() - time.perf_counter()
        return latencies(receiver.arrivals, said["started"] - clocks_differ_by, count)
