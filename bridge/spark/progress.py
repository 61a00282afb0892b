"""How far an ingestion is: figures from Spark's progress reports, and their display.

The figures are for people who wait. After a crash Spark's counts can be off, so what was written is
counted in the files (`bridge.spark.ingest`), not here. Everything goes to standard error.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

_LINE_SECONDS: Final = 5.0


class Figures:
    """Sums over the batches of one run. `reports` are Spark's, parsed from their JSON."""

    def __init__(self) -> None:
        self.rows = 0
        self.remaining = 0
        self.last_batch = -1

    def add(self, reports: Iterable[Mapping[str, Any]]) -> bool:
        """Take in the reports that are new; tell whether there were any with rows."""
        grew = False
        for report in reports:
            if report["batchId"] <= self.last_batch:
                continue
            self.last_batch = report["batchId"]
            self.remaining = sum(remaining(source) for source in report["sources"])
            if report["numInputRows"]:
                self.rows += report["numInputRows"]
                grew = True
        return grew


def remaining(source: Mapping[str, Any]) -> int:
    """Return how many offsets a Kafka source has still to read; 0 where it does not say.

    Offsets are at least as many as records: transactions and compaction use up some.
    """
    latest, end = source.get("latestOffset"), source.get("endOffset")
    if not isinstance(latest, dict) or not isinstance(end, dict):
        return 0
    return sum(
        max(0, offset - end.get(topic, {}).get(partition, 0))
        for topic, partitions in latest.items()
        for partition, offset in partitions.items()
    )


class Display:
    """A progress bar on a terminal; elsewhere a line now and then. A context manager."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} rows, {task.fields[rate]:,.0f} rows/s"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("Ingesting", total=None, rate=0.0)
        self._started = self._printed = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, text: str) -> None:
        """Print one line, and count the rate from now on."""
        self._started = self._printed = time.monotonic()
        self.say(text)

    def say(self, text: str) -> None:
        """Print one line."""
        self._console.print(text, soft_wrap=True, markup=False, highlight=False)

    def show(self, figures: Figures) -> None:
        """Show the state after a batch."""
        now = time.monotonic()
        rate = figures.rows / max(now - self._started, 0.001)
        total = figures.rows + figures.remaining
        self._bar.update(self._task, completed=figures.rows, total=total, rate=rate)
        if not self._console.is_terminal and now - self._printed >= _LINE_SECONDS:
            self._printed = now
            self.say(f"{figures.rows:,} rows, {rate:,.0f} rows/s, {figures.remaining:,} to go")
