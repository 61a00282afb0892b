"""A blocking AMQP client for tests that do one thing after the other: python-qpid-proton's own."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from proton import Delivery, Message, Timeout, symbol
from proton.handlers import MessagingHandler
from proton.reactor import Container
from proton.utils import BlockingConnection, BlockingSender
from support.clients import LIMIT_SECONDS, MODES, delivery_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from proton import Condition, Event
    from proton.reactor import LinkOption


@dataclass(frozen=True, slots=True)
class Received:
    """A message with its delivery, which the test answers."""

    message: Message
    delivery: Delivery

    def answer(
        self,
        state: int,
        *,
        failed: bool = False,
        undeliverable: bool = False,
        annotations: Mapping[str, object] | None = None,
        condition: Condition | None = None,
    ) -> None:
        """Set an outcome and settle.

        `failed`, `undeliverable` and `annotations` belong to `modified`, `condition` to `rejected`.
        """
        local: Any = self.delivery.local  # proton annotates some of its fields with None
        local.failed = failed
        local.undeliverable = undeliverable
        if annotations:
            local.annotations = {symbol(name): value for name, value in annotations.items()}
        if condition:
            local.condition = condition
        self.delivery.update(state)
        self.delivery.settle()


class Inbox(MessagingHandler):
    """Keeps what a receiver gets until the test takes it, and why its link ended: condition and info."""

    def __init__(self) -> None:
        super().__init__(prefetch=0, auto_accept=False, auto_settle=False)
        self.waiting: deque[Received] = deque()
        self.error = ""
        self.info: dict[str, Any] = {}

    def on_link_error(self, event: Event) -> None:
        condition: Any = event.link.remote_condition if event.link else None
        self.error = condition.name if condition else "detached"
        self.info = {str(name): value for name, value in ((condition and condition.info) or {}).items()}

    def on_message(self, event: Event) -> None:
        self.waiting.append(Received(event.message, delivery_of(event)))


class Client:
    """A blocking connection. Its methods raise proton's exceptions: Timeout, LinkDetached ...

    `container_id` is one that no other client has, unless it is given.
    """

    def __init__(self, port: int, container_id: str | None = None) -> None:
        container = Container()
        if container_id is not None:
            container.container_id = container_id
        self.connection = BlockingConnection(
            f"amqp://127.0.0.1:{port}", timeout=LIMIT_SECONDS, container=container
        )
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

    def receiver(
        self, address: str | None, credit: int, mode: str = "unsettled", *options: LinkOption, name: str = ""
    ) -> Receiver:
        """Attach a receiver with options and give it credit once."""
        return Receiver(self, address, credit, [MODES[mode], *options], name or self.link_name())

    def link_name(self) -> str:
        """Return a name that no other link of the connection has."""
        self._links += 1
        return f"link-{self._links}"

    def wait(self, happened: Callable[[], bool], what: str) -> None:
        """Serve the connection until something is so."""
        self.connection.wait(happened, timeout=LIMIT_SECONDS, msg=what)


class Receiver:
    """A receiver whose deliveries are answered when and how the test wants."""

    def __init__(
        self, client: Client, address: str | None, credit: int, options: list[LinkOption], name: str
    ) -> None:
        self._client = client
        self.inbox = Inbox()
        all_options: Any = options
        self.link = client.connection.create_receiver(
            address, credit=0, handler=self.inbox, name=name, options=all_options
        )
        self.link.flow(credit)

    def take(self, count: int) -> list[Received]:
        """Wait for so many messages and take them."""
        waiting = self.inbox.waiting
        self._client.wait(lambda: len(waiting) >= count, f"message {count} of {self.link.name}")
        return [waiting.popleft() for _ in range(count)]

    def ended(self) -> str:
        """Wait for the link's end, and give its condition."""
        self._client.wait(lambda: bool(self.inbox.error), f"the end of {self.link.name}")
        return self.inbox.error

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
