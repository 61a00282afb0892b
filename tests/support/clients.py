"""AMQP clients as applications write them, with python-qpid-proton and nothing of the bridge.

`send` and `receive` run a `MessagingHandler` to its end. A client that does one thing after the other
is in `blocking`, one that is fast in `load`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from proton import Delivery, Link, Message, symbol
from proton.handlers import MessagingHandler
from proton.reactor import Container, LinkOption

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proton import Connection, Event

LIMIT_SECONDS: Final = 60.0
"""How long an answer is waited for: a bound for what has failed, never a measure."""
_CHECK_SECONDS: Final = 0.02


class SettleModes(LinkOption):
    """The settlement modes that a link is attached with."""

    def __init__(self, snd: int, rcv: int) -> None:
        self._snd = snd
        self._rcv = rcv

    def apply(self, link: Link) -> None:
        """Set them."""
        link.snd_settle_mode = self._snd
        link.rcv_settle_mode = self._rcv


MODES: Final = {
    "settled": SettleModes(Link.SND_SETTLED, Link.RCV_FIRST),
    "unsettled": SettleModes(Link.SND_UNSETTLED, Link.RCV_FIRST),
    "mixed": SettleModes(Link.SND_MIXED, Link.RCV_FIRST),
    "second": SettleModes(Link.SND_UNSETTLED, Link.RCV_SECOND),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a message that was sent: its state in Proton's words, and the error if any.

    `settled` tells whether the bridge settled with the outcome.
    """

    state: str
    condition: str = ""
    settled: bool = True


class _Run(MessagingHandler):
    """A handler with a connection and a link of its own, and a limit of time."""

    def __init__(self, port: int, **options: Any) -> None:  # noqa: ANN401 - MessagingHandler's own
        super().__init__(**options)
        self._url = f"amqp://127.0.0.1:{port}"
        self._deadline = time.monotonic() + LIMIT_SECONDS
        self._failure: str | None = None
        self._link: Any = None

    def attach(self, container: Container, connection: Connection) -> Link:
        """Attach the link."""
        raise NotImplementedError

    def is_done(self) -> bool:
        """Tell whether all was done that there is to do."""
        raise NotImplementedError

    def progress(self) -> str:
        """Tell how far it got."""
        raise NotImplementedError

    def on_start(self, event: Event) -> None:
        connection = event.container.connect(self._url, reconnect=False)
        self._link = self.attach(event.container, connection)
        event.container.schedule(_CHECK_SECONDS, self)

    def on_timer_task(self, event: Event) -> None:
        """Close the connection when all is done, which no event tells: proton drops what it holds then."""
        if self._failure is None and not self.is_done():
            if time.monotonic() < self._deadline:
                event.container.schedule(_CHECK_SECONDS, self)
                return
            self._failure = f"not done after {LIMIT_SECONDS:.0f} s"
        self._link.connection.close()

    def on_link_error(self, event: Event) -> None:
        self._failure = reason(event.link and event.link.remote_condition)

    def on_connection_error(self, event: Event) -> None:
        self._failure = reason(event.connection and event.connection.remote_condition)

    def on_transport_error(self, event: Event) -> None:
        self._failure = reason(event.transport and event.transport.condition)

    def run(self) -> None:
        """Run to the end. Raises AssertionError when it did not get there."""
        Container(self).run()
        assert self._failure is None, f"{self._failure}: {self.progress()}"


class _Sending(_Run):
    def __init__(
        self,
        port: int,
        address: str,
        messages: Sequence[Message],
        mode: str,
        presettles: Callable[[int], bool],
    ) -> None:
        super().__init__(port)
        self._address = address
        self._messages = messages
        self._mode = mode
        self._presettles = presettles
        self._sent = 0
        self._numbers: dict[Delivery, int] = {}
        self.answers: dict[int, Answer] = {}

    def attach(self, container: Container, connection: Connection) -> Link:
        return container.create_sender(connection, self._address, options=MODES[self._mode])

    def is_done(self) -> bool:
        return self._sent == len(self._messages) and not self._numbers and not self._link.queued

    def progress(self) -> str:
        return f"{self._sent} of {len(self._messages)} sent, {len(self.answers)} answered"

    def on_sendable(self, _event: Event) -> None:
        while self._link.credit and self._sent < len(self._messages):
            number = self._sent
            self._sent += 1
            delivery = self._link.send(self._messages[number])
            if self._mode == "settled":
                continue  # proton settled it
            if self._presettles(number):
                delivery.settle()
            else:
                self._numbers[delivery] = number

    def on_accepted(self, event: Event) -> None:
        self._answered(delivery_of(event))

    def on_rejected(self, event: Event) -> None:
        self._answered(delivery_of(event))

    def on_released(self, event: Event) -> None:
        self._answered(delivery_of(event))

    def _answered(self, delivery: Delivery) -> None:
        number = self._numbers.pop(delivery)
        condition = delivery.remote.condition
        self.answers[number] = Answer(
            state_of(delivery),
            condition.name if condition else "",
            settled=delivery.settled,
        )
        if not delivery.settled:
            delivery.settle()


