"""Two AMQP engines joined in memory: the bridge's, and an independent client; real bytes, no socket.

The client is plain proton as its Python package offers it (connection, transport, collector), driven
without a reactor. The wire between the two can be cut into pieces of any size, and keeps what passed
over it, so that a test can look at the frames themselves.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from proton import SASL, Collector, Connection, Delivery, Sender, Terminus, Transport
from support.frames import Frame, Sniffer

from bridge.amqp.contract import AnyLink, EngineSettings
from bridge.amqp.engine import Engine
from bridge.amqp.links import IncomingLink, OutgoingLink

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from proton import Receiver, Session

    from bridge.amqp.links import Link
    from bridge.amqp.native import CData
    from bridge.model.conditions import Condition
    from bridge.model.outcomes import Outcome
    from bridge.model.payloads import LargePayload

Cut: TypeAlias = "Callable[[int], int]"
"""Given how many bytes are left, tells how many travel next (at least one)."""

WINDOW_BYTES: Final = 1 << 22
FRAME_BYTES: Final = 1 << 16
MESSAGE_BYTES: Final = 1 << 20

SETTINGS: Final = EngineSettings(
    container_id="the-bridge",
    product_version="1.2.3",
    max_frame_size_bytes=FRAME_BYTES,
    channel_max=255,
    idle_timeout_ms=60_000,
    session_window_bytes=WINDOW_BYTES,
)


class Incoming:
    """A handler that remembers what it was told about a link on which the client sends."""

    def __init__(self) -> None:
        self.deliveries: list[CData] = []
        self.payloads: list[bytes] = []
        self.settled_flags: list[bool] = []
        self.settled_later: list[CData] = []
        self.aborted_count = 0
        self.arriving_bytes = 0
        self.batches = 0
        self.closed = 0

    def transferred(self, delivery: CData, payload: bytes, settled: bool, /) -> None:  # noqa: FBT001 - LinkHandler's form
        self.deliveries.append(delivery)
        self.payloads.append(payload)
        self.settled_flags.append(settled)

    def transferred_large(self, delivery: CData, payload: LargePayload, settled: bool, /) -> None:  # noqa: FBT001 - likewise
        self.transferred(delivery, bytes(payload.view()), settled)

    def arriving(self, change_bytes: int, /) -> None:
        self.arriving_bytes += change_bytes

    def aborted(self) -> None:
        self.aborted_count += 1

    def settled(self, delivery: CData, /) -> None:
        self.settled_later.append(delivery)

    def batch_ended(self) -> None:
        self.batches += 1

    def close(self) -> None:
        self.closed += 1


class Outgoing:
    """A handler that remembers what it was told about a link on which the bridge sends."""

    def __init__(self) -> None:
        self.accepted_deliveries: list[CData] = []
        self.outcomes: list[tuple[CData, Outcome]] = []
        self.batches = 0
        self.closed = 0

    def accepted(self, delivery: CData, /) -> None:
        self.accepted_deliveries.append(delivery)

    def disposed(self, delivery: CData, outcome: Outcome, /) -> None:
        self.outcomes.append((delivery, outcome))

    def batch_ended(self) -> None:
        self.batches += 1

    def close(self) -> None:
        self.closed += 1


def open_at_once(link: AnyLink) -> None:
    """Answer an attach with a handler that remembers; the client may send a hundred messages."""
    if isinstance(link, IncomingLink):
        link.open(Incoming(), MESSAGE_BYTES)
        link.grant(100)
    else:
        link.open(Outgoing())


class Events:
    """What the engine told its owner."""

    def __init__(self, answer: Callable[[AnyLink], None]) -> None:
        self.answer = answer
        self.opened_by: list[str] = []
        self.links: list[AnyLink] = []
        self.closed_with: list[Condition | None] = []
        self.failures: list[tuple[Link, Exception]] = []

    def opened(self, container_id: str) -> None:
        self.opened_by.append(container_id)

    def attached(self, link: AnyLink) -> None:
        self.links.append(link)
        self.answer(link)

    def closed(self, condition: Condition | None) -> None:
        self.closed_with.append(condition)

    def handler_failed(self, link: Link, error: Exception) -> None:
        self.failures.append((link, error))


class Client:
    """The peer: proton's engine with nothing of the bridge in it."""

    def __init__(self, container_id: str = "the-client", *, sasl: str | None = None) -> None:
        self.connection = Connection()
        self.connection.container = container_id
        self.collector = Collector()
        self.connection.collect(self.collector)
        self.transport = Transport(Transport.CLIENT)
        self.transport.max_frame_size = FRAME_BYTES
        if sasl is not None:
            if sasl != "ANONYMOUS":
                self.connection.user = "user"
                self.connection.password = "secret"  # noqa: S105 - nobody's
            SASL(self.transport).allowed_mechs(sasl)
        self.transport.bind(self.connection)

    def output(self) -> bytes:
        """Take what the client has to send."""
        pieces = []
        while (pending := self.transport.pending()) > 0:
            piece = self.transport.peek(pending) or b""
            self.transport.pop(len(piece))
            pieces.append(bytes(piece))
        return b"".join(pieces)

    def input(self, data: bytes) -> None:
        """Give bytes to the client; what comes after the end of its connection is dropped."""
        taken = 0
        while taken < len(data) and (capacity := self.transport.capacity()) > 0:
            self.transport.push(data[taken : taken + capacity])
            taken += capacity
            self._take_events()

    def end_of_input(self) -> None:
        """Tell the client that no more bytes come."""
        if self.transport.capacity() >= 0:
            self.transport.close_tail()
        self._take_events()

    def _take_events(self) -> None:
        while self.collector.peek() is not None:
            self.collector.pop()


