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
    """A line of a properties file; the first is 1. An entry over several lines is at its first."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path} line {self.line}"


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
        # A message about several keys names them all.
        key = None if self.key is None or self.key in self.message else self.key
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


def _reading_order(problem: Problem) -> tuple[int, int]:
    match problem.place:
        case None:  # the file as a whole
            return 0, 0
        case FileLine(line=line):
            return 1, line
        case Variable():
            return 2, 0
