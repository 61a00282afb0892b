"""One AMQP connection of a bare pump: a socket, proton's C library, and nothing between them.

It answers whatever a peer opens with the same, and gives its own methods what there is to do for each
delivery. It checks nothing, limits nothing and reports nothing. Links are freed with their connection.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, TypeAlias, cast

from cproton_ffi import ffi, lib

# Importing the module starts the library.
import cproton  # noqa: F401 # isort: skip

CData: TypeAlias = Any
"""A pointer into proton; equal and hashable by its address."""

MAX_FRAME_BYTES: Final = 65536
"""The bridge's default."""
WRITE_BUFFER_BYTES: Final = 1 << 18
INPUT_BYTES: Final = 1 << 18
OUTPUT_BYTES: Final = 1 << 18

_input: Final = ffi.new("char[]", INPUT_BYTES)
_input_view: Final = ffi.buffer(_input)
_output: Final = ffi.new("char[]", OUTPUT_BYTES)
_output_view: Final = ffi.buffer(_output)

_peek_event: Final = lib.pn_collector_peek
_pop_event: Final = lib.pn_collector_pop
_event_type: Final = lib.pn_event_type
_event_delivery: Final = lib.pn_event_delivery
_DELIVERY: Final = lib.PN_DELIVERY


class PumpConnection(asyncio.BufferedProtocol):
    """A connection that accepts everything. What is done with deliveries is said by a subclass."""

    def __init__(self) -> None:
        self.lost = False
        self.congested = False
        """The socket takes no more for now."""
        self._socket: asyncio.Transport | None = None
        self._connection, self._transport = lib.pn_connection(), lib.pn_transport()
        self._collector = lib.pn_collector()
        lib.pn_transport_set_server(self._transport)
        lib.pn_sasl_allowed_mechs(lib.pn_sasl(self._transport), b"ANONYMOUS")
        lib.pn_transport_require_auth(self._transport, False)  # noqa: FBT003 - a C function
        lib.pn_transport_set_max_frame(self._transport, MAX_FRAME_BYTES)
        lib.pn_connection_collect(self._connection, self._collector)
        lib.pn_transport_bind(self._transport, self._connection)

    # ------------------------------------------------------------------ what a subclass does

    def attached(self, link: CData) -> None:
        """Take a link that was just opened at both ends."""

    def detached(self, link: CData) -> None:
        """Forget a link that was closed at both ends."""

    def delivered(self, delivery: CData) -> None:
        """Handle a delivery's event."""

    def batch_ended(self) -> None:
        """Do what is done once for many events; what is to be sent is sent afterwards."""

    # ------------------------------------------------------------------ asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        # uvloop's transports are none of asyncio's classes.
        self._socket = cast("asyncio.Transport", transport)
        self._socket.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)

    def get_buffer(self, _size: int) -> memoryview:
        """Give the loop room for input, the same for all connections: proton copies it at once."""
        return _input_view  # type: ignore[no-any-return] # a buffer as good as a memoryview

    def buffer_updated(self, size: int) -> None:
        """Give what came to proton, and send what comes of it."""
        transport = self._transport
        offset = 0
        while offset < size:
            count = min(lib.pn_transport_capacity(transport), size - offset)
            if count <= 0 or lib.pn_transport_push(transport, _input + offset, count) < 0:
                break
            offset += count
            self._handle_events()
        self.batch_ended()
        self.flush()

    def pause_writing(self) -> None:
        """Stop taking output: the peer reads slower than this end sends."""
        self.congested = True

    def resume_writing(self) -> None:
        """Take output again."""
        self.congested = False
        self.flush()
        self.batch_ended()
        self.flush()

    def connection_lost(self, _error: Exception | None) -> None:
        """Free everything that belongs to the connection."""
        self.lost = True
        lib.pn_transport_unbind(self._transport)
        lib.pn_collector_release(self._collector)
        lib.pn_connection_release(self._connection)
        lib.pn_decref(self._transport)
        lib.pn_decref(self._connection)
        lib.pn_collector_free(self._collector)

    # ------------------------------------------------------------------ proton's side

    def flush(self) -> None:
        """Write what there is to be sent, as long as the socket takes it."""
        socket = self._socket
        if self.lost or socket is None:
            return
        transport = self._transport
        pending = lib.pn_transport_pending(transport)
        while pending > 0 and not self.congested:
            count = lib.pn_transport_peek(transport, _output, min(pending, OUTPUT_BYTES))
            socket.write(_output_view[:count])
            lib.pn_transport_pop(transport, count)
            pending = lib.pn_transport_pending(transport)
        if pending < 0:
            socket.close()

    def _handle_events(self) -> None:
        collector = self._collector
        delivered = self.delivered
        while event := _peek_event(collector):
            kind = _event_type(event)
            if kind == _DELIVERY:
                delivered(_event_delivery(event))
            else:
                self._control(kind, event)
            _pop_event(collector)

    def _control(self, kind: int, event: CData) -> None:
        if kind == lib.PN_CONNECTION_REMOTE_OPEN:
            lib.pn_connection_open(self._connection)
        elif kind == lib.PN_SESSION_REMOTE_OPEN:
            lib.pn_session_open(lib.pn_event_session(event))
        elif kind == lib.PN_LINK_REMOTE_OPEN:
            link = lib.pn_event_link(event)
            lib.pn_terminus_copy(lib.pn_link_source(link), lib.pn_link_remote_source(link))
            lib.pn_terminus_copy(lib.pn_link_target(link), lib.pn_link_remote_target(link))
            lib.pn_link_set_snd_settle_mode(link, lib.pn_link_remote_snd_settle_mode(link))
            lib.pn_link_open(link)
            self.attached(link)
        elif kind == lib.PN_LINK_REMOTE_CLOSE:
            link = lib.pn_event_link(event)
            lib.pn_link_close(link)
            self.detached(link)
        elif kind == lib.PN_SESSION_REMOTE_CLOSE:
            lib.pn_session_close(lib.pn_event_session(event))
        elif kind == lib.PN_CONNECTION_REMOTE_CLOSE:
            lib.pn_connection_close(self._connection)


def address(terminus: CData) -> str:
    """Read the address of a source or target; empty if it has none."""
    found = lib.pn_terminus_get_address(terminus)
    return ffi.string(found).decode() if found else ""
