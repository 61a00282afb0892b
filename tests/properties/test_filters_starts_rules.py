"""Laws of starts: nothing but a start or a ValueError for any text, and what is written is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from bridge.filters.starts import LAST_OFFSET, event_hubs_start, parse_start
from bridge.model.receiving import EARLIEST, LATEST, Position, Start

NAMES = ("x-opt-offset", "x-opt-sequence-number", "x-opt-enqueued-time")

# Text that has the shape of a start more often than chance would have it.
parts = st.sampled_from(
    ["2026-01-31", "T", "12:00:00", "Z", "+02:00", ".", "-", "10", "m", "ms", "d", "latest", "@", "'", " > "]
    + [f"amqp.annotation.{name}" for name in NAMES]
)
texts = st.one_of(st.text(), st.lists(st.one_of(parts, st.text(max_size=3)), max_size=8).map("".join))
zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def is_sound(start: Start) -> bool:
    """Tell whether a start is one that Kafka can be asked for."""
    return 0 <= start.value <= LAST_OFFSET and (start.value == 0 or start not in {EARLIEST, LATEST})


@given(texts)
def test_any_text_is_a_start_or_a_value_error(text: str) -> None:
    for parse in (parse_start, event_hubs_start):
        try:
            start = parse(text)
        except ValueError as error:
            refused = str(error)
        else:
            assert start is None or is_sound(start)
            continue
        assert refused.isprintable()
        assert len(refused) < 400


@given(st.datetimes(timezones=zones))
def test_times_are_read_to_the_next_millisecond(time: datetime) -> None:
    start = parse_start(time.isoformat())
    exact = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    if exact <= -1000:
        assert start == EARLIEST
    elif start == EARLIEST:
        assert exact < 0
    else:
        assert start.position is Position.TIME
        assert (start.value - 1) * 1000 < exact <= start.value * 1000


@given(
    st.sampled_from(NAMES),
    st.integers(-3, LAST_OFFSET - 1),
    st.sampled_from([">", ">="]),
    st.sampled_from("' "),
)
def test_a_record_is_read_if_the_selector_holds_for_it(
    name: str, value: int, operator: str, quote: str
) -> None:
    """The first record that is read is the first for which the comparison is true."""
    start = event_hubs_start(f"amqp.annotation.{name} {operator} {quote}{value}{quote}")
    assert start is not None
    if value < 0:
        assert start == EARLIEST
        return
    assert start.position is (Position.TIME if "time" in name else Position.OFFSET)
    assert start.value >= value if operator == ">=" else start.value > value
    before = start.value - 1
    assert not (before >= value if operator == ">=" else before > value)
