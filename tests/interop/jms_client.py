"""The client of Qpid JMS: a receiver like those of the others, and what only JMS has.

Connections, sessions and consumers are those of Jakarta Messaging 3.1, and live in one Java process. Each
consumer has a session of its own.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from interop.process_client import ProcessClient, deliveries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from interop.contract import Answer, Attach, Delivery, Receiver
    from interop.conversation import Conversation

Acknowledge: TypeAlias = Literal["auto", "client", "individual"]

ACCEPTED: Final = 1
REJECTED: Final = 2
RELEASED: Final = 3
MODIFIED_FAILED: Final = 4
MODIFIED_FAILED_UNDELIVERABLE: Final = 5
"""What Qpid JMS takes for its property JMS_AMQP_ACK_TYPE."""

_names = itertools.count(1)


class JmsClient(ProcessClient):
    """Qpid JMS."""

    @contextmanager
    def attach(self, port: int, attach: Attach) -> Iterator[Receiver]:
        """Attach a receiver, as `Client` says, as far as JMS can."""
        assert not attach.filters
        assert not attach.copies
        settles = "true" if attach.mode == "settled" else "false"
        with self.connect(port, **{"jms.presettlePolicy.presettleConsumers": settles}) as connection:
            consumer = connection.consumer(attach.address, "individual", selector=attach.selector)
            yield JmsReceiver(consumer)
            consumer.close()

    @contextmanager
    def connect(self, port: int, client_id: str = "", **options: str) -> Iterator[JmsConnection]:
        """Connect; `options` are those of the connection's URI."""
        conversation, name = self.talk(port), f"connection-{next(_names)}"
        given = {"jms.clientID": client_id or f"interop-jms-{name}", **options}
        conversation.ask("connect", connection=name, options=given)
        yield JmsConnection(conversation, name)
        conversation.ask("disconnect", connection=name)


@dataclass(frozen=True, slots=True)
class JmsConnection:
    """A connection that is started."""

    conversation: Conversation
    name: str

    def consumer(
        self,
        address: str,
        acknowledge: Acknowledge = "auto",
        *,
        selector: str = "",
        subscription: str = "",
        shared: bool = False,
    ) -> JmsConsumer:
        """Create a session and its consumer, of a queue or of a durable subscription to a topic."""
        name = f"consumer-{next(_names)}"
        told: dict[str, Any] = {"selector": selector} if selector else {}
        if subscription:
            told |= {"subscription": subscription, "shared": shared}
        self._ask("consume", consumer=name, address=address, acknowledge=acknowledge, **told)
        return JmsConsumer(self.conversation, name)

    def browse(self, address: str, selector: str = "") -> list[Delivery]:
        """Enumerate what a QueueBrowser finds."""
        told = {"selector": selector} if selector else {}
        return deliveries(self._ask("browse", address=address, **told))

    def unsubscribe(self, subscription: str) -> None:
        """Delete a durable subscription."""
        self._ask("unsubscribe", subscription=subscription)

    def _ask(self, do: str, **told: Any) -> dict[str, Any]:  # noqa: ANN401 - anything that JSON can say
        return self.conversation.ask(do, connection=self.name, **told)


@dataclass(frozen=True, slots=True)
class JmsConsumer:
    """A consumer and its session."""

    conversation: Conversation
    name: str

    def receive(self, count: int = 1, timeout_ms: int = -1) -> list[Delivery]:
        """Receive so many messages; with a timeout fewer, if none comes in time.

        The timeout is one of each message; 0 is `receiveNoWait`.
        """
        return deliveries(self._ask("receive", count=count, timeout=timeout_ms))

    def acknowledge(self, delivery: Delivery, outcome: int = ACCEPTED) -> None:
        """Acknowledge all that the session has received, or in one of the kind individual this message."""
        self._ask("acknowledge", number=delivery.number, outcome=outcome)

    def recover(self) -> None:
        """Have all that was not acknowledged delivered again."""
        self._ask("recover")

    def close(self) -> None:
        """Close the session."""
        self._ask("close")

    def _ask(self, do: str, **told: Any) -> dict[str, Any]:  # noqa: ANN401 - anything that JSON can say
        return self.conversation.ask(do, consumer=self.name, **told)


@dataclass(frozen=True, slots=True)
class JmsReceiver:
    """A consumer as a receiver. Qpid JMS gives its credit by itself, and shows applied filters to nobody."""

    consumer: JmsConsumer
    applied: frozenset[str] = frozenset()

    def credit(self, count: int) -> None:
        """Do nothing: it is prefetched."""

    def take(self, count: int) -> list[Delivery]:
        """Wait for so many messages."""
        return self.consumer.receive(count)

    def answer(self, deliveries: Sequence[Delivery], answer: Answer) -> None:
        """Give an outcome."""
        outcome = _outcome(answer)
        for each in deliveries:
            self.consumer.acknowledge(each, outcome)

    def drain(self) -> list[Delivery]:
        """Ask for what is there and no more: Qpid JMS drains when it finds nothing."""
        return self.consumer.receive(_MANY, timeout_ms=0)


_MANY: Final = 1_000_000


def _outcome(answer: Answer) -> int:
    match answer.state:
        case "accepted":
            return ACCEPTED
        case "released":
            return RELEASED
        case "rejected":
            return REJECTED
        case _:
            assert answer.failed, "Qpid JMS knows modified as failed only"
            return MODIFIED_FAILED_UNDELIVERABLE if answer.undeliverable else MODIFIED_FAILED
