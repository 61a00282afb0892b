"""Puts the metrics of several workers together, so that they read like those of one process.

Pure. What a worker had counted when it ended is kept: a total never falls because a process was replaced.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.observability.metrics import Family, Labels, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WORKER: Final = "worker"
"""The label of a family that each worker has for itself."""

_Values: TypeAlias = dict[tuple[str, Labels], float]


class FormerTotals:
    """What the workers had counted that have ended, by family and sample."""

    def __init__(self) -> None:
        self.families: dict[str, Family] = {}

    def add(self, families: Iterable[Family]) -> None:
        """Keep what a worker counted; called once for each that has ended, with the last that it told."""
        for family in families:
            if family.only_grows and family.scope is Scope.SERVICE:
                values = _values(self.families.get(family.name))
                _count(values, family)
                self.families[family.name] = _with(family, values)


def merged(by_worker: Mapping[str, Sequence[Family]], former: FormerTotals) -> list[Family]:
    """Put families together; `by_worker` has those of each live worker by what its label says."""
    shapes = dict(former.families)
    values = {name: _values(family) for name, family in shapes.items()}
    for worker, families in by_worker.items():
        for family in families:
            shapes.setdefault(family.name, family)
            own = values.setdefault(family.name, {})
            _count(own, family, worker if family.scope is Scope.WORKER else None)
    return [_with(shape, values[name]) for name, shape in shapes.items()]


def _values(family: Family | None) -> _Values:
    return {} if family is None else {(suffix, of): value for suffix, of, value in family.samples}


def _with(shape: Family, values: _Values) -> Family:
    return replace(shape, samples=tuple((suffix, of, value) for (suffix, of), value in values.items()))


def _count(values: _Values, family: Family, worker: str | None = None) -> None:
    for suffix, of, value in family.samples:
        own = of if worker is None else tuple(sorted((*of, (WORKER, worker))))
        values[suffix, own] = values.get((suffix, own), 0) + value
