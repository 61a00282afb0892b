"""What was found, and what was wanted: figures with their limits. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.figures import Spread
    from bench.measure import Sample
    from bench.runner import Result

TIMES = "x"
"""The unit of ratios."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A figure, and the limit that it has to keep, if any: its median counts."""

    table: str
    case: str
    what: str
    figure: Spread
    unit: str = ""
    limit: float | None = None
    at_least: bool = False
    """The limit is the least that is wanted, not the most."""

    @property
    def met(self) -> bool | None:
        """Tell whether the limit is kept; None where there is none."""
        if self.limit is None:
            return None
        return self.figure.median >= self.limit if self.at_least else self.figure.median <= self.limit

    @property
    def wanted(self) -> str:
        """Write the limit."""
        if self.limit is None:
            return ""
        unit = f" {self.unit}" if self.unit else ""
        return f"{'at least' if self.at_least else 'at most'} {plain(self.limit)}{unit}"


def judged(result: Result) -> Iterator[Finding]:
    """Compare the ratios of a case with what its first subject has to reach."""
    case = result.case
    for target in case.targets:
        yield Finding(
            case.table,
            case.name,
            f"messages/s, to {target.baseline}",
            result.ratio(case.subjects[0], target.baseline, rate),
            TIMES,
            target.ratio,
            at_least=True,
        )


def rate(sample: Sample) -> float:
    """Messages a second."""
    return sample.rate


def microseconds(sample: Sample) -> float:
    """CPU for a message."""
    return sample.microseconds


def plain(value: float) -> str:
    """Write a figure with the digits that mean something: three, or all before the point."""
    size = abs(value)
    if size >= 100:  # noqa: PLR2004 - three digits
        return f"{value:,.0f}"
    if size >= 10:  # noqa: PLR2004 - three digits
        return f"{value:.1f}"
    return f"{value:.2f}"


def with_spread(figure: Spread) -> str:
    """Write a median with its quartiles; without them where it was taken once."""
    if figure.count == 1:
        return plain(figure.median)
    return f"{plain(figure.median)} [{plain(figure.low)} - {plain(figure.high)}]"
