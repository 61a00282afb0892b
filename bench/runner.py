"""Runs cases: all subjects of one under the same load, in turns, for several rounds.

Turns, because noise comes in spells: each round has every subject once, in an order that moves on from round
to round. How many messages a sample has follows from the subject's own rate, so that all take equally long.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bench.cases import BARE, BRIDGE, KAFKA, NAIVE, WORKERS_2
from bench.figures import MIB, Spread, ratios
from bench.measure import Sample, sample
from bench.programs import Program, run
from bench.subjects import running
from bench.topics import PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.cases import Case
    from bench.programs import Servers
    from bench.subjects import Subject
    from bench.topics import Topics

LOAD: Final = "bench.load"
KAFKA_ALONE: Final = "bench.baselines.kafka_alone"

SAMPLE_BYTES_MAX: Final = 300 * MIB
"""Of the bodies of one sample: large messages would fill disks."""
PROBE_SECONDS: Final = 0.4
"""How long the first run of a subject is meant to take at most, which tells its rate and warms it up."""
WARM_UP_PART: Final = 10
WARM_UP_MAX: Final = 5000
RECEIVED_MIN: Final = 10_000
"""The clock of receivers starts with their first messages, which are as many as their credit, all at once."""
JOIN_SECONDS: Final = 1.0
"""How long the receiver of a round trip has to join its group before the sender begins."""
EXPECTED_RATES: Final = {BRIDGE: 100_000, WORKERS_2: 100_000, BARE: 150_000, NAIVE: 15_000, KAFKA: 300_000}
EXPECTED_BYTES_RATE: Final = 150 * MIB
FILLED_RATE: Final = 400_000
"""Topics for receivers are filled for samples of the fastest that can be expected."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is done for a case."""

    rounds: int
    seconds: float
    """How long each sample is meant to take."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where cases are run: a Kafka, and what starts processes. `told` is called with each step's name."""

    bootstrap_servers: str
    servers: Servers
    topics: Topics
    told: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """The samples of a case."""

    case: Case
    samples: Sequence[Sample]

    def of(self, subject: str) -> list[Sample]:
        """Give the samples of one subject."""
        return [each for each in self.samples if each.subject == subject]

    def spread(self, subject: str, figure: Callable[[Sample], float]) -> Spread:
        """Sum up a figure of one subject. Raises ValueError if it was not measured."""
        return Spread.of(figure(each) for each in self.of(subject))

    def ratio(self, subject: str, baseline: str, figure: Callable[[Sample], float]) -> Spread:
        """Sum up the ratios to a baseline's samples of the same rounds. Raises ValueError without any."""

        def by_round(name: str) -> Mapping[int, float]:
            return {each.round: figure(each) for each in self.of(name)}

        return Spread.of(ratios(by_round(subject), by_round(baseline)))


def run_case(stage: Stage, case: Case, effort: Effort) -> Result:
    """Measure all subjects of a case. Raises BenchError when one of them fails."""
    turns = Turns(stage, case)
    with running(case.subjects, case, stage.servers, stage.bootstrap_servers) as subjects:
        try:
            turns.prepare(subjects, effort.seconds)
            return Result(case, [each for number in range(effort.rounds) for each in turns.round(number)])
        finally:
            turns.close()


