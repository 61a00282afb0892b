"""Writes what was measured: tables for people, Markdown for the documentation, JSON for programs.

Tables are lists of rows of text, made once; the terminal and the Markdown file show the same.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.figures import MIB
from bench.findings import judged, microseconds, plain, rate, with_spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.figures import Spread
    from bench.findings import Finding
    from bench.measure import Sample
    from bench.runner import Result

WIDE: Final = 200
MET: Final = {True: "yes", False: "NO", None: ""}
STYLES: Final = {"yes": "bold green", "NO": "bold red"}
CASE_COLUMNS: Final = (
    "case",
    "subject",
    "messages/s",
    "MiB/s",
    "CPU µs/message",
    "messages/s ratio",
    "CPU ratio",
    "wanted",
    "met",
    "peak MiB",
    "generator's cores",
)
CASE_NOTE: Final = (
    "Ratios are those of a case's first subject to the one in the row, made within rounds."
    " Figures are medians of the rounds, with quartiles in brackets."
)
FINDING_COLUMNS: Final = ("case", "figure", "median [quartiles]", "unit", "wanted", "met")
TEXT_COLUMNS: Final = frozenset({"case", "subject", "figure", "unit", "wanted", "met"})


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: its title, the names of its columns, and rows of text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def grids(results: Sequence[Result], findings: Sequence[Finding]) -> Iterator[Grid]:
    """Make the tables: one for each group of cases, then one for each of other measurements."""
    for title in dict.fromkeys(result.case.table for result in results):
        rows = [row for result in results if result.case.table == title for row in _case_rows(result)]
        yield Grid(title, CASE_COLUMNS, rows, CASE_NOTE)
    for title in dict.fromkeys(finding.table for finding in findings):
        rows = [_finding_row(finding) for finding in findings if finding.table == title]
        for row, before in reversed(list(zip(rows[1:], rows, strict=False))):
            if row[0] == before[0]:
                row[0] = ""
        yield Grid(title, FINDING_COLUMNS, rows)


def missed(results: Sequence[Result], findings: Sequence[Finding]) -> list[Finding]:
    """Give what is not as it is wanted."""
    every = [*(each for result in results for each in judged(result)), *findings]
    return [finding for finding in every if finding.met is False]


def terminal() -> Console:
    """Make what tables are printed on: wide, where no terminal says how wide it is."""
    return Console(width=None if sys.stdout.isatty() else WIDE)


def table(grid: Grid) -> Table:
    """Make a table for the terminal."""
    shown = Table(title=grid.title, title_justify="left", title_style="bold", caption=grid.note)
    for column in grid.columns:
        shown.add_column(column, justify="left" if column in TEXT_COLUMNS else "right")
    for number, row in enumerate(grid.rows):
        following = grid.rows[number + 1] if number + 1 < len(grid.rows) else None
        shown.add_row(
            *(Text(cell, STYLES.get(cell, "")) for cell in row),
            end_section=following is not None and bool(following[0]),
        )
    return shown


def markdown(every: Iterable[Grid], machine: Mapping[str, Any]) -> str:
    """Write all tables in Markdown, with the machine that they are of."""
    facts = "\n".join(f"- {name}: {value}" for name, value in machine.items())
    parts = [f"Measured on:\n\n{facts}\n"]
    for grid in every:
        lines = [
            _markdown_row(grid.columns),
            _markdown_row(["---" if column in TEXT_COLUMNS else "---:" for column in grid.columns]),
            *map(_markdown_row, grid.rows),
        ]
        note = ["", grid.note] if grid.note else []
        parts.append("\n".join([f"### {grid.title}", "", *lines, *note, ""]))
    return "\n".join(parts)


def as_json(results: Sequence[Result], findings: Sequence[Finding]) -> dict[str, Any]:
    """Give everything that was measured, each sample included, as JSON can hold it."""
    return {
        "cases": [_case_json(result) for result in results],
        "findings": [
            {**asdict(finding), "met": finding.met}
            for finding in (*(each for result in results for each in judged(result)), *findings)
        ],
    }


# ---------------------------------------------------------------------- rows


def _case_rows(result: Result) -> Iterator[list[str]]:
    case = result.case
    first, *others = case.subjects
    yield [case.name, *_own(result, first), "", "", "", "", *_process(result, first)]
    wanted = {finding.what: finding for finding in judged(result)}
    for name in others:
        finding = wanted.get(f"messages/s, to {name}")
        yield [
            "",
            *_own(result, name),
            with_spread(result.ratio(first, name, rate)),
            with_spread(result.ratio(first, name, microseconds)),
            "" if finding is None else finding.wanted,
            "" if finding is None else MET[finding.met],
            *_process(result, name),
        ]


def _own(result: Result, name: str) -> list[str]:
    return [
        name,
        with_spread(result.spread(name, rate)),
        plain(result.spread(name, bytes_rate).median / MIB),
        plain(result.spread(name, microseconds).median),
    ]


def _process(result: Result, name: str) -> list[str]:
    peak = max(sample.peak_bytes for sample in result.of(name)) / MIB
    share = result.spread(name, generator_share).median
    return [plain(peak) if peak else "", plain(share) if share else ""]


def _finding_row(finding: Finding) -> list[str]:
    return [
        finding.case,
        finding.what,
        with_spread(finding.figure),
        finding.unit,
        finding.wanted,
        MET[finding.met],
    ]


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# ---------------------------------------------------------------------- JSON


def _case_json(result: Result) -> dict[str, Any]:
    case = result.case
    first = case.subjects[0]
    return {
        "name": case.name,
        "case": asdict(case),
        "subjects": {
            name: {key: asdict(spread) for key, spread in _spreads(result, name).items()}
            for name in case.subjects
        },
        "ratios": {
            name: {
                "messages_per_second": asdict(result.ratio(first, name, rate)),
                "cpu": asdict(result.ratio(first, name, microseconds)),
            }
            for name in case.subjects[1:]
        },
        "samples": [asdict(sample) for sample in result.samples],
    }


def _spreads(result: Result, name: str) -> dict[str, Spread]:
    return {
        "messages_per_second": result.spread(name, rate),
        "bytes_per_second": result.spread(name, bytes_rate),
        "cpu_microseconds": result.spread(name, microseconds),
        "generator_cores": result.spread(name, generator_share),
    }


def bytes_rate(sample: Sample) -> float:
    """Bytes of bodies a second."""
    return sample.bytes_rate


def generator_share(sample: Sample) -> float:
    """Part of one core that the load generator used."""
    return sample.generator_share
