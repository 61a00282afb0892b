from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from bridge.spark.progress import Display, Figures, remaining


def report(batch: int, rows: int, end: int, latest: int) -> dict[str, Any]:
    """Return a report of Spark, as far as it is read."""
    source = {"endOffset": {"t": {"0": end, "1": 5}}, "latestOffset": {"t": {"0": latest, "1": 7}}}
    return {"batchId": batch, "numInputRows": rows, "sources": [source]}


def test_figures_add_up_batches_once() -> None:
    figures = Figures()
    assert figures.add([report(4, 10, 10, 30), report(5, 5, 15, 30)])
    assert not figures.add([report(5, 5, 15, 30)])
    assert (figures.rows, figures.remaining) == (15, 17)


def test_a_batch_without_rows_is_no_growth() -> None:
    figures = Figures()
    assert not figures.add([report(0, 0, 30, 30)])
    assert (figures.rows, figures.remaining, figures.last_batch) == (0, 2, 0)


def test_what_remains_is_known_only_where_the_source_says() -> None:
    assert remaining({}) == 0
    assert remaining({"endOffset": None, "latestOffset": {"t": {"0": 1}}}) == 0
    assert remaining({"endOffset": "3", "latestOffset": "4"}) == 0
    assert remaining({"endOffset": {}, "latestOffset": {"t": {"0": 9}}}) == 9
    assert remaining({"endOffset": {"t": {"0": 9}}, "latestOffset": {"t": {"0": 4}}}) == 0


def test_a_terminal_shows_a_bar() -> None:
    screen = io.StringIO()
    figures = Figures()
    figures.add([report(0, 1500, 1500, 3000)])
    with Display(Console(file=screen, force_terminal=True, width=100)) as display:
        display.say("Reading [a]")
        display.show(figures)
    assert "Reading [a]" in screen.getvalue()
    assert "1,500 rows" in screen.getvalue()


def test_elsewhere_lines_are_few() -> None:
    screen = io.StringIO()
    figures = Figures()
    figures.add([report(0, 1500, 1500, 3000)])
    with Display(Console(file=screen, force_terminal=False)) as display:
        display.begin("Reading a")
        for _ in range(100):
            display.show(figures)
    lines = screen.getvalue().splitlines()
    assert lines[0] == "Reading a"
    assert len(lines) < 50
