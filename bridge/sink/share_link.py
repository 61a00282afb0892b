"""The share link: one attached AMQP receiver, from the records of a share group to their acknowledgement.

Kafka gives records to the link in batches, for as long as their lock lasts. They wait here for credit, are
encoded when they are sent, and Kafka is told of each what became of it. It decides only; the consumers, the
engine, the dead-letter topic, the timer and the log are behind the ports that it is built with. Everything
happens on the event loop's thread.

A batch may be larger than the credit: Kafka gives whole batches as producers wrote them. What is not
answered when the feed says that its lock lapses soon goes back to the group, sent or not; so nobody else
gets a record while its receiver may still accept it, unless the receiver was too slow.

A delivery is settled when Kafka has recorded what became of its record (AMQP 1.0 core, 2.6.12), one whose
record goes back to the group at once. Where the receiver's outcome does not hold, since it came too late or
Kafka did not record it, the bridge settles with an outcome of its own: released. Order is Kafka's choice;
records that Kafka gives for the last time are sent first.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bridge.model.outcomes import ACCEPTED, RELEASED, DeliveryState, Outcome
from bridge.sink import ending
from bridge.sink.share_answers import ShareAnswers
from bridge.sink.share_fates import ShareFates
from bridge.sink.share_ports import Acknowledgement, Held, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.model.failures import Failure
    from bridge.sink.policy import SinkPolicy
    from bridge.sink.ports import Delivery, Encode
    from bridge.sink.share_ports import ShareEvents, ShareFeed, SharePort, ShareRecord
    from bridge.sink.undelivered import Surroundings

NO_LIMIT: Final = 1 << 62
LATE_DELIVERIES_MAX: Final = 1000
"""How many deliveries are remembered whose records were given back; the oldest are released beyond that."""


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """A link's bounds.

    How often Kafka gives a record to members of the group before it drops it; how large a message the
    receiver takes, 0 for any.
    """

    attempts_max: int
    message_max_bytes: int = 0


class ShareLink:
    """The state machine of one attached receiver of a share group."""

    def __init__(
        self,
        port: SharePort,
        policy: SinkPolicy,
        limits: ShareLimits,
        around: Surroundings,
        events: ShareEvents,
        *,
        feed: ShareFeed,
        encode: Encode,
    ) -> None:
        self._port = port
        self._settles = policy.sends_settled
        self._attempts_max = limits.attempts_max
        self._largest = limits.message_max_bytes or NO_LIMIT
        self._about = around.about
        self._events = events
        self._feed = feed
        self._encode = encode
        self._answers = answers = ShareAnswers(feed, events)
        self._answer = answers.answer
        self._fates = ShareFates(policy, around, answer=answers.answer, moved=self._moved, ends=port.detach)
        self._waiting: deque[Held] = deque()
        self._unsettled: dict[Delivery, Held] = {}
        self._late: dict[Delivery, Held] = {}
        """Deliveries that the receiver has not answered yet, and whose records were given back."""
        self._settling: list[Delivery] = []
        self._releasing: list[Delivery] = []
        """Deliveries that are to be settled, and of these whose receivers' outcomes do not hold."""
        self._clearing = 0
        """Records that Kafka is told are accepted, and that are then sent settled."""
        self._cleared: deque[Held] = deque()
        self._serial = 0
        self._end_token = 0
        self._asked_end = self._reached_end = False
        self._feed_stopped = self._is_reported = False
        self._unanswered = 0
        """How many records had no outcome when the link ended."""
        self.closed = False
        self.accepted_count = 0
        """Records that were accepted, and recorded so."""
        self.lapsed_count = 0
        """Records that were sent and not answered in time."""
        self.late_count = 0
        """Outcomes that came after that."""

    @property
    def unrecorded_count(self) -> int:
        """Count the answers that Kafka did not take."""
        return self._answers.unrecorded_count

    @property
    def settled_count(self) -> int:
        """Count the messages that were sent settled; their records are accepted ones, too."""
        return self.accepted_count if self._settles else 0

    # ------------------------------------------------------------------ from the engine

    def opened(self) -> None:
        """Ask for records; the engine has answered the attach, and there may be credit already."""
        self.pump()

    def batch_ended(self) -> None:
        """Tell Kafka what was answered, and send what credit and room allow."""
        self._settle()
        self._fates.batch_ended()
        self.pump()

    def accepted(self, delivery: Delivery) -> None:
        """Take the outcome accepted."""
        held = self._unsettled.pop(delivery, None)
        if held is None:
            self._answered_late(delivery, ACCEPTED)
        else:
            held.is_accepted = True
            self._answer(held, Acknowledgement.ACCEPT)

    def disposed(self, delivery: Delivery, outcome: Outcome) -> None:
        """Take any other outcome; a settlement without one counts as released."""
        held = self._unsettled.pop(delivery, None)
        if held is None:
            self._answered_late(delivery, outcome)
        elif outcome.state is DeliveryState.REJECTED or outcome.undeliverable_here:
            self._fates.refused(held, outcome)
        else:
            self._fates.came_back(held, outcome)
            if held.state is State.PAUSED:
                # Nothing is promised of it that the receiver should wait for.
                self._settling.append(delivery)
                held.delivery = None

    def close(self) -> None:
        """End the link: all that is unanswered goes back to the group.

        The end is reported when Kafka has said what it recorded.
        """
        if self.closed:
            return
        self.closed = self._fates.closed = True
        self._unanswered = len(self._unsettled) + self._fates.burying + self._clearing + len(self._cleared)
        self._waiting.clear()
        self._unsettled.clear()
        self._late.clear()
        self._cleared.clear()
        for held in self._answers.held():
            if held.state is not State.BURYING:  # what is on its way there arrives
                self._fates.give_back(held)
        self._events.closed()
        self._finish()

    # ------------------------------------------------------------------ from the feed

    def consumed(self, number: int, records: Sequence[ShareRecord]) -> None:
        """Take a batch of records; all of them will be answered, also when the link has ended."""
        attempts_max = self._attempts_max
        batch = [Held(record, number, attempts_max) for record in records]
        batch.sort(key=lambda held: -held.attempts)
        self._answers.took(number, batch)
        if self.closed:
            for held in batch:
                self._fates.give_back(held)
            self._finish()
            return
        self._asked_end = self._reached_end = False
        self._waiting.extend(batch)
        self.pump()

    def acknowledged(self, ticket: int, failures: Mapping[int, Failure]) -> None:
        """Take Kafka's answer to what it was told; `failures` are those of partitions."""
        for held, acknowledgement, is_recorded in self._answers.confirmed(ticket, failures):
            if is_recorded and held.is_accepted:
                self.accepted_count += 1
            if held.delivery is not None:
                (self._settling if is_recorded else self._releasing).append(held.delivery)
                held.delivery = None
            if self._settles and acknowledgement is Acknowledgement.ACCEPT:
                self._clearing -= 1
                if is_recorded and not self.closed:
                    self._cleared.append(held)
        if self.closed:
            self._finish()
            return
        self._settle()
        if self._settles:
            self.pump()

    def unwanted(self, number: int) -> None:
        """Give back what is not sent of a batch that came when there was no credit any more.

        Not those that Kafka would drop: they wait for credit as long as they can.
        """
        for held in self._waiting:
            if held.batch == number and not held.is_last:
                self._fates.give_back(held)
        self._forget_waiting()
        self._moved()

    def lapsing(self, number: int) -> None:
        """Give back what is unanswered of a batch: its lock lapses soon."""
        batch = self._answers.batch(number)
        if not batch:
            return
        for held in batch:
            if held.state is State.SENT and held.delivery is not None:
                del self._unsettled[held.delivery]
                self._late[held.delivery] = held
                held.delivery = None
                self.lapsed_count += 1
                self._events.lapsed(held.partition, held.offset)
            self._fates.give_back(held)
        self._forget_waiting()
        while len(self._late) > LATE_DELIVERIES_MAX:
            oldest = next(iter(self._late))
            del self._late[oldest]
            self._releasing.append(oldest)
        self._moved()

    def reached_end(self, token: int) -> None:
        """Take notice that there was nothing for a while, since it was asked for."""
        if token == self._end_token and self._asked_end:
            self._reached_end = True
            self.pump()

    def failed(self, failure: Failure) -> None:
        """End the link: its consumers cannot go on."""
        if not self.closed:
            self._events.failed(failure)
            self._port.detach(ending.consumer_failed(failure, self._about))

    # ------------------------------------------------------------------ sending

    def pump(self) -> None:
        """Send what waits, as far as credit and the room for bytes go."""
        if self.closed:
            return
        credit = self._send(self._cleared if self._settles else self._waiting, self._port.credit())
        if credit is None:
            return
        if self._settles:
            self._clear(credit)
        self._answers.flush()
        in_hand = len(self._waiting) + self._clearing + len(self._cleared)
        self._feed.want(max(0, credit - in_hand))
        if credit > 0 and not in_hand and self._port.draining():
            self._drain()
        else:
            self._asked_end = self._reached_end = False

    def _drain(self) -> None:
        """Give credit back if nothing is to be had."""
        if self._reached_end:
            self._asked_end = self._reached_end = False
            self._port.drained()
            self._feed.want(0)
        elif not self._asked_end:
            self._asked_end = True
            self._end_token += 1
            self._feed.find_end(self._end_token)

    def _clear(self, credit: int) -> None:
        """Tell Kafka that as many records are accepted as there is credit for; then they are sent."""
        free = credit - self._clearing - len(self._cleared)
        waiting = self._waiting
        while waiting and free > 0:
            free -= 1
            self._clearing += 1
            self._answer(waiting.popleft(), Acknowledgement.ACCEPT)

    def _send(self, queue: deque[Held], credit: int) -> int | None:
        """Send from a queue; gives the credit that is left, None if the link came to its end."""
        while queue and credit > 0:
            # Asked again after each batch: only who is told that there is no room hears of it when there is.
            room_bytes = self._port.room_bytes()
            if room_bytes <= 0:
                break
            credit -= self._send_some(queue, credit, room_bytes)
            if self.closed:
                return None
        return credit

    def _send_some(self, queue: deque[Held], count: int, room_bytes: int) -> int:
        """Send up to `count` records and a little more than `room_bytes`; gives how many."""
        encode, port, unsettled, largest = self._encode, self._port, self._unsettled, self._largest
        sent = 0
        while queue and sent < count and room_bytes > 0:
            held = queue.popleft()
            record, partition, offset, attempts = held.record, held.partition, held.offset, held.attempts
            payload = encode(
                partition,
                offset,
                *record.timestamp(),
                record.key(),
                record.value(),
                record.headers(),
                attempts - 1,
                attempts > 1,
            )
            size_bytes = len(payload)
            if not size_bytes:
                self._answer(held, Acknowledgement.ACCEPT)
                continue
            if size_bytes > largest:
                self._too_large(held, size_bytes)
                if self.closed:
                    return sent
                continue
            # The same record may have been delivered before, and that delivery be unsettled (core 2.6.12).
            self._serial += 1
            tag = b"%d:%d:%x" % (partition, offset, self._serial)
            room_bytes -= size_bytes
            sent += 1
            if self._settles:
                port.send_settled(tag, payload)
                self.accepted_count += 1
            else:
                held.delivery = delivery = port.send(tag, payload)
                held.state = State.SENT
                unsettled[delivery] = held
        port.sent()
        return sent

    def _too_large(self, held: Held, size_bytes: int) -> None:
        if self._settles:
            # Kafka was told that it is accepted.
            condition = ending.too_large(size_bytes, self._largest)
            self._events.skipped(held.partition, held.offset, Outcome(DeliveryState.REJECTED, condition))
        else:
            self._fates.too_large(held, size_bytes, self._largest)

    # ------------------------------------------------------------------ inside

    def _settle(self) -> None:
        """Settle what is over."""
        if self._settling:
            settling, self._settling = self._settling, []
            self._port.settle(settling)
        if self._releasing:
            releasing, self._releasing = self._releasing, []
            self._port.settle_as(releasing, RELEASED)

    def _moved(self) -> None:
        """Go on after something has changed by itself."""
        if self.closed:
            self._finish()
        else:
            self.batch_ended()

    def _finish(self) -> None:
        """Leave the group once nothing is on its way to the dead-letter topic, and report the end."""
        self._answers.flush()
        if self._fates.burying:
            return
        if not self._feed_stopped:
            self._feed_stopped = True
            self._feed.stop()
        if self._answers.is_over and not self._is_reported:
            self._is_reported = True
            self._events.ended(self.accepted_count, self._unanswered)

    def _forget_waiting(self) -> None:
        """Drop what was given back of what waited for credit."""
        self._waiting = deque(held for held in self._waiting if held.state is State.WAITING)

    def _answered_late(self, delivery: Delivery, outcome: Outcome) -> None:
        held = self._late.pop(delivery, None)
        if held is not None:
            self.late_count += 1
            self._events.answered_late(held.partition, held.offset, outcome)
            self._releasing.append(delivery)
