from __future__ import annotations

from typing import Any

import pytest
from lark import Token, Transformer, Tree

from bridge.filters import grammar
from bridge.filters.errors import FilterError


class AsTree(Transformer[Token, Any]):
    """Changes nothing."""


GRAMMAR = grammar.parser(AsTree())


def shape(node: object) -> object:
    """Give a tree as nested tuples of names and texts."""
    if isinstance(node, Tree):
        return (node.data, *map(shape, node.children))
    return None if node is None else str(node)


def parsed(text: str) -> object:
    return shape(grammar.parse(GRAMMAR, text))


def test_precedence() -> None:
    assert parsed("NOT a = 1 AND b OR c") == (
        "either",
        ("both", ("negation", "NOT", ("comparison", ("name", "a"), "=", ("exact", "1"))), ("name", "b")),
        ("name", "c"),
    )
    assert parsed("a + b * -c") == (
        "sum",
        ("name", "a"),
        "+",
        ("product", ("name", "b"), "*", ("minus", "-", ("name", "c"))),
    )


def test_keywords_in_small_letters_are_keywords_and_longer_words_are_names() -> None:
    assert parsed("a between 1 and 2 or android not in ('x')") == (
        "either",
        ("between", ("name", "a"), None, ("exact", "1"), ("exact", "2")),
        ("among", ("name", "android"), "not", ("text", "'x'")),
    )
    assert parsed("x iS nULL") == ("is_null", ("name", "x"), None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *(("57", "exact"), ("57L", "exact"), ("7.", "approximate"), (".5", "approximate")),
        *(("7E3", "approximate"), ("-57.9E2", "minus"), ("1f", "approximate"), ("1.5d", "approximate")),
        *(("0x1F", "hexadecimal"), ("'it''s'", "text"), ("''", "text"), ('"a b"', "quoted")),
        *(("$a_1.b:c", "name"), ("é", "name"), ("[order-status]", "name"), ("true", "true")),
        *(("amqp.annotation.x-opt-offset", "name"), ("FALSE", "false"), ("'two\nlines'", "text")),
    ],
)
def test_literals_and_names(text: str, kind: str) -> None:
    tree = parsed(text)
    assert isinstance(tree, tuple)
    assert tree[0] == kind


def test_hyphens_belong_to_the_names_of_annotations_alone() -> None:
    assert parsed("a-b") == ("sum", ("name", "a"), "-", ("name", "b"))
    assert parsed("amqp.annotation.a-b") == ("name", "amqp.annotation.a-b")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("color = ", "at the end of the text: expected a value"),
        ("color = 'blu", "line 1, column 9: a text that begins here has no closing quote"),
        ('"color = 1', "line 1, column 1: a name or text that begins here has no closing quote"),
        ("[color = 1", "line 1, column 1: a name that begins here has no closing bracket"),
        ("a = 5 5", "line 1, column 7: expected an operator, AND, OR or the end, found '5'"),
        ("a AND\n  = 3", "line 2, column 3: expected a value or NOT, found '='"),
        ("a ! 3", "line 1, column 3: '!' means nothing here"),
        ("a IN ()", "line 1, column 7: expected a value, found ')'"),
        ("(a = 1", "at the end of the text: expected ')'"),
        ("a IS 3", "line 1, column 6: expected NOT or NULL, found '3'"),
        ("a BETWEEN 1 OR 2", "line 1, column 13: expected AND, found 'OR'"),
        ("a " + "b" * 50, "found '" + "b" * 40 + "...'"),
        ("a = 1 = 2", "line 1, column 7: expected"),
        ("NOT", "at the end of the text: expected a value or NOT"),
        ("a.", "line 1, column 2: '.' means nothing here"),
    ],
)
def test_errors_tell_the_place_and_what_was_expected(text: str, told: str) -> None:
    with pytest.raises(FilterError) as caught:
        parsed(text)
    assert told in caught.value.description
    assert caught.value.condition == "amqp:invalid-field"


def test_nesting_takes_no_recursion_and_the_length_is_bounded() -> None:
    depth = grammar.LONGEST // 2 - 1
    assert parsed("(" * depth + "a" + ")" * depth) == ("name", "a")
    with pytest.raises(FilterError, match="4097 characters; 4096 are allowed"):
        parsed("a" * 4097)
