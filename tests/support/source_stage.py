"""The scenarios with a sender: an AMQP client, the bridge's engine and source link, and a Kafka in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from confluent_kafka import KafkaError, KafkaException
from proton import UNDESCRIBED, Array, Data, Delivery, Link, Terminus, symbol
from support.arrows import SENDER, Trace, number
from support.scenarios import STAGE_SETTINGS, Operators, numbers_of
from support.wire import Pair, transfer

from bridge.amqp.links import IncomingLink
from bridge.kafka.failures import classify, classify_exception
from bridge.mapping.record import ANY_PARTITION, ARRIVAL_TIME
from bridge.source import outcomes
from bridge.source import policy as source_policy
from bridge.source.budget import ByteBudget
from bridge.source.link import SourceLink
from bridge.source.ports import Destination, Peer, SourceDoors

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from proton import Sender
    from typing_extensions import Buffer

    from bridge.amqp.contract import AnyLink
    from bridge.mapping.record import Headers, Record
    from bridge.model.failures import Failure
    from bridge.model.links import AttachRequest
    from bridge.source.policy import SourcePolicy
    from bridge.source.ports import Flushable, Produce, Report

ROOM: Final = 1000
CREDIT: Final = 4
"""The window of all sources here, prefetch or manual."""
LARGEST_BYTES: Final = 100_000
"""The max-message-size that is announced."""
REFERENCE: Final = "connection 1, link sender"
FATAL: Final = KafkaError(KafkaError._FATAL)  # noqa: SLF001 - librdkafka's local codes begin so
"""What an idempotent producer says that has lost track."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A record that a producer has something to say about."""

    number: int
    in_topic: str
    report: Report

    def topic(self) -> str:
        return self.in_topic

    def partition(self) -> int:
        return 0

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"%d" % self.number


