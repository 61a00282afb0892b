from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.codec.types import (
    Byte,
    Char,
    Described,
    Float,
    Int,
    Long,
    Map,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)
from bridge.filters.contract import Filters
from bridge.filters.errors import FilterError
from bridge.filters.reading import (
    FORMER_OFFSET,
    FORMER_PARTITION,
    PARTITION,
    SELECTOR,
    SELECTOR_CODE,
    START,
    read,
)
from bridge.model import dialect
from bridge.model.conditions import INVALID_FIELD
from bridge.model.receiving import EARLIEST, LATEST, Position, Start

if TYPE_CHECKING:
    from collections.abc import Mapping

INTEGERS = (UByte, UShort, UInt, ULong, Byte, Short, Int, Long)
HUNDRED = "amqp.annotation.x-opt-offset > '99'"


def at(offset: int) -> Start:
    return Start(Position.OFFSET, offset)


def since(milliseconds: int) -> Start:
    return Start(Position.TIME, milliseconds)


def described(name: str, value: object) -> dict[str, object]:
    """Return a filter as the specification has it: its key is the descriptor of its value."""
    return {name: Described(Symbol(name), value)}


def test_no_filters() -> None:
    assert read({}) == Filters()
    assert read({}, partition=3) == Filters(partition=3)


@pytest.mark.parametrize("integer", INTEGERS)
def test_the_ancestors_filters_take_any_integer(integer: type[int]) -> None:
    bare = {FORMER_PARTITION: integer(2), FORMER_OFFSET: integer(7)}
    wanted = Filters(frozenset(bare), 2, at(7))
    assert read(bare) == wanted
    assert read({key: Described(Symbol(key), value) for key, value in bare.items()}) == wanted
    assert read({key: Described(ULong(1), value) for key, value in bare.items()}) == wanted
    assert read({key: Described(Map(), value) for key, value in bare.items()}) == wanted


@pytest.mark.parametrize(
    ("filters", "former"),
    [
        ({FORMER_PARTITION: "0"}, dialect.WRONG_PARTITION_FILTER),
        ({FORMER_PARTITION: 0.0}, dialect.WRONG_PARTITION_FILTER),
        ({FORMER_PARTITION: True}, dialect.WRONG_PARTITION_FILTER),
        ({FORMER_PARTITION: ULong(2**31)}, dialect.WRONG_PARTITION_FILTER),
        ({FORMER_PARTITION: Described(Symbol("a"), Described(Symbol("b"), Int(0)))},
         dialect.WRONG_PARTITION_FILTER),
        ({FORMER_PARTITION: Int(0), FORMER_OFFSET: "0"}, dialect.WRONG_OFFSET_FILTER),
        ({FORMER_PARTITION: Int(0), FORMER_OFFSET: Timestamp(0)}, dialect.WRONG_OFFSET_FILTER),
        ({FORMER_PARTITION: Int(0), FORMER_OFFSET: ULong(2**63)}, dialect.WRONG_OFFSET_FILTER),
        ({FORMER_PARTITION: Int(-1)}, dialect.WRONG_FILTER),
        ({FORMER_PARTITION: Int(0), FORMER_OFFSET: Long(-1)}, dialect.WRONG_FILTER),
        ({FORMER_OFFSET: Long(0)}, dialect.NO_PARTITION_FILTER),
        ({FORMER_OFFSET: Long(0), FORMER_PARTITION: None}, dialect.NO_PARTITION_FILTER),
    ],
)  # fmt: skip
def test_the_ancestors_errors_have_its_names(filters: Mapping[str, object], former: str) -> None:
    with pytest.raises(FilterError) as caught:
        read(filters)
    assert (caught.value.condition, caught.value.former) == (INVALID_FIELD, former)


@pytest.mark.parametrize(
    ("value", "start"),
    [
        ("earliest", EARLIEST),
        (Symbol("@latest"), LATEST),
        ("10m", Start(Position.AGE, 600_000)),
        ("1970-01-01T00:00:01Z", since(1000)),
        (Timestamp(1000), since(1000)),
        (Timestamp(-1), EARLIEST),
        (Long(7), at(7)),
        (UByte(0), at(0)),
        (ULong(2**63 - 1), at(2**63 - 1)),
    ],
)
def test_where_to_start(value: object, start: Start) -> None:
    wanted = Filters(frozenset({START}), 3, start)
    assert read({START: value}, partition=3) == wanted
    assert read(described(START, value), partition=3) == wanted


@pytest.mark.parametrize("value", [Int(3), "3", Symbol("3"), UByte(3), "03"])
def test_which_partition(value: object) -> None:
    assert read({PARTITION: value}) == Filters(frozenset({PARTITION}), 3)
    assert read(described(PARTITION, value)) == Filters(frozenset({PARTITION}), 3)


