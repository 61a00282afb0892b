from __future__ import annotations

import operator

import pytest
from support.filtering import view

from bridge.codec import Int
from bridge.filters import expressions
from bridge.filters.like import LONGEST_TEXT

NOTHING = view()
VALUES: dict[str, object] = {"true": True, "false": False, "unknown": None}


def result(evaluate: expressions.Evaluate) -> object:
    return evaluate(NOTHING)


@pytest.mark.parametrize(
    ("one", "other", "both", "either"),
    [
        ("true", "true", True, True),
        ("true", "false", False, True),
        ("true", "unknown", None, True),
        ("false", "true", False, True),
        ("false", "false", False, False),
        ("false", "unknown", False, None),
        ("unknown", "true", None, True),
        ("unknown", "false", False, None),
        ("unknown", "unknown", None, None),
    ],
)
def test_the_tables_of_and_and_or(one: str, other: str, both: object, either: object) -> None:
    parts = [expressions.constant(VALUES[one]), expressions.constant(VALUES[other])]
    assert result(expressions.both(parts)) is both
    assert result(expressions.either(parts)) is either


def test_the_table_of_not() -> None:
    inverted = {name: result(expressions.negation(expressions.constant(VALUES[name]))) for name in VALUES}
    assert inverted == {"true": False, "false": True, "unknown": None}


@pytest.mark.parametrize(
    ("one", "sign", "other", "expected"),
    [
        (5, "=", 5.0, True),
        (Int(5), "<", 5.5, True),
        ("a", "<>", "b", True),
        ("a", "<", "b", True),
        (True, "=", True, True),
        (True, "<>", False, True),
        (True, "<", False, False),
        (True, "=", 1, False),
        (1, "=", True, False),
        (5, "<>", "5", False),
        ("5", ">", 1, False),
        (None, "=", None, None),
        (None, "<>", 5, None),
        (b"\xff", "=", b"\xff", True),
        (b"\xff", "<", b"\xfe", False),
        ([], "=", [], False),
        (float("nan"), "<>", 1.0, True),
    ],
)
def test_comparisons(one: object, sign: str, other: object, expected: object) -> None:
    left, right = expressions.constant(one), expressions.constant(other)
    assert result(expressions.comparison(sign, left, right)) is expected
    if other is not None:
        assert result(expressions.comparison_with(sign, left, other)) is expected


def test_in_is_a_chain_of_equals() -> None:
    for one, expected in [(1, True), (1.0, True), (True, False), ("1", True), ("2", False), (None, None)]:
        assert result(expressions.among(expressions.constant(one), [1, "1", False])) is expected
    assert result(expressions.among(expressions.constant([]), [1])) is False


def test_like_is_for_texts_that_are_not_too_long() -> None:
    for one, expected in [("a", True), ("", False), (5, False), (None, None)]:
        assert result(expressions.like(expressions.constant(one), bool)) is expected
    long = expressions.constant("a" * (LONGEST_TEXT + 1))
    assert result(expressions.like(long, bool)) is None


def test_is_null_is_never_unknown() -> None:
    assert result(expressions.is_null(expressions.constant(None))) is True
    assert result(expressions.is_null(expressions.constant([]))) is False


def test_what_is_no_truth_value_is_unknown_as_a_condition() -> None:
    for value, expected in [(True, True), (False, False), (1, None), ("true", None), (None, None)]:
        assert result(expressions.truth(expressions.constant(value))) is expected


@pytest.mark.parametrize(
    ("one", "calculate", "other", "expected"),
    [
        (7, operator.add, 1.5, 8.5),
        (7, expressions.java_quotient, 2, 3),
        (-7, expressions.java_quotient, 2, -3),
        (7, expressions.java_quotient, 2.0, 3.5),
        (7, expressions.java_quotient, 0, None),
        (7, expressions.quotient, 2, 3.5),
        (7, expressions.quotient, 0.0, None),
        (7, expressions.remainder, -5, 2),
        (-7, expressions.remainder, 5, -2),
        (7.5, expressions.remainder, 2, 1.5),
        (7, expressions.remainder, 0, None),
        (float("inf"), expressions.remainder, 2, None),
        ("7", operator.add, "1", None),
        (True, operator.add, 1, None),
        (1, operator.add, True, None),
        (1, operator.add, None, None),
        (2**63, operator.mul, 2**63, 2.0**126),
    ],
)
def test_arithmetic(
    one: object, calculate: expressions.Calculate, other: object, expected: float | None
) -> None:
    steps = [(calculate, expressions.constant(other))]
    value = result(expressions.arithmetic(steps, expressions.constant(one)))
    assert value == expected
    assert type(value) is type(expected)


def test_signs() -> None:
    assert result(expressions.minus(expressions.constant(5))) == -5
    assert result(expressions.plus(expressions.constant(5))) == 5
    assert result(expressions.plus(expressions.constant("5"))) is None


def test_numbers_stay_small() -> None:
    step = (operator.mul, expressions.constant(2**64 - 1))
    assert result(expressions.arithmetic([step] * 1000, expressions.constant(1))) == float("inf")
