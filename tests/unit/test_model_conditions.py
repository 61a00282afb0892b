from __future__ import annotations

import dataclasses
import re

import pytest

from bridge.model import conditions, dialect
from bridge.model.conditions import Condition

SYMBOLS = {
    name: value
    for name, value in vars(conditions).items()
    if name.isupper() and isinstance(value, str) and name != "FORMER_KEY"
}


def test_there_is_a_name_for_each_kind_of_error() -> None:
    assert SYMBOLS.keys() >= {"INTERNAL_ERROR", "CONNECTION_FORCED", "LINK_DETACH_FORCED"}


@pytest.mark.parametrize("name", SYMBOLS)
def test_symbols_are_those_of_the_specification_and_are_named_after_them(name: str) -> None:
    symbol = SYMBOLS[name]

    assert re.fullmatch(r"amqp:((connection|session|link):)?[a-z-]+", symbol)
    assert name == re.sub("[:-]", "_", symbol.removeprefix("amqp:")).upper()


def test_a_condition_has_no_info_unless_it_is_given() -> None:
    assert Condition(conditions.NOT_FOUND, "no such topic").info == {}


def test_conditions_do_not_share_their_info() -> None:
    assert Condition("a", "b").info is not Condition("a", "b").info


def test_equal_conditions_are_equal_and_cannot_be_changed() -> None:
    condition = Condition(conditions.NOT_FOUND, "no such topic", {"topic": "orders"})

    assert condition == dataclasses.replace(condition)
    with pytest.raises(dataclasses.FrozenInstanceError):
        condition.name = conditions.NOT_ALLOWED  # type: ignore[misc]  # that it cannot is the test


def test_a_condition_may_be_told_by_its_former_name() -> None:
    condition = Condition("amqp:invalid-field", "no group", {"topic": "orders"}, dialect.NO_GROUP)
    info = {"io.strimzi:condition": "io.strimzi:no-group-id", "topic": "orders"}

    assert condition.for_wire(dialect="amqp") == Condition("amqp:invalid-field", "no group", info)
    assert condition.for_wire(dialect="strimzi") == Condition("io.strimzi:no-group-id", "no group", info)


def test_a_condition_without_a_former_name_is_told_as_it_is() -> None:
    condition = Condition("amqp:not-found", "no topic")

    assert condition.for_wire(dialect="strimzi") is condition


LARGE = Condition(
    "amqp:not-found",
    "there is no topic of that name",
    {"topic": "t" * 400, "kafka-code": 3, "retriable": False},
)


def test_a_condition_that_fits_is_left_as_it_is() -> None:
    assert LARGE.within(600) is LARGE


def test_a_condition_that_is_too_large_says_less() -> None:
    small = LARGE.within(200)

    assert small.info == {"kafka-code": 3, "retriable": False}, "the longest goes first"
    assert (small.name, small.description) == (LARGE.name, LARGE.description)


@pytest.mark.parametrize("bytes_max", [0, 30, 45])
def test_a_condition_always_has_its_name(bytes_max: int) -> None:
    tiny = Condition("amqp:not-found", "größer" * 50, {"a": 1}, "io.strimzi:x").within(bytes_max)

    assert tiny.name == "amqp:not-found"
    assert tiny.info == {}
    assert tiny.former == "io.strimzi:x"
    assert "größer".startswith(tiny.description[:6])
    assert len(tiny.description.encode()) <= bytes_max
