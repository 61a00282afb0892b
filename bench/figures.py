"""Medians, spreads, ratios and slopes: the arithmetic of the benchmarks. Pure.

Machines are noisy, and noise comes in spells. So subjects take turns, a ratio is made of two samples of the
same round, which the same spell has hit, and the median of those ratios is what counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KIB: Final = 1024
MIB: Final = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure that was taken several times: its median, its quartiles, and how often it was taken."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Sum values up. Quartiles are interpolated; of one value they are itself.

        Raises ValueError when there is no value.
        """
        ordered = sorted(values)
        if not ordered:
            raise ValueError("nothing was measured")
        if len(ordered) == 1:
            return cls(ordered[0], ordered[0], ordered[0], 1)
        low, middle, high = quantiles(ordered, n=4, method="inclusive")
        return cls(middle, low, high, len(ordered))


def ratios(values: Mapping[int, float], baseline: Mapping[int, float]) -> list[float]:
    """Divide the values of each round by the baseline's of the same round.

    Rounds that one of both has not, or in which the baseline is 0, are left out.
    """
    return [
        value / baseline[number]
        for number, value in sorted(values.items())
        if baseline.get(number, 0.0) != 0.0
    ]


def slope(places: Sequence[float], values: Sequence[float]) -> float:
    """Give by how much values grow from one place to the next, by the median of all pairs (Theil-Sen).

    One outlier, such as a garbage collection in the moment of a sample, does not move it. Raises ValueError
    when there are no two places.
    """
    pairs = [
        (values[later] - values[earlier]) / (places[later] - places[earlier])
        for later in range(len(places))
        for earlier in range(later)
        if places[later] != places[earlier]
    ]
    if not pairs:
        raise ValueError("a slope takes values at two places")
    return median(pairs)


def worsening(now: float, recorded: float) -> float:
    """Give by which part of the recorded figure the one of now is larger; negative where it is smaller."""
    return now / recorded - 1


def percentile(values: Sequence[float], percent: float) -> float:
    """Give the smallest value that so many percent of the values do not exceed (nearest rank).

    Raises ValueError when there is no value.
    """
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)  # rounded up
    return ordered[max(0, int(rank) - 1)]
