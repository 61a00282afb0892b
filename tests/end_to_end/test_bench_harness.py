from __future__ import annotations

from typing import TYPE_CHECKING

from bench.cases import BARE, BRIDGE, KAFKA, NAIVE, Case, Target
from bench.findings import judged
from bench.programs import Servers
from bench.report import as_json, grids
from bench.runner import Effort, Stage, run_case
from bench.topics import Topics

if TYPE_CHECKING:
    from pathlib import Path

    from support.kafka import RealKafka


def test_all_subjects_of_a_case_are_measured_and_ended(kafka: RealKafka, tmp_path: Path) -> None:
    subjects = (BRIDGE, BARE, NAIVE, KAFKA)
    case = Case("source", "unsettled", 100, "typical", subjects=subjects, targets=(Target(BARE, 0.0),))
    steps: list[str] = []
    with Servers(tmp_path) as servers:
        stage = Stage(kafka.bootstrap_servers, servers, Topics(kafka.bootstrap_servers), steps.append)
        result = run_case(stage, case, Effort(rounds=1, seconds=0.02))
        # They were asked to, and did: else it raises.
        assert not servers.running

    assert [sample.subject for sample in result.samples] == list(subjects)
    for sample in result.samples:
        assert sample.messages > 0
        assert sample.bytes == 100 * sample.messages
        assert sample.rate > 0
        assert sample.microseconds > 0
        assert (sample.peak_bytes > 0) == (sample.subject != KAFKA)
        assert (sample.generator_share > 0) == (sample.subject != KAFKA)
    assert steps == [
        *(f"{case.name}: {name}, warming up" for name in subjects),
        *(f"{case.name}: {name}, round 1" for name in subjects),
    ]
    assert [finding.met for finding in judged(result)] == [True]
    (grid,) = grids([result], [])
    assert len(grid.rows) == len(subjects)
    assert as_json([result], [])["cases"][0]["name"] == case.name