class Turns:
    """The rounds of one case. `prepare` comes first, `close` last."""

    def __init__(self, stage: Stage, case: Case) -> None:
        self._stage = stage
        self._case = case
        self._subjects: Mapping[str, Subject] = {}
        self._seconds = 0.0
        self._rates: dict[str, float] = {}
        self._filled = ""
        self._filled_count = 0

    def prepare(self, subjects: Mapping[str, Subject], seconds: float) -> None:
        """Fill the topic if it is for receivers, and run every subject for a moment to learn its rate."""
        case, stage = self._case, self._stage
        self._subjects, self._seconds = subjects, seconds
        probe_seconds = min(seconds, PROBE_SECONDS)
        if case.direction == "sink":
            self._filled_count = filled_records(case, seconds)
            partitions = max(PARTITIONS, case.connections * case.links)
            self._filled = stage.topics.create(partitions)
            stage.told(f"{case.name}: filling a topic")
            stage.topics.fill(self._filled, self._filled_count, case.size, case.shape)
        for name in case.subjects:
            stage.told(f"{case.name}: {name}, warming up")
            taken = self._take(name, -1, self._count(expected_rate(name, case.size), probe_seconds))
            self._rates[name] = taken.rate

    def round(self, number: int) -> list[Sample]:
        """Measure every subject once."""
        names = self._case.subjects
        first = number % len(names)
        samples = []
        for name in (*names[first:], *names[:first]):
            self._stage.told(f"{self._case.name}: {name}, round {number + 1}")
            samples.append(self._take(name, number, self._count(self._rates[name], self._seconds)))
        return samples

    def close(self) -> None:
        """Delete the topic."""
        if self._filled:
            self._stage.topics.delete(self._filled)
            self._filled = ""

    def _count(self, rate: float, seconds: float) -> int:
        """Give how many messages take so long, within what a sample may have."""
        case = self._case
        count = message_count(rate * seconds, case.size, case.connections * case.links)
        if case.direction != "sink":
            return count
        return min(max(count, RECEIVED_MIN), self._filled_count)

    def _take(self, name: str, number: int, count: int) -> Sample:
        case, stage = self._case, self._stage
        if case.direction == "sink":
            return self._receive(name, number, count)
        with stage.topics.temporary() as topic:
            if name == KAFKA:
                return sample(name, number, produce_alone(stage, case, topic, count), None, None)
            subject = self._subjects[name]
            with subject.explained():
                if case.direction == "round trip":
                    return round_trip(subject, case, topic, number, count)
                warm_up = min(count // WARM_UP_PART, WARM_UP_MAX)
                return _traced(
                    subject,
                    number,
                    "send",
                    *send_arguments(subject, case, topic, count),
                    "--warm-up",
                    warm_up,
                )

    def _receive(self, name: str, number: int, count: int) -> Sample:
        if name == KAFKA:
            said = run(
                KAFKA_ALONE,
                "consume",
                *("--bootstrap", self._stage.bootstrap_servers, "--topic", self._filled),
                *("--messages", count),
            )
            return sample(name, number, said, None, None)
        subject = self._subjects[name]
        with subject.explained():
            return _traced(
                subject, number, "receive", *receive_arguments(subject, self._case, self._filled, count)
            )


def _traced(subject: Subject, number: int, *arguments: object) -> Sample:
    """Run the load generator, and see how much CPU the subject takes meanwhile."""
    with subject.trace() as trace:
        said = run(LOAD, *arguments)
    cpu_seconds = trace.between(said["started"], said["finished"])
    return sample(subject.name, number, said, cpu_seconds, subject.usage())


def round_trip(subject: Subject, case: Case, topic: str, number: int, count: int) -> Sample:
    """Send and receive at the same time: the clock runs from the first message sent to the last received."""
    with (
        subject.trace() as trace,
        Program(LOAD, "receive", *receive_arguments(subject, case, topic, count)) as receiver,
    ):
        time.sleep(JOIN_SECONDS)
        sent = run(LOAD, "send", *send_arguments(subject, case, topic, count))
        received = receiver.result()
    said: dict[str, Any] = {
        **received,
        "seconds": received["finished"] - sent["started"],
        "cpu_seconds": sent["cpu_seconds"] + received["cpu_seconds"],
    }
    cpu_seconds = trace.between(sent["started"], received["finished"])
    return sample(subject.name, number, said, cpu_seconds, subject.usage())


def produce_alone(stage: Stage, case: Case, topic: str, count: int, *more: object) -> dict[str, Any]:
    """Produce straight to Kafka what the bridge would, with the acknowledgements that it would ask for."""
    acks = "0" if case.mode == "settled" else "all"
    return run(
        KAFKA_ALONE,
        "produce",
        *("--bootstrap", stage.bootstrap_servers, "--topic", topic, "--messages", count),
        *("--size", case.size, "--acks", acks, "--shape", case.shape),
        *more,
    )


def send_arguments(subject: Subject, case: Case, topic: str, count: int) -> tuple[object, ...]:
    """Give the arguments of the load generator for a sender of this case."""
    return (
        *("--port", subject.ports["source"], "--address", topic, "--messages", count),
        *("--size", case.size, "--mode", case.mode, "--shape", case.shape),
        *("--connections", case.connections, "--links", case.links),
    )


def receive_arguments(subject: Subject, case: Case, topic: str, count: int) -> tuple[object, ...]:
    """Give the arguments of the load generator for a receiver, which begins at the earliest record."""
    return (
        *("--port", subject.ports["sink"], "--address", f"{topic}/group.id/bench-{uuid.uuid4().hex[:12]}"),
        *("--messages", count, "--mode", case.mode),
        *("--connections", case.connections, "--links", case.links),
    )


def expected_rate(subject: str, size: int) -> float:
    """Give a guess at how many messages a second a subject manages; the first run corrects it."""
    return min(EXPECTED_RATES[subject], EXPECTED_BYTES_RATE / size)


def message_count(wanted: float, size: int, links: int) -> int:
    """Round a wanted number of messages to what a sample may have: as many for each link, at least one."""
    most = SAMPLE_BYTES_MAX // size
    return max(1, int(min(wanted, most)) // links) * links


def filled_records(case: Case, seconds: float) -> int:
    """Give how many records a topic for receivers is filled with."""
    return message_count(seconds * FILLED_RATE, case.size, case.connections * case.links)
