"""A share link between a share group and a receiver, both in memory.

The receiver's credit runs out. It holds the link to its side of the protocol: a send beyond credit, a tag
that is in use, or anything after the link's end is an AssertionError at the call that does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from support.share_group import MemoryShareFeed, MemoryShareGroup

from bridge.model import conditions
from bridge.model.failures import Failure, Stored
from bridge.model.outcomes import ACCEPTED, DeliveryState, Outcome
from bridge.sink.policy import choose
from bridge.sink.redelivery import Redelivery
from bridge.sink.share_link import ShareLimits, ShareLink
from bridge.sink.undelivered import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bridge.model.conditions import Condition
    from bridge.model.links import SenderSettleMode
    from bridge.sink.policy import Rejected, SinkPolicy
    from bridge.sink.ports import ConsumedRecord, DeadLetter

SETTLED_WITHOUT_STATE: Final = Outcome(DeliveryState.NONE)
REJECTED: Final = Outcome(DeliveryState.REJECTED)
UNDELIVERABLE_HERE: Final = Outcome(DeliveryState.MODIFIED, undeliverable_here=True)
EXPIRED: Final = b"expired"
"""The value of a record that is not to be sent."""
ABOUT: Final = {"topic": "orders"}
LAPSED: Final = Failure(
    "INVALID_RECORD_STATE",
    121,
    "the record state is invalid",
    conditions.INTERNAL_ERROR,
    retriable=True,
    stored=Stored.NO,
)


def policy(
    settle_mode: SenderSettleMode, *, rejected: Rejected = "skip", attempts_max: int = 10
) -> SinkPolicy:
    """Give the policy of a link whose pauses are told apart by their length."""
    rules = Redelivery(backoff_seconds=1, backoff_max_seconds=8, attempts_max=attempts_max, releases_max=10)
    return choose(settle_mode, rejected=rejected, redelivery=rules)


class ShareReceiver:
    """The remote receiver; the port of the link."""

    def __init__(self) -> None:
        self.link_credit = 0
        self.drain = False
        self.returned = 0
        self.room = 1 << 30
        self.delivered: list[ShareDelivery] = []
        self.settled: list[ShareDelivery] = []
        self.overruled: dict[ShareDelivery, Outcome] = {}
        """Those that the link settled with an outcome of its own."""
        self.unsettled: dict[ShareDelivery, None] = {}
        self.detached = False
        self.condition: Condition | None = None
        self.on_detach: Callable[[], None] = lambda: None

    def credit(self) -> int:
        """Tell the credit."""
        return 0 if self.detached else self.link_credit

    def draining(self) -> bool:
        """Tell whether unused credit is wanted back."""
        return not self.detached and self.drain

    def room_bytes(self) -> int:
        """Tell how much the socket takes."""
        return self.room

    def send(self, tag: bytes, payload: bytes) -> ShareDelivery:
        """Take an unsettled delivery."""
        assert tag not in {delivery.tag for delivery in self.unsettled}, f"{tag!r} is in use (core 2.6.12)"
        delivery = self._take(tag, payload)
        self.unsettled[delivery] = None
        return delivery

    def send_settled(self, tag: bytes, payload: bytes) -> None:
        """Take a settled delivery."""
        self._take(tag, payload)

    def sent(self) -> None:
        """Take notice of a batch's end."""

    def settle(self, deliveries: Sequence[object]) -> None:
        """Forget deliveries."""
        assert not self.detached
        assert deliveries
        for delivery in deliveries:
            assert isinstance(delivery, ShareDelivery)
            del self.unsettled[delivery]
            self.settled.append(delivery)

    def settle_as(self, deliveries: Sequence[object], outcome: Outcome) -> None:
        """Forget deliveries whose outcome is another than the receiver's."""
        self.settle(deliveries)
        for delivery in deliveries:
            assert isinstance(delivery, ShareDelivery)
            self.overruled[delivery] = outcome

    def drained(self) -> None:
        """Take unused credit back."""
        assert self.drain, "nobody asked for it"
        assert self.link_credit > 0
        self.returned += self.link_credit
        self.link_credit = 0

    def detach(self, condition: Condition) -> None:
        """Take the end of the link; as with the engine, the link is told at once."""
        assert not self.detached
        self.detached = True
        self.condition = condition
        self.on_detach()

    def _take(self, tag: bytes, payload: bytes) -> ShareDelivery:
        assert not self.detached, "nothing is sent on a link that is gone"
        assert self.link_credit > 0, "nothing is sent without credit"
        assert len(tag) <= 32, "core 2.8.7"
        self.link_credit -= 1
        partition, offset, failed, again, _ = payload.split(b":", 4)
        delivery = ShareDelivery(tag, int(partition), int(offset), int(failed), again=again == b"1")
        self.delivered.append(delivery)
        return delivery


