from __future__ import annotations

import pytest

from bridge.codec.types import Int, Map, Symbol
from bridge.filters.errors import FilterError, quoted
from bridge.model.conditions import INVALID_FIELD


def test_a_filter_error_says_what_to_tell_the_peer() -> None:
    error = FilterError("the filter is wrong", "io.strimzi:wrong-filter")
    assert (error.condition, error.description) == (INVALID_FIELD, "the filter is wrong")
    assert error.former == "io.strimzi:wrong-filter"
    assert str(error) == "amqp:invalid-field: the filter is wrong"
    assert FilterError("text").former == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", "'a\\nb'"),
        (Symbol("red"), "'red'"),
        ("x" * 80, repr("x" * 80)),
        ("x" * 81, repr("x" * 80 + "...")),
        (Int(-1), "Int(-1)"),
        (True, "True"),
        (1.5, "1.5"),
        (b"\x00", "a value of the type bytes"),
        (Map(((1, 2),)), "a value of the type Map"),
    ],
)
def test_what_a_peer_sent_is_not_repeated_at_length(value: object, text: str) -> None:
    assert quoted(value) == text
