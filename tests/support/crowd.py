"""Many AMQP senders in one thread: connections that never block, each with as many links as one likes.

Every connection has one session; every link sends the messages of an `Outbox`. `Crowd.run` drives them all
until a condition holds, with heartbeats in both directions. Nothing is sent faster than the bridge gives
credit and reads: what a socket does not take stays behind, in bounded buffers.
"""

from __future__ import annotations

import selectors
import time
from typing import TYPE_CHECKING, Final, Self

from support.crowd_connection import CrowdConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from support.crowd_connection import SendingLink
    from support.outbox import Outbox

TURN_SECONDS: Final = 0.05
TICK_SECONDS: Final = 0.5


class Crowd:
    """All connections. Use it in a `with` statement, whose end drops what is left of them."""

    def __init__(self, *, idle_timeout_ms: int = 0) -> None:
        self._idle_timeout_ms = idle_timeout_ms
        self._selector = selectors.DefaultSelector()
        self._ticked_at = 0.0
        self.connections: list[CrowdConnection] = []
        self.links: list[SendingLink] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in list(self.connections):
            self.drop(connection)
        self._selector.close()

    @property
    def outboxes(self) -> list[Outbox]:
        """Those of all links."""
        return [link.outbox for link in self.links]

    def connect(
        self, port: int, outboxes: Sequence[Outbox], *, container: str = "crowd", part_bytes: int = 0
    ) -> CrowdConnection:
        """Open a connection with a link for each outbox."""
        connection = CrowdConnection(port, container, self._idle_timeout_ms)
        self.links += [connection.attach(outbox, part_bytes) for outbox in outboxes]
        self.connections.append(connection)
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)
        self._work(connection)
        return connection

    def drop(self, connection: CrowdConnection) -> None:
        """Close a connection's socket without a word."""
        self._selector.unregister(connection.socket)
        self.connections.remove(connection)
        connection.drop()

    def run(self, until: Callable[[], bool], *, seconds: float = 600.0) -> None:
        """Work until the condition holds.

        Raises TimeoutError if it does not within so many seconds (a bound for what has failed), and what
        the connections raise.
        """
        deadline = time.monotonic() + seconds
        for connection in self.connections:
            self._work(connection)
        while not until():
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError(
                    f"{self.waiting()} messages wait; the first link has {self.links[0].outbox}"
                )
            ready = self._selector.select(TURN_SECONDS)
            if now - self._ticked_at >= TICK_SECONDS:
                self._ticked_at = now
                for connection in self.connections:
                    connection.tick()
                    self._work(connection)
            for key, events in ready:
                connection = key.data
                if events & selectors.EVENT_READ:
                    connection.receive()
                if connection.ended:
                    self.drop(connection)
                else:
                    self._work(connection)

    def close(self) -> None:
        """Detach all links and close all connections: the bridge has seen all that was sent."""
        for connection in self.connections:
            connection.detach()
        self.run(lambda: all(connection.is_detached() for connection in self.connections))
        for connection in self.connections:
            connection.close()
        self.run(lambda: not self.connections)

    def waiting(self) -> int:
        """Count the messages that have no outcome."""
        return sum(len(link.outbox.waiting) for link in self.links)

    def is_done(self) -> bool:
        """Tell whether all messages of all outboxes were sent and accepted."""
        return all(link.outbox.is_done() for link in self.links)

    def _work(self, connection: CrowdConnection) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.send() else 0)
        if self._selector.get_key(connection.socket).events != events:
            self._selector.modify(connection.socket, events, connection)
