"""One connection of a crowd: Proton's C library over a socket that never blocks, with many sending links.

Its owner (`crowd`) waits for the socket, and calls `receive`, `send` and `tick`.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any, Final

from support.load_connection import MODES, PeerClosedError, buffer, view
from support.outbox import ACCEPTED

from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from support.outbox import Outbox

SOCKET_BYTES: Final = 65536
"""What the kernel may hold of a connection's output: hundreds of stalled ones are not to fill the machine."""
UNSENT_BYTES: Final = 1 << 18
"""How much of its output a connection keeps encoded."""
PIECE_BYTES: Final = 1 << 18


class CrowdConnection:
    """One connection with the links of its outboxes."""

    def __init__(self, port: int, container: str, idle_timeout_ms: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setblocking(False)  # noqa: FBT003 - positional only
        self._connection, self._transport = lib.pn_connection(), lib.pn_transport()
        self._collector = lib.pn_collector()
        lib.pn_connection_collect(self._connection, self._collector)
        lib.pn_transport_set_max_frame(self._transport, 65536)
        lib.pn_transport_set_idle_timeout(self._transport, idle_timeout_ms)
        lib.pn_transport_bind(self._transport, self._connection)
        lib.pn_connection_set_container(self._connection, container.encode())
        lib.pn_connection_open(self._connection)
        self._session = lib.pn_session(self._connection)
        lib.pn_session_open(self._session)
        self._links: dict[Any, SendingLink] = {}
        self._closing = False
        self._dropped = False
        self.ended = False
        """Whether both ends have closed it."""

    def attach(self, outbox: Outbox, part_bytes: int) -> SendingLink:
        """Attach a link; for `part_bytes` see there."""
        pointer = lib.pn_sender(self._session, outbox.link_name.encode())
        lib.pn_terminus_set_address(lib.pn_link_target(pointer), outbox.address.encode())
        # It understands all outcomes, and says so: else the bridge would not tell of failures that pass.
        outcomes = lib.pn_terminus_outcomes(lib.pn_link_source(pointer))
        lib.pn_terminus_set_type(lib.pn_link_source(pointer), lib.PN_SOURCE)
        _put_outcomes(outcomes)
        lib.pn_link_set_snd_settle_mode(pointer, MODES[outbox.mode].snd)
        lib.pn_link_set_rcv_settle_mode(pointer, MODES[outbox.mode].rcv)
        lib.pn_link_open(pointer)
        link = self._links[pointer] = SendingLink(pointer, outbox, part_bytes)
        return link

    @property
    def frames_received(self) -> int:
        """How many frames came, heartbeats included."""
        return int(lib.pn_transport_get_frames_input(self._transport))

    def detach(self) -> None:
        """Detach all links; what was sent before arrives before."""
        self._closing = True
        for pointer in self._links:
            lib.pn_link_close(pointer)

    def close(self) -> None:
        """Close the connection."""
        self._closing = True
        lib.pn_connection_close(self._connection)

    def is_detached(self) -> bool:
        """Tell whether the bridge has detached all links, too."""
        return all(lib.pn_link_state(pointer) & lib.PN_REMOTE_CLOSED for pointer in self._links)

    def is_attached(self) -> bool:
        """Tell whether the bridge has answered every attach."""
        return all(lib.pn_link_state(pointer) & lib.PN_REMOTE_ACTIVE for pointer in self._links)

    def drop(self) -> None:
        """Close the socket without a word; outboxes learn that their answers are lost."""
        if self._dropped:
            return
        self._dropped = True
        self.socket.close()
        for link in self._links.values():
            link.outbox.lost()
        lib.pn_transport_unbind(self._transport)
        lib.pn_collector_release(self._collector)
        lib.pn_connection_release(self._connection)
        lib.pn_decref(self._transport)
        lib.pn_decref(self._connection)
        lib.pn_collector_free(self._collector)

    def receive(self) -> None:
        """Take what came. Raises ConnectionError at the end of input, PeerClosedError if told why."""
        try:
            received = self.socket.recv(PIECE_BYTES)
        except BlockingIOError:
            return
        if not received:
            if self._closing and lib.pn_connection_state(self._connection) & lib.PN_REMOTE_CLOSED:
                self.ended = True
                return
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

    def send(self) -> bool:
        """Send what credit and socket allow; tells whether there is more for when the socket has room."""
        while True:
            for link in self._links.values():
                if lib.pn_session_outgoing_bytes(self._session) >= UNSENT_BYTES:
                    break
                link.send(self._session)
            if not self.flush():
                return True
            if not lib.pn_session_outgoing_bytes(self._session) and not any(
                link.may_send() for link in self._links.values()
            ):
                return False

    def flush(self) -> bool:
        """Write what the engine has; False when the socket does not take it all."""
        while (pending := lib.pn_transport_pending(self._transport)) > 0:
            count = lib.pn_transport_peek(self._transport, buffer, min(pending, PIECE_BYTES))
            try:
                taken = self.socket.send(view[:count])
            except BlockingIOError:
                return False
            lib.pn_transport_pop(self._transport, taken)
        return True

    def tick(self) -> None:
        """Let time pass. Raises PeerClosedError when the bridge was silent for too long."""
        lib.pn_transport_tick(self._transport, int(time.monotonic() * 1000) + 1)
        self._handle_events()

    def _handle_events(self) -> None:
        while event := lib.pn_collector_peek(self._collector):
            kind = lib.pn_event_type(event)
            if kind == lib.PN_DELIVERY:
                delivery = lib.pn_event_delivery(event)
                state = lib.pn_delivery_remote_state(delivery)
                if lib.pn_delivery_updated(delivery) and state >= ACCEPTED:
                    self._links[lib.pn_delivery_link(delivery)].outbox.answered(delivery, state)
                    lib.pn_delivery_settle(delivery)
            elif kind == lib.PN_LINK_REMOTE_CLOSE:
                self._link_ended(lib.pn_event_link(event))
            elif kind == lib.PN_CONNECTION_REMOTE_CLOSE:
                self._peer_closed(lib.pn_connection_remote_condition(self._connection))
            elif kind == lib.PN_TRANSPORT_ERROR:
                self._peer_closed(lib.pn_transport_condition(self._transport))
            lib.pn_collector_pop(self._collector)

    def _link_ended(self, pointer: Any) -> None:  # noqa: ANN401 - a C pointer
        condition = lib.pn_link_remote_condition(pointer)
        outbox = self._links[pointer].outbox
        if outbox.may_end and not self._closing:
            del self._links[pointer]
            outbox.ended = ffi.string(lib.pn_condition_get_name(condition)).decode()
            outbox.stop()
            outbox.waiting.clear()
            lib.pn_link_close(pointer)
        else:
            self._peer_closed(condition)

    def _peer_closed(self, condition: Any) -> None:  # noqa: ANN401 - a C pointer
        if self._closing:
            return
        name, description = "", ""
        if lib.pn_condition_is_set(condition):
            name = ffi.string(lib.pn_condition_get_name(condition)).decode()
            description = ffi.string(lib.pn_condition_get_description(condition)).decode()
        raise PeerClosedError(name, description)


class SendingLink:
    """One link, and the outbox that it sends from.

    With `part_bytes` it sends so much of its first message and waits for `finish` before the rest.
    """

    def __init__(self, pointer: Any, outbox: Outbox, part_bytes: int) -> None:  # noqa: ANN401 - a C pointer
        self.pointer = pointer
        self.outbox = outbox
        self._part_bytes = part_bytes
        self._rest = b""
        self._settles = outbox.mode == "settled"

    @property
    def begun(self) -> bool:
        """Whether a part of a message was sent, and the rest waits."""
        return bool(self._rest)

    def finish(self) -> None:
        """Send the rest, too, and go on as any link does."""
        self._part_bytes = 0

    def may_send(self) -> bool:
        """Tell whether a message, or the rest of one, may go now."""
        if self._rest:
            return not self._part_bytes
        return lib.pn_link_credit(self.pointer) > 0 and self.outbox.has_more()

    def send(self, session: Any) -> None:  # noqa: ANN401 - a C pointer
        """Hand to the engine what may be sent now, and what is left of the bound for its bytes."""
        pointer, outbox = self.pointer, self.outbox
        if self._rest and not self._part_bytes:
            rest, self._rest = self._rest, b""
            lib.pn_link_send(pointer, rest, len(rest))
            lib.pn_link_advance(pointer)
        while self.may_send() and lib.pn_session_outgoing_bytes(session) < UNSENT_BYTES:
            number = outbox.take()
            payload = outbox.message(number)
            tag = b"%d" % number
            delivery = lib.pn_delivery(pointer, (len(tag), ffi.from_buffer(tag)))
            if not self._settles:
                outbox.waiting[delivery] = number
            if self._part_bytes:
                payload, self._rest = payload[: self._part_bytes], payload[self._part_bytes :]
                lib.pn_link_send(pointer, payload, len(payload))
                return
            lib.pn_link_send(pointer, payload, len(payload))
            if self._settles:
                lib.pn_delivery_settle(delivery)  # which advances the link, too
            else:
                lib.pn_link_advance(pointer)


def _put_outcomes(data: Any) -> None:  # noqa: ANN401 - a C pointer
    names = [b"amqp:accepted:list", b"amqp:rejected:list", b"amqp:released:list", b"amqp:modified:list"]
    lib.pn_data_put_array(data, False, lib.PN_SYMBOL)  # noqa: FBT003 - a C function
    lib.pn_data_enter(data)
    for name in names:
        lib.pn_data_put_symbol(data, (len(name), ffi.from_buffer(name)))
    lib.pn_data_exit(data)
