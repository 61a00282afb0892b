from __future__ import annotations

from support.sink_port import MemoryRecord

from bridge.sink.lane import Lane
from bridge.sink.redelivery import Retry


def lane_with(*offsets: int, ahead_records: int | None = None) -> Lane:
    """Give a lane in which these records wait."""
    lane = Lane(0, 1, ahead_records)
    lane.waiting.extend(MemoryRecord(0, offset, b"x") for offset in offsets)
    return lane


def sent(lane: Lane, count: int) -> list[Retry]:
    """Send the first records of a lane."""
    retries = [Retry(lane.waiting.popleft()) for _ in range(count)]
    for retry in retries:
        lane.tracker.sent(retry.offset)
    return retries


def test_an_empty_lane_has_nothing_to_send() -> None:
    lane = lane_with()

    assert not lane.can_send()
    assert lane.fresh() == 0
    assert lane.next_retry() is None


def test_what_waits_may_be_sent() -> None:
    lane = lane_with(5, 6)

    assert lane.can_send()
    assert lane.fresh() == 2


def test_where_the_order_is_kept_nothing_passes_a_record_that_waits_to_be_sent_again() -> None:
    lane = lane_with(5, 6, 7)
    first, second = sent(lane, 2)

    lane.put_back(second)
    lane.put_back(first)
    lane.is_due(second)
    assert not lane.can_send()
    assert lane.next_retry() is None, "the first one goes first"

    lane.is_due(first)
    assert lane.next_retry() is first
    assert lane.fresh() == 0, "the second one goes first"
    assert lane.next_retry() is second
    assert lane.fresh() == 1


def test_where_others_may_go_ahead_they_do_not_wait() -> None:
    lane = lane_with(5, 6, 7, ahead_records=10)
    first, second = sent(lane, 2)
    lane.put_back(first)
    lane.put_back(second)

    assert lane.fresh() == 1
    lane.is_due(second)
    assert lane.next_retry() is second
    assert lane.next_retry() is None


def test_others_go_ahead_as_far_as_they_may() -> None:
    lane = lane_with(5, 6, 7, 8, ahead_records=3)
    assert lane.fresh() == 3

    sent(lane, 2)
    assert lane.fresh() == 1
    lane.tracker.done(6)
    assert lane.fresh() == 1, "the first one has no answer"

    sent(lane, 1)
    assert not lane.can_send()
    lane.tracker.done(5)
    assert lane.fresh() == 1


def test_a_gap_in_the_offsets_is_counted_as_if_records_were_there() -> None:
    lane = lane_with(5, 900, 901, ahead_records=3)

    sent(lane, 2)

    assert lane.fresh() == 0
    lane.tracker.done(5)
    assert lane.fresh() == 1


def test_all_that_is_to_be_sent_again_is_counted() -> None:
    for ahead_records in (None, 10):
        lane = lane_with(5, 6, ahead_records=ahead_records)
        first, second = sent(lane, 2)
        lane.put_back(first)
        lane.put_back(second)
        lane.is_due(first)

        assert lane.returned == 2
        lane.next_retry()
        assert lane.returned == 1


def test_what_is_forgotten_is_given_back_but_for_what_was_sent() -> None:
    for ahead_records in (None, 10):
        lane = lane_with(5, 6, ahead_records=ahead_records)
        (first,) = sent(lane, 1)
        lane.put_back(first)

        assert [record.offset() for record in lane.forget()] == [6]
        assert lane.returned == 0
        assert not lane.can_send()


def test_the_end_of_a_lane_is_that_of_its_tracker() -> None:
    lane = lane_with(5)
    sent(lane, 1)
    assert not lane.closed

    lane.close()

    assert (lane.closed, lane.leaving) == (True, True)
    assert not lane.tracker.done(5)
