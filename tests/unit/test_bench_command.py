from __future__ import annotations

from click.testing import CliRunner

from bench.__main__ import bench, case_steps
from bench.cases import BARE, BRIDGE, CASES, NAIVE, Case
from bench.measurements import MEASUREMENTS
from bench.quick import quick
from bench.runner import Effort


def test_all_names_are_listed() -> None:
    result = CliRunner().invoke(bench, ["--list"])

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        *(case.name for case in CASES),
        *(measurement.name for measurement in MEASUREMENTS),
    ]


def test_names_are_chosen_by_a_pattern() -> None:
    result = CliRunner().invoke(bench, ["--list", "--only", "1 MIB"])

    assert result.stdout.splitlines() == ["source, unsettled, 1 MiB, bare", "source, settled, 1 MiB, bare"]


def test_a_pattern_that_chooses_nothing_is_a_mistake() -> None:
    result = CliRunner().invoke(bench, ["--only", "nosuchcase"])

    assert result.exit_code == 2
    assert "--list shows the names" in result.stderr


def test_the_quick_one_knows_its_own_cases_alone() -> None:
    result = CliRunner().invoke(quick, ["--only", "1 MiB"])

    assert result.exit_code == 2
    assert "nothing has '1 MiB' in its name" in result.stderr


def test_steps_are_counted_as_they_are_told() -> None:
    effort = Effort(rounds=5, seconds=1)

    assert case_steps(Case("source", "settled", 100, subjects=(BRIDGE, BARE)), effort) == 12
    assert case_steps(Case("sink", "settled", 100, subjects=(BRIDGE, BARE, NAIVE)), effort) == 19
