"""The sockets: a listening port, and one asyncio protocol for each connection that drives an engine.

Owns the timers and the back-pressure of a connection. Knows nothing of links: what a connection's peer
attaches goes to the `attach` callable of the listener's owner.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol, cast

from bridge.amqp.deadlines import Deadlines
from bridge.amqp.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.amqp.contract import AnyLink, EngineSettings
    from bridge.amqp.links import Link
    from bridge.model.conditions import Condition

WRITE_BUFFER_BYTES: Final = 1 << 18
INPUT_BYTES: Final = 1 << 16
"""How much is read at a time: messages of a millisecond or two."""
LARGE_INPUT_BYTES: Final = 1 << 18
"""How much it is of messages of several frames: a few, where it would be one or a part of one."""
TURN_BYTES: Final = 1 << 18
"""How much is read of a connection before the others have their turn ..."""
LARGE_SPEED: Final = 4
"""... or so many times as much of messages of several frames: they take far less time for a byte."""
CATCH_UP_SECONDS: Final = 1.0
"""How long after a pause the bytes that waited in the socket have to arrive, before silence counts again."""


class ConnectionEvents(Protocol):
    """What operators are told about connections."""

    def accepted(self, connection_id: int, peer: str) -> None:
        """Report a new socket."""

    def opened(self, connection_id: int, container_id: str) -> None:
        """Report the peer's open."""

    def failed(self, connection_id: int, condition: Condition) -> None:
        """Report a connection that ended with an error."""

    def ended(self, connection_id: int) -> None:
        """Report that the socket is gone."""

    def handler_failed(self, connection_id: int, link_name: str, error: Exception) -> None:
        """Report an exception in a link's handler."""


