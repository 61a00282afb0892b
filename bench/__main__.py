"""`make bench`: the bridge and its baselines under the same load, in turns, against a real Kafka.

Shows tables and writes results.json, results.md and two plots. Kafka and all subjects are processes of their
own that end with the command.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import machine, plots, report
from bench.cases import CASES, matches
from bench.findings import with_spread
from bench.measurements import MEASUREMENTS
from bench.programs import ROOT, BenchError
from bench.runner import Effort, run_case
from bench.stage import given_kafka, open_stage
from bridge.interrupts import signals_interrupt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.cases import Case
    from bench.findings import Finding
    from bench.measurements import Measurement
    from bench.runner import Result

ROUNDS: Final = 5
SECONDS: Final = 1.5
RESULTS: Final = ROOT / "bench" / "results"
PREPARING_STEPS: Final = 2


@click.command("bench")
@click.option(
    "--only", metavar="PATTERN", default="", help="Measure what has this in its name (* and ? too)."
)
@click.option(
    "--rounds",
    default=ROUNDS,
    show_default=True,
    type=click.IntRange(1, 100),
    help="How often each subject of a case is measured.",
)
@click.option(
    "--seconds",
    default=SECONDS,
    show_default=True,
    type=click.FloatRange(0.05, 60),
    help="How long each time, without its warm-up.",
)
@click.option("--list", "listing", is_flag=True, help="List the names and measure nothing.")
@click.option(
    "--out",
    "folder",
    default=RESULTS,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the results go.  [default: bench/results]",
)
@click.option(
    "--data-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where Kafka keeps its data; one in memory takes the disk out of it.  [default: a temporary one]",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if anything is not as it is wanted.")
def bench(
    *,
    only: str,
    rounds: int,
    seconds: float,
    listing: bool,
    folder: Path,
    data_folder: Path | None,
    strict: bool,
) -> None:
    """Measure the bridge beside its baselines, in ratios to them.

    A Kafka is started, unless KAFKA_BOOTSTRAP_SERVERS names one. With the default options it takes about
    twenty minutes on two cores; the machine should have nothing else to do.

    Exit codes: 0, 1 if a subject failed (or, with --strict, missed what is wanted), 130 after Ctrl-C.
    """
    cases = [case for case in CASES if matches(case.name, only)]
    others = [each for each in MEASUREMENTS if matches(each.name, only)]
    if listing:
        click.echo("\n".join([*(case.name for case in cases), *(each.name for each in others)]))
        return
    if not cases and not others:
        raise click.UsageError(f"nothing has {only!r} in its name; --list shows the names")
    run = Run(Effort(rounds, seconds), folder)
    try:
        with signals_interrupt():
            run.measure(cases, others, data_folder)
    except BenchError as error:
        Console(stderr=True).print(
            f"[bold red]The benchmark failed:[/] {escape(str(error))}", highlight=False, soft_wrap=True
        )
        click.echo(f"What was measured before that is in {folder}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted; everything was stopped.")
        sys.exit(130)
    missed = run.show()
    sys.exit(1 if strict and missed else 0)


class Run:
    """One run of the command: what it has measured so far, and where that goes.

    The files are written after each case, so that an interrupted run has not been in vain.
    """

    def __init__(self, effort: Effort, folder: Path) -> None:
        self._effort = effort
        self._folder = folder
        self._results: list[Result] = []
        self._findings: list[Finding] = []
        self._machine = machine.facts(given_kafka=given_kafka() is not None)
        self._began = time.time()

    def measure(self, cases: Sequence[Case], others: Sequence[Measurement], data_folder: Path | None) -> None:
        """Measure all of it. Raises BenchError."""
        effort = self._effort
        steps = PREPARING_STEPS + sum(case_steps(case, effort) for case in cases)
        steps += sum(each.steps(effort) for each in others)
        with Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=Console(stderr=True),
        ) as progress:
            task = progress.add_task("", total=steps, completed=-1)

            def told(step: str) -> None:
                progress.update(task, advance=1, description=step)

            with open_stage(told, data_folder) as stage:
                for case in cases:
                    self._results.append(run_case(stage, case, effort))
                    self.write()
                for each in others:
                    self._findings += each.measure(stage, effort)
                    self.write()
            progress.update(task, completed=steps, description="")

    def show(self) -> list[Finding]:
        """Print the tables; gives what is not as it is wanted."""
        console = report.terminal()
        for grid in report.grids(self._results, self._findings):
            console.print(report.table(grid), "")
        plots.draw(self._results, self._folder)
        missed = report.missed(self._results, self._findings)
        for finding in missed:
            text = f"{finding.case}: {finding.what} is {with_spread(finding.figure)} {finding.unit},"
            console.print(
                f"[bold red]Missed:[/] {text} wanted {finding.wanted}", highlight=False, soft_wrap=True
            )
        console.print(f"Written to {self._folder}", highlight=False, soft_wrap=True)
        return missed

    def write(self) -> None:
        """Write what there is."""
        self._folder.mkdir(parents=True, exist_ok=True)
        every: dict[str, Any] = {
            "machine": self._machine,
            "began": self._began,
            "seconds": time.time() - self._began,
            "rounds": self._effort.rounds,
            "sample_seconds": self._effort.seconds,
            **report.as_json(self._results, self._findings),
        }
        (self._folder / "results.json").write_text(json.dumps(every, indent=1) + "\n", "utf-8")
        text = report.markdown(report.grids(self._results, self._findings), self._machine)
        (self._folder / "results.md").write_text(text, "utf-8")


def case_steps(case: Case, effort: Effort) -> int:
    """Give how many steps a case takes: a filled topic, warming up, rounds."""
    return (case.direction == "sink") + len(case.subjects) * (1 + effort.rounds)


if __name__ == "__main__":
    bench(prog_name="python -m bench")
