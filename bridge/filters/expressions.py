"""The expressions of message selectors as functions of a message (JMS 2.0, 3.8.1.1-3.8.1.2).

Each function gives a truth value, number, text, opaque binary, or None: null, and for a condition
"unknown". The rules where JMS is terse:

- Values compare with values of their own category (`bridge.filters.values`): numbers of all types with
  each other, texts, truth values. Any other comparison is false, `<>` too. With null it is unknown.
- `<`, `<=`, `>`, `>=` order numbers, and, beyond JMS, texts by code point.
- Arithmetic on anything but numbers, and a division by zero, is null. What leaves the range of 64 bits
  becomes approximate, so that no number grows without bounds.
- Where a condition is wanted, a value that is none counts as unknown.

Nothing here raises when it is evaluated.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bridge.filters.like import LONGEST_TEXT
from bridge.filters.values import BINARIES, CATEGORY, NUMBERS, TEXTS, TRUTHS

if TYPE_CHECKING:
    from bridge.filters.view import View

Evaluate: TypeAlias = "Callable[[View], object]"
Compare: TypeAlias = Callable[[Any, Any], bool]
Calculate: TypeAlias = Callable[[Any, Any], "float | None"]

COMPARISONS: Final[dict[str, Compare]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparisons that are others when the sides change places."""

EQUALITIES: Final = frozenset(("=", "<>", "!="))

_EXACT: Final = 1 << 64


def constant(value: object) -> Evaluate:
    """Give a value, whatever the message."""

    def evaluate(_view: View) -> object:
        return value

    return evaluate


def truth(inner: Evaluate) -> Evaluate:
    """Take a value for a condition: unknown, unless it is a truth value."""

    def evaluate(view: View) -> object:
        value = inner(view)
        return value if value is True or value is False else None

    return evaluate


def both(parts: Sequence[Evaluate]) -> Evaluate:
    """AND (table 3-4)."""

    def evaluate(view: View) -> object:
        result: bool | None = True
        for part in parts:
            value = part(view)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    return evaluate


def either(parts: Sequence[Evaluate]) -> Evaluate:
    """OR (table 3-5)."""

    def evaluate(view: View) -> object:
        result: bool | None = False
        for part in parts:
            value = part(view)
            if value is True:
                return True
            if value is None:
                result = None
        return result

    return evaluate


def negation(inner: Evaluate) -> Evaluate:
    """NOT (table 3-6)."""

    def evaluate(view: View) -> object:
        value = inner(view)
        return None if value is None else value is False

    return evaluate


def _comparing(sign: str, category: frozenset[type] | None) -> bool:
    """Tell whether values of a category may be compared so."""
    if category is TRUTHS or category is BINARIES:
        return sign in EQUALITIES
    return category is not None


def comparison(sign: str, left: Evaluate, right: Evaluate) -> Evaluate:
    """Compare two values."""
    compare = COMPARISONS[sign]
    category_of = CATEGORY.get

    def evaluate(view: View) -> object:
        one, other = left(view), right(view)
        if one is None or other is None:
            return None
        category = category_of(type(one))
        if category is not category_of(type(other)) or not _comparing(sign, category):
            return False
        return compare(one, other)

    return evaluate


def comparison_with(sign: str, left: Evaluate, other: object) -> Evaluate:
    """Compare a value with one that is known beforehand."""
    compare, category = COMPARISONS[sign], CATEGORY.get(type(other))
    kinds = category if category is not None and _comparing(sign, category) else frozenset()

    def evaluate(view: View) -> object:
        one = left(view)
        if type(one) in kinds:
            return compare(one, other)
        return None if one is None else False

    return evaluate


def among(left: Evaluate, others: Sequence[object]) -> Evaluate:
    """Tell whether a value is IN a list of values that are known beforehand."""
    by_category = {
        category: frozenset(other for other in others if type(other) in category)
        for category in (TRUTHS, NUMBERS, TEXTS, BINARIES)
    }
    wanted = {kind: by_category[category] for kind, category in CATEGORY.items() if by_category[category]}

    def evaluate(view: View) -> object:
        one = left(view)
        if one is None:
            return None
        of_its_kind = wanted.get(type(one))
        return of_its_kind is not None and one in of_its_kind

    return evaluate


def like(left: Evaluate, matches: Callable[[str], bool]) -> Evaluate:
    """LIKE: false for what is no text, unknown for a text that is too long to look through."""

    def evaluate(view: View) -> object:
        one = left(view)
        if isinstance(one, str):
            return matches(one) if len(one) <= LONGEST_TEXT else None
        return None if one is None else False

    return evaluate


def is_null(inner: Evaluate) -> Evaluate:
    """IS NULL, which is never unknown."""

    def evaluate(view: View) -> object:
        return inner(view) is None

    return evaluate


def arithmetic(steps: Sequence[tuple[Calculate, Evaluate]], first: Evaluate) -> Evaluate:
    """Calculate from left to right."""

    def evaluate(view: View) -> object:
        value = first(view)
        if type(value) not in NUMBERS:
            return None
        for calculate, operand in steps:
            other = operand(view)
            if type(other) not in NUMBERS:
                return None
            value = calculate(value, other)
            if value is None:
                return None
            if isinstance(value, int) and not -_EXACT <= value <= _EXACT:
                value = float(value)
        return value

    return evaluate


def minus(inner: Evaluate) -> Evaluate:
    """Negate a number."""
    return arithmetic([(operator.sub, inner)], constant(0))


def plus(inner: Evaluate) -> Evaluate:
    """Take a number as it is, and anything else for null."""
    return arithmetic([], inner)


def java_quotient(one: float, other: float) -> float | None:
    """Divide as Java does: exact numbers without a remainder, towards zero."""
    if not (isinstance(one, int) and isinstance(other, int)):
        return quotient(one, other)
    if other == 0:
        return None
    size = abs(one) // abs(other)
    return size if (one < 0) == (other < 0) else -size


def quotient(one: float, other: float) -> float | None:
    """Divide."""
    return None if other == 0 else float(one) / float(other)


def remainder(one: float, other: float) -> float | None:
    """Give the remainder of a division, with the sign of what is divided."""
    if other == 0:
        return None
    if isinstance(one, int) and isinstance(other, int):
        size = abs(one) % abs(other)
        return -size if one < 0 else size
    return None if math.isinf(one) else math.fmod(one, other)
