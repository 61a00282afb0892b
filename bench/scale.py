"""Costs that grow slowly: of connections, links and consumers, and of ten million messages.

Memory of each, CPU while they are idle, how long many of them take to be accepted, what one busy sender
notices of them.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from bench.cases import BARE, BRIDGE, Case
from bench.figures import KIB, MIB, Spread, slope
from bench.findings import Finding
from bench.programs import Program, run
from bench.runner import LOAD, receive_arguments, send_arguments
from bench.subjects import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.measure import Usage
    from bench.runner import Effort, Stage
    from bench.subjects import Subject

CASE: Final = Case("source", "unsettled", 100)
BOTH_WAYS: Final = Case("round trip", "unsettled", 100)

CROWD_TABLE: Final = "Idle connections"
CROWDS: Final = (1000, 5000)
CROWD_SECONDS: Final = 90.0
"""How long a crowd may stay at most; it is ended when all was measured."""
ATTACH_SECONDS: Final = 60.0
CONNECTION_KIB_MAX: Final = 60.0
IDLE_SECONDS: Final = 4.0
BUSY_MESSAGES_PER_SECOND: Final = 100_000
BUSY_ROUNDS: Final = 3

LINKS_TABLE: Final = "Idle links"
LINKS: Final = 1000
LINK_CONNECTIONS: Final = 10
CONSUMERS: Final = 100
SETTLING_SECONDS: Final = 5.0
"""How long new links have until their memory is looked at: members of a group take turns to join."""

MEMORY_TABLE: Final = "Memory over ten million messages"
TURNS: Final = 10
TURN_MESSAGES: Final = 500_000
"""Sent, and received: ten turns are ten million."""
LEAVING_SECONDS: Final = 1.0
"""How long the receiver of a turn has to leave: while its consumer leaves the group, it takes memory."""
GROWTH_MIB_MAX: Final = 0.5
"""For a million messages: half a byte for each."""
PROCESS_MIB_MAX: Final = 150.0


def crowd_steps(effort: Effort) -> int:
    """Give how many steps `crowds` takes."""
    del effort
    return 2 * len(CROWDS) * (1 + 2 * BUSY_ROUNDS)


def crowds(stage: Stage, effort: Effort) -> Iterator[Finding]:
    """Measure idle connections with a sender's link each, and one busy sender beside them."""
    for name in (BRIDGE, BARE):
        for count in CROWDS:
            yield from _crowd(stage, effort, name, count)


def _crowd(stage: Stage, effort: Effort, name: str, count: int) -> Iterator[Finding]:
    case = f"{name}, {count:,} connections"
    messages = round(BUSY_MESSAGES_PER_SECOND * effort.seconds)

    def finding(what: str, figure: float | Spread, unit: str, limit: float | None = None) -> Finding:
        spread = figure if isinstance(figure, Spread) else Spread.of([figure])
        return Finding(CROWD_TABLE, case, what, spread, unit, limit)

    with _alone(stage, name, CASE) as subject, stage.topics.temporary() as topic:
        alone = _busy(stage, subject, topic, messages, f"{case}: one busy before")
        before = subject.usage()
        stage.told(f"{case}: attaching")
        with _attached(subject, topic, count) as attached_seconds:
            idle = subject.usage()
            bytes_each = (idle.resident_bytes - before.resident_bytes) / count
            time.sleep(IDLE_SECONDS)
            idle_cpu_seconds = subject.usage().cpu_seconds - idle.cpu_seconds
            beside = _busy(stage, subject, topic, messages, f"{case}: one busy among them")
    limit = CONNECTION_KIB_MAX if name == BRIDGE else None
    yield finding("memory of a connection with one link", bytes_each / KIB, "KiB", limit)
    yield finding("time until all are attached", attached_seconds, "s")
    yield finding("CPU of all while idle", idle_cpu_seconds / IDLE_SECONDS * 100, "% of a core")
    yield finding("one busy sender beside them", beside, "messages/s")
    yield finding("the same without them", alone, "messages/s")


def _busy(stage: Stage, subject: Subject, topic: str, messages: int, step: str) -> Spread:
    rates = []
    for number in range(BUSY_ROUNDS):
        stage.told(f"{step}, round {number + 1}")
        said = run(LOAD, "send", *send_arguments(subject, CASE, topic, messages))
        rates.append(said["messages"] / said["seconds"])
    return Spread.of(rates)