class Connection(asyncio.BufferedProtocol):
    """One connection: a socket and its engine."""

    __slots__ = (
        "_flush_asked",
        "_listener",
        "_loop",
        "_may_finish",
        "_overdue",
        "_reads",
        "_tolerates",
        "_transport",
        "_turn_bytes",
        "connection_id",
        "engine",
    )

    def __init__(self, listener: Listener, connection_id: int) -> None:
        self.connection_id = connection_id
        self._listener = listener
        self._loop = listener.loop
        self._transport: asyncio.Transport | None = None
        self._flush_asked = False
        self._turn_bytes = 0
        self._reads = True
        self._tolerates = False
        """Its peer is not given up though nothing comes: it is not read, or has not been for long."""
        self._overdue = False
        """A deadline passed meanwhile."""
        self._may_finish = False
        """It may read on, until the message that it is in the middle of is whole."""
        self.engine = Engine(listener.settings, self, self._ask_flush)

    # ------------------------------------------------------------------ asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        # A TCP server gives no other kind; uvloop's is none of asyncio's classes, though.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        peer = transport.get_extra_info("peername")
        self._listener.connections.add(self)
        self._listener.events.accepted(self.connection_id, _peer_text(peer))
        self.tick()

    def get_buffer(self, _size: int) -> memoryview:
        """Give the loop room for input: the same for all connections, since it is used up at once."""
        return self._listener.large_input if self.engine.assembles else self._listener.input

    def buffer_updated(self, size: int) -> None:
        """Take what came; after a certain amount others have their turn."""
        self.received(self._listener.large_input[:size])
        self._turn_bytes += size // LARGE_SPEED if self.engine.assembles else size
        if self._is_turn_over():
            # The loop would go on as long as there is more, which a sender at full speed always has.
            if self._transport is not None and self._reads:
                self._transport.pause_reading()
            self._loop.call_soon(self._next_turn)

    def received(self, data: bytes | memoryview) -> None:
        """Give bytes to the engine, and send what comes of them."""
        # What the engine wants to send is sent once, below: no call of the loop is needed for it.
        self._flush_asked = True
        self.engine.receive(data)
        self._flush()
        if self._listener.reading_stopped:
            self.stop_reading()

    def eof_received(self) -> None:
        """Give the end of input to the engine; the socket is closed after what is left was sent."""
        self._flush_asked = True
        self.engine.end_of_input()
        self._flush()

    def pause_writing(self) -> None:
        """Stop taking output: the peer reads slower than the bridge sends."""
        self.engine.congested = True

    def resume_writing(self) -> None:
        """Take output again."""
        self.engine.congested = False
        self._ask_flush()

    def connection_lost(self, _error: Exception | None) -> None:
        """End everything that belongs to the connection."""
        self._transport = None
        self._listener.deadlines.clear(self)
        self._listener.connections.discard(self)
        self.engine.lost()
        # It knows its connection: thousands of such pairs would wait for Python's garbage collector.
        del self.engine
        self._listener.events.ended(self.connection_id)

    # ------------------------------------------------------------------ the engine's side

    def opened(self, container_id: str) -> None:
        """Report the peer's open; its idle timeout is known from now on."""
        self._listener.events.opened(self.connection_id, container_id)
        self._loop.call_soon(self.tick)

    def attached(self, link: AnyLink) -> None:
        """Pass an attach on."""
        self._listener.attach(self, link)

    def closed(self, condition: Condition | None) -> None:
        """Report the end of a connection that gave a reason."""
        if condition is not None:
            self._listener.events.failed(self.connection_id, condition)

    def handler_failed(self, link: Link, error: Exception) -> None:
        """Report an exception in a link's handler."""
        self._listener.events.handler_failed(self.connection_id, link.request.link_name, error)

    def close(self, condition: Condition) -> None:
        """Close the connection for a reason."""
        if self._transport is not None:
            self.engine.close(condition)

    # ------------------------------------------------------------------ back-pressure

    def stop_reading(self) -> None:
        """Read no more from a peer that sends messages: there is no room for them."""
        if self._transport is None or not self._reads or not self.engine.incoming():
            return
        if self._may_finish and self.engine.assembling():
            return
        self._may_finish = self._reads = False
        self._tolerates = True
        self.engine.tolerate_silence(tolerates=True)
        if not self._is_turn_over():
            self._transport.pause_reading()

    def start_reading(self) -> bool:
        """Read again; tells whether it did not, in which case `caught_up` is to be called in a while."""
        self._may_finish = False
        if self._transport is None or self._reads:
            return False
        self._reads = True
        if not self._is_turn_over():
            self._transport.resume_reading()
        return True

    def caught_up(self) -> None:
        """Take notice that what waited in the socket has arrived: silence counts again."""
        if self._transport is None or not self._reads:
            return
        self._tolerates = False
        self.engine.tolerate_silence(tolerates=False)
        if self._overdue:
            # Nobody has asked for the time since, and silence is noticed by the clock alone.
            self._overdue = False
            self._loop.call_soon(self.tick)

    def finish_message(self) -> None:
        """Read on, though the others may not, until the message that has arrived in part is whole."""
        if self.start_reading():
            self._loop.call_later(CATCH_UP_SECONDS, self.caught_up)
        self._may_finish = True

    def finishes(self) -> bool:
        """Tell whether it reads on for such a message."""
        return self._may_finish and self._transport is not None and bool(self.engine.assembling())

    def waits_to_finish(self) -> bool:
        """Tell whether a message has arrived in part, and its rest is not being read."""
        return not self._reads and bool(self.engine.assembling())

    def interrupt(self) -> None:
        """Read no more for now, though the message is not whole."""
        self._may_finish = False
        self.stop_reading()

    # ------------------------------------------------------------------ inside

    def _is_turn_over(self) -> bool:
        """Tell whether nothing is read until others had their turn."""
        return self._turn_bytes >= TURN_BYTES

    def _next_turn(self) -> None:
        self._turn_bytes = 0
        if self._transport is not None and self._reads:
            self._transport.resume_reading()

    def _ask_flush(self) -> None:
        if not self._flush_asked:
            self._flush_asked = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_asked = False
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        # Links that send more while the flush runs are served by its own loop.
        self._flush_asked = True
        goes_on = self.engine.flush(transport.write)
        self._flush_asked = False
        if goes_on:
            return
        if self.engine.congested:
            # What is left will not be taken: the peer is gone.
            transport.abort()
        else:
            transport.close()

    def tick(self) -> None:
        """Let the engine see the time: its peer may be silent, or wait for a heartbeat."""
        if self._transport is None:
            return
        self._overdue = self._tolerates
        # As with input, what comes of it is sent once, below.
        self._flush_asked = True
        # Proton takes 0 for "no deadline"; the loop's clock may well begin there.
        deadline_ms = self.engine.tick(int(self._loop.time() * 1000) + 1)
        if deadline_ms:
            self._listener.deadlines.set(self, deadline_ms / 1000)
        else:
            self._listener.deadlines.clear(self)
        self._flush()


