"""The scenarios with a receiver: an AMQP client, the bridge's engine and sink link, and a Kafka in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from proton import Condition, Delivery, Link, Terminus, symbol
from support.arrows import RECEIVER, Trace, Words
from support.scenarios import STAGE_SETTINGS, Operators, numbers_of
from support.wire import Pair

from bridge.amqp.links import OutgoingLink
from bridge.codec import Map, UInt, decode, encode
from bridge.model.links import SenderSettleMode
from bridge.sink.link import SinkLink
from bridge.sink.policy import SinkLimits, SinkPolicy
from bridge.sink.redelivery import Redelivery
from bridge.sink.undelivered import Surroundings

if TYPE_CHECKING:
    from collections.abc import Callable

    from proton import Receiver

    from bridge.amqp.contract import AnyLink
    from bridge.model.failures import Failure
    from bridge.sink.ports import ConsumedRecord, DeadLetter, Offsets

POLICY: Final = SinkPolicy(
    sends_settled=False,
    rejected="skip",
    redelivery=Redelivery(backoff_seconds=0.1, backoff_max_seconds=10, attempts_max=3, releases_max=10),
)
"""That of the service by default, but for the attempts: fewer arrows say as much."""
_HEADER: Final = b"\0Sp"
_ANNOTATIONS: Final = b"\0Sr"
_DATA: Final = b"\0Su"
"""What the sections of a message begin with."""


@dataclass(frozen=True, slots=True)
class NumberedRecord:
    """A record of partition 0 whose value is its offset as text."""

    number: int

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.number

    def timestamp(self) -> tuple[int, int]:
        return 0, 0

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"%d" % self.number

    def headers(self) -> None:
        return None

    def set_headers(self, value: object, /) -> None:
        raise AssertionError(f"there were none before {value!r}")

    def __len__(self) -> int:
        return len(self.value())


def encode_numbered(_partition: int, offset: int, *rest: object) -> bytes:
    """Make a message: a header with the delivery-count if there is one, and the offset as its body."""
    *_, count, _again = rest
    header = _HEADER + encode([None, None, None, None, UInt(str(count))]) if count else b""
    return header + _DATA + encode(b"%d" % offset)


def read_numbered(payload: bytes) -> Words:
    """Say which message it is, and what is in it beside its number."""
    besides, at = "", 0
    if payload.startswith(_HEADER):
        header, at = decode(payload, len(_HEADER))
        assert isinstance(header, list)
        besides += f", delivery-count {header[4]}"
    if payload.startswith(_ANNOTATIONS, at):
        annotations, at = decode(payload, at + len(_ANNOTATIONS))
        assert isinstance(annotations, Map)
        besides += "".join(f", {key}: {value}" for key, value in annotations)
    body, _ = decode(payload, at + len(_DATA))
    assert isinstance(body, bytes)
    return Words(body.decode(), besides)


class SinkStage:
    """An AMQP receiver, the bridge, and a Kafka whose topic has one partition with records enough."""

    def __init__(self) -> None:
        self.trace = Trace(RECEIVER, read_numbered)
        self.pair = Pair(answer=self._answer, settings=STAGE_SETTINGS)
        assert self.pair.sniffer is not None
        self.pair.sniffer.on_frame = self.trace.frame
        self.policy = POLICY
        """How the link is to work, but for its settlement, which is the client's to choose."""
        self.dead_letter_topic = False
        """There is one."""
        self._machine: SinkLink | None = None
        self._receiver: Receiver | None = None
        self._taken: dict[int, Delivery] = {}
        self._timers: list[tuple[float, Callable[[], None]]] = []
        self._letters: list[tuple[int, Callable[[Failure | None], None]]] = []
        self._end_token: int | None = None
        self._generation = 0
        self._handed = 0
        self._next_offset = 0

    def _answer(self, link: AnyLink) -> None:
        assert isinstance(link, OutgoingLink)
        settles = link.request.snd_settle_mode is SenderSettleMode.SETTLED
        self.policy = replace(self.policy, sends_settled=settles)
        self._machine = SinkLink(
            link,
            self.policy,
            SinkLimits(buffer_records=100, commit_count=1_000, unsettled_bytes=1 << 26),
            Surroundings(
                Operators(self.trace),
                lambda seconds, call: self._timers.append((seconds, call)),
                self._put_away if self.dead_letter_topic else None,
                {},
            ),
            feed=self,
            encode=encode_numbered,
        )
        link.open(self._machine, browses=self.policy.browses)
        self._machine.opened()

    # The feed of the machine, and its dead-letter topic.

    def allow(self, total: int) -> None:
        """Draw what the bridge asks its consumer for."""
        self.trace.kafka(f"fetch (up to {total - self._handed})", to_kafka=True)

    def took(self, size_bytes: int) -> None:
        """Take notice of bytes that have left."""

    def commit(self, offsets: Offsets) -> None:
        """Draw a commit and its success."""
        assert self._machine is not None
        self._machine.committed(self._draw_commit(offsets))

    def hold(self, partitions: frozenset[int]) -> None:
        """Take notice of partitions that are not to be read: there is but one, which is in nobody's way."""
        raise AssertionError(partitions)

    def find_end(self, token: int) -> None:
        """Draw the question where the end is."""
        self.trace.kafka("find end", to_kafka=True)
        self._end_token = token

    def stop(self, offsets: Offsets) -> None:
        """Draw the last commit, and the end."""
        self._draw_commit(offsets)
        if not self.policy.browses:
            self.trace.kafka("leave group", to_kafka=True)

    def _draw_commit(self, offsets: Offsets) -> dict[int, int]:
        committed = {
            partition: offset
            for partition, (generation, offset) in offsets.items()
            if generation == self._generation
        }
        for offset in committed.values():
            self.trace.kafka(f"commit (offset {offset})", to_kafka=True)
            self.trace.kafka(f"committed (offset {offset})", to_kafka=False)
        return committed

    def _put_away(
        self, record: ConsumedRecord, letter: DeadLetter, answer: Callable[[Failure | None], None]
    ) -> None:
        offset = record.offset() or 0
        self.trace.kafka(f"produce dead letter {offset} ({letter.reason.value})", to_kafka=True)
        self._letters.append((offset, answer))

    # What the scenario lets Kafka and the client do.

    def attach(self, snd_settle_mode: int, rcv_settle_mode: int = Link.RCV_FIRST) -> None:
        """Let the client attach, and the group give its only partition to the link."""
        receiver = self.pair.open_session().receiver("receiver")
        receiver.source.address = "orders/group.id/reporting"
        receiver.snd_settle_mode = snd_settle_mode
        receiver.rcv_settle_mode = rcv_settle_mode
        if self.policy.browses:
            receiver.source.distribution_mode = Terminus.DIST_MODE_COPY
        receiver.open()
        self.pair.pump()
        self._receiver = receiver
        self.assign()

    def assign(self, offset: int = 0) -> None:
        """Let the link have the partition, to be read from an offset."""
        assert self._machine is not None
        self._next_offset = offset
        self._generation += 1
        if self.policy.browses:
            self.trace.kafka(f"read (partition 0 from {offset})", to_kafka=True)
        else:
            self.trace.kafka("assign (partition 0)", to_kafka=False)
        self._machine.assigned([0], self._generation)
        self.pair.pump()

    def revoke(self) -> None:
        """Let the group take the partition away, once what is in flight is answered."""
        assert self._machine is not None
        self.trace.kafka("revoke (partition 0)", to_kafka=False)
        self._machine.revoking([0], self._revoked)

    def revoke_wait_ends(self) -> None:
        """Let the time be over in which what is in flight may be answered."""
        self.trace.inside("wait over")
        self._revoked()

    def _revoked(self) -> None:
        assert self._machine is not None
        self._draw_commit(self._machine.revoked([0]))
        self.trace.kafka("give up (partition 0)", to_kafka=True)

    def flow(self, credit: int, *, drain: bool = False) -> None:
        """Let the client give so many credits more."""
        assert self._receiver is not None
        if drain:
            self._receiver.drain(credit)
        else:
            self._receiver.flow(credit)
        self.pair.pump()

    def hand_over(self, count: int) -> None:
        """Let Kafka give records."""
        assert self._machine is not None
        offsets = range(self._next_offset, self._next_offset + count)
        self._next_offset += count
        self._handed += count
        self.trace.kafka(f"records {numbers_of(offsets)}", to_kafka=False)
        if self.policy.sends_settled:
            # As the composition root tells the real consumer.
            self._draw_commit({0: (self._generation, self._next_offset)})
        self._machine.consumed([NumberedRecord(offset) for offset in offsets])
        self.pair.pump()

    def reach_end(self) -> None:
        """Let the consumer find that it has handed over all that there was."""
        assert self._machine is not None
        assert self._end_token is not None
        self.trace.kafka("end reached", to_kafka=False)
        self._machine.reached_end(self._end_token)
        self.pair.pump()

    def dispose(self, *numbers: int, outcome: int = Delivery.ACCEPTED, settled: bool = True) -> None:
        """Let the client answer messages, as one batch. Modified is with delivery-failed."""
        self._take()
        for number in numbers:
            delivery = self._taken[number]
            delivery.local.failed = outcome == Delivery.MODIFIED
            delivery.update(outcome)
            if settled:
                delivery.settle()
        self.pair.pump()

    def reject(self, number: int, name: str, description: str) -> None:
        """Let the client reject a message, for a reason."""
        self._take()
        self._taken[number].local.condition = Condition(name, description)
        self.dispose(number, outcome=Delivery.REJECTED)

    def annotate(self, number: int, **annotations: str) -> None:
        """Have the client's next outcome of a message bring annotations."""
        self._take()
        self._taken[number].local.annotations = {symbol(name): text for name, text in annotations.items()}

    def _take(self) -> None:
        assert self._receiver is not None
        while (delivery := self._receiver.current) is not None:
            number = int(read_numbered(self._receiver.recv(1000) or b"").name)
            self._receiver.advance()
            self._taken[number] = delivery

    def dead_letter_stored(self) -> None:
        """Let Kafka acknowledge what was sent to the dead-letter topic first."""
        offset, answer = self._letters.pop(0)
        self.trace.kafka(f"acknowledged dead letter {offset}", to_kafka=False)
        answer(None)
        self.pair.pump()

    def commit_interval(self) -> None:
        """Let the time to commit come."""
        assert self._machine is not None
        self._machine.commit()
        self.pair.pump()

    def back_off(self) -> None:
        """Let the pause be over before what came back is sent again."""
        (pause_seconds, again), *self._timers = self._timers
        self.trace.inside(f"back-off over ({pause_seconds * 1000:.0f} ms)")
        again()
        self.pair.pump()

    def detach(self) -> None:
        """Let the client detach."""
        assert self._receiver is not None
        self._receiver.close()
        self.pair.pump()
