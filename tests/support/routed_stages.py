"""Scenarios whose messages say more than their body: on the anonymous terminus, and with deduplication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import proton
from support.arrows import SENDER, Trace, Words
from support.scenarios import Operators, numbers_of
from support.source_stage import LARGEST_BYTES, REFERENCE, ROOM, SourceStage

from bridge.endpoints.deduplicating import DeduplicatingLink
from bridge.mapping.record import ANY_PARTITION, ARRIVAL_TIME
from bridge.model import conditions
from bridge.model.deduplication import Deduplication
from bridge.model.failures import Failure, Reach, Stored
from bridge.source.anonymous import AnonymousSourceLink
from bridge.source.deduplication import Windows
from bridge.source.ledger import LinkName
from bridge.source.link import SourceLink
from bridge.source.outcomes import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.amqp.links import IncomingLink
    from bridge.kafka.deduplication import DeduplicatingProducer
    from bridge.kafka.ledger_contract import DeduplicationEvents
    from bridge.mapping.record import Headers, Record
    from bridge.model.links import AttachRequest
    from bridge.source.anonymous import Found
    from bridge.source.deduplication import Ledger
    from bridge.source.policy import SourcePolicy
    from bridge.source.ports import Peer, Report

NO_TOPIC: Final = Failure(
    "UNKNOWN_TOPIC_OR_PART",
    3,
    "no such topic",
    conditions.NOT_FOUND,
    retriable=False,
    stored=Stored.NO,
    reach=Reach.TOPIC,
)
BY_MESSAGE_ID: Final = Deduplication("message-id")


def _decoded(payload: bytes) -> proton.Message:
    message = proton.Message()
    message.decode(payload)
    return message


def _number(message: proton.Message) -> str:
    return str(message.body)


def _to_record(payload: bytes) -> Record:
    return _number(_decoded(payload)).encode(), None, None, ANY_PARTITION, ARRIVAL_TIME


# ---------------------------------------------------------------------- anonymous terminus


def _to(payload: bytes) -> Words:
    message = _decoded(payload)
    return Words(_number(message), f" to {message.address}")


class AnonymousStage(SourceStage):
    """A sender whose messages name their topics, and a Kafka that is asked for those."""

    def __init__(self) -> None:
        super().__init__(Trace(SENDER, _to))
        self._found: dict[str, Found] = {}
        self._waiting: dict[str, list[Callable[[], None]]] = {}

    @property
    def address(self) -> None:
        """None: that is the anonymous terminus."""
        return

    def open(
        self, link: IncomingLink, _request: AttachRequest, policy: SourcePolicy, peer: Peer
    ) -> SourceLink:
        """Open a link without a topic."""
        machine = AnonymousSourceLink(link, policy, self, self.doors, peer, Operators(self.trace))
        link.open(machine, LARGEST_BYTES)
        machine.opened()
        return machine

    def where(self, topic: str) -> str:
        """Name the topic of a record."""
        return f" to {topic}"

    # The destinations of the machine.

    def known(self, address: str) -> Found | None:
        """Give what Kafka has said."""
        return self._found.get(address)

    def ask(self, address: str, answered: Callable[[], None]) -> None:
        """Draw the question; the scenario answers it."""
        self.trace.kafka(f"find topic {address}", to_kafka=True)
        self._waiting.setdefault(address, []).append(answered)

    def forget(self, topic: str) -> None:
        """Ask anew."""
        self._found.pop(topic, None)

    # What the scenario lets the client and Kafka do.

    def send_to(self, topic: str, number: int) -> None:
        """Let the client send a message to a topic."""
        message = proton.Message(address=topic, body=str(number))
        self.send_payload(number, bytes(message.encode()))

    def tell(self, topic: str, *, exists: bool) -> None:
        """Let Kafka say whether a topic is there."""
        self.trace.kafka(f"topic {topic}" if exists else f"no topic {topic}", to_kafka=False)
        self._found[topic] = self.destination(topic, _to_record) if exists else NO_TOPIC
        for answered in self._waiting.pop(topic):
            answered()
        self.pair.pump()


# ---------------------------------------------------------------------- deduplication


def _body(payload: bytes) -> Words:
    return Words(_number(_decoded(payload)))


class _LedgerProducer:
    """Stands for the transactional producer of one link: the ledger is real, its topic is a list.

    Messages wait until the scenario has them committed, in one transaction with their entries.
    """

    def __init__(self, ledger: Ledger, topic: list[tuple[int, bytes, bytes | None]], trace: Trace) -> None:
        self._ledger = ledger
        self._topic = topic
        self._trace = trace
        self._events: DeduplicationEvents | None = None
        self._taken: list[tuple[int, int, bytes, Report]] = []
        self._now_ms = 1_000_000
        self.duplicates_suppressed = 0

    def room(self) -> int:
        return ROOM

    def start(self, events: DeduplicationEvents) -> None:
        self._events = events

    def close(self) -> None:
        """Go on: what was taken is stored yet."""

    def read_ledger(self, token: bytes) -> None:
        """Claim the link's name, read the ledger, and let messages come."""
        self._write(self._ledger.claim(token, self._now_ms))
        self._trace.kafka("claim the link in the ledger", to_kafka=True)
        self._ledger.window.learn(self._topic, self._now_ms)
        assert self._ledger.has_claimed
        known = len(self._ledger.window)
        self._trace.kafka(f"ledger (messages {known})" if known else "ledger (nothing)", to_kafka=False)
        assert self._events is not None
        self._events.ready()

    def produce(
        self,
        _topic: str,
        value: bytes | None,
        _key: bytes | None,
        _headers: Headers | None,
        _partition: int,
        _timestamp_ms: int,
        report: Report,
        identity: bytes,
        /,
    ) -> None:
        assert value is not None
        fingerprint = self._ledger.fingerprint(identity)
        if self._ledger.remembers(fingerprint, self._now_ms):
            self.duplicates_suppressed += 1
            report(None, None)
        else:
            self._taken.append((int(value), self._ledger.sequence(self._now_ms), fingerprint, report))

    produce_settled = produce

    def commit(self) -> None:
        """Store all that was taken, with its entries, in one transaction."""
        numbers = [number for number, *_ in self._taken]
        self._trace.kafka(f"transaction (records {numbers_of(numbers)}, ledger)", to_kafka=True)
        self._trace.kafka(f"committed {numbers_of(numbers)}", to_kafka=False)
        taken, self._taken = self._taken, []
        for _, sequence, fingerprint, report in taken:
            self._write(self._ledger.write(sequence, self._now_ms, fingerprint))
            report(None, None)
        stored = [(sequence, self._now_ms, fingerprint) for _, sequence, fingerprint, _ in taken]
        self._ledger.remember(stored, self._now_ms)

    def _write(self, entry: tuple[bytes, bytes]) -> None:
        self._topic.append((len(self._topic), *entry))


