"""Message selectors (JMS 2.0, 3.8.1), and the SQL filters of OASIS as far as they are the same.

A text becomes a predicate once, when a link is attached: it is parsed, its types are checked as far as
literals tell them, and functions are put together (`bridge.filters.expressions`). A selector cannot
exhaust anything: its length, its nesting and the texts of LIKE are bounded.

`bridge.filters.identifiers` tells what names mean, `bridge.filters.values` how values compare. Functions,
such as UTC(), are refused.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lark import Token, Transformer, v_args

from bridge.filters import expressions, grammar, identifiers
from bridge.filters.errors import FilterError
from bridge.filters.like import like
from bridge.filters.values import NUMBERS, TEXTS, TRUTHS, text_or_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lark import Lark

    from bridge.filters.contract import Predicate
    from bridge.filters.expressions import Calculate, Evaluate
    from bridge.filters.identifiers import Getter
    from bridge.filters.view import View

DEEPEST: Final = 50
"""How many operations may be nested in one another; chains of one operator count as one."""

_LARGEST: Final = 2**64 - 1
_LONGEST_NUMBER: Final = 64
"""Digits and what belongs to them."""

_KINDS: Final = {TRUTHS: "a condition", NUMBERS: "a number", TEXTS: "a text"}


@dataclass(frozen=True, slots=True)
class _Node:
    """A piece of a selector.

    `kind` is the category of its values, None where only the message tells. `at` is where it begins.
    A constant has its `value` here.
    """

    evaluate: Evaluate
    at: Token
    kind: frozenset[type] | None = None
    depth: int = 0
    is_constant: bool = False
    value: object = None


def _constant(value: object, kind: frozenset[type] | None, at: Token) -> _Node:
    return _Node(expressions.constant(value), at, kind, is_constant=True, value=value)


def _operation(evaluate: Evaluate, kind: frozenset[type], parts: Sequence[_Node], at: Token) -> _Node:
    depth = 1 + max(part.depth for part in parts)
    if depth > DEEPEST:
        raise FilterError(f"{grammar.place(at)}: at most {DEEPEST} operations may be nested in one another")
    return _Node(evaluate, at, kind, depth)


def _check(node: _Node, wanted: frozenset[type]) -> None:
    """Raise FilterError for a piece that can never have a value of the category that is wanted."""
    if node.kind is not None and node.kind is not wanted:
        raise FilterError(
            f"{grammar.place(node.at)}: expected {_KINDS[wanted]}, found {_KINDS.get(node.kind, 'a binary')}"
        )


def _condition(node: _Node) -> Evaluate:
    _check(node, TRUTHS)
    return expressions.truth(node.evaluate) if node.kind is None else node.evaluate


@v_args(inline=True)
class _Compiler(Transformer[Token, _Node]):
    """Makes a node of each rule of the grammar, innermost first."""

    def __init__(self, getter: Callable[[str], Getter], divide: Calculate, *, is_sql_filter: bool) -> None:
        super().__init__()
        self._getter = getter
        self._calculations: dict[str, Calculate] = {
            "+": operator.add,
            "-": operator.sub,
            "*": operator.mul,
            "/": divide,
            "%": expressions.remainder,
        }
        self._is_sql_filter = is_sql_filter

    def name(self, token: Token) -> _Node:
        if token.type == "BRACKETED":
            return _Node(identifiers.application_property(str(token[1:-1])), token)
        try:
            return _Node(self._getter(str(token)), token)
        except FilterError as error:
            raise FilterError(f"{grammar.place(token)}: {error.description}") from None

    def quoted(self, token: Token) -> _Node:
        text = self.text(token)
        if self._is_sql_filter:
            return text
        return _Node(identifiers.application_property(str(text.value)), token)

    def text(self, token: Token) -> _Node:
        return _constant(token[1:-1].replace(token[0] * 2, token[0]), TEXTS, token)

    def exact(self, token: Token) -> _Node:
        return self._number(token, 10)

    def hexadecimal(self, token: Token) -> _Node:
        if not self._is_sql_filter:
            return self._number(token, 16)
        digits = token[2:]
        if len(digits) % 2 or not digits.isalnum() or digits[-1] in "lL":
            raise FilterError(f"{grammar.place(token)}: a binary has two digits for each byte")
        value = text_or_bytes(bytes.fromhex(digits))
        return _constant(value, frozenset((type(value),)) if isinstance(value, bytes) else TEXTS, token)

    def _number(self, token: Token, base: int) -> _Node:
        value = int(token.rstrip("lL"), base) if len(token) <= _LONGEST_NUMBER else _LARGEST + 1
        if value > _LARGEST:
            raise FilterError(f"{grammar.place(token)}: the number does not fit 64 bits")
        return _constant(value, NUMBERS, token)

    def approximate(self, token: Token) -> _Node:
        value = float(token.rstrip("fFdD"))
        if math.isinf(value):
            raise FilterError(f"{grammar.place(token)}: the number is too large for a double")
        return _constant(value, NUMBERS, token)

    def true(self, token: Token) -> _Node:
        return _constant(True, TRUTHS, token)  # noqa: FBT003 - the literal TRUE

    def false(self, token: Token) -> _Node:
        return _constant(False, TRUTHS, token)  # noqa: FBT003 - the literal FALSE

    def either(self, *parts: _Node) -> _Node:
        conditions = [_condition(part) for part in parts]
        return _operation(expressions.either(conditions), TRUTHS, parts, parts[0].at)

    def both(self, *parts: _Node) -> _Node:
        conditions = [_condition(part) for part in parts]
        return _operation(expressions.both(conditions), TRUTHS, parts, parts[0].at)

    def condition(self, node: _Node) -> _Node:
        return node

    def negation(self, token: Token, node: _Node) -> _Node:
        return _operation(expressions.negation(_condition(node)), TRUTHS, [node], token)

    def comparison(self, left: _Node, sign: Token, right: _Node) -> _Node:
        return _operation(_compared(left, sign, right), TRUTHS, [left, right], left.at)

    def between(self, node: _Node, not_: Token | None, low: _Node, high: _Node) -> _Node:
        inside = expressions.both([_compared(node, ">=", low), _compared(node, "<=", high)])
        return _negated(not_, _operation(inside, TRUTHS, [node, low, high], node.at))

    def among(self, node: _Node, not_: Token | None, *others: _Node) -> _Node:
        if all(other.is_constant for other in others):
            evaluate = expressions.among(node.evaluate, [other.value for other in others])
        else:
            evaluate = expressions.either([_compared(node, "=", other) for other in others])
        return _negated(not_, _operation(evaluate, TRUTHS, [node, *others], node.at))

    def like(self, node: _Node, not_: Token | None, pattern: _Node, escape: _Node | None) -> _Node:
        _check(node, TEXTS)
        for literal in filter(None, (pattern, escape)):
            if literal.kind is not TEXTS or not literal.is_constant:
                raise FilterError(f"{grammar.place(literal.at)}: expected a text in single quotes")
        try:
            matches = like(str(pattern.value), None if escape is None else str(escape.value))
        except ValueError as error:
            raise FilterError(f"{grammar.place((escape or pattern).at)}: {error}") from None
        return _negated(not_, _operation(expressions.like(node.evaluate, matches), TRUTHS, [node], node.at))

    def is_null(self, node: _Node, not_: Token | None) -> _Node:
        return _negated(not_, _operation(expressions.is_null(node.evaluate), TRUTHS, [node], node.at))

    def sum(self, first: _Node, *rest: _Node | Token) -> _Node:
        return self._calculated(first, rest)

    def product(self, first: _Node, *rest: _Node | Token) -> _Node:
        return self._calculated(first, rest)

    def _calculated(self, first: _Node, rest: Sequence[_Node | Token]) -> _Node:
        signs = [part for part in rest if isinstance(part, Token)]
        operands = [part for part in rest if isinstance(part, _Node)]
        for operand in (first, *operands):
            _check(operand, NUMBERS)
        steps = [
            (self._calculations[sign], operand.evaluate)
            for sign, operand in zip(signs, operands, strict=True)
        ]
        return _operation(
            expressions.arithmetic(steps, first.evaluate), NUMBERS, [first, *operands], first.at
        )

    def minus(self, sign: Token, node: _Node) -> _Node:
        _check(node, NUMBERS)
        if isinstance(node.value, int | float):
            return _constant(-node.value, NUMBERS, sign)
        return _operation(expressions.minus(node.evaluate), NUMBERS, [node], sign)

    def plus(self, sign: Token, node: _Node) -> _Node:
        _check(node, NUMBERS)
        if node.is_constant:
            return node
        return _operation(expressions.plus(node.evaluate), NUMBERS, [node], sign)


def _negated(not_: Token | None, node: _Node) -> _Node:
    if not_ is None:
        return node
    return _Node(expressions.negation(node.evaluate), node.at, TRUTHS, node.depth)


def _compared(left: _Node, sign: str, right: _Node) -> Evaluate:
    """Compare two pieces, the cheap way where one is a literal."""
    if sign not in expressions.EQUALITIES:
        for node in (left, right):
            if node.kind is TRUTHS:
                raise FilterError(f"{grammar.place(node.at)}: conditions compare with = and <> only")
    if right.is_constant:
        return expressions.comparison_with(sign, left.evaluate, right.value)
    if left.is_constant:
        mirrored = expressions.MIRRORED.get(sign, sign)
        return expressions.comparison_with(mirrored, right.evaluate, left.value)
    return expressions.comparison(sign, left.evaluate, right.evaluate)


_SELECTORS: Final = grammar.parser(
    _Compiler(identifiers.in_selector, expressions.java_quotient, is_sql_filter=False)
)
_SQL_FILTERS: Final = grammar.parser(
    _Compiler(identifiers.in_sql_filter, expressions.quotient, is_sql_filter=True)
)


def selector(text: str) -> Predicate:
    """Make the predicate of a message selector; an empty one wants every message.

    Raises FilterError that tells the place, what was expected there, and what was found.
    """
    return _predicate(_SELECTORS, text)


def sql_filter(text: str) -> Predicate:
    """Make the predicate of a SQL filter (OASIS Filter Expressions 1.0, section 6).

    It is a selector whose names may begin with a section, whose texts may be in double quotes, whose
    hexadecimal literals are binaries, and whose division is never whole. Raises FilterError as `selector`.
    """
    return _predicate(_SQL_FILTERS, text)


def _predicate(parser: Lark, text: str) -> Predicate:
    if not text.strip():
        return _anything
    node = grammar.parse(parser, text)
    assert isinstance(node, _Node)  # noqa: S101 - every rule makes one
    evaluate = _condition(node)

    def is_wanted(view: View) -> bool:
        return evaluate(view) is True

    return is_wanted


def _anything(_view: View) -> bool:
    return True