@contextmanager
def _attached(subject: Subject, topic: str, connections: int, links: int = 1) -> Iterator[float]:
    """Keep idle connections for the length of the block; gives the seconds that it took to attach all."""
    began = time.monotonic()
    with Program(
        LOAD,
        "crowd",
        *("--port", subject.ports["source"], "--address", topic),
        *("--connections", connections, "--links", links, "--seconds", CROWD_SECONDS),
    ) as crowd:
        crowd.await_said("attached", ATTACH_SECONDS)
        yield time.monotonic() - began


@contextmanager
def _alone(stage: Stage, name: str, case: Case) -> Iterator[Subject]:
    with (
        running([name], case, stage.servers, stage.bootstrap_servers) as subjects,
        subjects[name].explained(),
    ):
        yield subjects[name]


def links_steps(effort: Effort) -> int:
    """Give how many steps `links` takes."""
    del effort
    return 2


def links(stage: Stage, _effort: Effort) -> Iterator[Finding]:
    """Measure the memory of sender's links, and of receiver's links with their consumers."""
    with _alone(stage, BRIDGE, CASE) as subject, stage.topics.temporary() as topic:
        _warm(subject, topic)
        stage.told(f"{LINKS:,} idle links of senders")
        before = subject.usage()
        with _attached(subject, topic, LINK_CONNECTIONS, LINKS // LINK_CONNECTIONS):
            grown = subject.usage().resident_bytes - before.resident_bytes
        case = f"{LINKS:,} links of senders, on {LINK_CONNECTIONS} connections"
        yield Finding(LINKS_TABLE, case, "memory of a link", Spread.of([grown / LINKS / KIB]), "KiB")
        stage.told(f"{CONSUMERS} idle links of receivers")
        before = subject.usage()
        waiting = Case("sink", "unsettled", 100, links=CONSUMERS)
        with Program(LOAD, "receive", *receive_arguments(subject, waiting, topic, 10**9)):
            time.sleep(SETTLING_SECONDS)
            began = subject.usage()
            time.sleep(IDLE_SECONDS)
            ended = subject.usage()
        yield from _of_consumers(before, began, ended)


def _of_consumers(before: Usage, began: Usage, ended: Usage) -> Iterator[Finding]:
    case = f"{CONSUMERS} links of receivers, a group"
    kib = (ended.resident_bytes - before.resident_bytes) / CONSUMERS / KIB
    percent = (ended.cpu_seconds - began.cpu_seconds) / IDLE_SECONDS * 100
    yield Finding(LINKS_TABLE, case, "memory of a link with its consumer", Spread.of([kib]), "KiB")
    yield Finding(LINKS_TABLE, case, "CPU of all while idle", Spread.of([percent]), "% of a core")


def _warm(subject: Subject, topic: str) -> None:
    """Let the subject have what it has for its work at all."""
    run(LOAD, "send", *send_arguments(subject, CASE, topic, BUSY_MESSAGES_PER_SECOND // 5))


def memory_steps(effort: Effort) -> int:
    """Give how many steps `memory` takes."""
    del effort
    return TURNS


def memory(stage: Stage, _effort: Effort) -> Iterator[Finding]:
    """Send and receive ten million messages, and look at the memory after every million."""
    resident: list[float] = []
    with _alone(stage, BRIDGE, BOTH_WAYS) as subject:
        for turn in range(TURNS):
            stage.told(f"memory: million {turn + 1} of {TURNS}")
            with stage.topics.temporary() as topic:
                run(LOAD, "send", *send_arguments(subject, BOTH_WAYS, topic, TURN_MESSAGES))
                run(LOAD, "receive", *receive_arguments(subject, BOTH_WAYS, topic, TURN_MESSAGES))
            time.sleep(LEAVING_SECONDS)
            resident.append(subject.usage().resident_bytes / MIB)
        peak = subject.usage().peak_bytes / MIB
    yield from grown(resident, peak)


def grown(resident: list[float], peak: float) -> Iterator[Finding]:
    """Say how memory went, of the MiB after each million messages and the most that there was. Pure.

    The first million is not counted as growth: pools and caches fill up.
    """
    case = f"{BRIDGE}, {len(resident)} million messages, half of them each way"
    millions = list(range(1, len(resident) + 1))

    def finding(what: str, figure: float, unit: str, limit: float | None = None) -> Finding:
        return Finding(MEMORY_TABLE, case, what, Spread.of([figure]), unit, limit)

    yield finding("resident after the first million", resident[0], "MiB")
    yield finding("resident after the last million", resident[-1], "MiB")
    yield finding("most of all", peak, "MiB", PROCESS_MIB_MAX)
    yield finding("growth for a million", slope(millions[1:], resident[1:]), "MiB", GROWTH_MIB_MAX)
