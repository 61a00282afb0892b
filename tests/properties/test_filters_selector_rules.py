"""Selectors against a second evaluator that is written down as JMS tells the rules."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support import amqp_values
from support.filtering import view

from bridge.codec import Described, Int, Long, Symbol, ULong
from bridge.filters.errors import FilterError
from bridge.filters.identifiers import in_selector
from bridge.filters.predicates import predicate
from bridge.filters.selector import selector, sql_filter
from bridge.filters.view import View
from bridge.mapping.message import HEADER, parse
from bridge.mapping.names import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

NAMES = ("a", "b", "c", "d")
Values = dict[str, object]


@dataclass(frozen=True)
class Expression:
    """A text, and what it should give for the values of the names."""

    text: str
    expected: Callable[[Values], Any]

    def __repr__(self) -> str:
        return self.text


def category(value: object) -> str:
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "number"


def compare(sign: str, one: Any, other: Any) -> bool | None:  # noqa: ANN401 - any value of a property
    if one is None or other is None:
        return None
    if category(one) != category(other):
        return False
    if category(one) == "truth" and sign not in {"=", "<>"}:
        return False
    return bool(
        {
            "=": lambda: one == other,
            "<>": lambda: one != other,
            "<": lambda: one < other,
            "<=": lambda: one <= other,
            ">": lambda: one > other,
            ">=": lambda: one >= other,
        }[sign]()
    )


def kleene(values: list[bool | None], stop: bool) -> bool | None:  # noqa: FBT001 - the value that decides
    if stop in values:
        return stop
    return None if None in values else not stop


def as_truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def inverted(value: bool | None) -> bool | None:  # noqa: FBT001 - a truth value
    return None if value is None else not value


names: SearchStrategy[Expression] = st.sampled_from(NAMES).map(
    lambda name: Expression(name, lambda values: values[name])
)
numbers = st.integers(-3, 3).map(lambda number: Expression(str(number), lambda _: number))
texts = st.sampled_from(["", "a", "ab", "it's"]).map(
    lambda text: Expression("'" + text.replace("'", "''") + "'", lambda _: text)
)
truths = st.booleans().map(lambda truth: Expression(str(truth), lambda _: truth))


def _sum(one: Expression, other: Expression) -> Expression:
    def expected(values: Values) -> object:
        parts = one.expected(values), other.expected(values)
        return sum(parts) if all(type(part) in {int, Int, Long} for part in parts) else None

    return Expression(f"({one} + {other})", expected)


arithmetic = st.builds(_sum, names | numbers, names | numbers)
operands = names | numbers | texts | arithmetic


def _compared(one: Expression, sign: str, other: Expression) -> Expression:
    return Expression(
        f"{one} {sign} {other}", lambda values: compare(sign, one.expected(values), other.expected(values))
    )


def _between(node: Expression, low: Expression, high: Expression, *, negated: bool) -> Expression:
    def expected(values: Values) -> bool | None:
        value = node.expected(values)
        inside = [
            compare(">=", value, low.expected(values)),
            compare("<=", value, high.expected(values)),
        ]
        return inverted(kleene(inside, stop=False)) if negated else kleene(inside, stop=False)

    return Expression(f"{node} {'NOT ' * negated}BETWEEN {low} AND {high}", expected)


def _among(node: Expression, others: list[Expression], *, negated: bool) -> Expression:
    def expected(values: Values) -> bool | None:
        value = node.expected(values)
        found = kleene([compare("=", value, other.expected(values)) for other in others], stop=True)
        return inverted(found) if negated else found

    return Expression(f"{node} {'NOT ' * negated}IN ({', '.join(map(str, others))})", expected)


def _is_null(node: Expression, *, negated: bool) -> Expression:
    return Expression(
        f"{node} IS {'NOT ' * negated}NULL", lambda values: (node.expected(values) is None) is not negated
    )


tests: SearchStrategy[Expression] = st.one_of(
    st.builds(_compared, operands, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), operands),
    st.builds(_compared, names, st.sampled_from(["=", "<>"]), truths),
    st.builds(_between, operands, operands, operands, negated=st.booleans()),
    st.builds(_among, operands, st.lists(operands, min_size=1, max_size=3), negated=st.booleans()),
    st.builds(_is_null, operands, negated=st.booleans()),
    truths,
    names,
)


def _chained(inner: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
    def chain(word: str, parts: list[Expression]) -> Expression:
        def expected(values: Values) -> bool | None:
            return kleene([as_truth(part.expected(values)) for part in parts], stop=word == "OR")

        return Expression("(" + f" {word} ".join(map(str, parts)) + ")", expected)

    def negated(part: Expression) -> Expression:
        return Expression(f"(NOT {part})", lambda values: inverted(as_truth(part.expected(values))))

    several = st.lists(inner, min_size=2, max_size=3)
    return st.builds(chain, st.sampled_from(["AND", "OR"]), several) | st.builds(negated, inner)


conditions: SearchStrategy[Expression] = st.recursive(tests, _chained, max_leaves=6)
property_values: SearchStrategy[object] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3).map(Int),
    st.integers(-3, 3).map(Long),
    st.sampled_from(["", "a", "ab", "it's"]),
    st.sampled_from(["a", "ab"]).map(Symbol),
)


@settings(max_examples=300)
@given(conditions, st.fixed_dictionaries(dict.fromkeys(NAMES, property_values)))
def test_selectors_follow_the_rules(condition: Expression, values: Values) -> None:
    seen = view(values)
    wanted = selector(str(condition))
    assert wanted(seen) is (condition.expected(values) is True)
    assert selector(f"NOT {condition}")(seen) is (as_truth(condition.expected(values)) is False)


@given(conditions, conditions, st.fixed_dictionaries(dict.fromkeys(NAMES, property_values)))
def test_de_morgan(one: Expression, other: Expression, values: Values) -> None:
    seen = view(values)
    left = selector(f"NOT ({one} AND {other})")
    assert left(seen) is selector(f"(NOT {one}) OR (NOT {other})")(seen)


WORDS = st.sampled_from(
    [
        *("a", "JMSMessageID", "amqp.annotation.x", "'text'", "'", '"', '"q"', "[x]", "[", "1", "1.5"),
        *("0xFF", "9e99", "AND", "or", "NOT", "IN", "LIKE", "ESCAPE", "BETWEEN", "IS", "NULL", "TRUE"),
        *("(", ")", ",", "=", "<>", "<", "+", "-", "*", "/", "%", ".", "p.subject", "\n", "é", "\0"),
    ]
)


@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=30), st.binary(max_size=60))
def test_no_text_does_worse_than_to_be_refused(text: str, payload: bytes) -> None:
    for make in (selector, sql_filter):
        with contextlib.suppress(FilterError):
            assert make(text)(View(payload)) in {True, False}


EVERYTHING = [
    *("JMSMessageID", "JMSCorrelationID", "JMSType", "JMSPriority", "JMSTimestamp", "JMSExpiration"),
    *("JMSDeliveryMode", "JMSRedelivered", "JMSDestination", "JMSReplyTo", "JMSXGroupID", "JMSXGroupSeq"),
    *("JMSXDeliveryCount", "JMSXUserID", "amqp.annotation.x-opt-a", "amqp.ttl", "subject", ""),
]


@given(amqp_values.messages, st.integers(0, 400), st.binary(max_size=3))
def test_a_view_of_anything_never_raises(message: amqp_values.Message, cut: int, noise: bytes) -> None:
    encoded = message.encoded()
    damaged = View(encoded[:cut] + noise + encoded[cut + len(noise) :])
    for name in EVERYTHING:
        in_selector(name)(damaged)


@given(amqp_values.messages)
def test_a_view_gives_what_the_whole_message_has(message: amqp_values.Message) -> None:
    encoded = message.encoded()
    seen, whole = View(encoded), parse(encoded)
    for name in HEADER:
        assert repr(seen.header(name)) == repr(whole.header.get(name))
    for name in PROPERTIES:
        assert repr(seen.properties(name)) == repr(whole.properties.get(name))
    for key, value in whole.application_properties:
        assert seen.has_application_property(str(key))
        assert repr(seen.application_property(str(key))) == repr(value)
    for key, value in whole.message_annotations:
        if isinstance(key, str):
            assert repr(seen.message_annotation(key)) == repr(value)


@given(st.sampled_from([0x120, 0x173, 0x174, 0x468C00000000, 0x468C00000001, 0x468C00000004]), st.data())
def test_no_filter_does_worse_than_to_be_refused(code: int, data: st.DataObject) -> None:
    value = data.draw(amqp_values.values)
    message = data.draw(amqp_values.messages)
    with contextlib.suppress(FilterError):
        wanted = predicate("mine", Described(ULong(code), value))
        assert wanted is not None
        assert wanted(View(message.encoded())) in {True, False}
