"""What can be wrong with a configuration, and where it was written. Knows no option by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from bridge.config.redaction import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file, and the column if it is known; the first is 1. What has several is at its first."""

    path: Path
    line: int
    column: int | None = None

    def __str__(self) -> str:
        column = "" if self.column is None else f" column {self.column}"
        return f"{self.path} line {self.line}{column}"


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable."""

    name: str

    def __str__(self) -> str:
        return f"environment variable {self.name}"


Place: TypeAlias = FileLine | Variable


@dataclass(frozen=True, slots=True, repr=False)
class Entry:
    """One value as an operator gave it.

    `written` is the key in the operator's own spelling, `key` the one it stands for today. The
    value is text, and perhaps a secret: the representation leaves it out.
    """

    key: str
    value: str
    place: Place
    written: str

    def __repr__(self) -> str:
        return f"Entry(key={self.key!r}, place='{self.place}', written={self.written!r})"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, told in a clause about the key, which shows no secret.

    `key` is in the operator's own spelling. `nearest` is the known name that an unknown one may
    have been meant to be.
    """

    message: str
    key: str | None = None
    place: Place | None = None
    nearest: str | None = None

    def __str__(self) -> str:
        # A message about several keys names them all; a key without a dot may just be a word of it.
        named = self.key is not None and "." in self.key and self.key in self.message
        key = None if named else self.key
        parts = [str(part) for part in (self.place, key) if part is not None]
        advice = "" if self.nearest is None else f"; did you mean {self.nearest}?"
        return printable(": ".join([*parts, f"{self.message}{advice}"]))


class ConfigError(Exception):
    """The configuration cannot be used. `problems` has everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=_reading_order))
        super().__init__(self.problems)

    def __str__(self) -> str:
        count = len(self.problems)
        head = f"the configuration has {'a problem' if count == 1 else f'{count} problems'}:"
        return "\n".join([head, *(f"  {problem}" for problem in self.problems)])


def _reading_order(problem: Problem) -> tuple[int, int, int]:
    match problem.place:
        case None:  # the file as a whole
            return 0, 0, 0
        case FileLine(line=line, column=column):
            return 1, line, column or 0
        case Variable():
            return 2, 0, 0
