"""One AMQP connection with one link, by Proton's C library over a blocking socket: `load`'s basis.

It is driven by `run`, in the caller's thread, until all is done or a condition of the caller's
holds. It shares no code with the bridge.
"""

from __future__ import annotations

import select
import socket
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from cproton_ffi import ffi, lib

# Importing the module starts the library.
import cproton  # noqa: F401 # isort: skip

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

SILENCE_SECONDS: Final = 60.0
"""How long nothing at all may happen: a bound for what has failed, never a measure."""
TURN_SECONDS: Final = 0.05
"""How long a turn waits for bytes before the caller's condition is looked at again."""


class Mode(NamedTuple):
    """Settlement modes of a link as AMQP numbers them."""

    snd: int
    rcv: int


MODES: Final = {
    "settled": Mode(1, 0),
    "unsettled": Mode(0, 0),
    "mixed": Mode(2, 0),
    "second": Mode(0, 1),
}

BUFFER_BYTES: Final = 1 << 20
buffer: Final = ffi.new("char[]", BUFFER_BYTES)
"""For bytes on their way; nothing stays in it."""
view: Final = ffi.buffer(buffer)


class PeerClosedError(Exception):
    """The bridge ended the link or the connection; `condition` is its reason, or empty."""

    def __init__(self, condition: str, description: str) -> None:
        super().__init__(f"{condition or 'closed'}: {description}")
        self.condition = condition


class Connection:
    """A socket, Proton's engine, and one link. Close it, or use it in a `with` statement."""

    def __init__(self, port: int, *, frame_bytes: int = 65536) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = lib.pn_connection()
        self._transport = lib.pn_transport()
        self._collector = lib.pn_collector()
        lib.pn_connection_collect(self._connection, self._collector)
        lib.pn_transport_set_max_frame(self._transport, frame_bytes)
        lib.pn_transport_bind(self._transport, self._connection)
        lib.pn_connection_set_container(self._connection, b"load")
        lib.pn_connection_open(self._connection)
        self.session = lib.pn_session(self._connection)
        lib.pn_session_set_incoming_capacity(self.session, 1 << 26)
        lib.pn_session_open(self.session)
        self.link: Any = None
        self._closing = False
        self._closed = False
        self.started_at = 0.0
        """When the first message was sent or received, and when `run` was done; in seconds."""
        self.ended_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.drop()

    @property
    def seconds(self) -> float:
        """Seconds from the first message to the end of `run`."""
        return self.ended_at - self.started_at

    def run(self, until: Callable[[], bool] | None = None) -> bool:
        """Work until all is done, which gives True, or until the condition holds, which gives False.

        Raises PeerClosedError when the bridge ends the link or the connection, ConnectionError when
        the socket breaks, TimeoutError when nothing happens any more.
        """
        while True:
            self.work()
            if self.is_done():
                self.ended_at = time.perf_counter()
                return True
            if until is not None and until():
                return False
            self._exchange(TURN_SECONDS if until is not None else SILENCE_SECONDS)

    def close(self) -> None:
        """Detach and close; returns when the bridge has closed too, so has seen all that was sent."""
        if self._closed:
            return
        self._closing = True
        lib.pn_link_close(self.link)
        try:
            while not lib.pn_link_state(self.link) & lib.PN_REMOTE_CLOSED:
                self._exchange(SILENCE_SECONDS)
            lib.pn_connection_close(self._connection)
            while not lib.pn_connection_state(self._connection) & lib.PN_REMOTE_CLOSED:
                self._exchange(SILENCE_SECONDS)
        except ConnectionError:
            pass  # it is gone already, as it should be
        self.drop()

    def drop(self) -> None:
        """Close the socket without a word, as a client does that crashes."""
        if self._closed:
            return
        self._closed = True
        self._socket.close()
        lib.pn_transport_unbind(self._transport)
        lib.pn_collector_release(self._collector)
        lib.pn_connection_release(self._connection)
        lib.pn_decref(self._transport)
        lib.pn_decref(self._connection)
        lib.pn_collector_free(self._collector)

    def work(self) -> None:
        """Do what can be done without the peer."""

    def is_done(self) -> bool:
        """Tell whether `run` has reached its end."""
        raise NotImplementedError

    def handle(self, delivery: Any) -> None:  # noqa: ANN401 - a C pointer
        """Handle a delivery's event."""
        raise NotImplementedError

    def open_link(self, link: Any, mode: str) -> None:  # noqa: ANN401 - a C pointer
        """Attach the one link."""
        lib.pn_link_set_snd_settle_mode(link, MODES[mode].snd)
        lib.pn_link_set_rcv_settle_mode(link, MODES[mode].rcv)
        lib.pn_link_open(link)
        self.link = link

    def _exchange(self, seconds: float) -> None:
        """Send what there is, and take what comes within so long."""
        self.flush()
        readable, _, _ = select.select([self._socket], [], [], seconds)
        if not readable:
            if seconds >= SILENCE_SECONDS:
                raise TimeoutError(f"nothing happened for {seconds:.0f} s: {self}")
            return
        self._receive()
        self.flush()

    def _receive(self) -> None:
        received = self._socket.recv(1 << 18)
        if not received:
            raise ConnectionResetError("the bridge closed the socket")
        offset = 0
        while offset < len(received):
            capacity = lib.pn_transport_capacity(self._transport)
            if capacity <= 0:
                raise ConnectionResetError("the connection is over")
            piece = received[offset : offset + capacity]
            lib.pn_transport_push(self._transport, piece, len(piece))
            offset += len(piece)
            self._handle_events()

    def flush(self) -> None:
        """Write what the engine has to send; waits until the socket has taken it.

        Raises PeerClosedError if the bridge said why before it closed the socket, else ConnectionError.
        """
        pending = lib.pn_transport_pending(self._transport)
        while pending > 0:
            count = lib.pn_transport_peek(self._transport, buffer, min(pending, BUFFER_BYTES))
            try:
                self._socket.sendall(view[:count])
            except (BrokenPipeError, ConnectionResetError):
                while True:  # until its last words are read, or there are none
                    self._receive()
            lib.pn_transport_pop(self._transport, count)
            pending = lib.pn_transport_pending(self._transport)

    def _handle_events(self) -> None:
        collector = self._collector
        while event := lib.pn_collector_peek(collector):
            kind = lib.pn_event_type(event)
            if kind == lib.PN_DELIVERY:
                self.handle(lib.pn_event_delivery(event))
            elif kind == lib.PN_LINK_REMOTE_CLOSE:
                self._peer_closed(lib.pn_link_remote_condition(self.link))
            elif kind == lib.PN_CONNECTION_REMOTE_CLOSE:
                self._peer_closed(lib.pn_connection_remote_condition(self._connection))
            lib.pn_collector_pop(collector)

    def _peer_closed(self, condition: Any) -> None:  # noqa: ANN401 - a C pointer
        if self._closing:
            return
        name, description = "", ""
        if lib.pn_condition_is_set(condition):
            name = ffi.string(lib.pn_condition_get_name(condition)).decode()
            description = ffi.string(lib.pn_condition_get_description(condition)).decode()
        raise PeerClosedError(name, description)
