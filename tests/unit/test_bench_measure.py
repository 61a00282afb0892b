from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from bench.figures import MIB
from bench.measure import CpuTrace, Usage, interpolated, sample, usage

if TYPE_CHECKING:
    from collections.abc import Iterator

SAID = {
    "messages": 1000,
    "bytes": 100_000,
    "seconds": 0.5,
    "cpu_seconds": 0.1,
    "latency_ms": {"p50": 1.0},
}


def test_a_sample_of_a_subject_has_its_cpu_and_that_of_the_load_generator() -> None:
    taken = sample("bridge", 3, SAID, 0.01, Usage(1.012, 11 * MIB, 21 * MIB))

    assert taken.rate == 2000
    assert taken.bytes_rate == 200_000
    assert taken.microseconds == pytest.approx(10)
    assert taken.generator_share == pytest.approx(0.2)
    assert (taken.resident_bytes, taken.peak_bytes) == (11 * MIB, 21 * MIB)
    assert taken.latency_ms == {"p50": 1.0}
    assert (taken.subject, taken.round) == ("bridge", 3)


def test_a_program_that_is_the_subject_itself_says_its_own_cpu() -> None:
    taken = sample("Kafka alone", 0, SAID, None, None)

    assert taken.microseconds == pytest.approx(100)
    assert taken.generator_share == 0
    assert taken.peak_bytes == 0


BUSY = """
import sys, time

print("ready", flush=True)
for _ in sys.stdin:
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    print(time.process_time(), flush=True)
"""


class Busy:
    """A process that uses 50 ms of CPU whenever it is told to. This one has children of other tests."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.process_id = process.pid
        assert self._said() == "ready\n"

    def work(self) -> float:
        """Let it work; gives the seconds of CPU that it has used since its start, as it knows itself."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._said())

    def _said(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()


@pytest.fixture
def busy() -> Iterator[Busy]:
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Busy(process)
        assert process.stdin
        process.stdin.close()


def test_usage_is_that_of_the_process_as_it_knows_it_itself(busy: Busy) -> None:
    before = busy.work()
    used = usage([busy.process_id])
    after = busy.work()

    assert before <= used.cpu_seconds <= after
    assert 0 < used.resident_bytes <= used.peak_bytes


def test_usage_has_the_children_in_it() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        both = usage([os.getpid()])
        alone = usage([child.pid])
        child.communicate(b"\n")

    assert both.resident_bytes >= alone.resident_bytes + 5 * MIB


def test_a_process_that_has_ended_uses_nothing_that_could_be_measured() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        child.wait()

    with pytest.raises(ProcessLookupError):
        usage([child.pid])


def test_a_trace_tells_what_was_used_between_two_moments(busy: Busy) -> None:
    with CpuTrace([busy.process_id]) as trace:
        started, before = time.time(), busy.work()
        after, finished = busy.work(), time.time()

    assert 0.05 <= after - before <= trace.between(started, finished)
    assert trace.between(started, started) == 0


def test_nothing_can_be_traced_of_what_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        child.wait()

    with pytest.raises(ProcessLookupError):
        CpuTrace([child.pid])


@pytest.mark.parametrize(("place", "value"), [(9, 1), (10, 1), (11, 2), (12, 3), (13, 3), (14, 3), (20, 3)])
def test_between_points_there_are_lines(place: float, value: float) -> None:
    assert interpolated([(10, 1), (12, 3), (14, 3)], place) == value


def test_without_points_there_is_no_line() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        interpolated([], 1)
