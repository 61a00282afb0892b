from __future__ import annotations

from typing import TYPE_CHECKING

from bench.cases import BARE, BRIDGE, Case
from bench.measure import Sample
from bench.quick import compare, read, reason, write
from bench.runner import Result

if TYPE_CHECKING:
    from pathlib import Path

CASE = Case("source", "unsettled", 100)


def result(*microseconds: tuple[float, float]) -> Result:
    """Make the result of a case from what the bridge and the bare pump took in each round."""
    return Result(
        CASE,
        [
            Sample(
                subject=name,
                round=number,
                messages=1000,
                bytes=100_000,
                seconds=0.1,
                cpu_seconds=taken / 1000,
                generator_cpu_seconds=0.0,
                resident_bytes=0,
                peak_bytes=0,
            )
            for number, pair in enumerate(microseconds)
            for name, taken in zip((BRIDGE, BARE), pair, strict=True)
        ],
    )


def test_up_to_15_percent_more_is_as_good() -> None:
    compared = compare(result((11.4, 10), (11.4, 10), (22.8, 20)), {CASE.name: 1.0})

    assert not compared.failed


def test_more_than_15_percent_more_fails_and_says_so() -> None:
    compared = compare(result((11.6, 10), (11.6, 10), (23.2, 20)), {CASE.name: 1.0})

    assert compared.failed
    assert reason(compared) == (
        "takes 1.16 x the bare pump's CPU, 16% more than the recorded 1.00 x; 15% are allowed"
    )


def test_one_bad_round_does_not_fail() -> None:
    assert not compare(result((10, 10), (30, 10), (10, 10)), {CASE.name: 1.0}).failed


def test_what_is_better_does_not_fail() -> None:
    assert not compare(result((5, 10)), {CASE.name: 1.0}).failed


def test_what_is_not_recorded_cannot_be_compared() -> None:
    compared = compare(result((10, 10)), {})

    assert compared.failed
    assert "--record" in reason(compared)


def test_what_is_recorded_is_read_again_and_the_rest_of_it_stays(tmp_path: Path) -> None:
    file = tmp_path / "recorded.json"
    assert read(file) == {}

    write(file, [compare(result((12.5, 10)), {})])
    another = result((10, 10))
    write(file, [compare(Result(Case("sink", "settled", 100), another.samples), {})])

    assert read(file) == {"sink, settled, 100 B, bare": 1.0, "source, unsettled, 100 B, bare": 1.25}
