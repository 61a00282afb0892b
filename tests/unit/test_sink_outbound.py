"""The sending half of a link alone; with the rest around it, it is tested in `test_sink_link`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.sink_port import EXPIRED, MemoryRecord, ReceivingPeer, encode_message

from bridge.codec import Map, Symbol, encode
from bridge.sink.lane import Lane
from bridge.sink.outbound import TURN_RECORDS, Outbound
from bridge.sink.redelivery import RECORD_BYTES, Retry

if TYPE_CHECKING:
    from bridge.sink.ports import ConsumedRecord


class Stage:
    """An outbound, its receiver, and what it told."""

    def __init__(
        self, *, settles: bool = False, message_max_bytes: int = 0, ends_at_too_large: bool = False
    ) -> None:
        self.peer = ReceivingPeer()
        self.ends_at_too_large = ends_at_too_large
        self.dropped: list[int] = []
        self.too_large: list[tuple[int, int, int]] = []
        self.left = (0, 0)
        self.bound_bytes = 1 << 30
        self.outbound = Outbound(
            self.peer,
            encode_message,
            settles=settles,
            message_max_bytes=message_max_bytes,
            dropped=self._drop,
            too_large=self._refuse,
            left=self._leave,
        )

    def _drop(self, _lane: Lane, record: ConsumedRecord) -> None:
        self.dropped.append(record.offset() or 0)

    def _refuse(self, _lane: Lane, retry: Retry, size_bytes: int, largest_bytes: int) -> None:
        self.too_large.append((retry.offset, size_bytes, largest_bytes))
        if self.ends_at_too_large:
            self.outbound.close()

    def _leave(self, records: int, size_bytes: int) -> None:
        self.left = self.left[0] + records, self.left[1] + size_bytes

    def fill(self, lane: Lane, *values: bytes) -> Lane:
        """Let records wait in a lane, and the lane for its turn."""
        lane.waiting.extend(MemoryRecord(lane.partition, at, value) for at, value in enumerate(values))
        self.outbound.enqueue(lane)
        return lane

    def send(self, credit: int) -> int:
        """Send; gives the credit that is left."""
        self.peer.link_credit = credit
        left = self.outbound.send(credit, lambda: self.bound_bytes)
        assert left == self.peer.link_credit or self.outbound.closed
        return left

    def offsets(self, partition: int = 0) -> list[int]:
        """Give what was sent of a partition."""
        return [each.offset for each in self.peer.delivered if each.partition == partition]


def test_records_are_sent_in_order_as_far_as_credit_goes() -> None:
    stage = Stage()
    lane = stage.fill(Lane(0, 1, None), b"a", b"bb", b"ccc")

    assert stage.send(2) == 0

    assert stage.offsets() == [0, 1]
    assert stage.left == (2, 3)
    assert stage.outbound.unsettled_bytes == sum(
        len(value) + delivery.size_bytes + RECORD_BYTES
        for value, delivery in zip([b"a", b"bb"], stage.peer.delivered, strict=True)
    ), "the engine keeps the message as long as the link keeps the record"
    assert lane.tracker.to_commit() == 0
    assert not stage.outbound.is_empty
    assert stage.send(5) == 4
    assert stage.outbound.is_empty


def test_lanes_take_turns() -> None:
    stage = Stage()
    for partition in (0, 1):
        stage.fill(Lane(partition, 1, None), *[b"x"] * (TURN_RECORDS + 1))

    stage.send(TURN_RECORDS + 2)

    assert len(stage.offsets(0)) == TURN_RECORDS
    assert stage.offsets(1) == [0, 1]


def test_a_lane_that_is_queued_is_not_queued_twice() -> None:
    stage = Stage()
    lane = stage.fill(Lane(0, 1, None), b"x")
    stage.outbound.enqueue(lane)

    stage.send(1)

    assert stage.outbound.is_empty


def test_what_is_not_to_be_sent_costs_no_credit() -> None:
    stage = Stage()
    stage.fill(Lane(0, 1, None), EXPIRED, b"b", EXPIRED)

    assert stage.send(2) == 1

    assert (stage.dropped, stage.offsets()) == ([0, 2], [1])
    assert stage.left[0] == 3


def test_what_is_too_large_costs_no_credit() -> None:
    stage = Stage(message_max_bytes=14)
    stage.fill(Lane(0, 1, None), b"a", b"bb", b"c")

    assert stage.send(3) == 1

    assert stage.too_large == [(1, 15, 14)]
    assert stage.offsets() == [0, 2]


def test_nothing_is_sent_after_the_end() -> None:
    stage = Stage(message_max_bytes=14, ends_at_too_large=True)
    stage.fill(Lane(0, 1, None), b"a", b"bb", b"c")

    stage.send(3)

    assert stage.offsets() == [0]
    assert stage.left == (0, 0), "nobody counts any more"
    assert stage.outbound.is_empty


def test_settled_deliveries_are_not_kept() -> None:
    stage = Stage(settles=True)
    lane = stage.fill(Lane(0, 1, None), b"a", b"b")

    stage.send(2)

    assert stage.offsets() == [0, 1]
    assert (stage.outbound.unsettled, stage.outbound.unsettled_bytes) == ({}, 0)
    assert lane.tracker.to_commit() is None, "they are committed already"


def test_an_answer_takes_a_delivery_out_once() -> None:
    stage = Stage()
    lane = stage.fill(Lane(0, 1, None), b"a")
    stage.send(1)
    (delivery,) = stage.peer.delivered

    kept_bytes = stage.outbound.unsettled_bytes
    assert stage.outbound.answered(delivery) == (lane, MemoryRecord(0, 0, b"a"), None, kept_bytes, None)
    assert stage.outbound.unsettled_bytes == 0
    assert stage.outbound.answered(delivery) is None
    assert stage.outbound.unsettled_bytes == 0


def test_headers_are_there_again_when_a_delivery_is_taken_out() -> None:
    stage = Stage()
    lane = Lane(0, 1, None)
    record = MemoryRecord(0, 0, b"a", [("h", b"1")])
    lane.waiting.append(record)
    stage.outbound.enqueue(lane)
    stage.send(1)
    (delivery,) = stage.peer.delivered
    assert not record.headers(), "they are stowed away meanwhile"

    stage.outbound.answered(delivery)

    assert record.headers() == [("h", b"1")]


@pytest.mark.parametrize("value", [EXPIRED, b"bb"])
def test_what_cannot_be_sent_keeps_its_headers(value: bytes) -> None:
    stage = Stage(message_max_bytes=14)
    lane = Lane(0, 1, None)
    record = MemoryRecord(0, 0, value, [("h", b"1")])
    lane.waiting.append(record)
    stage.outbound.enqueue(lane)

    assert stage.send(1) == 1

    assert record.headers() == [("h", b"1")]


def test_nothing_is_sent_beyond_the_bound_of_bytes() -> None:
    stage = Stage()
    stage.bound_bytes = 2 * RECORD_BYTES
    stage.fill(Lane(0, 1, None), *[b"x"] * 4)

    assert stage.send(4) == 2
    stage.outbound.answered(stage.peer.delivered[0])
    assert stage.send(2) == 1


def test_a_message_larger_than_its_record_counts_against_the_room_in_the_socket() -> None:
    stage = Stage()
    stage.peer.capacity = 2 * RECORD_BYTES
    lane = stage.fill(Lane(0, 1, None), b"a", b"b", b"c")
    retry = Retry(lane.waiting.popleft())
    retry.annotations = encode(Map([(Symbol("cause"), "x" * 2 * RECORD_BYTES)]))
    lane.tracker.sent(0)
    lane.put_back(retry)
    lane.is_due(retry)

    stage.send(3)

    assert stage.offsets() == [0]


def test_a_retry_goes_first_with_what_became_of_its_attempts() -> None:
    stage = Stage()
    lane = stage.fill(Lane(0, 1, None), b"a", b"b")
    stage.send(1)
    retry = Retry(MemoryRecord(0, 0, b"a"))
    retry.failed = 2
    lane.put_back(retry)
    stage.outbound.answered(stage.peer.delivered[0])

    assert stage.send(2) == 2, "it waits, and the others with it"
    stage.peer.unsettled.clear()
    lane.is_due(retry)
    stage.outbound.stalled(lane)
    stage.outbound.wake()
    stage.send(2)

    again, fresh = stage.peer.delivered[1:]
    assert (again.offset, again.attempts, again.again) == (0, 2, True)
    assert (fresh.offset, fresh.attempts, fresh.again) == (1, 0, False)
    assert stage.outbound.unsettled[again][2] is retry
    assert stage.left == (2, 2), "a retry has left the buffer long since"


@pytest.mark.parametrize(("value", "dropped", "too_large"), [(EXPIRED, [0], []), (b"bb", [], [(0, 15, 14)])])
def test_a_retry_that_is_not_to_be_sent_any_more_costs_no_credit(
    value: bytes, dropped: list[int], too_large: list[tuple[int, int, int]]
) -> None:
    stage = Stage(message_max_bytes=14)
    lane = stage.fill(Lane(0, 1, None))
    retry = Retry(MemoryRecord(0, 0, value))
    lane.put_back(retry)
    lane.is_due(retry)

    assert stage.send(1) == 1

    assert (stage.dropped, stage.too_large, stage.peer.delivered) == (dropped, too_large, [])
    assert stage.left == (0, 0)


def test_a_stalled_lane_is_woken_when_it_can_send() -> None:
    stage = Stage()
    lane = stage.fill(Lane(0, 1, 1), b"a", b"b")
    assert stage.send(2) == 1
    assert stage.outbound.is_empty

    stage.outbound.wake()
    assert stage.outbound.is_empty, "the first one has no answer"

    lane.tracker.done(0)
    stage.outbound.wake()
    stage.send(1)
    assert stage.offsets() == [0, 1]


def test_a_lane_that_leaves_is_not_woken() -> None:
    stage = Stage()
    lane = stage.fill(Lane(0, 1, 1), b"a", b"b")
    stage.send(2)
    lane.tracker.done(0)
    lane.leaving = True

    stage.outbound.wake()

    assert stage.outbound.is_empty


def test_what_is_forgotten_has_left_and_is_not_sent() -> None:
    stage = Stage()
    lane = stage.fill(Lane(0, 1, None), b"a", b"bb")

    stage.outbound.forget(lane)

    assert stage.left == (2, 3)
    assert stage.send(2) == 2


def test_a_generation_has_tags_of_its_own() -> None:
    stage = Stage()
    for generation in (1, 2):
        stage.fill(Lane(0, generation, None), b"a")
        stage.send(1)

    first, second = stage.peer.delivered
    assert first.tag != second.tag
