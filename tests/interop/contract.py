"""What every client of the suite can do, and the form of its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from interop.catalogue import Message
    from interop.values import Value


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the client's application learned about a message that it had sent.

    `generated` are the properties that the client's library has set by itself.
    """

    state: str
    condition: str = ""
    generated: dict[str, Value] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """A filter of a receiver's source; its descriptor is `code`, or its name where that is 0."""

    name: str
    value: Value
    code: int = 0


@dataclass(frozen=True, slots=True)
class Attach:
    """What a receiver asks for. `selector` is set as the library offers it, `copies` is for browsing."""

    address: str
    mode: Literal["unsettled", "settled", "second"] = "unsettled"
    selector: str = ""
    filters: tuple[LinkFilter, ...] = ()
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a delivery: the condition goes with rejected, the fields after it with modified."""

    state: Literal["accepted", "released", "modified", "rejected"] = "accepted"
    condition: str = ""
    description: str = ""
    failed: bool = False
    undeliverable: bool = False
    annotations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message that a receiver has got, as its application sees it.

    `body` is its text, or the fields of a map; `count` how often it failed before. Libraries that show no
    message-annotations leave them empty.
    """

    number: int
    body: str | dict[str, str | int]
    count: int
    annotations: dict[str, str] = field(default_factory=dict)


class Receiver(Protocol):
    """A receiver that is told step by step what to do. All its methods raise AssertionError."""

    @property
    def applied(self) -> frozenset[str]:
        """The names of the filters that the bridge's attach has."""

    def credit(self, count: int) -> None:
        """Give so much credit more, and none besides; Qpid JMS gives a thousand by itself."""

    def take(self, count: int) -> list[Delivery]:
        """Wait for so many messages."""

    def answer(self, deliveries: Sequence[Delivery], answer: Answer) -> None:
        """Give an outcome; in mode second, return when the bridge has settled."""

    def drain(self) -> list[Delivery]:
        """Ask for what is there and no more; gives what came and was not taken."""


class Client(Protocol):
    """An AMQP client that connects, does one thing, and closes its connection. Raises AssertionError."""

    def send(
        self, port: int, address: str | None, messages: Sequence[Message], *, settled: bool
    ) -> list[Outcome]:
        """Send on one link: to an address, or with None each message to its own property `to`.

        Unless `settled`, the link is attached with the settlement mode that the library asks for by
        default, and each message is sent unsettled.

        Gives the outcomes in the order of the messages. Of settled ones there are none, but what the
        library generated may be told: their state is `settled` then.
        """

    def receive(self, port: int, address: str, count: int) -> list[Message]:
        """Receive so many messages, accept each, and describe what the application sees."""

    def attach(self, port: int, attach: Attach) -> AbstractContextManager[Receiver]:
        """Attach a receiver, on a connection of its own; both are closed in the end."""