class SourceStage:
    """An AMQP sender, the bridge, and a Kafka that acknowledges when it is told to.

    A context manager: what is still connected in the end is taken away, unseen.
    """

    def __init__(self, trace: Trace | None = None) -> None:
        self.trace = trace or Trace(SENDER, number)
        self._pair: Pair | None = None
        self._machine: SourceLink | None = None
        self._sender: Sender | None = None
        self._kafka_takes = True
        self._producer_failed = False
        self._records: dict[int, Sent] = {}
        self._sent: dict[int, Delivery] = {}
        self._ready: list[Flushable] = []
        self.doors = SourceDoors(
            classify=_classify,
            ready=self._ready.append,
            retry=self._ready.append,
            kafka_takes=lambda: self._kafka_takes,
            stored=lambda: None,
            budget=ByteBudget(1 << 30),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pair is not None:
            self._pair.__exit__(kind, error, trace)

    @property
    def pair(self) -> Pair:
        """The connection; a new one, if there is none."""
        if self._pair is None:
            self._pair = Pair(answer=self._answer, settings=STAGE_SETTINGS)
            assert self._pair.sniffer is not None
            self._pair.sniffer.on_frame = self.trace.frame
        return self._pair

    # ------------------------------------------------------------------ the bridge

    def _answer(self, link: AnyLink) -> None:
        assert isinstance(link, IncomingLink)
        request = link.request
        policy = source_policy.choose(
            request.snd_settle_mode,
            request.rcv_settle_mode,
            prefetch_credit=CREDIT,
            manual_credit=CREDIT,
            mixed_settled="ordered",
        )
        peer = Peer(outcomes.understood(request.outcomes), REFERENCE)
        self._machine = self.open(link, request, policy, peer)

    def open(
        self, link: IncomingLink, _request: AttachRequest, policy: SourcePolicy, peer: Peer
    ) -> SourceLink:
        """Open a link to the one topic that there is."""
        machine = SourceLink(
            link, policy, self.destination("orders"), self.doors, peer, Operators(self.trace)
        )
        link.open(machine, LARGEST_BYTES)
        machine.opened()
        return machine

    def destination(self, topic: str, to_record: Callable[[bytes], Record] | None = None) -> Destination:
        """Make a destination with the producers of the stage."""
        return Destination(
            topic,
            self._producer("acks=all"),
            self._producer("acks=0"),
            lambda: ROOM,
            to_record or _to_record,
            1,
            produce_alone=self._producer("acks=all, alone"),
        )

    def _producer(self, acks: str) -> Produce:
        def produce(
            topic: str,
            value: Buffer | None,
            _key: bytes | None,
            _headers: Headers | None,
            _partition: int,
            _timestamp_ms: int,
            report: Report,
            /,
        ) -> Failure | None:
            assert value is not None
            text = bytes(value).decode()
            self.trace.kafka(f"produce {text}{self.where(topic)} ({acks})", to_kafka=True)
            if self._producer_failed:
                self.trace.kafka(f"refused {text} ({FATAL.name()})", to_kafka=False)
                return classify_exception(KafkaException(FATAL))
            self._records[int(text)] = Sent(int(text), topic, report)
            return None

        return produce

    def where(self, _topic: str) -> str:
        """Say to which topic a record goes, where there are several."""
        return ""

    # ------------------------------------------------------------------ the client

    def attach(self, snd_settle_mode: int, rcv_settle_mode: int = Link.RCV_FIRST, *listed: str) -> None:
        """Let the client attach; its source lists these outcomes."""
        sender = self.pair.open_session().sender("sender")
        sender.target.type = Terminus.TARGET
        if self.address is not None:
            sender.target.address = self.address
        sender.snd_settle_mode = snd_settle_mode
        sender.rcv_settle_mode = rcv_settle_mode
        if listed:
            sender.source.address = "sensor"
            sender.source.outcomes.put_object(_symbols(*listed))
        sender.open()
        self.pair.pump()
        self._sender = sender

    @property
    def address(self) -> str | None:
        """What the client attaches to."""
        return "orders"

    def send(self, *numbers: int, settled: bool = False) -> None:
        """Let the client send messages, one by one."""
        for each in numbers:
            self.send_payload(each, b"%d" % each, settled=settled)

    def send_payload(self, name: int, payload: bytes, *, settled: bool = False) -> None:
        """Let the client send one message."""
        assert self._sender is not None
        [self._sent[name]] = transfer(self._sender, payload, settled=settled)
        self.pair.pump()

    def send_in_parts(self, name: int, *sizes_bytes: int) -> None:
        """Let the client send parts of a message whose end does not come."""
        assert self._sender is not None
        self._sender.delivery(str(name))
        for part, size_bytes in enumerate(sizes_bytes):
            self._sender.stream((b"" if part else b"%d" % name).ljust(size_bytes))
            self.pair.pump()

    def settle(self, *numbers: int) -> None:
        """Let the client settle messages."""
        for each in numbers:
            self._sent[each].settle()
        self.pair.pump()

    def detach(self) -> None:
        """Let the client detach, or answer the bridge's detach."""
        assert self._sender is not None
        self._sender.close()
        self.pair.pump()

    def lose_connection(self) -> None:
        """Let the socket break."""
        self.trace.lost()
        self.pair.__exit__(None, None, None)
        self._pair = None

    # ------------------------------------------------------------------ Kafka

    def acknowledge(self, *numbers: int) -> None:
        """Let Kafka acknowledge records, as one batch of reports."""
        self.trace.kafka(f"acknowledged {numbers_of(numbers)}", to_kafka=False)
        for each in numbers:
            record = self._records.pop(each)
            record.report(None, record)
        self.handle_reports()

    def fail(self, code: int, *numbers: int) -> None:
        """Let Kafka refuse records, as one batch of reports."""
        error = KafkaError(code)
        self.trace.kafka(f"failed {numbers_of(numbers)} ({error.name()})", to_kafka=False)
        for each in numbers:
            record = self._records.pop(each)
            record.report(error, record)
        self.handle_reports()

    def producer_fails(self, *, failed: bool) -> None:
        """Let the producer be of no use any more, or be replaced."""
        self._producer_failed = failed

    def reachable(self, *, reachable: bool) -> None:
        """Let Kafka go away, or come back, as far as the bridge can see."""
        assert self._machine is not None
        self.trace.kafka("reachable" if reachable else "unreachable", to_kafka=False)
        self._kafka_takes = reachable
        if reachable:
            self._machine.credit_may_flow()
        self.pair.pump()

    def handle_reports(self) -> None:
        """Let the links answer what was reported."""
        ready, self._ready[:] = self._ready[:], []
        for machine in ready:
            machine.flush()
        if self._pair is not None:
            self._pair.pump()


def _classify(error: object) -> Failure:
    assert isinstance(error, KafkaError)
    return classify(error)


def _to_record(payload: bytes) -> Record:
    return payload, None, None, ANY_PARTITION, ARRIVAL_TIME


def _symbols(*values: str) -> Array:
    return Array(cast("Any", UNDESCRIBED), Data.SYMBOL, *map(symbol, values))
