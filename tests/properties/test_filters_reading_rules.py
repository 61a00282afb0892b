"""Laws of filter-sets: nothing but FilterError for any, what is echoed was there, order does not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from bridge.codec.types import Described, Int, Long, Map, Symbol, Timestamp, ULong
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
from bridge.model.conditions import INVALID_FIELD
from bridge.model.receiving import Position

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.filters.contract import Filters

NAMES = (FORMER_PARTITION, FORMER_OFFSET, PARTITION, START, SELECTOR)

texts = st.sampled_from(
    [
        *("earliest", "latest", "10m", "0", "1", "colour = 'red'", "colour ="),
        "amqp.annotation.x-opt-offset > '-1'",
        "amqp.annotation.x-opt-offset >= '1'",
        "amqp.annotation.x-opt-enqueued-time > '1'",
    ]
)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    texts,
    st.text(),
    st.binary(max_size=4),
    st.integers(-1, 3).map(Int),
    st.integers(-(2**63), 2**63 - 1).map(Long),
    st.integers(0, 2**64 - 1).map(ULong),
    st.integers(-(2**63), 2**63 - 1).map(Timestamp),
    st.just([]),
    st.just(Map()),
)
descriptors = st.one_of(
    st.sampled_from(NAMES).map(Symbol), st.just(ULong(SELECTOR_CODE)), st.just(ULong(1)), plain
)
values = st.one_of(plain, st.builds(Described, descriptors, plain))
keys = st.one_of(st.sampled_from([*NAMES, "jms-selector"]), st.text(max_size=5))
partitions = st.none() | st.integers(0, 2)


def read_or_none(filters: Mapping[str, object], partition: int | None) -> Filters | None:
    try:
        return read(filters, partition=partition)
    except FilterError as error:
        refused = error
    assert refused.condition == INVALID_FIELD
    assert refused.description.isprintable()
    assert len(refused.description) < 1000
    return None


@given(st.dictionaries(keys, values, max_size=4), partitions)
def test_any_filter_set_is_read_or_a_filter_error(filters: dict[str, object], partition: int | None) -> None:
    found = read_or_none(filters, partition)
    if found is None:
        return
    assert found.applied <= filters.keys()
    assert partition in {None, found.partition}
    assert found.partition is None or 0 <= found.partition < 2**31
    if found.start is not None:
        assert 0 <= found.start.value < 2**63
        assert found.partition is not None or found.start.position is not Position.OFFSET
    for key in found.applied:
        value = filters[key]
        assert (value.value if isinstance(value, Described) else value) is not None


@given(st.dictionaries(keys, values, max_size=4), partitions, st.randoms())
def test_the_order_of_filters_does_not_count(
    filters: dict[str, object], partition: int | None, random: object
) -> None:
    """Only which error is told may depend on it."""
    shuffled = list(filters.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis' own Random
    one, other = read_or_none(filters, partition), read_or_none(dict(shuffled), partition)
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert (one.applied, one.partition, one.start) == (other.applied, other.partition, other.start)
        assert len(one.predicates) == len(other.predicates)
