from __future__ import annotations

import pytest

from bench.cases import BARE, CASES, KAFKA, NAIVE, QUICK, Case, in_bytes, matches


@pytest.mark.parametrize(
    ("size", "text"),
    [(100, "100 B"), (1024, "1 KiB"), (1536, "1536 B"), (65_536, "64 KiB"), (1 << 20, "1 MiB")],
)
def test_sizes_are_written_as_people_do(size: int, text: str) -> None:
    assert in_bytes(size) == text


@pytest.mark.parametrize(
    "pattern", ["", "source", "SOURCE, unsettled", "100 B", "source*typical", "un?ettled"]
)
def test_a_pattern_matches_anywhere_in_a_name(pattern: str) -> None:
    assert matches("source, unsettled, 100 B, typical", pattern)


@pytest.mark.parametrize("pattern", ["sink", "typical*source"])
def test_another_name_does_not_match(pattern: str) -> None:
    assert not matches("source, unsettled, 100 B, typical", pattern)


def test_no_two_cases_have_one_name() -> None:
    names = [case.name for case in CASES]

    assert len(set(names)) == len(names)


def test_every_baseline_of_a_target_is_measured() -> None:
    for case in CASES:
        assert {target.baseline for target in case.targets} <= set(case.subjects[1:]), case.name


def test_every_baseline_is_measured_somewhere_both_ways() -> None:
    for direction in ("source", "sink"):
        measured = {name for case in CASES if case.direction == direction for name in case.subjects}
        assert {BARE, NAIVE, KAFKA} <= measured


def test_what_is_recorded_is_measured_in_full_as_well() -> None:
    assert {case.name for case in QUICK} <= {case.name for case in CASES}


def test_a_name_says_what_differs_from_one_link() -> None:
    assert Case("sink", "settled", 100, connections=8).name == "sink, settled, 100 B, bare, 8 connections"
    assert Case("source", "mixed", 1024, connections=10, links=100).name == (
        "source, mixed, 1 KiB, bare, 10 connections, 1000 links"
    )
