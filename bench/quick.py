"""`make bench-quick`: whether the hot path became slower, in two minutes.

The CPU that the bridge takes for a message is compared with the bare pump's in the same round, and that ratio
with the recorded one (recorded.json): the machine's speed and its other work cancel out as far as they can. A
case that seems worse is measured again, longer, before it fails.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import machine, report
from bench.cases import BARE, BRIDGE, QUICK, Case, matches
from bench.figures import worsening
from bench.findings import microseconds, plain, with_spread
from bench.programs import BenchError
from bench.runner import Result, Turns
from bench.stage import given_kafka, open_stage
from bench.subjects import running
from bridge.interrupts import signals_interrupt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.figures import Spread
    from bench.measure import Sample
    from bench.runner import Stage

RECORDED: Final = Path(__file__).with_name("recorded.json")
WORSENING_MAX: Final = 0.15
ROUNDS: Final = 5
SECONDS: Final = 0.6
AGAIN_ROUNDS: Final = 6
"""How many more rounds decide about a case that seems worse."""
PREPARING_STEPS: Final = 2
BOTH_WAYS: Final = Case("round trip", "unsettled", 100)
"""So that the subjects serve senders and receivers: one start for all cases."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A case's ratio of CPU to the bare pump, and the recorded one, if there is any."""

    name: str
    ratio: Spread
    recorded: float | None

    @property
    def worsening(self) -> float | None:
        """By which part of the recorded ratio it is worse; negative where it is better."""
        return None if self.recorded is None else worsening(self.ratio.median, self.recorded)

    @property
    def failed(self) -> bool:
        """Tell whether it is worse by more than it may be, or cannot be compared."""
        return self.worsening is None or self.worsening > WORSENING_MAX


@click.command("bench.quick")
@click.option(
    "--only", metavar="PATTERN", default="", help="Compare what has this in its name (* and ? too)."
)
@click.option(
    "--rounds", default=ROUNDS, show_default=True, type=click.IntRange(1, 100), help="How often each is run."
)
@click.option(
    "--seconds",
    default=SECONDS,
    show_default=True,
    type=click.FloatRange(0.05, 60),
    help="How long each time.",
)
@click.option("--record", is_flag=True, help="Record the ratios that others are compared with from now on.")
@click.option(
    "--recorded",
    "file",
    default=RECORDED,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file with recorded ratios.  [default: bench/recorded.json]",
)
def quick(*, only: str, rounds: int, seconds: float, record: bool, file: Path) -> None:
    """Tell whether the bridge takes more CPU for a message than it did, as ratios to the bare pump.

    Exit codes: 0, 1 if a ratio is worse than the recorded one by more than 15 %, or a subject failed, 130
    after Ctrl-C.
    """
    cases = [case for case in QUICK if matches(case.name, only)]
    if not cases:
        raise click.UsageError(f"nothing has {only!r} in its name")
    recorded = {} if record else read(file)
    console = report.terminal()
    try:
        with signals_interrupt():
            results = _measure(cases, rounds, seconds, recorded, again=not record)
    except BenchError as error:
        Console(stderr=True).print(
            f"[bold red]The benchmark failed:[/] {escape(str(error))}", highlight=False, soft_wrap=True
        )
        sys.exit(1)
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted; everything was stopped.")
        sys.exit(130)
    compared = [compare(result, recorded) for result in results]
    console.print(table(results, compared))
    if record:
        write(file, compared)
        console.print(f"Recorded in {file}", highlight=False, soft_wrap=True)
        return
    failed = [each for each in compared if each.failed]
    for each in failed:
        console.print(f"[bold red]{each.name}[/]: {reason(each)}", highlight=False, soft_wrap=True)
    sys.exit(1 if failed else 0)


def compare(result: Result, recorded: Mapping[str, float]) -> Comparison:
    """Compare the samples of a case with what is recorded. Pure."""
    ratio = result.ratio(BRIDGE, BARE, microseconds)
    return Comparison(result.case.name, ratio, recorded.get(result.case.name))


