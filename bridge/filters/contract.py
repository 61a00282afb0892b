"""What is left of a receiver's filter-set once it is read: the shapes only, no decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from bridge.filters.view import View
    from bridge.model.receiving import Start

Predicate: TypeAlias = Callable[["View"], bool]
"""Tells of a message, seen through a view, whether the receiver wants it. Never raises."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a receiver's filters ask for.

    `applied` has the keys of the filters that are in force, which the bridge's attach repeats (core
    3.5.8); filters whose keys are missing from it are not applied. `partition` is the only one to read, as
    the address or a filter names it, `start` where to begin, as a filter says it; None where none does. A
    `start` at an offset comes with a partition. A message is delivered when all of `predicates` hold.
    """

    applied: frozenset[str] = frozenset()
    partition: int | None = None
    start: Start | None = None
    predicates: tuple[Predicate, ...] = ()
