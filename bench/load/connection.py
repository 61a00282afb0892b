"""One AMQP connection of the load generator: its socket, the handshake, one session, its links.

What a connection is for, sending or receiving, is said by its subclasses; the loop in `bench.load.loop`
says when it may read and write. It never blocks. Source: AMQP 1.0 core, 2.4, 2.5, 2.6; 5.3 (SASL).
"""

from __future__ import annotations

import math
import socket
import time
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np

from bench.load import frames, reading
from bench.load.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Callable

_INBOX_BYTES: Final = 1 << 20


class Inbox:
    """Where all connections receive into, one at a time: the bytes, and two views on them."""

    def __init__(self) -> None:
        self.bytes = bytearray(_INBOX_BYTES)
        self.view = memoryview(self.bytes)
        self.array = np.frombuffer(self.bytes, np.uint8)


class Link:
    """One link, as far as links of both directions have it; `handle` is ours, the peer has its own."""

    def __init__(self, name: str, handle: int) -> None:
        self.name = name
        self.handle = handle
        self.detaching = False


LinkT = TypeVar("LinkT", bound=Link)


class Connection(Generic[LinkT]):
    """A socket with an AMQP connection on it that attaches `links` as soon as it can.

    Raises LoadError from `read` for whatever the peer says that was not asked for.
    """

    def __init__(self, port: int, inbox: Inbox, container_id: str, links: list[LinkT]) -> None:
        self.links = links
        self.attached = 0
        self.detached = 0
        """How many links are attached, and how many of them are detached again, by both ends."""
        self.closed = False
        self.max_frame_bytes = 0
        """The largest frame that the peer takes; known once a link is attached."""
        self.attach_sent_at = 0.0
        """When links were attached; time.perf_counter()."""
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(0)
        self._inbox = inbox
        self._container_id = container_id
        self._rest = b""
        self._closing = False
        self._header_due = True
        self._heartbeat_seconds = math.inf
        self._sent_at = time.monotonic()
        self._control = bytearray(frames.SASL_PROTOCOL)
        self._parting = bytearray()
        """What goes when all else that was to be sent is sent: detaches, and the close."""
        self._control_cut = False
        """The socket has taken a part of it, in the middle of a frame perhaps."""
        self._by_name = {link.name: link for link in links}
        self._by_peer_handle: dict[int, LinkT] = {}
        self._next_incoming_id = 0
        self._handlers: dict[int, Callable[[list[Any]], None]] = {
            frames.SASL_MECHANISMS: self._mechanisms,
            frames.SASL_OUTCOME: self._authenticated,
            frames.OPEN: self._opened,
            frames.BEGIN: self._session_begun,
            frames.ATTACH: self._link_attached,
            frames.FLOW: self.flow,
            frames.DETACH: self._link_detached,
            frames.END: self._session_ended,
            frames.CLOSE: self._connection_closed,
        }

    # ------------------------------------------------------------------ for the loop

    def fileno(self) -> int:
        """Give the socket, for a selector."""
        return self._socket.fileno()

    def read(self) -> None:
        """Take what the socket has and handle it. Raises LoadError."""
        inbox, kept = self._inbox, len(self._rest)
        inbox.bytes[:kept] = self._rest
        try:
            count = self._socket.recv_into(inbox.view[kept:])
        except BlockingIOError:
            return
        except ConnectionError:
            count = 0
        if not count:
            if not self._closing:
                raise LoadError("the peer closed the socket")
            self.closed = True
            return
        used = self._walk(kept + count)
        self._rest = bytes(inbox.view[used : kept + count])
        self.batch_ended()

    def flush(self) -> bool:
        """Send what is due; tells whether there is more as soon as the socket takes it."""
        self._part()
        return bool(self._control) and not self._send_control()

    def keep_alive(self, now: float) -> None:
        """Queue an empty frame if the peer would else think us dead; `now` is time.monotonic()."""
        if now - self._sent_at >= self._heartbeat_seconds:
            self._control += frames.HEARTBEAT

    def drop(self) -> None:
        """Close the socket."""
        self._socket.close()

    # ------------------------------------------------------------------ for the owner

    def attach(self, links: list[LinkT]) -> None:
        """Attach further links, after those that were before them are detached."""
        self.links = links
        self.attached = self.detached = 0
        self._by_name = {link.name: link for link in links}
        self._control += b"".join(map(self.attach_frames, links))
        self.attach_sent_at = time.perf_counter()

    def detach(self, link: LinkT) -> None:
        """Close a link; the peer's answer counts in `detached`."""
        link.detaching = True
        self._parting += frames.detach(link.handle)

    def close(self) -> None:
        """Say that the connection is over; the peer's answer sets `closed`."""
        self._closing = True
        self._parting += frames.CLOSE_CONNECTION

    @property
    def all_detached(self) -> bool:
        """Tell whether the peer has answered the detaches of all links."""
        return self.detached == len(self.links)

    # ------------------------------------------------------------------ for subclasses

    def attach_frames(self, link: LinkT) -> bytes:
        """Make what attaches a link."""
        raise NotImplementedError

    def window(self, next_incoming_id: int, frames_taken: int) -> None:
        """Take how many transfers the peer's session takes, from which transfer-id on."""

    def flow(self, fields: list[Any]) -> None:
        """Take a flow."""

    def transfers(self, at: int, end: int) -> int:
        """Take the transfer whose frame is at `at`, and such as follow; gives where the last ends."""
        raise LoadError(f"the peer sent a message where none belongs: {self._inbox.bytes[at:end][:80]!r}")

    def dispositions(self, at: int, end: int) -> int:
        """Take the disposition whose frame is at `at`, and such as follow; gives where the last ends."""
        raise LoadError(f"the peer sent an outcome where none belongs: {self._inbox.bytes[at:end][:80]!r}")

    def batch_ended(self) -> None:
        """Take notice that all that was read is handled."""

    def send(self, data: memoryview | bytearray) -> int:
        """Give bytes to the socket; gives how many it took."""
        try:
            count = self._socket.send(data)
        except BlockingIOError:
            return 0
        except ConnectionError as error:
            if self._closing:
                self.closed = True
                return len(data)
            # What the peer has said before it went says why.
            self.read()
            raise LoadError(f"the connection broke: {error}") from error
        self._sent_at = time.monotonic()
        return count

    def _part(self) -> None:
        self._control += self._parting
        self._parting.clear()

    def _send_control(self) -> bool:
        """Send the control frames; tells whether the socket took them all."""
        count = self.send(self._control)
        del self._control[:count]
        self._control_cut = bool(self._control) and (count > 0 or self._control_cut)
        return not self._control

    # ------------------------------------------------------------------ frames

    def _walk(self, end: int) -> int:
        """Handle the whole frames among the first `end` bytes of the inbox; gives where they end."""
        data, at = self._inbox.bytes, 0
        while end - at >= frames.HEADER_BYTES:
            if self._header_due:
                self._protocol_header(bytes(data[at : at + frames.HEADER_BYTES]))
                at += frames.HEADER_BYTES
                continue
            size, words, _, _ = frames.HEADER.unpack_from(data, at)
            if at + size > end:
                if size > frames.MAX_FRAME_BYTES:
                    raise LoadError(f"the peer sent a frame of {size} bytes")
                break
            if size <= frames.HEADER_BYTES:
                at += frames.HEADER_BYTES
                continue
            performative_at = at + 4 * words
            code = data[performative_at + 2]
            if code == frames.TRANSFER:
                at = self.transfers(at, end)
                continue
            if code == frames.DISPOSITION:
                at = self.dispositions(at, end)
                continue
            self._control_frame(bytes(data[performative_at : at + size]))
            at += size
        return at

    def _protocol_header(self, header: bytes) -> None:
        if header not in (frames.SASL_PROTOCOL, frames.AMQP_PROTOCOL):
            raise LoadError(f"the peer does not speak AMQP 1.0: {header!r}")
        self._header_due = False

    def _control_frame(self, body: bytes) -> None:
        code, fields = reading.performative(body, 0)
        handler = self._handlers.get(code)
        if handler is None:
            raise LoadError(f"the peer sent a frame that no peer sends: 0x{code:x}")
        handler(fields)

    def _mechanisms(self, _fields: list[Any]) -> None:
        self._control += frames.SASL_ANONYMOUS

    def _authenticated(self, fields: list[Any]) -> None:
        if fields[0]:
            raise LoadError(f"the peer does not let anonymous clients in: SASL code {int(fields[0])}")
        self._header_due = True
        self._control += frames.AMQP_PROTOCOL
        self._control += frames.open_connection(self._container_id) + frames.BEGIN_SESSION
        self.attach(self.links)

    def _opened(self, fields: list[Any]) -> None:
        self.max_frame_bytes = frames.MAX_FRAME_BYTES if fields[2] is None else int(fields[2])
        if fields[4]:
            self._heartbeat_seconds = fields[4] / 2000

    def _session_begun(self, fields: list[Any]) -> None:
        self._next_incoming_id = int(fields[1])
        self.window(0, int(fields[2]))

    def _link_attached(self, fields: list[Any]) -> None:
        self._by_peer_handle[int(fields[1])] = self._by_name[fields[0]]
        # An attach without the peer's own terminus comes before a detach that says why (2.6.3).
        self.attached += 1

    def _link_detached(self, fields: list[Any]) -> None:
        link = self._by_peer_handle.pop(int(fields[0]))
        if fields[2] is not None or not link.detaching:
            raise LoadError(f"the peer detached link {link.name}: {reading.error_text(fields[2])}")
        self.detached += 1

    def _session_ended(self, fields: list[Any]) -> None:
        raise LoadError(f"the peer ended the session: {reading.error_text(fields[0])}")

    def _connection_closed(self, fields: list[Any]) -> None:
        if not self._closing or fields[0] is not None:
            raise LoadError(f"the peer closed the connection: {reading.error_text(fields[0])}")
        self.closed = True