def reason(compared: Comparison) -> str:
    """Say why a comparison failed."""
    if compared.recorded is None:
        return "no ratio is recorded; --record does"
    return (
        f"takes {plain(compared.ratio.median)} x the bare pump's CPU, {compared.worsening:.0%} more than the"
        f" recorded {plain(compared.recorded)} x; {WORSENING_MAX:.0%} are allowed"
    )


def read(file: Path) -> dict[str, float]:
    """Read recorded ratios, by case; nothing if there is no file."""
    if not file.exists():
        return {}
    ratios: dict[str, float] = json.loads(file.read_text("utf-8"))["cpu_to_bare_pump"]
    return ratios


def write(file: Path, compared: Sequence[Comparison]) -> None:
    """Record ratios; those of cases that were not measured stay."""
    ratios = {**read(file), **{each.name: round(each.ratio.median, 3) for each in compared}}
    content = {
        "cpu_to_bare_pump": {name: ratios[name] for name in sorted(ratios)},
        "machine": machine.facts(given_kafka=given_kafka() is not None),
    }
    file.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def table(results: Sequence[Result], compared: Sequence[Comparison]) -> Table:
    """Make the table of the comparison."""
    shown = Table(title="CPU for a message, as a ratio to the bare pump", title_justify="left")
    shown.add_column("case")
    for name in ("bridge µs", "bare pump µs", "ratio [quartiles]", "recorded", "change", "rounds"):
        shown.add_column(name, justify="right")
    shown.add_column("")
    for result, each in zip(results, compared, strict=True):
        shown.add_row(
            each.name,
            plain(result.spread(BRIDGE, microseconds).median),
            plain(result.spread(BARE, microseconds).median),
            with_spread(each.ratio),
            "" if each.recorded is None else plain(each.recorded),
            "" if each.worsening is None else f"{each.worsening:+.0%}",
            str(each.ratio.count),
            "" if each.recorded is None else "[bold red]worse[/]" if each.failed else "[green]as good[/]",
        )
    return shown


def _measure(
    cases: Sequence[Case], rounds: int, seconds: float, recorded: Mapping[str, float], *, again: bool
) -> list[Result]:
    """Measure all cases in turns; what seems worse than it was is measured again. Raises BenchError."""
    with ExitStack() as stack:
        progress = stack.enter_context(
            Progress(
                BarColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
                console=Console(stderr=True),
            )
        )
        steps = PREPARING_STEPS + sum(_steps(case, rounds) for case in cases)
        task = progress.add_task("", total=steps)
        stage = stack.enter_context(
            open_stage(lambda step: progress.update(task, advance=1, description=step))
        )
        turns = _prepared(stage, cases, seconds, stack)
        samples: dict[str, list[Sample]] = {case.name: [] for case in cases}
        _rounds(turns, range(rounds), samples)
        worse = _worse(cases, samples, recorded) if again else []
        progress.update(task, total=steps + AGAIN_ROUNDS * 2 * len(worse))
        _rounds({case: turns[case] for case in worse}, range(rounds, rounds + AGAIN_ROUNDS), samples)
        return [Result(case, samples[case.name]) for case in cases]


def _prepared(stage: Stage, cases: Sequence[Case], seconds: float, stack: ExitStack) -> dict[Case, Turns]:
    subjects = stack.enter_context(running((BRIDGE, BARE), BOTH_WAYS, stage.servers, stage.bootstrap_servers))
    turns = {}
    for case in cases:
        turns[case] = Turns(stage, case)
        stack.callback(turns[case].close)
        turns[case].prepare(subjects, seconds)
    return turns


def _rounds(turns: Mapping[Case, Turns], numbers: range, samples: Mapping[str, list[Sample]]) -> None:
    """Run rounds of all cases, one case after the other in each: a noisy spell hits a little of each."""
    for number in numbers:
        for case, each in turns.items():
            samples[case.name] += each.round(number)


def _worse(
    cases: Sequence[Case], samples: Mapping[str, list[Sample]], recorded: Mapping[str, float]
) -> list[Case]:
    return [
        case
        for case in cases
        if case.name in recorded and compare(Result(case, samples[case.name]), recorded).failed
    ]


def _steps(case: Case, rounds: int) -> int:
    return (case.direction == "sink") + 2 * (1 + rounds)


if __name__ == "__main__":
    quick(prog_name="python -m bench.quick")