def send(
    port: int,
    address: str,
    messages: Sequence[Message],
    mode: str = "mixed",
    presettles: Callable[[int], bool] = lambda _: False,
) -> dict[int, Answer]:
    """Send all messages on one link as its credit allows; gives the answers by message number.

    With `mixed` and `unsettled`, `presettles` says which messages are sent settled. Raises
    AssertionError when the link or connection fails, or not everything is answered in time.
    """
    client = _Sending(port, address, messages, mode, presettles)
    client.run()
    return client.answers


class _Receiving(_Run):
    def __init__(self, port: int, address: str, count: int, mode: str, credit: int) -> None:
        super().__init__(port, prefetch=0, auto_accept=False)
        self._address = address
        self._count = count
        self._mode = mode
        self._credit = credit
        self._unsettled: set[Delivery] = set()
        self.messages: list[Message] = []
        self.settled: list[bool] = []

    def attach(self, container: Container, connection: Connection) -> Link:
        receiver = container.create_receiver(connection, self._address, options=MODES[self._mode])
        receiver.flow(min(self._credit, self._count))
        return receiver

    def is_done(self) -> bool:
        return len(self.messages) >= self._count and not self._unsettled

    def progress(self) -> str:
        return f"{len(self.messages)} of {self._count} received, {len(self._unsettled)} not settled"

    def on_message(self, event: Event) -> None:
        delivery = delivery_of(event)
        self.messages.append(event.message)
        self.settled.append(delivery.settled)
        if not delivery.settled:
            delivery.update(Delivery.ACCEPTED)
        if self._mode == "second":
            self._unsettled.add(delivery)
        else:
            delivery.settle()
        if not self._link.credit and len(self.messages) < self._count:
            self._link.flow(min(self._credit, self._count - len(self.messages)))

    def on_settled(self, event: Event) -> None:
        self._unsettled.discard(delivery_of(event))
        delivery_of(event).settle()


def receive(
    port: int, address: str, count: int, mode: str = "unsettled", credit: int = 100
) -> tuple[list[Message], list[bool]]:
    """Receive and accept so many messages; gives them, and which of them came settled.

    In mode `second` each is settled only after the bridge has settled it. Raises AssertionError as
    `send` does.
    """
    client = _Receiving(port, address, count, mode, credit)
    client.run()
    return client.messages, client.settled


def values(messages: Sequence[Message]) -> list[bytes]:
    """Return the bodies of messages that carry bytes."""
    return [body_of(message) for message in messages]


def data(*bodies: bytes) -> list[Message]:
    """Return messages whose body is one data section."""
    return [Message(body=body, inferred=True) for body in bodies]


def body_of(message: Message) -> bytes:
    """Return the body of a message that carries bytes."""
    assert isinstance(message.body, bytes | memoryview), message.body
    return bytes(message.body)


def annotation(message: Message, name: str) -> Any:  # noqa: ANN401 - any AMQP value
    """Return a message-annotation. Raises KeyError."""
    assert message.annotations is not None
    return message.annotations[symbol(name)]


def delivery_of(event: Event) -> Delivery:
    """Return the delivery of an event that has one."""
    assert event.delivery is not None
    return event.delivery


def state_of(delivery: Delivery) -> str:
    """Return the remote state of a delivery in Proton's words, for example ACCEPTED."""
    state = delivery.remote_state
    return str(getattr(state, "name", state))


def reason(condition: object) -> str:
    """Return what a peer says went wrong."""
    name, description = getattr(condition, "name", ""), getattr(condition, "description", "")
    return f"{name}: {description}"