class Listener:
    """The listening port and the connections that came through it."""

    def __init__(
        self,
        settings: EngineSettings,
        events: ConnectionEvents,
        attach: Callable[[Connection, AnyLink], None],
    ) -> None:
        self.settings = settings
        self.events = events
        self.attach = attach
        self.connections: set[Connection] = set()
        self.loop = asyncio.get_running_loop()
        self.deadlines = Deadlines(self.loop)
        self.reading_stopped = False
        self.large_input = memoryview(bytearray(LARGE_INPUT_BYTES))
        self.input = self.large_input[:INPUT_BYTES]
        """Room for what is read, of one connection at a time; the beginning of the larger one."""
        self._finishing: Connection | None = None
        """The last one that was let read on, while the others may not, until its message is whole."""
        self._server: asyncio.Server | None = None
        self._count = 0

    async def start(self, host: str, port: int, *, reuse_port: bool = False) -> int:
        """Listen; gives the port, which the system chose if 0 was asked for. Raises OSError.

        With `reuse_port` other processes of the same user may listen on the port, too, if they ask for that
        as well: the system deals the connections out (socket(7), SO_REUSEPORT).
        """
        self._server = await self.loop.create_server(
            self._new_connection, host, port, backlog=1024, reuse_port=reuse_port
        )
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def _new_connection(self) -> Connection:
        self._count += 1
        return Connection(self, self._count)

    def stop_accepting(self) -> None:
        """Take no new connections; those that exist go on."""
        if self._server is not None:
            self._server.close()

    def stop_reading(self) -> None:
        """Read no more from connections that send messages, those that come later included."""
        self.reading_stopped = True
        for connection in self.connections:
            connection.stop_reading()

    def start_reading(self) -> None:
        """Read again from all."""
        self.reading_stopped = False
        resumed = [connection for connection in self.connections if connection.start_reading()]
        # One timer for all: there may be thousands, and that several times a second.
        self.loop.call_later(CATCH_UP_SECONDS, _caught_up, resumed)

    def finish_one_message(self, *, another: bool) -> int:
        """Let one connection read until the message that it is in the middle of is whole.

        The one that reads already goes on, unless it is `another`'s turn: each has one, in their order.
        Gives how many would take turns.
        """
        current = self._finishing
        if current is not None and current.finishes():
            if not another:
                return 1
            current.interrupt()
        waiting = sorted(
            (connection for connection in self.connections if connection.waits_to_finish()),
            key=lambda connection: connection.connection_id,
        )
        last = 0 if current is None else current.connection_id
        following = [connection for connection in waiting if connection.connection_id > last]
        self._finishing = next(iter(following or waiting), None)
        if self._finishing is not None:
            self._finishing.finish_message()
        return len(waiting)

    def give_up_largest(self, condition: Condition) -> bool:
        """End the link that has the most of a message that is not whole; False if there is none."""
        links = [link for connection in self.connections for link in connection.engine.assembling()]
        if links:
            max(links, key=lambda link: len(link.assembling or b"")).detach(condition)
        return bool(links)

    def end_links(self) -> None:
        """Take nothing more on any link, and send nothing more but what is under way."""
        for connection in list(self.connections):
            for link in connection.engine.links:
                connection.engine.call(link, link.end)

    def close(self, condition: Condition) -> None:
        """Close all connections for a reason."""
        for connection in list(self.connections):
            connection.close(condition)


def _caught_up(connections: list[Connection]) -> None:
    for connection in connections:
        connection.caught_up()


def _peer_text(peer: object) -> str:
    if isinstance(peer, tuple) and len(peer) >= 2:  # noqa: PLR2004 - host and port come first
        return f"{peer[0]}:{peer[1]}"
    return str(peer)
