from __future__ import annotations

from support.sink_port import MemoryRecord

from bridge.codec import Map, Symbol, encode
from bridge.model.outcomes import MODIFIED_FAILED, RELEASED, DeliveryState, Outcome
from bridge.sink.redelivery import Redelivery, Retry

NO_OUTCOME = Outcome(DeliveryState.NONE)


def encoded_map(**pairs: str) -> bytes:
    return encode(Map((Symbol(key), value) for key, value in pairs.items()))


def retry_at(offset: int) -> Retry:
    return Retry(MemoryRecord(0, offset, b"x"))


def test_the_pause_doubles_up_to_its_longest() -> None:
    rules = Redelivery(0.25, 3.0, attempts_max=5, releases_max=5)

    assert [rules.pause_seconds(tries) for tries in range(1, 7)] == [0.25, 0.5, 1.0, 2.0, 3.0, 3.0]


def test_the_pause_has_a_length_however_often_a_record_was_tried() -> None:
    rules = Redelivery(0.001, 10.0, attempts_max=5, releases_max=5)

    assert rules.pause_seconds(0) == 0.001
    assert rules.pause_seconds(1_000_000) == 10.0


def test_a_failed_attempt_raises_the_delivery_count() -> None:
    retry = retry_at(7)

    retry.came_back(MODIFIED_FAILED, 10)
    retry.came_back(MODIFIED_FAILED, 10)

    assert (retry.failed, retry.tries) == (2, 2)


def test_a_release_does_not() -> None:
    retry = retry_at(7)

    retry.came_back(RELEASED, 10)
    retry.came_back(NO_OUTCOME, 10)

    assert (retry.failed, retry.tries) == (0, 2)


def test_so_many_releases_in_a_row_are_a_failed_attempt() -> None:
    retry = retry_at(7)
    counts = []

    for outcome in (RELEASED, NO_OUTCOME, RELEASED, RELEASED, RELEASED, RELEASED):
        retry.came_back(outcome, 3)
        counts.append(retry.failed)

    assert counts == [0, 0, 1, 1, 1, 2]


def test_a_failed_attempt_ends_a_row_of_releases() -> None:
    retry = retry_at(7)

    for outcome in (RELEASED, MODIFIED_FAILED, RELEASED):
        retry.came_back(outcome, 2)

    assert retry.failed == 1


def test_later_annotations_replace_earlier_ones_of_the_same_key() -> None:
    retry = retry_at(7)

    for pairs in (encoded_map(a="1", b="1"), b"", encoded_map(b="2")):
        retry.came_back(Outcome(DeliveryState.MODIFIED, annotations=pairs), 10)

    assert retry.annotations == encoded_map(a="1", b="2")


def test_a_record_that_came_back_is_not_due_before_its_pause_is_over() -> None:
    retry = retry_at(7)
    retry.is_due = True

    retry.came_back(RELEASED, 10)

    assert not retry.is_due


def test_retries_are_in_the_order_of_their_offsets() -> None:
    assert [retry.offset for retry in sorted(map(retry_at, [7, 900, 8]))] == [7, 8, 900]