class DeduplicatingStage(SourceStage):
    """A sender that may come back, and a Kafka with a ledger."""

    def __init__(self) -> None:
        super().__init__(Trace(SENDER, _body))
        self._ledger_topic: list[tuple[int, bytes, bytes | None]] = []
        self._producer_of_link: _LedgerProducer | None = None
        self._attachments = 0

    def open(
        self, link: IncomingLink, request: AttachRequest, policy: SourcePolicy, peer: Peer
    ) -> SourceLink:
        """Open a link with a ledger, as a replica does that knows nothing yet."""
        name = LinkName(request.container_id, request.link_name, "orders")
        ledger = Windows().ledger(name, BY_MESSAGE_ID)
        self._producer_of_link = _LedgerProducer(ledger, self._ledger_topic, self.trace)
        plain = self.destination("orders", _to_record)
        own = DeduplicatingLink(cast("DeduplicatingProducer", self._producer_of_link), plain, BY_MESSAGE_ID)
        machine = SourceLink(link, policy, own.destination, self.doors, peer, Operators(self.trace))
        link.open(cast("Any", own.handler(machine)), LARGEST_BYTES)
        own.start(machine, Place("orders", REFERENCE))
        return machine

    def send(self, *numbers: int, settled: bool = False) -> None:
        """Let the client send messages whose message-id is their number."""
        for each in numbers:
            message = proton.Message(id=str(each), body=str(each))
            self.send_payload(each, bytes(message.encode()), settled=settled)
        self.handle_reports()

    def read_ledger(self) -> None:
        """Let the link take its name over."""
        assert self._producer_of_link is not None
        self._attachments += 1
        self._producer_of_link.read_ledger(self._attachments.to_bytes(16, "big"))
        self.pair.pump()

    def commit(self) -> None:
        """Let Kafka commit what the link took, also when its connection is gone."""
        assert self._producer_of_link is not None
        self._producer_of_link.commit()
        self.handle_reports()
