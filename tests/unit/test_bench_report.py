from __future__ import annotations

import json

from bench.cases import BARE, BRIDGE, KAFKA, Case, Target
from bench.figures import MIB, Spread
from bench.findings import Finding, judged, plain, with_spread
from bench.measure import Sample
from bench.report import as_json, grids, markdown, missed
from bench.runner import Result

CASE = Case(
    "source",
    "unsettled",
    100,
    subjects=(BRIDGE, BARE, KAFKA),
    targets=(Target(BARE, 0.65), Target(KAFKA, 0.5)),
)


def taken(subject: str, number: int, rate: float, microseconds: float) -> Sample:
    return Sample(
        subject=subject,
        round=number,
        messages=1000,
        bytes=100_000,
        seconds=1000 / rate,
        cpu_seconds=microseconds / 1000,
        generator_cpu_seconds=0.0 if subject == KAFKA else 250 / rate,
        resident_bytes=80 * MIB,
        peak_bytes=0 if subject == KAFKA else (90 + number) * MIB,
    )


def result() -> Result:
    # The machine is slower from round to round, the same for all.
    speeds = [1.0, 0.8, 0.5]
    samples = [
        taken(name, number, rate * speed, microseconds / speed)
        for number, speed in enumerate(speeds)
        for name, rate, microseconds in ((BRIDGE, 70_000, 6.0), (BARE, 100_000, 4.0), (KAFKA, 200_000, 2.0))
    ]
    return Result(CASE, samples)


def test_targets_are_judged_by_ratios_within_rounds() -> None:
    to_bare, to_kafka = judged(result())

    assert to_bare.met is True
    assert round(to_bare.figure.low, 6) == round(to_bare.figure.high, 6) == 0.7
    assert to_kafka.met is False
    assert missed([result()], []) == [to_kafka]


def test_the_table_of_cases() -> None:
    (grid,) = grids([result()], [])

    rows = [dict(zip(grid.columns, row, strict=True)) for row in grid.rows]
    assert grid.title == "From AMQP senders to Kafka"
    assert rows[0]["case"] == "source, unsettled, 100 B, bare"
    assert [row["subject"] for row in rows] == [BRIDGE, BARE, KAFKA]
    assert rows[0]["messages/s"] == "56,000 [45,500 - 63,000]"
    assert rows[0]["peak MiB"] == "92.0"
    assert rows[0]["generator's cores"] == "0.25"
    assert rows[1]["CPU ratio"] == "1.50 [1.50 - 1.50]"
    assert (rows[1]["wanted"], rows[1]["met"]) == ("at least 0.65 x", "yes")
    assert (rows[2]["wanted"], rows[2]["met"]) == ("at least 0.50 x", "NO")
    assert rows[2]["peak MiB"] == rows[2]["generator's cores"] == ""


def test_a_limit_is_the_most_or_the_least() -> None:
    figure = Spread.of([10.0])

    assert Finding("t", "c", "w", figure, "ms", 10).met is True
    assert Finding("t", "c", "w", figure, "ms", 9.9).met is False
    assert Finding("t", "c", "w", figure, "", 10, at_least=True).met is True
    assert Finding("t", "c", "w", figure, "", 10.1, at_least=True).met is False
    assert Finding("t", "c", "w", figure).met is None
    assert Finding("t", "c", "w", figure, "ms", 10).wanted == "at most 10.0 ms"
    assert Finding("t", "c", "w", figure).wanted == ""


def test_other_findings_stand_in_tables_of_their_own() -> None:
    findings = [
        Finding("Idle connections", "bridge", "memory", Spread.of([70, 71]), "KiB", 60),
        Finding("Idle connections", "bridge", "time to accept all", Spread.of([1.5]), "s"),
        Finding("Idle connections", "bridge", "CPU", Spread.of([1.0]), "%"),
        Finding("Idle connections", "bare pump", "CPU", Spread.of([1.0]), "%"),
    ]

    (grid,) = grids([], findings)

    assert grid.title == "Idle connections"
    assert grid.rows == [
        ["bridge", "memory", "70.5 [70.2 - 70.8]", "KiB", "at most 60.0 KiB", "NO"],
        ["", "time to accept all", "1.50", "s", "", ""],
        ["", "CPU", "1.00", "%", "", ""],
        ["bare pump", "CPU", "1.00", "%", "", ""],
    ]


def test_markdown_has_every_row() -> None:
    text = markdown(grids([result()], []), {"cores": "2"})

    assert "- cores: 2" in text
    assert "### From AMQP senders to Kafka" in text
    (separator,) = (line for line in text.splitlines() if line.startswith("| ---"))
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {separator.count("|")}
    assert len(lines) == 2 + 3


def test_json_has_every_sample_and_every_verdict() -> None:
    read = json.loads(json.dumps(as_json([result()], [Finding("t", "c", "w", Spread.of([1.0]))])))

    (case,) = read["cases"]
    assert len(case["samples"]) == 9
    assert case["subjects"][BRIDGE]["messages_per_second"]["median"] == 56_000
    assert round(case["ratios"][BARE]["cpu"]["median"], 6) == 1.5
    assert [finding["met"] for finding in read["findings"]] == [True, False, None]


def test_figures_have_three_digits() -> None:
    assert [plain(value) for value in (0.1234, 1.234, 12.34, 123.4, 123_456.0, -12.34)] == [
        *("0.12", "1.23", "12.3", "123", "123,456", "-12.3")
    ]
    assert with_spread(Spread(1, 0.5, 2, 3)) == "1.00 [0.50 - 2.00]"
    assert with_spread(Spread(1, 1, 1, 1)) == "1.00"
