"""The pattern of LIKE (JMS 2.0, 3.8.1.1): `%` stands for any characters or none, `_` for one.

The time that a match takes grows with the text's length, whatever the pattern: stretches between two
`%` are looked for one after another and never given back, since the leftmost place of each leaves the
most for the rest. A stretch with `_` in it is looked for bit by bit where a search character by
character might go over the same text again and again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONGEST_TEXT: Final = 4096
"""Characters of the longest text for which the answer is known."""

_FEW_STEPS: Final = 1 << 17
"""How often a character may be compared in a search that might do it again and again."""


class _Stretch(Protocol):
    """What stands between two `%`: characters, some of which may be any."""

    def __len__(self) -> int: ...

    def stands_at(self, text: str, at: int) -> bool:
        """Tell whether the text has it at a place."""

    def find(self, text: str, start: int, stop: int) -> int:
        """Tell the first place of it within the text; -1 if there is none."""


class _Literal:
    """Characters only."""

    def __init__(self, characters: str) -> None:
        self._characters = characters

    def __len__(self) -> int:
        return len(self._characters)

    def stands_at(self, text: str, at: int) -> bool:
        return text.startswith(self._characters, at)

    def find(self, text: str, start: int, stop: int) -> int:
        return text.find(self._characters, start, stop)


class _WithGaps:
    """Characters of which some, given as None, may be any."""

    def __init__(self, characters: Sequence[str | None]) -> None:
        self._length = len(characters)
        wanted = "".join("." if each is None else re.escape(each) for each in characters)
        self._expression = re.compile(wanted, re.DOTALL)
        self._any = sum(1 << place for place, each in enumerate(characters) if each is None)
        self._places: dict[str, int] = {}
        for place, each in enumerate(characters):
            if each is not None:
                self._places[each] = self._places.get(each, self._any) | 1 << place

    def __len__(self) -> int:
        return self._length

    def stands_at(self, text: str, at: int) -> bool:
        return self._expression.match(text, at) is not None

    def find(self, text: str, start: int, stop: int) -> int:
        if (stop - start) * self._length <= _FEW_STEPS:
            found = self._expression.search(text, start, stop)
            return -1 if found is None else found.start()
        return self._find_by_bits(text, start, stop)

    def _find_by_bits(self, text: str, start: int, stop: int) -> int:
        """Look at each character once; bit n tells that the last n + 1 are as the first n + 1 here."""
        state, last = 0, 1 << (self._length - 1)
        places, anything = self._places, self._any
        for at in range(start, stop):
            state = (state << 1 | 1) & places.get(text[at], anything)
            if state & last:
                return at - self._length + 1
        return -1


def like(pattern: str, escape: str | None = None) -> Callable[[str], bool]:
    """Make the function that tells whether a text, of `LONGEST_TEXT` at most, is like a pattern.

    Raises ValueError, with a sentence, for an escape that is not one character or escapes nothing.
    """
    first, *between = [_stretch(each) for each in _split(pattern, escape)]
    if not between:
        return _exactly(first)
    last = between.pop()
    middle = [each for each in between if len(each)]
    least = len(first) + len(last) + sum(map(len, middle))

    def matches(text: str) -> bool:
        if len(text) < least or not first.stands_at(text, 0):
            return False
        at, stop = len(first), len(text) - len(last)
        if not last.stands_at(text, stop):
            return False
        for stretch in middle:
            found = stretch.find(text, at, stop)
            if found < 0:
                return False
            at = found + len(stretch)
        return True

    return matches


def _exactly(whole: _Stretch) -> Callable[[str], bool]:
    def matches(text: str) -> bool:
        return len(text) == len(whole) and whole.stands_at(text, 0)

    return matches


def _stretch(characters: Sequence[str | None]) -> _Stretch:
    literal = [each for each in characters if each is not None]
    return _Literal("".join(literal)) if len(literal) == len(characters) else _WithGaps(characters)


def _split(pattern: str, escape: str | None) -> list[list[str | None]]:
    """Cut the pattern at each `%`; a None stands for `_`."""
    if escape is not None and len(escape) != 1:
        raise ValueError("ESCAPE takes one character")
    stretches: list[list[str | None]] = [[]]
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None:
                raise ValueError("the pattern ends with the escape character")
            stretches[-1].append(escaped)
        elif character == "%":
            stretches.append([])
        else:
            stretches[-1].append(None if character == "_" else character)
    return stretches
