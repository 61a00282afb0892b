"""What is sent on a sink link: which record is next, and what the receiver has not answered yet.

The partitions that have something to send take turns. What was sent is kept until it is answered, and what
is to be sent again until it is, within a bound of bytes for both.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.mapping.annotate import annotate
from bridge.sink.ports import CREATE_TIME, ConsumedRecord, Delivery
from bridge.sink.redelivery import RECORD_BYTES, Retry
from bridge.sink.stowing import restore, stow

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.sink.lane import Lane
    from bridge.sink.ports import Encode, EncodePlain, SinkPort

NO_LIMIT: Final = 1 << 62
TURN_RECORDS: Final = 256
"""How many records of a partition are sent before another one has its turn."""

Sent: TypeAlias = tuple["Lane", ConsumedRecord, Retry | None, int, bytes | None]
"""A record that was sent: its partition, itself, what became of earlier attempts, the bytes that it takes
until it is answered, and its headers where they are stowed away. The engine keeps the message as long as the
link keeps the record."""


class Outbound:
    """The sending half of a link.

    `plain`, where there is one, makes what `encode` would make of a record that has no key and no headers,
    faster. `settles`: records are sent settled. `message_max_bytes`: how large a message the receiver takes,
    0 for any; what is larger goes to `too_large`. `dropped` is called with a record that is not to be sent
    at all, `left` with how many records have left the buffer and how many bytes they took there.
    """

    def __init__(
        self,
        port: SinkPort,
        encode: Encode,
        *,
        plain: EncodePlain | None = None,
        settles: bool,
        message_max_bytes: int,
        dropped: Callable[[Lane, ConsumedRecord], object],
        too_large: Callable[[Lane, Retry, int, int], None],
        left: Callable[[int, int], None],
    ) -> None:
        self._port = port
        self._encode = encode
        self._plain = plain
        self._settles = settles
        self._largest = message_max_bytes or NO_LIMIT
        self._dropped = dropped
        self._too_large = too_large
        self._left = left
        self._queue: deque[Lane] = deque()
        """Lanes that have something to send, in turns."""
        self._stalled: dict[Lane, None] = {}
        """In their order, lanes whose records wait for one to be sent again, or answered, or for room."""
        self.unsettled: dict[Delivery, Sent] = {}
        self.unsettled_bytes = 0
        self.returned_bytes = 0
        """What the records of all lanes take that are to be sent again."""
        self.parks = False
        """There are several partitions: one that cannot send is not to be in the way of the others."""
        self.parked: dict[Lane, None] = {}
        """Lanes with records that count as having left the buffer."""
        self.closed = False

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to send now."""
        return not self._queue

    def enqueue(self, lane: Lane) -> None:
        """Let a lane send that has something to send."""
        if not lane.is_queued:
            lane.is_queued = True
            self._queue.append(lane)

    def stalled(self, lane: Lane) -> None:
        """Look at a lane again with the next `wake`."""
        self._stalled[lane] = None

    def wake(self) -> None:
        """Let lanes send that could not, and can now."""
        stalled, self._stalled = self._stalled, {}
        for lane in stalled:
            if lane.is_queued or lane.leaving:
                continue
            if lane.can_send():
                self.enqueue(lane)
            elif lane.waiting:
                self._stalled[lane] = None

    def answered(self, delivery: Delivery) -> Sent | None:
        """Take out what was sent with a delivery; None where that is answered already."""
        sent = self.unsettled.pop(delivery, None)
        if sent is not None:
            _, record, _, kept_bytes, headers = sent
            self.unsettled_bytes -= kept_bytes
            restore(record, headers)
        return sent

    def came_back(self, lane: Lane, record: ConsumedRecord) -> None:
        """Count a record that was put back into its lane, to be sent again."""
        self._keep(lane, len(record) + RECORD_BYTES)

    def forget(self, lane: Lane) -> None:
        """Drop what was not sent yet of a lane."""
        self._keep(lane, -lane.returned_bytes)
        self.parked.pop(lane, None)
        self._leave(lane.forget())
        if lane.is_queued:
            self._queue.remove(lane)
            lane.is_queued = False

    def stop(self) -> None:
        """Send nothing more; what was sent may be answered yet."""
        self.closed = True

    def close(self) -> None:
        """Send nothing more, and forget what was sent."""
        self.closed = True
        # Revokes come after this, too, and take their lanes out of the queue.
        for lane in self._queue:
            lane.is_queued = False
        self._queue.clear()
        self._stalled.clear()
        self.parked.clear()
        self.unsettled.clear()
        # The link knows this: Python frees both at once if they part. Nothing is told to it any more.
        self._dropped = self._too_large = self._left = _nothing

    # ------------------------------------------------------------------ sending

    def send(self, credit: int, unsettled_max_bytes: Callable[[], int]) -> int:
        """Send as much as credit and room allow; gives the credit that is left."""
        queue = self._queue
        while queue and credit > 0:
            room_bytes = self._room_bytes(unsettled_max_bytes)
            if room_bytes <= 0:
                break
            lane = queue[0]
            if not lane.has_due() and self._fresh_room_bytes(room_bytes, unsettled_max_bytes) <= 0:
                # Others may have records to send again, which have their room.
                self._set_aside(lane)
                continue
            count = min(credit, TURN_RECORDS) if len(queue) > 1 else credit
            credit -= self._send(lane, count, room_bytes, unsettled_max_bytes)
            if self.closed:
                return 0
            if lane.can_send():
                if not self._settles:
                    # What goes out settled has its credit: all of it goes, in the order in which it came,
                    # even if its partition has gone and come back.
                    queue.rotate(-1)
            else:
                self._set_aside(lane)
        return credit

    def _set_aside(self, lane: Lane) -> None:
        """Take the first lane out of the queue, which can send nothing for now."""
        self._queue.popleft()
        lane.is_queued = False
        if lane.waiting:
            self._stalled[lane] = None
            if self.parks and not lane.fresh():
                self._leave(lane.park())
                self.parked[lane] = None

    def _leave(self, records: list[ConsumedRecord]) -> None:
        if records:
            self._left(len(records), sum(map(len, records)))

    def _room_bytes(self, unsettled_max_bytes: Callable[[], int]) -> int:
        """Tell how many bytes may be sent now.

        Asked again after each batch: only who is told that there is no room hears of it when there is. What
        is unanswered is answered by the receiver, which is heard of anyway.
        """
        room_bytes = unsettled_max_bytes() - self.unsettled_bytes
        return min(room_bytes, self._port.room_bytes()) if room_bytes > 0 else room_bytes

    def _fresh_room_bytes(self, room_bytes: int, unsettled_max_bytes: Callable[[], int]) -> int:
        """Tell how much of the room is for what was not sent before: records that came back are kept, too."""
        if not self.returned_bytes:
            return room_bytes
        return min(room_bytes, unsettled_max_bytes() - self.unsettled_bytes - self.returned_bytes)

    def _keep(self, lane: Lane, size_bytes: int) -> None:
        lane.returned_bytes += size_bytes
        self.returned_bytes += size_bytes

    def _send(self, lane: Lane, count: int, room_bytes: int, unsettled_max_bytes: Callable[[], int]) -> int:
        """Send up to `count` records and a little more than `room_bytes`; gives how many were sent."""
        sent = 0
        while sent < count and room_bytes > 0 and (retry := lane.next_retry()) is not None:
            self._keep(lane, -len(retry.record) - RECORD_BYTES)
            sent += self._send_retry(lane, retry)
            if self.closed:
                return sent
            room_bytes = self._room_bytes(unsettled_max_bytes)
        fresh = lane.fresh()
        if fresh and sent < count and room_bytes > 0:
            room_bytes = self._fresh_room_bytes(room_bytes, unsettled_max_bytes)
            if room_bytes > 0:
                sent += self._send_fresh(lane, fresh, count - sent, room_bytes)
        self._port.sent()
        return sent

    def _send_fresh(self, lane: Lane, fresh: int, count: int, room_bytes: int) -> int:
        """Send records for the first time: up to `count` of `fresh`; gives how many were sent."""
        popleft, unsettled, plain = lane.waiting.popleft, self.unsettled, self._plain
        encode, send, send_settled = self._encode, self._port.send, self._port.send_settled
        settles, largest, partition = self._settles, self._largest, lane.partition
        before_offset, behind_offset = b"%d:" % partition, b":%d" % lane.generation
        parked, gone = lane.parked, min(fresh, count)
        left_bytes = parked_bytes = skipped = kept_bytes = 0
        offsets: list[int] = []
        for number in range(gone):
            if room_bytes <= 0:
                gone = number
                break
            record = popleft()
            offset = record.offset() or 0
            time_type, time_ms = record.timestamp()
            key, value, headers = record.key(), record.value(), record.headers()
            if plain is None or headers or key is not None or value is None or time_type != CREATE_TIME:
                payload = encode(partition, offset, time_type, time_ms, key, value, headers, 0, False)  # noqa: FBT003 - positional: the hot path
                stowed = None if settles else stow(record, headers)
            else:
                payload = plain(partition, offset, time_ms, value)
                stowed = None
            value_bytes = 0 if value is None else len(value)
            left_bytes += value_bytes
            if parked and number < parked:
                parked_bytes += value_bytes
            length = len(payload)
            if not 0 < length <= largest:
                skipped += 1
                offsets.append(offset)
                self._track(lane, offsets)
                room_bytes -= self._not_sent(lane, record, stowed, length)
                if self.closed:
                    gone = number + 1
                    break
                continue
            # A former generation's delivery of the same record may be unsettled still (core 2.6.12).
            tag = before_offset + b"%d" % offset + behind_offset
            if settles:
                send_settled(tag, payload)
                room_bytes -= length
            else:
                offsets.append(offset)
                size_bytes = value_bytes + length + RECORD_BYTES
                unsettled[send(tag, payload)] = lane, record, None, size_bytes, stowed
                kept_bytes += size_bytes
                room_bytes -= size_bytes
        self._track(lane, offsets)
        self.unsettled_bytes += kept_bytes
        self._left(gone - min(gone, parked), left_bytes - parked_bytes)
        if parked:
            self._sent_of_parked(lane, gone)
        return gone - skipped

    def _sent_of_parked(self, lane: Lane, count: int) -> None:
        lane.parked = max(0, lane.parked - count)
        if not lane.parked:
            self.parked.pop(lane, None)

    def _track(self, lane: Lane, offsets: list[int]) -> None:
        """Remember that the records with these offsets, which are forgotten here, were sent."""
        if offsets and not self._settles:
            lane.tracker.all_sent(offsets)
        offsets.clear()

    def _not_sent(self, lane: Lane, record: ConsumedRecord, stowed: bytes | None, size_bytes: int) -> int:
        """Deal with a record that is not to be sent, or too large to be; gives the bytes that it keeps."""
        restore(record, stowed)
        if size_bytes:
            self._too_large(lane, Retry(record), size_bytes, self._largest)
            return len(record) + RECORD_BYTES
        self._dropped(lane, record)
        return 0

    def _send_retry(self, lane: Lane, retry: Retry) -> bool:
        """Send a record again; gives whether it was sent."""
        record = retry.record
        payload = self._encode(
            lane.partition,
            retry.offset,
            *record.timestamp(),
            record.key(),
            record.value(),
            record.headers(),
            retry.failed,
            True,  # noqa: FBT003 - positional: the hot path
        )
        if payload and retry.annotations:
            payload = annotate(payload, retry.annotations)
        if not payload:
            self._dropped(lane, record)
            return False
        if len(payload) > self._largest:
            self._too_large(lane, retry, len(payload), self._largest)
            return False
        tag = b"%d:%d:%d" % (lane.partition, retry.offset, lane.generation)
        kept_bytes = len(record) + len(payload) + RECORD_BYTES
        self.unsettled[self._port.send(tag, payload)] = lane, record, retry, kept_bytes, None
        self.unsettled_bytes += kept_bytes
        return True


def _nothing(*_: object) -> None: ...
