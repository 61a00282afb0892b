"""A backlog of a million records: how soon it comes, and how long a delivery waits inside the bridge.

The wait is measured from outside. While the backlog is drained at full speed, the records ahead of the
receiver are deleted in Kafka: whatever still comes of them was inside the bridge at that moment, librdkafka's
queue included, and the last of it waited for as long as it takes to come. Then the bridge goes on behind the
gap.
"""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from bench.cases import BARE, BRIDGE, Case
from bench.figures import Spread, percentile
from bench.findings import Finding
from bench.load.errors import LoadError
from bench.load.loop import Loop
from bench.numbered import NumberedReceiver
from bench.programs import BenchError, run
from bench.runner import LOAD, receive_arguments
from bench.subjects import running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.numbered import Arrival
    from bench.runner import Effort, Stage
    from bench.subjects import Subject

BACKLOG: Final = 1_000_000
CASE: Final = Case("sink", "unsettled", 100)
TABLE: Final = f"A backlog of {BACKLOG:,} records"
ROUNDS_MAX: Final = 3
FIRST_MESSAGE_SECONDS_MAX: Final = 1.0
WAIT_MS_MAX: Final = 50.0
DELETED_AHEAD: Final = 60_000
"""How many records ahead of the receiver are deleted: far more than the bridge may hold."""
PAUSE_SECONDS: Final = 0.2
"""How long the bridge has to be at full speed again before the next probe."""
BEHIND: Final = 20_000
"""So many records behind the gap have come before that pause begins."""
LIMIT_SECONDS: Final = 60.0
TURN_SECONDS: Final = 0.005


def steps(effort: Effort) -> int:
    """Give how many steps it takes."""
    return 1 + 3 * min(effort.rounds, ROUNDS_MAX)


def measure(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Drain the backlog by new groups, then the bridge's again with probes. Raises BenchError."""
    rounds = min(effort.rounds, ROUNDS_MAX)
    with running((BRIDGE, BARE), CASE, stage.servers, stage.bootstrap_servers) as subjects:
        with _backlog(stage) as topic:
            for subject in subjects.values():
                with subject.explained():
                    yield from _drained(stage, subject, topic, rounds)
        waits = []
        for _ in range(rounds):
            # Its records are deleted by the probes.
            with _backlog(stage) as topic, subjects[BRIDGE].explained():
                waits += probe(stage, subjects[BRIDGE], topic)
        yield from waited(BRIDGE, waits)


@contextmanager
def _backlog(stage: Stage) -> Iterator[str]:
    """Make a topic of one partition, so that a record's number is its offset, and fill it."""
    stage.told(f"drain: {BACKLOG:,} records")
    with stage.topics.temporary(partitions=1) as topic:
        stage.topics.fill(topic, BACKLOG, CASE.size, CASE.shape)
        yield topic


def _drained(stage: Stage, subject: Subject, topic: str, rounds: int) -> Iterator[Finding]:
    first, whole = [], []
    for number in range(rounds):
        stage.told(f"drain: {subject.name}, round {number + 1}")
        said = run(LOAD, "receive", *receive_arguments(subject, CASE, topic, BACKLOG))
        first.append(said["first_message_seconds"])
        whole.append(said["first_message_seconds"] + said["seconds"])
    limit = FIRST_MESSAGE_SECONDS_MAX if subject.name == BRIDGE else None
    yield Finding(TABLE, subject.name, "first message after the attach", Spread.of(first), "s", limit)
    yield Finding(TABLE, subject.name, "all of it after the attach", Spread.of(whole), "s")


def waited(name: str, waits: Sequence[float]) -> Iterator[Finding]:
    """Say how long deliveries waited inside, in milliseconds, at the moments of the probes. Pure."""
    case = f"{name}, {len(waits)} probes"
    p99 = Spread.of([percentile(waits, 99)])
    yield Finding(TABLE, case, "wait inside", Spread.of(waits), "ms")
    yield Finding(TABLE, case, "p99 of the wait inside", p99, "ms", WAIT_MS_MAX)


# ---------------------------------------------------------------------- the probes


def probe(stage: Stage, subject: Subject, topic: str) -> list[float]:
    """Drain the topic, deleting ahead of the receiver time and again; gives the waits in milliseconds."""
    address = f"{topic}/group.id/bench-{uuid.uuid4().hex[:12]}"
    receiver = NumberedReceiver(subject.ports["sink"], address)
    loop = Loop()
    waits = []
    try:
        loop.add(receiver)
        go_on_at = 0
        while go_on_at + 2 * DELETED_AHEAD < BACKLOG:
            _receive_to(loop, receiver, go_on_at + BEHIND)
            _receive_for(loop, receiver, PAUSE_SECONDS)
            gap_end = receiver.next_number + DELETED_AHEAD
            if gap_end >= BACKLOG:
                break
            seen = len(receiver.arrivals)
            asked_at = _delete(stage, topic, gap_end, loop)
            _receive_to(loop, receiver, gap_end)
            waits.append(wait_ms(receiver.arrivals[seen:], asked_at, gap_end))
            go_on_at = gap_end
        loop.close()
    except LoadError as error:
        raise BenchError(f"draining with probes: {error}") from error
    if not waits:
        raise BenchError("the backlog was drained before the first probe")
    return waits


def wait_ms(arrivals: Sequence[Arrival], asked_at: float, gap_end: int) -> float:
    """Give how long after the deletion was asked for a message came that it has deleted. Pure.

    `gap_end` is the first number that was left. A little too long if anything: Kafka hears of it later.
    """
    last = max((each.at for each in arrivals if each.first < gap_end), default=asked_at)
    return max(0.0, last - asked_at) * 1000


def _delete(stage: Stage, topic: str, before: int, loop: Loop) -> float:
    """Delete records while the receiver goes on; gives when that was asked for (time.perf_counter)."""
    failures: list[BenchError] = []

    def delete() -> None:
        try:
            stage.topics.delete_records(topic, 0, before)
        except BenchError as error:
            failures.append(error)

    asking = threading.Thread(target=delete)
    asked_at = time.perf_counter()
    asking.start()
    while asking.is_alive():
        loop.turn(TURN_SECONDS)
    asking.join()
    if failures:
        raise failures[0]
    return asked_at


def _receive_to(loop: Loop, receiver: NumberedReceiver, number: int) -> None:
    """Receive until a message with this number or a later one has come. Raises BenchError."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while receiver.next_number <= number:
        loop.turn(TURN_SECONDS)
        if time.monotonic() > deadline:
            raise BenchError(f"message {number} did not come; the last one was {receiver.next_number - 1}")


def _receive_for(loop: Loop, receiver: NumberedReceiver, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and receiver.next_number < BACKLOG:
        loop.turn(TURN_SECONDS)
