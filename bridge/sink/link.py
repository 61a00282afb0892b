"""The sink link: one attached AMQP receiver, from consumed records to committed offsets.

Records wait here for credit, are encoded when they are sent, and are kept until the receiver has
answered them, so that they can be sent again or put away. It decides only; the consumer, the engine, the
dead-letter topic, the timer and the log are behind the ports that it is built with. Everything happens on
the event loop's thread.

Order: records of a partition are sent in order, partitions take turns. `Lane` tells what is next.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from bridge.model.outcomes import DeliveryState, Outcome
from bridge.sink import ending
from bridge.sink.demand import Demand
from bridge.sink.lane import Lane
from bridge.sink.outbound import Outbound
from bridge.sink.positions import Positions, partition_of
from bridge.sink.redelivery import Retry
from bridge.sink.undelivered import Surroundings, Undelivered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.model.conditions import Condition
    from bridge.model.failures import Failure
    from bridge.sink.policy import SinkLimits, SinkPolicy
    from bridge.sink.ports import ConsumedRecord, Delivery, Encode, EncodePlain, Feed, Offsets, SinkPort


ENDING_SECONDS: Final = 5.0
"""How long a link that cannot go on waits for the outcomes of what it has sent."""


class SinkLink:
    """The state machine of one attached receiver."""

    def __init__(
        self,
        port: SinkPort,
        policy: SinkPolicy,
        limits: SinkLimits,
        around: Surroundings,
        *,
        feed: Feed,
        encode: Encode,
        plain: EncodePlain | None = None,
    ) -> None:
        self._port = port
        self._policy = policy
        self._limits = limits
        self._feed = feed
        self._around = around
        self._demand = Demand(limits.buffer_records)
        self._positions = Positions(policy)
        self._lanes: dict[int, Lane] = {}
        self._undelivered = Undelivered(
            policy,
            around,
            done=self._done,
            moved=self._moved,
            again=self._send_again,
            ends=port.detach,
            stops=self._stop,
        )
        self._outbound = Outbound(
            port,
            encode,
            plain=plain,
            settles=policy.sends_settled,
            message_max_bytes=limits.message_max_bytes,
            dropped=self._done,
            too_large=self._undelivered.too_large,
            left=self._left,
        )
        self._accepted: list[Delivery] = []
        self.accepted: Callable[[Delivery], None] = self._accepted.append
        """Take the outcome accepted: once for all with the end of their batch."""
        self._settling: list[Delivery] = []
        self._answered = 0
        self._drained: Callable[[], None] | None = None
        self._awaited: list[Delivery] = []
        """What was unanswered of the partitions that are being revoked when that began."""
        self._held: frozenset[int] = frozenset()
        """The partitions of which nothing more is to be read for now."""
        self._ending: Condition | None = None
        """What ends the link as soon as what was sent is answered."""
        self._end_token = 0
        self._asked_end = self._reached_end = False
        self.closed = False
        self.accepted_count = self.settled_count = 0
        self.late_count = 0
        """Outcomes that came after their partition was taken away."""

    # ------------------------------------------------------------------ from the engine

    def opened(self) -> None:
        """Ask for records; the engine has answered the attach, and there may be credit already."""
        self.pump()

    def batch_ended(self) -> None:
        """Settle what was answered, and send what credit and room allow."""
        if self._accepted:
            self._take_accepted()
        if self._settling:
            settling, self._settling = self._settling, []
            self._port.settle(settling)
        if self._ending is not None and not self._outbound.unsettled:
            self._end()
            return
        self._undelivered.batch_ended()
        if self._answered >= self._limits.commit_count:
            self.commit()
        self._outbound.wake()
        self._check_drained()
        self.pump()

    def _take_accepted(self) -> None:
        """Count what was accepted: those records are done."""
        outbound, settling = self._outbound, self._settling
        find = outbound.unsettled.pop
        done = freed_bytes = 0
        before = len(settling)
        for delivery in self._accepted:
            sent = find(delivery, None)
            if sent is not None:
                lane, record, _, kept_bytes, _ = sent
                freed_bytes += kept_bytes
                settling.append(delivery)
                done += lane.tracker.done(record.offset() or 0)
        self._accepted.clear()
        outbound.unsettled_bytes -= freed_bytes
        self._answered += done
        self.accepted_count += done
        self.late_count += len(settling) - before - done

    def disposed(self, delivery: Delivery, outcome: Outcome) -> None:
        """Take any other outcome; a settlement without one counts as released."""
        sent = self._outbound.answered(delivery)
        if sent is None:
            return
        self._settling.append(delivery)
        lane, record, retry, _, _ = sent
        if lane.closed:
            self.late_count += 1
        elif self._policy.browses:
            self._done(lane, record)
        elif outcome.state is DeliveryState.REJECTED or outcome.undeliverable_here:
            self._undelivered.give_up(lane, retry or Retry(record), outcome)
        elif not lane.leaving and self._undelivered.take_back(lane, retry or Retry(record), outcome):
            # Of a lane that leaves the offset is not committed, so the partition's next owner sends it.
            self._outbound.came_back(lane, record)

    def close(self) -> None:
        """End the link: commit what is done, leave the group."""
        if self.closed:
            return
        self._take_accepted()
        self.closed = True
        self._feed.stop(self._positions.end(self._lanes.values()))
        lanes = self._lanes.values()
        unanswered = len(self._outbound.unsettled) + sum(lane.returned + lane.burying for lane in lanes)
        for lane in lanes:
            lane.forget()
            lane.close()
        self._outbound.close()
        self._undelivered.close()
        self._check_drained()
        self._around.events.ended(self.accepted_count, unanswered)

    # ------------------------------------------------------------------ from the consumer

    def assigned(self, partitions: Sequence[int], generation: int) -> None:
        """Take partitions."""
        for partition in partitions:
            self._lanes[partition] = Lane(partition, generation, self._policy.redelivery.ahead_records)
        self._outbound.parks = len(self._lanes) > 1

    def consumed(self, records: Sequence[ConsumedRecord]) -> None:
        """Take a batch of records, in the order of their partitions."""
        lanes = self._lanes
        if self.closed:
            if offsets := self._positions.after_end(lanes, records):
                self._feed.commit(offsets)
            return
        for partition, run in groupby(records, partition_of):
            lane = lanes.get(partition or 0)
            if lane is None or lane.leaving:
                unwanted = list(run)
                self._left(len(unwanted), sum(map(len, unwanted)))
                continue
            lane.waiting.extend(run)
            if not lane.is_queued:
                self._outbound.enqueue(lane)
        self.pump()

    def reached_end(self, token: int) -> None:
        """Take notice that all was handed over that was in the partitions when it was asked for."""
        if token == self._end_token and self._asked_end:
            self._reached_end = True
            self.pump()

    def revoking(self, partitions: Sequence[int], drained: Callable[[], None]) -> None:
        """Send nothing more of these partitions; call `drained` when all of them is answered."""
        for partition in partitions:
            lane = self._lanes.get(partition)
            if lane is not None:
                self._leave(lane)
        unsettled = self._outbound.unsettled.items()
        self._awaited = [delivery for delivery, sent in unsettled if sent[0].leaving and not sent[0].closed]
        self._drained = drained
        self._check_drained()

    def revoked(self, partitions: Sequence[int]) -> Offsets:
        """End these partitions' generation. Gives what is to be committed for them."""
        lanes = [lane for partition in partitions if (lane := self._lanes.get(partition)) is not None]
        offsets = self._positions.leaving(lanes)
        for lane in lanes:
            self._outbound.forget(lane)
        self.lost(partitions)
        return offsets

    def lost(self, partitions: Sequence[int]) -> None:
        """End these partitions' generation; somebody else has them already: nothing is committed."""
        self._drained = None
        for partition in partitions:
            lane = self._lanes.pop(partition, None)
            if lane is not None:
                self._leave(lane)
                lane.close()
        # What waited of them took places in the buffer, and room, that others may have now.
        self._outbound.wake()
        self.pump()

    def committed(self, offsets: dict[int, int]) -> None:
        """Take notice that Kafka has these offsets."""
        for partition, offset in offsets.items():
            lane = self._lanes.get(partition)
            if lane is not None:
                lane.tracker.committed(offset)

    def failed(self, failure: Failure) -> None:
        """End the link: its consumer cannot go on."""
        if not self.closed:
            self._around.events.failed(failure)
            self._port.detach(ending.consumer_failed(failure, self._around.about))

    # ------------------------------------------------------------------ commits

    def commit(self) -> None:
        """Commit what is done. Called on time, and after so many answers."""
        self._answered = 0
        if offsets := self._positions.running(self._lanes.values()):
            self._feed.commit(offsets)

    # ------------------------------------------------------------------ sending

    def pump(self) -> None:
        """Send what waits, as far as credit and the room for bytes go."""
        if self.closed or self._ending is not None:
            return
        credit = self._outbound.send(given := self._port.credit(), self._unsettled_max_bytes)
        if self._policy.sends_settled and not self._outbound.closed:
            self.settled_count += given - credit
        if credit > 0 and self._port.draining():
            credit = self._drain(credit)
        else:
            self._asked_end = self._reached_end = False
        if self._outbound.parked or self._held:
            self._hold()
        allowed = self._demand.update(credit)
        if allowed is not None:
            self._feed.allow(allowed)

    def _hold(self) -> None:
        """Have nothing more read of partitions that cannot send what they have."""
        held = frozenset(lane.partition for lane in self._outbound.parked)
        if held != self._held:
            self._held = held
            self._feed.hold(held)

    def _unsettled_max_bytes(self) -> int:
        return self._limits.unsettled_bytes - self._undelivered.bytes

    def _drain(self, credit: int) -> int:
        """Give credit back if there is nothing to send, not even in Kafka; gives what is left of it."""
        outbound = self._outbound
        if not outbound.is_empty:
            if outbound.unsettled_bytes < self._unsettled_max_bytes():
                # More is sent as soon as the socket takes it.
                return credit
        elif not self._reached_end:
            if not self._asked_end:
                self._asked_end = True
                self._end_token += 1
                self._feed.find_end(self._end_token)
            return credit
        self._asked_end = self._reached_end = False
        self._demand.returned(credit)
        self._port.drained()
        return 0

    def _send_again(self, retries: list[tuple[Lane, Retry]]) -> None:
        """Have records sent whose pause is over."""
        if self.closed:
            return
        for lane, retry in retries:
            if not lane.leaving:
                lane.is_due(retry)
                self._outbound.stalled(lane)
        self._outbound.wake()
        self.pump()

    # ------------------------------------------------------------------ inside

    def _left(self, records: int, size_bytes: int) -> None:
        """Count what has left the buffer."""
        self._demand.sent += records
        self._feed.took(size_bytes)

    def _done(self, lane: Lane, record: ConsumedRecord) -> bool:
        """Count a terminal answer; gives False if it is late."""
        if lane.tracker.done(record.offset() or 0):
            self._answered += 1
            return True
        if not self._policy.sends_settled:
            self.late_count += 1
        return False

    def _stop(self, condition: Condition) -> None:
        """End the link when what was sent is answered, or has had time to be.

        Else the receiver would get it again with each attach, and never come further.
        """
        self._outbound.stop()
        if self._ending is None:
            self._ending = condition
            if self._outbound.unsettled:
                self._around.later(ENDING_SECONDS, self._end)
            else:
                self._end()

    def _end(self) -> None:
        if not self.closed and self._ending is not None:
            self._port.detach(self._ending)

    def _moved(self) -> None:
        """Go on after something has changed by itself."""
        if not self.closed:
            self.batch_ended()

    def _leave(self, lane: Lane) -> None:
        """Drop what was not sent yet of a partition that is going away; its next owner reads it."""
        lane.leaving = True
        if not self._policy.sends_settled:
            # What is committed already goes out yet, or is given back.
            self._outbound.forget(lane)

    def _check_drained(self) -> None:
        """Tell whoever waits for a revoke that all of its partitions is answered."""
        drained = self._drained
        if drained is None or any(
            lane.leaving and not lane.closed and lane.burying for lane in self._lanes.values()
        ):
            return
        awaited, unsettled = self._awaited, self._outbound.unsettled
        while awaited:
            # The engine may have given the handle of one that is answered to another delivery.
            sent = unsettled.get(awaited[-1])
            if sent is not None and sent[0].leaving and not sent[0].closed:
                return
            awaited.pop()
        self._drained = None
        drained()
