"""Draws throughput over message size and over connections, as PNG files. Reads results, measures nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench.cases import BARE, BRIDGE, KAFKA, NAIVE, in_bytes
from bench.figures import MIB
from bench.findings import rate
from bench.report import bytes_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from bench.cases import Case
    from bench.measure import Sample
    from bench.runner import Result

mpl.use("Agg")

BY_SIZE: Final = "throughput-by-size.png"
BY_CONNECTIONS: Final = "throughput-by-connections.png"
COLOURS: Final = {BRIDGE: "#0b6e99", BARE: "#8a8a8a", NAIVE: "#c0392b", KAFKA: "#4b8b3b"}
IN_THOUSANDS: Final = FuncFormatter(lambda value, _position: f"{value:,.0f}")
MARKERS: Final = {BRIDGE: "o", BARE: "s", NAIVE: "v", KAFKA: "D"}


def draw(results: Sequence[Result], folder: Path) -> list[Path]:
    """Draw what the results allow; gives the files."""
    drawn = []
    by_size = _series(results, lambda case: case.size, _is_by_size)
    if len(by_size) > 1:
        drawn.append(_draw_by_size(by_size, folder / BY_SIZE))
    by_connections = {
        title: _series(results, lambda case: case.connections, wanted)
        for title, wanted in (
            ("From AMQP senders to Kafka", lambda case: _is_by_connections(case, "source")),
            ("From Kafka to AMQP receivers", lambda case: _is_by_connections(case, "sink")),
        )
    }
    with_points = {title: series for title, series in by_connections.items() if len(series) > 1}
    if with_points:
        drawn.append(_draw_by_connections(with_points, folder / BY_CONNECTIONS))
    return drawn


def _is_by_size(case: Case) -> bool:
    return (
        (case.direction, case.mode, case.shape) == ("source", "unsettled", "bare")
        and case.connections * case.links == 1
        and case.subjects[0] == BRIDGE
    )


def _is_by_connections(case: Case, direction: str) -> bool:
    return (
        (case.direction, case.mode, case.shape, case.size) == (direction, "unsettled", "bare", 100)
        and case.links == 1
        and case.subjects[0] == BRIDGE
    )


def _series(
    results: Sequence[Result], place: Callable[[Case], int], wanted: Callable[[Case], bool]
) -> list[tuple[int, Result]]:
    found = [(place(result.case), result) for result in results if wanted(result.case)]
    return sorted(found, key=lambda each: each[0])


def _draw_by_size(series: list[tuple[int, Result]], path: Path) -> Path:
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    _lines(left, series, rate, 1, COLOURS)
    _lines(right, series, bytes_rate, MIB, COLOURS)
    for axes, label in ((left, "messages/s"), (right, "MiB/s of bodies")):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("size of the body")
        axes.set_ylabel(label)
        axes.yaxis.set_major_formatter(IN_THOUSANDS)
        _name_places(axes, [place for place, _ in series], in_bytes)
    figure.suptitle("Throughput over message size: unsettled sender, one link")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=144)
    return path


def _draw_by_connections(panels: dict[str, list[tuple[int, Result]]], path: Path) -> Path:
    figure = Figure(figsize=(5.5 * len(panels), 4.5), layout="constrained")
    for axes, (title, series) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        _lines(axes, series, rate, 1, (BRIDGE, BARE))
        axes.set_title(title, fontsize="medium")
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("connections, one link each")
        axes.set_ylabel("messages/s in all")
        axes.yaxis.set_major_formatter(IN_THOUSANDS)
        _name_places(axes, [place for place, _ in series], str)
        axes.legend(frameon=False)
    figure.suptitle("Throughput over connections: unsettled, 100-byte data bodies")
    figure.savefig(path, dpi=144)
    return path


def _lines(
    axes: Axes,
    series: list[tuple[int, Result]],
    figure: Callable[[Sample], float],
    unit: float,
    names: Iterable[str],
) -> None:
    """Draw a line for each of these subjects, with its quartiles."""
    for name in names:
        points = list(_points(series, name, figure, unit))
        if not points:
            continue
        places, medians, below, above = zip(*points, strict=True)
        axes.errorbar(
            places,
            medians,
            yerr=(below, above),
            label=name,
            color=COLOURS[name],
            marker=MARKERS[name],
            linewidth=2.2 if name == BRIDGE else 1.2,
            capsize=3,
        )
    axes.grid(visible=True, which="major", alpha=0.3)


def _points(
    series: list[tuple[int, Result]], name: str, figure: Callable[[Sample], float], unit: float
) -> Iterator[tuple[float, float, float, float]]:
    for place, result in series:
        if result.of(name):
            spread = result.spread(name, figure)
            yield (
                place,
                spread.median / unit,
                (spread.median - spread.low) / unit,
                (spread.high - spread.median) / unit,
            )


def _name_places(axes: Axes, places: list[int], name: Callable[[int], str]) -> None:
    def named(value: float, _position: Any) -> str:  # noqa: ANN401 - matplotlib's own, not used
        return name(round(value))

    axes.xaxis.set_major_locator(FixedLocator(places))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(named))
