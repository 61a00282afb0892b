"""The scenarios of the sequence diagrams, played by the real machines.

An independent AMQP client talks over real bytes to the engine, with a real source or sink link behind it.
Kafka's side is in memory: it does as it is told by the scenario, and draws its own arrows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from confluent_kafka import KafkaError
from proton import UNDESCRIBED, Array, Data, Delivery, Link, symbol
from support.arrows import RECEIVER, SENDER, Arrow, Trace
from support.wire import SETTINGS, Pair, transfer

from bridge.amqp.links import IncomingLink, OutgoingLink
from bridge.kafka.failures import classify
from bridge.mapping.record import ANY_PARTITION, ARRIVAL_TIME
from bridge.sink import policy as sink_policy
from bridge.sink.link import SinkLimits, SinkLink
from bridge.source import outcomes
from bridge.source import policy as source_policy
from bridge.source.budget import ByteBudget
from bridge.source.link import SourceLink
from bridge.source.ports import Destination, Peer, SourceDoors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proton import Receiver, Sender

    from bridge.amqp.contract import AnyLink
    from bridge.mapping.record import Headers, Record
    from bridge.model.failures import Failure
    from bridge.model.outcomes import Outcome
    from bridge.source.ports import Flushable, Report

ROOM: Final = 1000
CREDIT: Final = 4
"""The window of all sources here, prefetch or manual."""

_SETTINGS: Final = replace(SETTINGS, session_window_bytes=0)
"""As the service has it by default."""

Scenario: TypeAlias = "Callable[[], list[Arrow]]"


def numbers_of(numbers: Sequence[int]) -> str:
    """Write one number, or a range."""
    return f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"


@dataclass
class Quiet:
    """Takes what the machines tell operators; a defect is none of what scenarios expect."""

    told: list[object] = field(default_factory=list)

    def refused(self, outcome: Outcome) -> None:
        self.told.append(outcome)

    def dropped(self, reason: str) -> None:
        self.told.append(reason)

    def skipped(self, partition: int, offset: int, outcome: Outcome) -> None:
        self.told.append((partition, offset, outcome))

    def redelivered(self, partition: int, offset: int, outcome: Outcome) -> None:
        self.told.append((partition, offset, outcome))

    def failed(self, failure: Failure) -> None:
        self.told.append(failure)

    def broke(self, error: Exception) -> None:
        raise error

    def ended(self, accepted: int, unanswered: int, in_doubt: int = 0) -> None:
        self.told.append((accepted, unanswered, in_doubt))


# ---------------------------------------------------------------------- source


class SourceStage:
    """An AMQP sender, the bridge, and a Kafka that acknowledges when it is told to."""

    def __init__(self) -> None:
        self.trace = Trace(SENDER)
        self.pair = Pair(answer=self._answer, settings=_SETTINGS)
        assert self.pair.sniffer is not None
        self.pair.sniffer.on_frame = self.trace.frame
        self._sender: Sender | None = None
        self._reports: dict[int, Report] = {}
        self._sent: dict[int, Delivery] = {}
        self._ready: list[Flushable] = []

    def _answer(self, link: AnyLink) -> None:
        assert isinstance(link, IncomingLink)
        request = link.request
        machine = SourceLink(
            link,
            source_policy.choose(
                request.snd_settle_mode,
                request.rcv_settle_mode,
                prefetch_credit=CREDIT,
                manual_credit=CREDIT,
                mixed_settled="ordered",
            ),
            Destination("orders", self._produce, self._produce_unacknowledged, lambda: ROOM, _to_record, 1),
            SourceDoors(_classify, self._ready.append, lambda: True, ByteBudget(1 << 30)),
            Peer(outcomes.understood(request.outcomes), "connection 1, link sender"),
            Quiet(),
        )
        link.open(machine, 1 << 20)
        machine.opened()

    def _produce(
        self,
        _topic: str,
        value: bytes | None,
        _key: bytes | None,
        _headers: Headers | None,
        _partition: int,
        _timestamp_ms: int,
        report: Report,
        /,
    ) -> None:
        assert value is not None
        self.trace.kafka(f"produce {value.decode()} (acks=all)", to_kafka=True)
        self._reports[int(value)] = report

    def _produce_unacknowledged(
        self,
        _topic: str,
        value: bytes | None,
        _key: bytes | None,
        _headers: Headers | None,
        _partition: int,
        _timestamp_ms: int,
        _report: Report,
        /,
    ) -> None:
        assert value is not None
        self.trace.kafka(f"produce {value.decode()} (acks=0)", to_kafka=True)

    def attach(self, snd_settle_mode: int, rcv_settle_mode: int = Link.RCV_FIRST, *listed: str) -> None:
        """Let the client attach; its source lists these outcomes."""
        sender = self.pair.open_session().sender("sender")
        sender.target.address = "orders"
        sender.snd_settle_mode = snd_settle_mode
        sender.rcv_settle_mode = rcv_settle_mode
        if listed:
            sender.source.address = "sensor"
            sender.source.outcomes.put_object(_symbols(*listed))
        sender.open()
        self.pair.pump()
        self._sender = sender

    def send(self, *numbers: int, settled: bool = False) -> None:
        """Let the client send messages, one by one."""
        assert self._sender is not None
        for number in numbers:
            [self._sent[number]] = transfer(self._sender, b"%d" % number, settled=settled)
            self.pair.pump()

    def settle(self, *numbers: int) -> None:
        """Let the client settle messages."""
        for number in numbers:
            self._sent[number].settle()
        self.pair.pump()

    def detach(self) -> None:
        """Let the client detach."""
        assert self._sender is not None
        self._sender.close()
        self.pair.pump()

    def acknowledge(self, *numbers: int) -> None:
        """Let Kafka acknowledge records, as one batch of reports."""
        self.trace.kafka(f"acknowledged {numbers_of(numbers)}", to_kafka=False)
        for number in numbers:
            self._reports.pop(number)(None, None)
        self._handle_reports()

    def fail(self, number: int, code: int) -> None:
        """Let Kafka refuse a record."""
        error = KafkaError(code)
        self.trace.kafka(f"failed {number} ({error.name()})", to_kafka=False)
        self._reports.pop(number)(error, None)
        self._handle_reports()

    def _handle_reports(self) -> None:
        ready, self._ready[:] = self._ready[:], []
        for machine in ready:
            machine.flush()
        self.pair.pump()


def _classify(error: object) -> Failure:
    assert isinstance(error, KafkaError)
    return classify(error)


def _to_record(payload: bytes) -> Record:
    return payload, None, None, ANY_PARTITION, ARRIVAL_TIME


def _symbols(*values: str) -> Array:
    return Array(cast("Any", UNDESCRIBED), Data.SYMBOL, *map(symbol, values))


# ---------------------------------------------------------------------- sink


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
        self.pair = Pair(answer=self._answer, settings=_SETTINGS)
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
            events=Quiet(),
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
