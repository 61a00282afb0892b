"""What every client of the suite can do, and the form of its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

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
