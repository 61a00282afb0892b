"""The scenarios with a receiver: an AMQP client, the bridge's engine and sink link, and a Kafka in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proton import Delivery, Link
from support.arrows import RECEIVER, Trace
from support.scenarios import STAGE_SETTINGS, Operators, numbers_of
from support.wire import Pair

from bridge.amqp.links import OutgoingLink
from bridge.sink import policy as sink_policy
from bridge.sink.link import SinkLimits, SinkLink

if TYPE_CHECKING:
    from collections.abc import Callable

    from proton import Receiver

    from bridge.amqp.contract import AnyLink


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

    def __len__(self) -> int:
        return len(self.value())


class SinkStage:
    """An AMQP receiver, the bridge, and a Kafka whose topic has one partition with records enough."""

    def __init__(self) -> None:
        self.trace = Trace(RECEIVER)
        self.pair = Pair(answer=self._answer, settings=STAGE_SETTINGS)
        assert self.pair.sniffer is not None
        self.pair.sniffer.on_frame = self.trace.frame
        self._machine: SinkLink | None = None
        self._receiver: Receiver | None = None
        self._taken: dict[int, Delivery] = {}
        self._timers: list[Callable[[], None]] = []
        self._commits_first = False
        self._handed = 0
        self._next_offset = 0

    def _answer(self, link: AnyLink) -> None:
        assert isinstance(link, OutgoingLink)
        policy = sink_policy.choose(link.request.snd_settle_mode, rejected="skip")
        # As the composition root tells the real consumer.
        self._commits_first = policy.sends_settled
        self._machine = SinkLink(
            link,
            policy,
            SinkLimits(buffer_records=100, commit_count=1_000),
            feed=self,
            encode=_encode,
            later=self._timers.append,
            events=Operators(self.trace),
        )
        link.open(self._machine)
        self._machine.opened()

    # The feed of the machine.

    def allow(self, total: int) -> None:
        """Draw what the bridge asks its consumer for."""
        self.trace.kafka(f"fetch (up to {total - self._handed})", to_kafka=True)

    def took(self, size_bytes: int) -> None:
        """Take notice of bytes that have left."""

    def commit(self, offsets: dict[int, int]) -> None:
        """Draw a commit and its success."""
        assert self._machine is not None
        self._draw_commit(offsets[0])
        self._machine.committed(offsets)

    def stop(self, offsets: dict[int, int]) -> None:
        """Draw the last commit, and the end."""
        if offsets:
            self._draw_commit(offsets[0])
        self.trace.kafka("leave group", to_kafka=True)

    def _draw_commit(self, offset: int) -> None:
        self.trace.kafka(f"commit (offset {offset})", to_kafka=True)
        self.trace.kafka(f"committed (offset {offset})", to_kafka=False)

    # What the scenario lets Kafka and the client do.

    def attach(self, snd_settle_mode: int, rcv_settle_mode: int = Link.RCV_FIRST) -> None:
        """Let the client attach, and the group give its only partition to the link."""
        receiver = self.pair.open_session().receiver("receiver")
        receiver.source.address = "orders/group.id/reporting"
        receiver.snd_settle_mode = snd_settle_mode
        receiver.rcv_settle_mode = rcv_settle_mode
        receiver.open()
        self.pair.pump()
        self._receiver = receiver
        assert self._machine is not None
        self.trace.kafka("assign (partition 0)", to_kafka=False)
        self._machine.assigned([0])
        self.pair.pump()

    def flow(self, credit: int) -> None:
        """Let the client give so many credits more."""
        assert self._receiver is not None
        self._receiver.flow(credit)
        self.pair.pump()

    def hand_over(self, count: int) -> None:
        """Let Kafka give records."""
        assert self._machine is not None
        offsets = range(self._next_offset, self._next_offset + count)
        self._next_offset += count
        self._handed += count
        self.trace.kafka(f"records {numbers_of(offsets)}", to_kafka=False)
        if self._commits_first:
            self._draw_commit(self._next_offset)
        self._machine.consumed([NumberedRecord(offset) for offset in offsets])
        self.pair.pump()

    def dispose(self, *numbers: int, outcome: int = Delivery.ACCEPTED, settled: bool = True) -> None:
        """Let the client answer messages, as one batch."""
        self._take()
        for number in numbers:
            self._taken[number].update(outcome)
            if settled:
                self._taken[number].settle()
        self.pair.pump()

    def _take(self) -> None:
        assert self._receiver is not None
        while (delivery := self._receiver.current) is not None:
            number = int(self._receiver.recv(100) or b"")
            self._receiver.advance()
            self._taken[number] = delivery

    def commit_interval(self) -> None:
        """Let the time to commit come."""
        assert self._machine is not None
        self._machine.commit()
        self.pair.pump()

    def back_off(self) -> None:
        """Let the time to send again come."""
        timers, self._timers[:] = self._timers[:], []
        for timer in timers:
            timer()
        self.pair.pump()

    def detach(self) -> None:
        """Let the client detach."""
        assert self._receiver is not None
        self._receiver.close()
        self.pair.pump()


def _encode(_partition: int, offset: int, *_rest: object) -> bytes:
    return b"%d" % offset