class Pair:
    """A client and an engine, joined.

    `answer` decides about attaches, `cut` about the sizes of the pieces in which bytes arrive (the
    whole at once, if there is none). Used as a context manager, it takes the socket away in the end,
    and fails a test in which a handler failed unnoticed.
    """

    def __init__(
        self,
        *,
        answer: Callable[[AnyLink], None] = open_at_once,
        settings: EngineSettings = SETTINGS,
        cut: Cut | None = None,
        client: Client | None = None,
        sniff: bool = True,
    ) -> None:
        self.client = client or Client()
        self.events = Events(answer)
        self.changes = 0
        self.engine = Engine(settings, self.events, self._changed)
        self.sniffer = Sniffer() if sniff else None
        self.over = False
        """The bridge would close the socket now."""
        self._cut = cut
        self._lost = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.lose()
        if kind is None:
            assert not self.events.failures

    def _changed(self) -> None:
        self.changes += 1

    # ------------------------------------------------------------------ the wire

    def pump(self) -> None:
        """Move bytes both ways until neither end has any."""
        while self.to_bridge() or self.to_client():
            pass

    def to_bridge(self) -> bool:
        """Move what the client has to send."""
        data = self.client.output()
        if data and not self._lost:
            self.inject(data)
        return bool(data)

    def inject(self, data: bytes) -> None:
        """Give bytes to the bridge as if the client had sent them."""
        if self.sniffer:
            self.sniffer.client_sent(data)
        for piece in self._pieces(data):
            self.engine.receive(piece)

    def to_client(self) -> bool:
        """Move what the bridge has to send."""
        pieces: list[bytes] = []
        self.over = not self.engine.flush(pieces.append)
        data = b"".join(pieces)
        if self.sniffer:
            self.sniffer.bridge_sent(data)
        for piece in self._pieces(data):
            self.client.input(piece)
        return bool(data)

    def _pieces(self, data: bytes) -> list[bytes]:
        if self._cut is None:
            return [data] if data else []
        pieces = []
        cut_at = 0
        while cut_at < len(data):
            size = self._cut(len(data) - cut_at)
            pieces.append(data[cut_at : cut_at + size])
            cut_at += size
        return pieces

    def lose(self) -> None:
        """Take the socket away."""
        if not self._lost:
            self._lost = True
            self.engine.lost()
            self.client.transport.unbind()

    def take_frames(self, *, but: str = "") -> list[Frame]:
        """Give the frames that passed since the last call, without heartbeats, nor those named `but`."""
        assert self.sniffer is not None
        return [frame for frame in self.sniffer.take() if frame.name != but]

    def take_names(self, *, but: str = "") -> list[str]:
        """Give their names alone: `> open` went to the bridge, `< open` came from it."""
        return [frame.text for frame in self.take_frames(but=but)]

    # ------------------------------------------------------------------ shorthand

    def open_session(self) -> Session:
        """Open the connection if it is not, and a session on it."""
        if not self.client.connection.state & Connection.LOCAL_ACTIVE:
            self.client.connection.open()
        session = self.client.connection.session()
        session.open()
        return session

    def attach_sender(
        self,
        name: str = "sender",
        *,
        session: Session | None = None,
        address: str = "orders",
        snd_settle_mode: int = Sender.SND_MIXED,
        rcv_settle_mode: int = Sender.RCV_FIRST,
    ) -> tuple[Sender, IncomingLink]:
        """Attach a link on which the client sends. Gives both ends."""
        sender = (session or self.open_session()).sender(name)
        sender.target.address = address
        sender.source.type = Terminus.SOURCE
        sender.snd_settle_mode = snd_settle_mode
        sender.rcv_settle_mode = rcv_settle_mode
        sender.open()
        self.pump()
        link = self.events.links[-1]
        assert isinstance(link, IncomingLink)
        return sender, link

    def attach_receiver(
        self,
        name: str = "receiver",
        *,
        session: Session | None = None,
        address: str = "orders/group.id/g",
        credit: int = 0,
        snd_settle_mode: int = Sender.SND_MIXED,
        rcv_settle_mode: int = Sender.RCV_FIRST,
    ) -> tuple[Receiver, OutgoingLink]:
        """Attach a link on which the bridge sends. Gives both ends."""
        receiver = (session or self.open_session()).receiver(name)
        receiver.source.address = address
        receiver.snd_settle_mode = snd_settle_mode
        receiver.rcv_settle_mode = rcv_settle_mode
        receiver.open()
        if credit:
            receiver.flow(credit)
        self.pump()
        link = self.events.links[-1]
        assert isinstance(link, OutgoingLink)
        return receiver, link


def incoming(link: IncomingLink) -> Incoming:
    """Give the handler of a link that `open_at_once` answered."""
    assert isinstance(link.handler, Incoming)
    return link.handler


def outgoing(link: OutgoingLink) -> Outgoing:
    """Give the handler of a link that `open_at_once` answered."""
    assert isinstance(link.handler, Outgoing)
    return link.handler


_tags: Final = count()


def transfer(sender: Sender, *payloads: bytes, settled: bool = False) -> list[Delivery]:
    """Have the client send these messages; they leave with the next move of the wire."""
    deliveries = []
    for payload in payloads:
        delivery = sender.delivery(str(next(_tags)))
        sender.stream(payload)
        if settled:
            delivery.settle()
        else:
            sender.advance()
        deliveries.append(delivery)
    return deliveries


def receive(receiver: Receiver, *, outcome: int | None = Delivery.ACCEPTED) -> list[bytes]:
    """Have the client take all whole messages that are there, and settle them with an outcome, if any."""
    payloads = []
    while (delivery := receiver.current) is not None and not delivery.partial:
        payloads.append(bytes(receiver.recv(delivery.pending) or b""))
        receiver.advance()
        if outcome is not None:
            delivery.update(outcome)
            delivery.settle()
    return payloads
