"""The sink link: one attached AMQP receiver, from consumed records to committed offsets.

Records wait here for credit, are encoded when they are sent, and are kept until the receiver has
answered them, so that they can be sent again. It decides only; the consumer, the engine, the timer
and the log are behind the ports that it is built with. Everything happens on the event loop's thread.

Order: records of a partition are sent in order. A record that is to be sent again goes first, and
while one waits for its back-off nothing else is sent on the link.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from bridge.model import conditions, dialect
from bridge.model.conditions import Condition
from bridge.model.outcomes import DeliveryState, Outcome
from bridge.sink.demand import Demand
from bridge.sink.offsets import PartitionTracker
from bridge.sink.ports import ConsumedRecord, Delivery, Encode, Feed, SinkEvents, SinkPort

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.model.failures import Failure
    from bridge.sink.policy import SinkPolicy


@dataclass(frozen=True, slots=True)
class SinkLimits:
    """A link's bounds: what waits for credit, and when offsets are committed without a timer."""

    buffer_records: int
    commit_count: int


Waiting: TypeAlias = tuple[PartitionTracker, ConsumedRecord, int, bool]
"""A record: its partition's tracker, itself, how many attempts failed, whether it was sent before."""


class SinkLink:
    """The state machine of one attached receiver."""

    def __init__(
        self,
        port: SinkPort,
        policy: SinkPolicy,
        limits: SinkLimits,
        *,
        feed: Feed,
        encode: Encode,
        later: Callable[[Callable[[], None]], object],
        events: SinkEvents,
    ) -> None:
        self._port = port
        self._policy = policy
        self._commit_count = limits.commit_count
        self._feed = feed
        self._encode = encode
        self._later = later
        self._events = events
        self._demand = Demand(limits.buffer_records, exact=policy.sends_settled)
        self._trackers: dict[int, PartitionTracker] = {}
        self._waiting: deque[Waiting] = deque()
        self._unsettled: dict[Delivery, Waiting] = {}
        self._again: list[Waiting] = []
        self._backing_off = False
        self._settling: list[Delivery] = []
        self._answered = 0
        self._generation = 0
        self._drained: Callable[[], None] | None = None
        self.closed = False
        self.accepted_count = 0
        self.late_count = 0
        """Outcomes that came after their partition was taken away."""

    # ------------------------------------------------------------------ from the engine

    def opened(self) -> None:
        """Ask for records; the engine has answered the attach, and there may be credit already."""
        self.pump()

    def batch_ended(self) -> None:
        """Settle what was answered, and send what credit and room allow."""
        if self._settling:
            settling, self._settling = self._settling, []
            self._port.settle(settling)
        if self._answered >= self._commit_count:
            self.commit()
        self._check_drained()
        self.pump()

    def accepted(self, delivery: Delivery) -> None:
        """Take the outcome accepted: the record is done."""
        waiting = self._unsettled.pop(delivery, None)
        if waiting is not None:
            self._settling.append(delivery)
            if self._done(waiting):
                self.accepted_count += 1

    def disposed(self, delivery: Delivery, outcome: Outcome) -> None:
        """Take any other outcome; a settlement without one counts as released."""
        waiting = self._unsettled.pop(delivery, None)
        if waiting is None:
            return
        self._settling.append(delivery)
        tracker, record, failed_attempts, _ = waiting
        if tracker.closed:
            self.late_count += 1
            return
        offset = record.offset() or 0
        if outcome.state is DeliveryState.REJECTED or outcome.undeliverable_here:
            if self._policy.rejected == "detach":
                self._port.detach(
                    Condition(
                        conditions.PRECONDITION_FAILED,
                        f"the record at partition {tracker.partition}, offset {offset} was refused"
                        " and sink.rejected is detach; its offset is not committed",
                    )
                )
                return
            self._events.skipped(tracker.partition, offset, outcome)
            self._done(waiting)
            return
        if tracker.leaving:
            # Its offset is not committed, so the partition's next owner sends it.
            return
        self._events.redelivered(tracker.partition, offset, outcome)
        self._again.append((tracker, record, failed_attempts + outcome.delivery_failed, True))
        if not self._backing_off:
            self._backing_off = True
            self._later(self._send_again)

    def close(self) -> None:
        """End the link: commit what is done, leave the group."""
        if self.closed:
            return
        self.closed = True
        self._feed.stop(self._to_commit())
        unanswered = len(self._unsettled) + len(self._again) + sum(entry[3] for entry in self._waiting)
        for tracker in self._trackers.values():
            tracker.close()
        self._waiting.clear()
        self._unsettled.clear()
        self._again.clear()
        self._check_drained()
        self._events.ended(self.accepted_count, unanswered)

    # ------------------------------------------------------------------ from the consumer

    def assigned(self, partitions: Sequence[int]) -> None:
        """Take partitions: a new generation begins for each."""
        self._generation += 1
        for partition in partitions:
            self._trackers[partition] = PartitionTracker(partition, self._generation)

    def consumed(self, records: Sequence[ConsumedRecord]) -> None:
        """Take a batch of records, in the order of their partitions."""
        if self.closed:
            return
        trackers = self._trackers
        waiting = self._waiting
        for record in records:
            tracker = trackers.get(record.partition() or 0)
            if tracker is not None and not tracker.closed:
                waiting.append((tracker, record, 0, False))
            else:
                self._demand.sent += 1
                self._feed.took(len(record))
        self.pump()

    def revoking(self, partitions: Sequence[int], drained: Callable[[], None]) -> None:
        """Send nothing more of these partitions; call `drained` when all of them is answered."""
        for partition in partitions:
            tracker = self._trackers.get(partition)
            if tracker is not None:
                tracker.leaving = True
        self._forget_waiting()
        self._drained = drained
        self._check_drained()

    def revoked(self, partitions: Sequence[int]) -> dict[int, int]:
        """End these partitions' generation. Gives what is to be committed for them."""
        offsets: dict[int, int] = {}
        self._drained = None
        for partition in partitions:
            tracker = self._trackers.pop(partition, None)
            if tracker is not None:
                position = tracker.to_commit()
                if position is not None:
                    offsets[partition] = position
                tracker.close()
        self._forget_waiting()
        return offsets

    def lost(self, partitions: Sequence[int]) -> None:
        """End these partitions' generation; somebody else has them already: nothing is committed."""
        self.revoked(partitions)

    def committed(self, offsets: dict[int, int]) -> None:
        """Take notice that Kafka has these offsets."""
        for partition, offset in offsets.items():
            tracker = self._trackers.get(partition)
            if tracker is not None:
                tracker.committed(offset)

    def failed(self, failure: Failure) -> None:
        """End the link: its consumer cannot go on."""
        if not self.closed:
            self._events.failed(failure)
            self._port.detach(
                Condition(
                    failure.condition,
                    failure.description,
                    {
                        "kafka-error": failure.kafka_error,
                        "kafka-code": failure.kafka_code,
                        "retriable": failure.retriable,
                    },
                    dialect.SUBSCRIBE,
                )
            )

    # ------------------------------------------------------------------ commits

    def commit(self) -> None:
        """Commit what is done. Called on time, and after so many answers."""
        self._answered = 0
        offsets = self._to_commit()
        if offsets and not self._policy.sends_settled:
            self._feed.commit(offsets)

    def _to_commit(self) -> dict[int, int]:
        if self._policy.sends_settled:
            return {}
        return {
            partition: position
            for partition, tracker in self._trackers.items()
            if (position := tracker.to_commit()) is not None
        }

    # ------------------------------------------------------------------ sending

    def pump(self) -> None:
        """Send what waits, as far as credit and the room for bytes go."""
        if self.closed:
            return
        port = self._port
        credit = port.credit()
        while self._waiting and credit > 0 and not self._backing_off:
            # Asked again after each batch: only who is told that there is no room hears of it when there is.
            room = port.room_bytes()
            if room <= 0:
                break
            credit -= self._send(min(credit, len(self._waiting)), room)
        if credit > 0 and (self._backing_off or not self._waiting) and port.draining():
            self._demand.returned(credit)
            port.drained()
            credit = 0
        allowed = self._demand.update(credit)
        if allowed is not None:
            self._feed.allow(allowed)

    def _send(self, count: int, room_bytes: int) -> int:
        """Send up to `count` records and a little more than `room_bytes`; gives how many."""
        waiting, unsettled = self._waiting, self._unsettled
        encode, send, send_settled = self._encode, self._port.send, self._port.send_settled
        settles = self._policy.sends_settled
        size_bytes = 0
        sent = 0
        first_attempts = 0
        while waiting and sent < count and room_bytes > 0:
            tracker, record, failed_attempts, again = entry = waiting.popleft()
            partition, offset = tracker.partition, record.offset() or 0
            payload = encode(
                partition,
                offset,
                *record.timestamp(),
                record.key(),
                record.value(),
                record.headers(),
                failed_attempts,
                again,
            )
            if not again:
                first_attempts += 1
                size_bytes += len(record)
                if not settles:
                    tracker.sent(offset)
            if not payload:
                if not settles:
                    self._done(entry)
                continue
            # A former generation's delivery of the same record may be unsettled still (core 2.6.12).
            tag = b"%d:%d:%d" % (partition, offset, tracker.generation)
            room_bytes -= len(payload)
            sent += 1
            if settles:
                send_settled(tag, payload)
            else:
                unsettled[send(tag, payload)] = entry
        self._demand.sent += first_attempts
        self._feed.took(size_bytes)
        self._port.sent()
        return sent

    def _send_again(self) -> None:
        """Put what was released back in front, when its back-off is over."""
        self._backing_off = False
        if self.closed:
            return
        again, self._again = self._again, []
        waiting = self._waiting
        while waiting and waiting[0][3]:
            # From an earlier back-off, without credit since then.
            again.append(waiting.popleft())
        again.sort(key=lambda entry: entry[1].offset() or 0, reverse=True)
        waiting.extendleft(again)
        self.pump()

    # ------------------------------------------------------------------ inside

    def _done(self, waiting: Waiting) -> bool:
        """Count a terminal answer; gives False if it is late."""
        if waiting[0].done(waiting[1].offset() or 0):
            self._answered += 1
            return True
        self.late_count += 1
        return False

    def _forget_waiting(self) -> None:
        """Drop what was not sent yet of partitions that are going away; their next owner reads it."""
        if self._policy.sends_settled:
            # It is committed, so nobody else reads it: it goes out with the next credit.
            return
        kept: deque[Waiting] = deque()
        for entry in self._waiting:
            if not entry[0].leaving:
                kept.append(entry)
            elif not entry[3]:
                self._demand.sent += 1
                self._feed.took(len(entry[1]))
        self._waiting = kept
        self._again = [entry for entry in self._again if not entry[0].leaving]

    def _check_drained(self) -> None:
        """Tell whoever waits for a revoke that all of its partitions is answered."""
        drained = self._drained
        if drained is None or any(
            entry[0].leaving and not entry[0].closed for entry in self._unsettled.values()
        ):
            return
        self._drained = None
        drained()
