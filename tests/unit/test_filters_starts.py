from __future__ import annotations

import pytest

from bridge.filters.starts import LAST_OFFSET, LONGEST_AGE_MS, event_hubs_start, parse_start
from bridge.model.receiving import EARLIEST, LATEST, Position, Start

NOON = 1_769_860_800_000
"""2026-01-31T12:00:00Z"""


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", EARLIEST),
        ("-1", EARLIEST),
        ("latest", LATEST),
        ("@latest", LATEST),
        ("500ms", Start(Position.AGE, 500)),
        ("90s", Start(Position.AGE, 90_000)),
        ("10m", Start(Position.AGE, 600_000)),
        ("2h", Start(Position.AGE, 7_200_000)),
        ("1d", Start(Position.AGE, 86_400_000)),
        ("0s", Start(Position.AGE, 0)),
        ("36500d", Start(Position.AGE, LONGEST_AGE_MS)),
        ("2026-01-31T12:00:00Z", Start(Position.TIME, NOON)),
        ("2026-01-31t12:00:00z", Start(Position.TIME, NOON)),
        ("2026-01-31T12:00:00", Start(Position.TIME, NOON)),
        ("2026-01-31 12:00:00", Start(Position.TIME, NOON)),
        ("2026-01-31T14:00:00+02:00", Start(Position.TIME, NOON)),
        ("2026-01-31T06:30:00-05:30", Start(Position.TIME, NOON)),
        ("2026-01-31T12:00:00.5Z", Start(Position.TIME, NOON + 500)),
        ("2026-01-31T12:00:00.001Z", Start(Position.TIME, NOON + 1)),
        ("2026-01-31T12:00:00.000000001Z", Start(Position.TIME, NOON + 1)),
        ("2026-01-31T11:59:59.999999999Z", Start(Position.TIME, NOON)),
        ("1970-01-01T00:00:00Z", Start(Position.TIME, 0)),
        ("1969-12-31T23:59:59.999Z", EARLIEST),
        ("0001-01-01T00:00:00+23:59", EARLIEST),
        ("9999-12-31T23:59:59-23:59", Start(Position.TIME, 253_402_387_139_000)),
    ],
)
def test_starts(text: str, start: Start) -> None:
    assert parse_start(text) == start


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "'' is not a start: earliest, latest, an age as in 10m"),
        ("Earliest", "'Earliest' is not a start"),
        (" latest", "is not a start"),
        ("10", "could be an offset, seconds or milliseconds"),
        ("1769860800000", "could be an offset, seconds or milliseconds"),
        ("-2", "could be an offset"),
        ("-10m", "is not a start"),
        ("1.5h", "is not a start"),
        ("10 m", "is not a start"),
        ("10M", "is not a start"),
        ("1w", "is not a start"),
        ("\u0661m", "is not a start"),  # a digit, but none of ASCII
        ("36501d", "more than a hundred years"),
        ("9" * 10_000 + "m", "is not a start"),
        ("2026-01-31", "is not a start"),
        ("20260131T120000Z", "is not a start"),
        ("2026-01-31T12:00Z", "is not a start"),
        ("2026-01-31T12:00:00.Z", "is not a start"),
        ("2026-01-31T12:00:00Z\n", "is not a start"),
        ("2026-02-30T00:00:00Z", "there is no such date or hour"),
        ("2026-01-31T24:00:01Z", "there is no such date or hour"),
        ("2026-12-31T23:59:60Z", "there is no such date or hour"),
        ("2026-01-31T12:00:00+24:00", "there is no such date or hour"),
        ("0000-01-01T00:00:00Z", "there is no such date or hour"),
    ],
)
def test_texts_that_are_no_start(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=part) as caught:
        parse_start(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("selector", "start"),
    [
        # As the clients for Python, Java, JavaScript, Go and C++ write them.
        ("amqp.annotation.x-opt-offset > '100'", Start(Position.OFFSET, 101)),
        ("amqp.annotation.x-opt-offset >= '100'", Start(Position.OFFSET, 100)),
        ("amqp.annotation.x-opt-offset > '-1'", EARLIEST),
        ("amqp.annotation.x-opt-offset >= '-1'", EARLIEST),
        ("amqp.annotation.x-opt-offset > '@latest'", LATEST),
        ("amqp.annotation.x-opt-offset >= '@latest'", LATEST),
        ("amqp.annotation.x-opt-sequence-number > '0'", Start(Position.OFFSET, 1)),
        ("amqp.annotation.x-opt-sequence-number >= '0'", Start(Position.OFFSET, 0)),
        ("amqp.annotation.x-opt-sequence-number > '-1'", EARLIEST),
        ("amqp.annotation.x-opt-enqueued-time > '1769860800000'", Start(Position.TIME, NOON + 1)),
        ("amqp.annotation.x-opt-enqueued-time >= '1769860800000'", Start(Position.TIME, NOON)),
        ("amqp.annotation.x-opt-enqueued-time > '-62135596800000'", EARLIEST),  # .NET's earliest time
        # As that for .NET does, and older ones.
        ("amqp.annotation.x-opt-offset > @latest", LATEST),
        ("amqp.annotation.x-opt-offset > -1", EARLIEST),
        ("amqp.annotation.x-opt-offset >= 7", Start(Position.OFFSET, 7)),
        ("amqp.annotation.x-opt-sequence-number > 2995", Start(Position.OFFSET, 2996)),
        ("amqp.annotation.x-opt-enqueued-time > 1769860800000", Start(Position.TIME, NOON + 1)),
        ("amqp.annotation.x-opt-enqueuedtimeutc > 1769860800000", Start(Position.TIME, NOON + 1)),
        # Blanks mean nothing.
        (" amqp.annotation.x-opt-offset>='7' ", Start(Position.OFFSET, 7)),
        (f"amqp.annotation.x-opt-offset > '{LAST_OFFSET - 1}'", Start(Position.OFFSET, LAST_OFFSET)),
    ],
)
def test_positions_of_event_hubs(selector: str, start: Start) -> None:
    assert event_hubs_start(selector) == start