@dataclass(eq=False, slots=True)
class ShareDelivery:
    """A delivery at the receiver; `failed` is its header's delivery-count, `again` that it came before."""

    tag: bytes
    partition: int
    offset: int
    failed: int
    again: bool


def encode(
    partition: int,
    offset: int,
    _timestamp_type: int,
    _timestamp_ms: int,
    _key: bytes | None,
    value: bytes | None,
    _headers: Sequence[tuple[str, bytes | None]] | None,
    delivery_count: int,
    again: bool,  # noqa: FBT001 - the shape of Encode
) -> bytes:
    """Encode a record so that the receiver can tell which it was; one that says so is not to be sent."""
    if value == EXPIRED:
        return b""
    return b"%d:%d:%d:%d:%b" % (partition, offset, delivery_count, again, value or b"")


@dataclass
class ShareLog:
    """What the link told operators."""

    skips: list[tuple[int, Outcome]] = field(default_factory=list)
    letters: list[tuple[int, DeadLetter]] = field(default_factory=list)
    letter_failures: list[tuple[int, Failure]] = field(default_factory=list)
    redeliveries: list[tuple[int, Outcome]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    defects: list[Exception] = field(default_factory=list)
    closes: int = 0
    ends: list[tuple[int, int]] = field(default_factory=list)
    unrecords: list[tuple[int, str]] = field(default_factory=list)
    lapses: list[int] = field(default_factory=list)
    late: list[tuple[int, Outcome]] = field(default_factory=list)

    def skipped(self, _partition: int, offset: int, outcome: Outcome) -> None:
        """Remember a record that was passed over."""
        self.skips.append((offset, outcome))

    def dead_lettered(self, _partition: int, offset: int, letter: DeadLetter) -> None:
        """Remember a dead letter."""
        self.letters.append((offset, letter))

    def dead_letter_failed(self, _partition: int, offset: int, failure: Failure) -> None:
        """Remember a dead letter that was not taken."""
        self.letter_failures.append((offset, failure))

    def redelivered(self, _partition: int, offset: int, outcome: Outcome) -> None:
        """Remember a record that will be delivered again."""
        self.redeliveries.append((offset, outcome))

    def unrecorded(self, _partition: int, offset: int, acknowledgement: str, _failure: Failure) -> None:
        """Remember an acknowledgement that Kafka did not take."""
        self.unrecords.append((offset, acknowledgement))

    def lapsed(self, _partition: int, offset: int) -> None:
        """Remember a record that was not answered in time."""
        self.lapses.append(offset)

    def answered_late(self, _partition: int, offset: int, outcome: Outcome) -> None:
        """Remember a late outcome."""
        self.late.append((offset, outcome))

    def failed(self, failure: Failure) -> None:
        """Remember what ended the consumers."""
        self.failures.append(failure)

    def unreadable(self, _partition: int, _offset: int, failure: Failure) -> None:
        """Remember a record that could not be read as a failure."""
        self.failures.append(failure)

    def broke(self, error: Exception) -> None:
        """Remember a defect."""
        self.defects.append(error)

    def closed(self) -> None:
        """Count that the link is over."""
        self.closes += 1

    def ended(self, accepted: int, unanswered: int) -> None:
        """Remember the end."""
        self.ends.append((accepted, unanswered))


@dataclass
class MemoryDeadLetters:
    """A dead-letter topic, which acknowledges when it is told to."""

    asked: list[tuple[ConsumedRecord, DeadLetter, Callable[[Failure | None], None]]] = field(
        default_factory=list
    )
    taken: list[int] = field(default_factory=list)

    def __call__(
        self, record: ConsumedRecord, letter: DeadLetter, told: Callable[[Failure | None], None]
    ) -> None:
        """Take a dead letter."""
        self.asked.append((record, letter, told))

    def answer(self, failure: Failure | None = None) -> int:
        """Acknowledge all that was asked for, or refuse it; gives how much that was."""
        asked, self.asked = self.asked, []
        for record, _, told in asked:
            if failure is None:
                self.taken.append(record.offset() or 0)
            told(failure)
        return len(asked)


class ShareRig:
    """A share link between a group and a receiver. Calls reach the link as they do in the service."""

    def __init__(
        self,
        chosen: SinkPolicy,
        values: Sequence[bytes] = (),
        *,
        attempts_max: int = 5,
        message_max_bytes: int = 0,
        with_dead_letters: bool = True,
    ) -> None:
        self.group = MemoryShareGroup(values, attempts_max=attempts_max)
        self.feed = MemoryShareFeed(self.group)
        self.letters = MemoryDeadLetters()
        self.log = ShareLog()
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self._chosen = chosen
        self._limits = ShareLimits(attempts_max, message_max_bytes)
        self._letters = self.letters if with_dead_letters else None
        self._numbers = count(1)
        self.attach()

    def attach(self) -> None:
        """Attach a receiver to the group, after the one before has detached."""
        self.peer = ShareReceiver()
        self.feed = MemoryShareFeed(self.group)
        self.link = ShareLink(
            self.peer,
            self._chosen,
            self._limits,
            Surroundings(self.log, lambda s, call: self.timers.append((s, call)), self._letters, ABOUT),
            self.log,
            feed=self.feed,
            encode=encode,
        )
        self.peer.on_detach = self.link.close
        self.link.opened()

    # ------------------------------------------------------------------ the receiver

    def flow(self, credit: int, *, drain: bool = False) -> None:
        """Let the receiver set its credit."""
        self.peer.link_credit = credit
        self.peer.drain = drain
        self.link.batch_ended()

    def dispose(self, outcomes: Iterable[tuple[ShareDelivery, Outcome]]) -> None:
        """Let the receiver answer deliveries, as one batch."""
        for delivery, outcome in outcomes:
            if self.peer.detached:
                return
            if outcome == ACCEPTED:
                self.link.accepted(delivery)
            else:
                self.link.disposed(delivery, outcome)
        if not self.peer.detached:
            self.link.batch_ended()

    def detach(self) -> None:
        """Let the receiver detach."""
        self.peer.detached = True
        self.link.close()

    def fire_timers(self) -> list[float]:
        """Let the time of all timers come; gives how long they were."""
        timers, self.timers[:] = self.timers[:], []
        for _, call in timers:
            call()
        return [seconds for seconds, _ in timers]

    # ------------------------------------------------------------------ the feed

    def poll(self, most: int = 1 << 30) -> int:
        """Let the consumer get a batch, if it may and records are wanted; gives how many that were."""
        feed = self.feed
        if feed.batch or feed.stopped or not (feed.wanted or feed.end is not None):
            return 0
        records = self.group.acquire(most)
        if not records:
            if feed.end is not None:
                token, feed.end = feed.end, None
                self.link.reached_end(token)
            return 0
        feed.end = None
        feed.number = next(self._numbers)
        feed.batch = {record.position: record for record in records}
        self.link.consumed(feed.number, records)
        return len(records)

    def confirm(self) -> int:
        """Let Kafka take what it was told; gives how much that was."""
        pending, self.feed.pending = self.feed.pending, []
        for ticket, answers in pending:
            taken = [self.group.acknowledge(offset, kind) for offset, kind in answers]
            self.link.acknowledged(ticket, {} if all(taken) else {0: LAPSED})
        return len(pending)

    def fail(self) -> None:
        """Let Kafka take nothing of what it was told: locks lapse."""
        pending, self.feed.pending = self.feed.pending, []
        for ticket, answers in pending:
            self.link.acknowledged(ticket, {0: LAPSED})
            for offset, _ in answers:
                self.group.lapse(offset)

    def lapsing(self) -> None:
        """Let the time of the current batch be over."""
        if self.feed.batch:
            self.link.lapsing(self.feed.number)

    def unwanted(self) -> None:
        """Let the current batch be one that others may want."""
        if self.feed.batch:
            self.link.unwanted(self.feed.number)
