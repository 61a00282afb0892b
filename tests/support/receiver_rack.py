"""Many receiving links in few connections, in one thread: they take what comes, and answer it or not.

Unlike a `Population` they stay, and do all the same. A connection may stop to read its socket.
"""

from __future__ import annotations

import selectors
import time
from typing import TYPE_CHECKING, Any, Final, Self

from support.crowd_connection import CrowdConnection
from support.load_connection import buffer

from cproton_ffi import lib

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SESSION_BYTES: Final = 1 << 26
TURN_SECONDS: Final = 0.05
TICK_SECONDS: Final = 0.5


class RackConnection(CrowdConnection):
    """One connection with any number of receiving links; `answers` says whether they accept what they get."""

    def __init__(self, port: int, container: str, *, answers: bool) -> None:
        super().__init__(port, container, 0)
        lib.pn_session_set_incoming_capacity(self._session, SESSION_BYTES)
        self._answers = answers
        self._credits: dict[Any, int] = {}
        self._numbers: dict[Any, int] = {}
        self.received: list[int] = []
        """How many messages each link has got."""
        self.reads = True
        """Whether it reads its socket."""

    def receive_from(self, address: str, credit: int) -> None:
        """Attach one more link."""
        number = len(self.received)
        link = lib.pn_receiver(self._session, b"link-%d" % number)
        lib.pn_terminus_set_address(lib.pn_link_source(link), address.encode())
        lib.pn_link_open(link)
        lib.pn_link_flow(link, credit)
        self._credits[link] = credit
        self._numbers[link] = number
        self.received.append(0)

    def is_attached(self) -> bool:
        return all(lib.pn_link_state(link) & lib.PN_REMOTE_ACTIVE for link in self._credits)

    def is_detached(self) -> bool:
        return all(lib.pn_link_state(link) & lib.PN_REMOTE_CLOSED for link in self._credits)

    def detach(self) -> None:
        self._closing = True
        for link in self._credits:
            lib.pn_link_close(link)

    def send(self) -> bool:
        """Write what there is; tells whether there is more for when the socket has room."""
        return not self.flush()

    def _handle_events(self) -> None:
        while event := lib.pn_collector_peek(self._collector):
            kind = lib.pn_event_type(event)
            if kind == lib.PN_DELIVERY:
                self._delivery(lib.pn_event_delivery(event))
            elif kind == lib.PN_LINK_REMOTE_CLOSE:
                self._peer_closed(lib.pn_link_remote_condition(lib.pn_event_link(event)))
            elif kind == lib.PN_CONNECTION_REMOTE_CLOSE:
                self._peer_closed(lib.pn_connection_remote_condition(self._connection))
            lib.pn_collector_pop(self._collector)

    def _delivery(self, delivery: Any) -> None:  # noqa: ANN401 - a C pointer
        if not lib.pn_delivery_readable(delivery):
            return
        link = lib.pn_delivery_link(delivery)
        # Also of one that has not come whole: else large ones would wait for each other's room.
        lib.pn_link_recv(link, buffer, lib.pn_delivery_pending(delivery))
        if lib.pn_delivery_partial(delivery):
            return
        lib.pn_link_advance(link)
        self.received[self._numbers[link]] += 1
        if self._answers:
            lib.pn_delivery_update(delivery, lib.PN_ACCEPTED)
            lib.pn_delivery_settle(delivery)
            credit = self._credits[link]
            missing = credit - lib.pn_link_credit(link)
            if missing * 2 >= credit:
                lib.pn_link_flow(link, missing)


class Rack:
    """All connections. Use it in a `with` statement, whose end drops what is left of them."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._ticked_at = 0.0
        self.connections: list[RackConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self.connections:
            connection.drop()
        self._selector.close()

    def connect(
        self, port: int, addresses: Sequence[str], *, credit: int, answers: bool = True
    ) -> RackConnection:
        """Open a connection with a link for each address."""
        connection = RackConnection(port, f"rack-{len(self.connections)}", answers=answers)
        for address in addresses:
            connection.receive_from(address, credit)
        self.connections.append(connection)
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.send()
        return connection

    def run(self, until: Callable[[], bool], *, seconds: float) -> None:
        """Work until the condition holds.

        Raises TimeoutError if it does not within so many seconds (a bound for what has failed), and what
        the connections raise.
        """
        deadline = time.monotonic() + seconds
        while not until():
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError(f"received: {[sum(each.received) for each in self.connections]}")
            ready = self._selector.select(TURN_SECONDS)
            if now - self._ticked_at >= TICK_SECONDS:
                self._ticked_at = now
                for connection in self.connections:
                    connection.tick()
                    connection.send()
            read = 0
            for key, _ in ready:
                connection = key.data
                if connection.reads:
                    connection.receive()
                    connection.send()
                    read += 1
            if ready and not read:
                time.sleep(TURN_SECONDS)  # only those are ready that are not to be read

    def close(self, *, seconds: float) -> None:
        """Detach all links; the bridge has seen all that was answered."""
        for connection in self.connections:
            connection.detach()
            connection.send()
        self.run(lambda: all(connection.is_detached() for connection in self.connections), seconds=seconds)
