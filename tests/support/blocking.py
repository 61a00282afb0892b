"""A blocking AMQP client for tests that do one thing after the other: python-qpid-proton's own."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from proton import Delivery, Message, Timeout
from proton.handlers import MessagingHandler
from proton.utils import BlockingConnection, BlockingSender
from support.clients import LIMIT_SECONDS, MODES, delivery_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from proton import Event


@dataclass(frozen=True, slots=True)
class Received:
    """A message with its delivery, which the test answers."""

    message: Message
    delivery: Delivery

    def answer(self, state: int, *, failed: bool = False, undeliverable: bool = False) -> None:
        """Set an outcome and settle; `failed` and `undeliverable` belong to `modified`."""
        self.delivery.local.failed = failed
        self.delivery.local.undeliverable = undeliverable
        self.delivery.update(state)
        self.delivery.settle()


class Inbox(MessagingHandler):
    """Keeps what a receiver gets until the test takes it, and the condition of its link's end."""

    def __init__(self) -> None:
        super().__init__(prefetch=0, auto_accept=False, auto_settle=False)
        self.waiting: deque[Received] = deque()
        self.error = ""

    def on_link_error(self, event: Event) -> None:
        condition = event.link.remote_condition if event.link else None
        self.error = condition.name if condition else "detached"

    def on_message(self, event: Event) -> None:
        self.waiting.append(Received(event.message, delivery_of(event)))


class Client:
    """A blocking connection. Its methods raise proton's exceptions: Timeout, LinkDetached ..."""

    def __init__(self, port: int) -> None:
        self.connection = BlockingConnection(f"amqp://127.0.0.1:{port}", timeout=LIMIT_SECONDS)
        self._links = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.connection.close()

    def serve(self, seconds: float) -> None:
        """Send what there is, and take what comes within so long."""
        with suppress(Timeout):
            self.connection.wait(lambda: False, timeout=seconds)

    def sender(self, address: str, mode: str = "mixed") -> BlockingSender:
        """Attach a sender."""
        return self.connection.create_sender(address, name=self.link_name(), options=MODES[mode])

    def receiver(self, address: str, credit: int, mode: str = "unsettled") -> Receiver:
        """Attach a receiver and give it credit once."""
        return Receiver(self, address, credit, mode)

    def link_name(self) -> str:
        """Return a name that no other link of the connection has."""
        self._links += 1
        return f"link-{self._links}"

    def wait(self, happened: Callable[[], bool], what: str) -> None:
        """Serve the connection until something is so."""
        self.connection.wait(happened, timeout=LIMIT_SECONDS, msg=what)


class Receiver:
    """A receiver whose deliveries are answered when and how the test wants."""

    def __init__(self, client: Client, address: str, credit: int, mode: str) -> None:
        self._client = client
        self.inbox = Inbox()
        self.link = client.connection.create_receiver(
            address, credit=0, handler=self.inbox, name=client.link_name(), options=MODES[mode]
        )
        self.link.flow(credit)

    def take(self, count: int) -> list[Received]:
        """Wait for so many messages and take them."""
        waiting = self.inbox.waiting
        self._client.wait(lambda: len(waiting) >= count, f"message {count} of {self.link.name}")
        return [waiting.popleft() for _ in range(count)]

    def drain(self) -> list[Received]:
        """Ask for what is there, and no more; take it when the credit has come back."""
        self.link.link.drain(0)
        self._client.wait(lambda: not self.link.link.draining(), f"the drain of {self.link.name}")
        taken = list(self.inbox.waiting)
        self.inbox.waiting.clear()
        return taken

    def close(self) -> None:
        """Detach; returns when the bridge has, too."""
        self.link.close()  # type: ignore[no-untyped-call] # proton's