@pytest.mark.parametrize(
    "selector",
    [
        "",
        "colour = 'red'",
        "amqp.annotation.x-opt-offset",
        "amqp.annotation.x-opt-offset = '100'",
        "amqp.annotation.x-opt-offset < '100'",
        "amqp.annotation.x-opt-offset > '100' AND colour = 'red'",
        "amqp.annotation.x-opt-offset > x",
        "amqp.annotation.x-opt-partition-key > '100'",
        "x-opt-offset > '100'",
        "NOT amqp.annotation.x-opt-offset > '100'",
        "amqp.annotation.x-opt-offset > 'it''s'",
    ],
)
def test_selectors_that_are_no_position(selector: str) -> None:
    assert event_hubs_start(selector) is None


@pytest.mark.parametrize(
    ("selector", "part"),
    [
        ("amqp.annotation.x-opt-offset > ''", "'', which x-opt-offset is compared with, is not an offset"),
        ("amqp.annotation.x-opt-offset > 'abc'", "'abc', which x-opt-offset is compared with"),
        ("amqp.annotation.x-opt-offset > '1:16:24'", "'1:16:24'"),  # of a geo-replicated namespace
        ("amqp.annotation.x-opt-sequence-number >= '1.5'", "is not an offset of Kafka"),
        (f"amqp.annotation.x-opt-offset > '{LAST_OFFSET}'", "is not an offset"),
        ("amqp.annotation.x-opt-offset > " + "9" * 5000, "is not an offset"),
        ("amqp.annotation.x-opt-enqueued-time > '@latest'", "is not a time in milliseconds"),
        ("amqp.annotation.x-opt-enqueued-time > '2026-01-31T12:00:00Z'", "is not a time in milliseconds"),
    ],
)
def test_positions_that_kafka_cannot_have(selector: str, part: str) -> None:
    with pytest.raises(ValueError, match=part) as caught:
        event_hubs_start(selector)
    assert len(str(caught.value)) < 300