@pytest.mark.parametrize(
    ("filters", "part"),
    [
        ({START: "yesterday"}, "the filter x-opt-bridge.start: 'yesterday' is not a start"),
        ({START: "7"}, "could be an offset"),
        ({START: Long(-1)}, r"an integer from 0, not Long\(-1\)"),
        ({START: ULong(2**63)}, "an integer from 0 to 9223372036854775807"),
        ({START: True}, "a timestamp or an offset, not True"),
        ({START: Float(1)}, "a timestamp or an offset"),
        ({START: b"latest"}, "not a value of the type bytes"),
        ({START: []}, "not a value of the type list"),
        ({PARTITION: "x"}, "the filter x-opt-bridge.partition is the number of a partition, not 'x'"),
        ({PARTITION: "-1"}, "the number of a partition"),
        ({PARTITION: Int(-1)}, "an integer from 0"),
        ({PARTITION: ULong(2**31)}, "an integer from 0 to 2147483647"),
        ({PARTITION: Timestamp(0)}, "an integer from 0 to 2147483647"),
    ],
)
def test_filters_of_the_bridge_that_are_malformed(filters: Mapping[str, object], part: str) -> None:
    with pytest.raises(FilterError, match=part) as caught:
        read(filters, partition=0)
    assert caught.value.former == ""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (SELECTOR, Described(Symbol(SELECTOR), HUNDRED)),
        (SELECTOR, Described(ULong(SELECTOR_CODE), HUNDRED)),
        (SELECTOR, HUNDRED),
        ("jms-selector", Described(ULong(SELECTOR_CODE), HUNDRED)),
        ("jms-selector", HUNDRED),
        ("string", Described(Symbol(SELECTOR), Symbol(HUNDRED))),
        ("whatever", Described(ULong(SELECTOR_CODE), HUNDRED)),
    ],
)
def test_a_position_of_event_hubs_is_a_start_and_no_predicate(key: str, value: object) -> None:
    assert read({key: value}, partition=0) == Filters(frozenset({key}), 0, at(100))


def test_a_position_of_event_hubs_that_kafka_cannot_have_is_malformed() -> None:
    with pytest.raises(FilterError, match="'1:16:24', which x-opt-offset is compared with"):
        read(described(SELECTOR, "amqp.annotation.x-opt-offset > '1:16:24'"), partition=0)


def test_other_selectors_are_predicates() -> None:
    filters = read(described(SELECTOR, "colour = 'red'"))
    assert (filters.applied, filters.partition, filters.start) == (frozenset({SELECTOR}), None, None)
    assert len(filters.predicates) == 1
    with pytest.raises(FilterError):
        read(described(SELECTOR, "colour ="))
    with pytest.raises(FilterError):
        read(described(SELECTOR, Int(1)))


def test_places_and_predicates_go_together() -> None:
    filters = read(
        {**described(SELECTOR, "colour = 'red'"), PARTITION: Int(1), START: "latest", "odd": Int(1)}
    )
    assert filters.applied == {SELECTOR, PARTITION, START}
    assert (filters.partition, filters.start, len(filters.predicates)) == (1, LATEST, 1)


@pytest.mark.parametrize("key", [FORMER_PARTITION, FORMER_OFFSET, PARTITION, START, SELECTOR, "unknown"])
def test_null_is_no_filter(key: str) -> None:
    assert read({key: None}) == Filters()
    assert read(described(key, None)) == Filters()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("unknown", Int(1)),
        ("unknown", Described(Symbol("unknown"), "latest")),
        ("unknown", Described(ULong(1), Int(-1))),
        ("unknown", Described(Map(), Int(-1))),
        (PARTITION.upper(), Int(0)),
    ],
)
def test_what_is_not_known_is_left_out(key: str, value: object) -> None:
    assert read({key: value}) == Filters()


def test_the_descriptor_counts_for_more_than_the_key() -> None:
    assert read({FORMER_OFFSET: Described(Symbol(PARTITION), Int(2))}) == Filters(
        frozenset({FORMER_OFFSET}), 2
    )
    assert read({"where": Described(Symbol(START), "latest")}) == Filters(frozenset({"where"}), None, LATEST)


def test_filters_and_the_address_may_say_the_same() -> None:
    filters = {FORMER_PARTITION: Int(2), PARTITION: "2", FORMER_OFFSET: Long(100), START: ULong(100)}
    wanted = Filters(frozenset({*filters, SELECTOR}), 2, at(100))
    assert read({**filters, **described(SELECTOR, HUNDRED)}, partition=2) == wanted


@pytest.mark.parametrize(
    ("filters", "part"),
    [
        ({PARTITION: Int(1)}, "the address asks for partition 0, and x-opt-bridge.partition for partition 1"),
        ({"a": Described(Symbol(START), "latest"), "b": Described(Symbol(START), "1s")},
         "x-opt-bridge.start asks for latest, and x-opt-bridge.start for an age of 1000 ms"),
        ({START: Timestamp(5), FORMER_OFFSET: Int(5)},
         "asks for the time 5 ms after 1970, and io.strimzi:offset-filter:long for offset 5"),
        ({START: "earliest", SELECTOR: "amqp.annotation.x-opt-offset > '@latest'"}, "earliest.*latest"),
    ],
)  # fmt: skip
def test_filters_that_disagree(filters: Mapping[str, object], part: str) -> None:
    with pytest.raises(FilterError, match=part):
        read(filters, partition=0)


@pytest.mark.parametrize("filters", [{START: Int(5)}, described(SELECTOR, HUNDRED)])
def test_an_offset_is_one_of_a_partition(filters: Mapping[str, object]) -> None:
    with pytest.raises(FilterError, match="only one partition has; name it in the address"):
        read(filters)


def test_a_malformed_text_is_not_repeated_at_length() -> None:
    for key in (PARTITION, START):
        with pytest.raises(FilterError) as caught:
            read({key: "x\n" * 100_000})
        assert caught.value.description.isprintable()
        assert len(caught.value.description) < 400


def test_a_char_is_a_text_too() -> None:
    assert read({PARTITION: Char("7")}) == Filters(frozenset({PARTITION}), 7)
