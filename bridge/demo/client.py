"""The demo's AMQP client: python-qpid-proton as anybody would use it, and nothing of the bridge.

A sender for each settlement mode and a receiver, each a `MessagingHandler` in a container of its own.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final, cast

from proton import Link, Message, symbol, timestamp
from proton.handlers import MessagingHandler
from proton.reactor import AtLeastOnce, AtMostOnce, Container, LinkOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from proton import Delivery, Event, Receiver, Sender

MODES: Final = ("settled", "unsettled", "mixed", "second")
RECEIVE_CREDIT: Final = 500
_EPOCH_MS: Final = 1_790_000_000_000


class Failed(Exception):  # noqa: N818 - it is what happened to the client
    """The peer refused, or the connection broke."""


class _Second(LinkOption):
    """Asks the bridge to settle only after the sender has (exactly once on the connection)."""

    def apply(self, link: Link) -> None:
        link.snd_settle_mode = Link.SND_UNSETTLED
        link.rcv_settle_mode = Link.RCV_SECOND


_OPTIONS: Final[dict[str, LinkOption | None]] = {
    "settled": AtMostOnce(),
    "unsettled": AtLeastOnce(),
    "mixed": None,
    "second": _Second(),
}


def message(number: int) -> Message:
    """Make the demo's message of that number: several kinds of bodies, typed properties."""
    bodies = (
        f"reading {number}",
        {"sensor": number % 7, "celsius": 20.5 + number % 10},
        b"\x00\x01" + number.to_bytes(4, "big"),
        number,
        [number, "list", True],
    )
    return Message(
        body=bodies[number % len(bodies)],
        inferred=isinstance(bodies[number % len(bodies)], bytes),
        id=uuid.UUID(int=number),
        subject=f"plant.line{number % 3}",
        creation_time=(_EPOCH_MS + number) / 1000,
        properties={"number": number, "hot": number % 10 > 7, "celsius": 20.5 + number % 10, "unit": "C"},  # noqa: PLR2004 - any number does
        annotations={symbol("x-opt-bridge.key"): f"sensor-{number % 7}", symbol("x-opt-at"): timestamp(1)},
    )


class _Client(MessagingHandler):
    """What sender and receiver share: a connection, and an error that ends them."""

    def __init__(self, url: str, *, prefetch: int = 0) -> None:
        super().__init__(prefetch=prefetch)
        self._url = url
        self.failure = ""

    def on_link_error(self, event: Event) -> None:
        """Remember why a link was refused."""
        self._fail(event, f"link: {event.link and event.link.remote_condition}")

    def on_connection_error(self, event: Event) -> None:
        """Remember why the connection ended."""
        self._fail(event, f"connection: {event.connection and event.connection.remote_condition}")

    def on_transport_error(self, event: Event) -> None:
        """Remember what broke the transport, and do not reconnect."""
        self._fail(event, f"transport: {event.transport and event.transport.condition}")

    def _fail(self, event: Event, why: str) -> None:
        self.failure = why
        _close(event)
        event.container.stop()


class Sending(_Client):
    """Sends `count` messages in one settlement mode and counts the outcomes."""

    def __init__(
        self, url: str, address: str, mode: str, count: int, progress: Callable[[int], None]
    ) -> None:
        super().__init__(url)
        self._address = address
        self._mode = mode
        self._count = count
        self._progress = progress
        self.sent = 0
        self.presettled = 0
        self.accepted = 0
        self.refused = 0

    def on_start(self, event: Event) -> None:
        """Connect and attach."""
        connection = event.container.connect(self._url, reconnect=False)
        event.container.create_sender(connection, self._address, options=_OPTIONS[self._mode])

    def on_sendable(self, event: Event) -> None:
        """Send as far as credit goes."""
        sender = cast("Sender", event.sender)
        while sender.credit and self.sent < self._count:
            delivery = cast("Delivery", sender.send(message(self.sent)))
            if self._mode == "settled" or (self._mode == "mixed" and self.sent % 2):
                delivery.settle()
                self.presettled += 1
            self.sent += 1
        self._progress(self.accepted + self.presettled)
        self._end_when_done(event)

    def on_accepted(self, event: Event) -> None:
        """Count an outcome, and settle if the bridge leaves that to the sender (mode second)."""
        delivery = cast("Delivery", event.delivery)
        if not delivery.settled:
            delivery.settle()
        self.accepted += 1
        self._progress(self.accepted + self.presettled)
        self._end_when_done(event)

    def on_rejected(self, event: Event) -> None:
        """Count an outcome."""
        self.refused += 1
        self._end_when_done(event)

    def on_released(self, event: Event) -> None:
        """Count an outcome."""
        self.refused += 1
        self._end_when_done(event)

    def _end_when_done(self, event: Event) -> None:
        if self.sent == self._count and self.accepted + self.refused + self.presettled == self._count:
            _close(event)


class Receiving(_Client):
    """Receives `count` messages from an address and accepts them."""

    def __init__(self, url: str, address: str, count: int, progress: Callable[[int], None]) -> None:
        super().__init__(url, prefetch=RECEIVE_CREDIT)
        self._address = address
        self._count = count
        self._progress = progress
        self.numbers: set[int] = set()
        self.received = 0

    def on_start(self, event: Event) -> None:
        """Connect and attach."""
        connection = event.container.connect(self._url, reconnect=False)
        receiver: Receiver = event.container.create_receiver(connection, self._address)
        receiver.rcv_settle_mode = Link.RCV_FIRST

    def on_message(self, event: Event) -> None:
        """Count a message; it is accepted when this returns."""
        self.received += 1
        self.numbers.add(event.message.properties["number"])
        self._progress(self.received)
        if self.received == self._count:
            # The outcome of this message is sent after this call returns: close a moment later.
            event.reactor.schedule(0.2, _Close(event.connection))


class _Close(MessagingHandler):
    """Closes a connection when its time has come."""

    def __init__(self, connection: object) -> None:
        super().__init__()
        self._connection = connection

    def on_timer_task(self, _event: Event) -> None:
        """Close."""
        self._connection.close()  # type: ignore[attr-defined] # a proton connection


def _close(event: Event) -> None:
    if event.connection is not None:
        event.connection.close()


def run(client: _Client) -> None:
    """Run a client until it is done. Raises Failed, with the peer's reason."""
    Container(client).run()
    if client.failure:
        raise Failed(client.failure)
