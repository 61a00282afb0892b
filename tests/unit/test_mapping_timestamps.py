from __future__ import annotations

import pytest

from bridge.mapping.record import ARRIVAL_TIME, Headers
from bridge.mapping.timestamps import stamped

NOW_MS = 1_700_000_000_000
SKEW_MS = 60_000


def timestamp(headers: Headers | None) -> int:
    to_record = stamped(lambda value: (value, b"key", headers, 3, ARRIVAL_TIME), SKEW_MS, lambda: NOW_MS)
    record = to_record(b"value")
    assert record[:4] == (b"value", b"key", headers, 3)
    return record[4]


@pytest.mark.parametrize("created_ms", [NOW_MS, NOW_MS - SKEW_MS, NOW_MS + SKEW_MS])
def test_a_record_has_the_time_of_its_messages_creation(created_ms: int) -> None:
    assert timestamp([("subject", b"s"), ("creation-time", b"%d" % created_ms)]) == created_ms


@pytest.mark.parametrize("created_ms", [NOW_MS - SKEW_MS - 1, NOW_MS + SKEW_MS + 1, 0, -1])
def test_a_clock_that_is_wrong_counts_as_none(created_ms: int) -> None:
    assert timestamp([("creation-time", b"%d" % created_ms)]) == ARRIVAL_TIME


@pytest.mark.parametrize(
    "headers", [None, [], [("app.creation-time", b"5")], [("creation-time", None)], [("creation-time", b"x")]]
)
def test_a_message_without_one_is_stamped_on_arrival(headers: Headers | None) -> None:
    assert timestamp(headers) == ARRIVAL_TIME


def test_a_time_before_the_epoch_is_no_time_for_kafka() -> None:
    to_record = stamped(lambda _: (b"", None, [("creation-time", b"-5")], -1, ARRIVAL_TIME), 10, lambda: 0)
    assert to_record(b"")[4] == ARRIVAL_TIME
