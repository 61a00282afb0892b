from __future__ import annotations

from bridge.sink.offsets import ANSWERED_MIN, PartitionTracker


def tracker_after(*offsets: int, done: tuple[int, ...] = ()) -> PartitionTracker:
    tracker = PartitionTracker()
    for offset in offsets:
        tracker.sent(offset)
    for offset in done:
        tracker.done(offset)
    return tracker


def test_before_anything_was_sent_there_is_nothing_to_commit() -> None:
    tracker = PartitionTracker()

    assert tracker.position() is None
    assert tracker.to_commit() is None


def test_the_position_is_the_first_offset_without_an_answer() -> None:
    assert tracker_after(5, 6, 7, done=(5,)).to_commit() == 6


def test_an_answer_out_of_order_does_not_move_the_position() -> None:
    tracker = tracker_after(5, 6, 7, done=(6, 7))

    assert tracker.to_commit() == 5
    assert tracker.outstanding == 1


def test_when_the_first_is_answered_the_position_jumps_over_those_that_were() -> None:
    assert tracker_after(5, 6, 7, done=(6, 5)).to_commit() == 7


def test_with_nothing_outstanding_the_position_is_after_the_last() -> None:
    assert tracker_after(5, 6, 7, done=(7, 5, 6)).to_commit() == 8


def test_offsets_may_have_gaps() -> None:
    tracker = tracker_after(5, 900, 7_000, done=(5,))

    assert tracker.to_commit() == 900
    tracker.done(7_000)
    tracker.done(900)
    assert tracker.to_commit() == 7_001


def test_the_span_is_from_the_first_offset_without_an_answer_to_the_last_that_was_sent() -> None:
    assert PartitionTracker().span() == 0
    assert tracker_after(5, 6, 7, done=(5,)).span() == 2
    assert tracker_after(5, 6, 7, done=(6, 7)).span() == 3
    assert tracker_after(5, 900).span() == 896
    assert tracker_after(5, 6, done=(5, 6)).span() == 0


def test_one_that_is_not_answered_for_long_holds_the_position_however_many_are_answered_since() -> None:
    tracker = tracker_after(5, 6)
    for offset in range(7, 7 + 4 * ANSWERED_MIN):
        tracker.sent(offset)
        tracker.done(offset)
        assert tracker.position() == 5

    tracker.done(5)
    assert tracker.position() == 6
    tracker.done(6)
    assert tracker.position() == 7 + 4 * ANSWERED_MIN


def test_what_is_committed_is_not_committed_again() -> None:
    tracker = tracker_after(5, 6, done=(5,))

    tracker.committed(6)
    assert tracker.to_commit() is None

    tracker.done(6)
    assert tracker.to_commit() == 7


def test_an_older_commit_that_is_confirmed_late_changes_nothing() -> None:
    tracker = tracker_after(5, 6, done=(5, 6))

    tracker.committed(7)
    tracker.committed(6)

    assert tracker.to_commit() is None


def test_an_answer_counts_once() -> None:
    tracker = tracker_after(5)

    assert tracker.done(5)
    assert not tracker.done(5)
    assert not tracker.done(99)


def test_a_closed_tracker_commits_nothing_and_ignores_answers() -> None:
    tracker = tracker_after(5, 6, done=(5,))

    tracker.close()

    assert tracker.closed
    assert not tracker.done(6)
    assert tracker.to_commit() is None
    assert tracker.outstanding == 0
