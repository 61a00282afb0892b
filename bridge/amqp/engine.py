"""One AMQP connection without a socket: bytes in, calls to links' handlers, bytes out.

Drives proton's bottom half (transport) from whoever owns the socket and answers its top half (connection,
sessions, links) here. It never blocks, opens no socket and reads no clock. Everything is called on one
thread. An exception in a link's handler ends that link alone.

How to drive it: give received bytes to `receive`; call `flush` when `on_change` was called; give the time
to `tick`; call `lost` once when the socket is gone, after which nothing may be called.

Source: AMQP 1.0 core, sections 2.2-2.7; the nine pairs of local and remote endpoint states are those of
Proton's engine documentation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from bridge.amqp import native, termini
from bridge.amqp.links import IncomingLink, Link, OutgoingLink
from bridge.amqp.opening import OpeningWatch
from bridge.amqp.usual_path import take_usual
from bridge.model import conditions
from bridge.model.conditions import Condition
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bridge.amqp.contract import AnyLink, EngineEvents, EngineSettings
    from bridge.amqp.native import CData
    from bridge.model.dialect import Dialect

_OUTPUT_BYTES: Final = 1 << 16
_output: Final = ffi.new("char[]", _OUTPUT_BYTES)
_output_view: Final = ffi.buffer(_output)

_peek_event: Final = lib.pn_collector_peek
_pop_event: Final = lib.pn_collector_pop
_event_type: Final = lib.pn_event_type
_event_delivery: Final = lib.pn_event_delivery
_delivery_link: Final = lib.pn_delivery_link


class Engine:
    """The AMQP state of one connection."""

    __slots__ = (
        "__weakref__",
        "_blocked",
        "_closing",
        "_collector",
        "_connection",
        "_ended",
        "_events",
        "_failed",
        "_links",
        "_lost",
        "_on_change",
        "_opened",
        "_opening",
        "_reported",
        "_settings",
        "_touched",
        "_transport",
        "assembles",
        "congested",
        "dialect",
        "peer_container_id",
    )

    def __init__(self, settings: EngineSettings, events: EngineEvents, on_change: Callable[[], None]) -> None:
        self._settings = settings
        self._events = events
        self._on_change = on_change
        self.dialect = settings.dialect
        self.congested = False
        """The socket takes no more for now; set by the owner."""
        self.assembles = False
        """The last input had messages of several frames; set by their links."""
        self.peer_container_id = ""
        self._links: dict[CData, AnyLink] = {}
        self._touched: list[AnyLink] = []
        self._blocked: dict[OutgoingLink, None] = {}
        """Those that wait for bytes to leave, in their order."""
        self._ended = native.Ended()
        self._opening = OpeningWatch(settings.idle_timeout_ms)
        self._opened = False
        self._closing = False
        self._failed = False
        self._reported = False
        self._lost = False
        self._connection, self._transport, self._collector = native.make_connection(settings)

    # ------------------------------------------------------------------ bottom half

    def receive(self, data: bytes | memoryview) -> None:
        """Take bytes from the peer and handle what they say."""
        transport = self._transport
        self.assembles = False
        base = ffi.from_buffer(data)
        offset, size = 0, len(data)
        while offset < size:
            capacity = lib.pn_transport_capacity(transport)
            if capacity <= 0:
                break
            count = min(capacity, size - offset)
            if lib.pn_transport_push(transport, base + offset, count) < 0:
                break
            offset += count
            self._handle_events()
            for link in self._touched:
                if isinstance(link, IncomingLink):
                    link.presettled = None
            # Deliveries that were settled are free for those that follow once proton made its output, no
            # sooner: else a connection would come to own as many as its largest piece of input holds.
            lib.pn_transport_pending(transport)
        self._end_batch()

    def end_of_input(self) -> None:
        """Take notice that the peer sends no more bytes."""
        lib.pn_transport_close_tail(self._transport)
        self._handle_events()
        # Proton takes no notice when the input ends within a frame.
        self._failed = True
        self._report_closed(
            Condition(conditions.CONNECTION_FRAMING_ERROR, "the input ended in the middle of a frame")
        )
        self._end_batch()

    def flush(self, write: Callable[[bytes], None]) -> bool:
        """Write what there is to be sent, as long as the socket takes it.

        Gives False when the connection is over and the socket is to be closed, at once if it is congested.
        """
        transport = self._transport
        may_go_on = True
        while True:
            pending = lib.pn_transport_pending(transport)
            while pending > 0 and not self.congested:
                count = lib.pn_transport_peek(transport, _output, min(pending, _OUTPUT_BYTES))
                data = _output_view[:count]
                lib.pn_transport_pop(transport, count)
                write(data)
                may_go_on = True
                pending = lib.pn_transport_pending(transport)
            if pending < 0 or (self._failed and (self.congested or not pending)):
                self._handle_events()
                return False
            if self.congested:
                return True
            if self._ended.free():
                # The collector holds the last reference to each.
                self._handle_events()
            if not self._blocked or not may_go_on:
                return True
            # As long as no bytes leave, links that find no room now will not find any at a second look.
            may_go_on = False
            blocked, self._blocked = self._blocked, {}
            for link in blocked:
                if not link.discards:
                    self.call(link, link.batch_ended)

    def tick(self, now_ms: int) -> int:
        """Let time pass: heartbeats, and the end of a silent peer. Gives the next deadline, 0 for none."""
        deadline: int = lib.pn_transport_tick(self._transport, now_ms)
        if not self._opened:
            deadline = self._await_open(now_ms, deadline)
        self._handle_events()
        self._end_batch()
        return deadline

    def _await_open(self, now_ms: int, deadline_ms: int) -> int:
        """Give up a peer that does not open in time."""
        if self._failed:
            return deadline_ms
        if self._opening.is_over(now_ms):
            self._failed = True
            because = f"the peer did not open its connection within {self._settings.idle_timeout_ms} ms"
            self._report_closed(Condition(conditions.RESOURCE_LIMIT_EXCEEDED, because))
            return deadline_ms
        return self._opening.earlier(deadline_ms)

    def tolerate_silence(self, *, tolerates: bool) -> None:
        """Stop, or begin again, to give up a peer that sends nothing: what it sends is not being read."""
        timeout_ms = 0 if tolerates else self._settings.idle_timeout_ms
        lib.pn_transport_set_idle_timeout(self._transport, timeout_ms)

    def incoming(self) -> list[IncomingLink]:
        """Give the links on which the peer may send messages."""
        return [link for link in self._links.values() if isinstance(link, IncomingLink)]

    def assembling(self) -> list[IncomingLink]:
        """Give the links on which a message has arrived in part."""
        return [link for link in self.incoming() if link.assembling is not None]

    def close(self, condition: Condition) -> None:
        """Close the connection for a reason; its links end with it."""
        if self._closing:
            return
        self._closing = True
        for link in list(self._links.values()):
            link.end()
        native.write_condition(lib.pn_connection_condition(self._connection), condition, *self.telling())
        # A close says nothing unless an open went before it.
        lib.pn_connection_open(self._connection)
        lib.pn_connection_close(self._connection)
        self.changed()

    def lost(self) -> None:
        """Take notice that the socket is gone: end all links, and free everything."""
        self._lost = True
        for link in list(self._links.values()):
            link.end()
        self._links.clear()
        self._touched.clear()
        self._blocked.clear()
        native.free_connection(self._connection, self._transport, self._collector)

    # ------------------------------------------------------------------ for links

    def telling(self) -> tuple[Dialect, int]:
        """Give how the peer is told conditions: in which names, and how many bytes it takes."""
        return self.dialect, native.condition_bytes_max(self._transport)

    @property
    def links(self) -> list[AnyLink]:
        """The links that have not ended."""
        return [link for link in self._links.values() if not link.ended]

    def changed(self) -> None:
        """Say that there may be something to send."""
        if not self._lost:
            self._on_change()

    def call(self, link: Link, function: Callable[[], object]) -> None:
        """Call into a link's handler: an exception ends that link alone."""
        try:
            function()
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            self._detach_failed(link, error)

    def blocked(self, link: OutgoingLink) -> None:
        """Remember a link that may go on when bytes have left."""
        self._blocked[link] = None

    def queues(self, session: CData) -> bool:
        """Tell whether a link of this session has messages that still may be sent."""
        return any(
            isinstance(link, OutgoingLink) and lib.pn_link_session(pointer) == session and link.queues()
            for pointer, link in self._links.items()
        )

    # ------------------------------------------------------------------ events

    def _handle_events(self) -> None:
        collector, links, touched = self._collector, self._links, self._touched
        while True:
            if take_usual is not None:
                take_usual(collector, links, touched, IncomingLink, self._detach_failed)
            event = _peek_event(collector)
            if not event:
                return
            link: AnyLink | None = None
            # No pointer, unless the event is about a delivery: that is cheaper to ask than its type.
            delivery = _event_delivery(event)
            try:
                if delivery:
                    link = links.get(_delivery_link(delivery))
                    if link is not None:
                        if not link.touched:
                            link.touched = True
                            touched.append(link)
                        link.delivery_changed(delivery)
                elif (handle := self._CONTROL.get(_event_type(event))) is not None:
                    handle(self, event)
            except Exception as error:
                if link is None:
                    _pop_event(collector)
                    raise
                self._detach_failed(link, error)
            _pop_event(collector)

    def _end_batch(self) -> None:
        if self._touched:
            touched, self._touched = self._touched, []
            for link in touched:
                link.touched = False
                if link.discards:
                    continue
                if isinstance(link, IncomingLink) and lib.pn_link_credit(link.pointer) < 0:
                    link.overrun()
                    continue
                self.call(link, link.batch_ended)
        self.changed()

    def _detach_failed(self, link: Link, error: Exception) -> None:
        self._events.handler_failed(link, error)
        link.detach(
            Condition(
                conditions.INTERNAL_ERROR,
                f"the bridge failed on link {link.request.link_name!r}; its log says why",
            )
        )

    # ------------------------------------------------------------------ top half

    def _connection_opened(self, _event: CData) -> None:
        self._opened = True
        self.peer_container_id = native.text(lib.pn_connection_remote_container(self._connection)) or ""
        if self._closing:
            return
        lib.pn_connection_open(self._connection)
        self._events.opened(self.peer_container_id)

    def _connection_closed(self, _event: CData) -> None:
        self._closing = True
        for link in list(self._links.values()):
            link.end()
        self._report_closed(native.read_condition(lib.pn_connection_remote_condition(self._connection)))
        lib.pn_connection_open(self._connection)
        lib.pn_connection_close(self._connection)

    def _session_opened(self, event: CData) -> None:
        session = lib.pn_event_session(event)
        if self._settings.session_window_bytes:
            lib.pn_session_set_incoming_capacity(session, self._settings.session_window_bytes)
        lib.pn_session_open(session)

    def _session_closed(self, event: CData) -> None:
        session = lib.pn_event_session(event)
        for pointer, link in list(self._links.items()):
            if lib.pn_link_session(pointer) == session:
                link.end()
                self._remove(pointer)
        lib.pn_session_close(session)
        self._ended.sessions.append(session)

    def _link_attached(self, event: CData) -> None:
        if self._closing:
            return
        pointer = lib.pn_event_link(event)
        if self._ended.links:
            # Their detaches are made now: proton makes attaches first, and a peer that attached a link's
            # name again without waiting would see it attached twice.
            lib.pn_transport_pending(self._transport)
        request = termini.read_attach(pointer, self.peer_container_id)
        link: AnyLink
        if request.peer_sends:
            link = IncomingLink(self, pointer, request)
        else:
            link = OutgoingLink(self, pointer, request)
        self._links[pointer] = link
        self.call(link, lambda: self._events.attached(link))

    def _link_closed(self, event: CData) -> None:
        self._link_ended_by_peer(lib.pn_event_link(event), closed=True)

    def _link_detached(self, event: CData) -> None:
        self._link_ended_by_peer(lib.pn_event_link(event), closed=False)

    def _link_ended_by_peer(self, pointer: CData, *, closed: bool) -> None:
        link = self._links.get(pointer)
        if link is not None:
            link.ended_by_peer(closed=closed)
            self._remove(pointer)
            self._ended.links.append(pointer)

    def _remove(self, pointer: CData) -> None:
        link = self._links.pop(pointer)
        if isinstance(link, OutgoingLink):
            self._blocked.pop(link, None)

    def _link_flow(self, event: CData) -> None:
        link = self._links.get(lib.pn_event_link(event))
        if link is not None and not link.touched:
            link.touched = True
            self._touched.append(link)

    def _transport_failed(self, _event: CData) -> None:
        self._closing = True
        self._failed = True
        self._report_closed(native.read_condition(lib.pn_transport_condition(self._transport)))

    def _report_closed(self, condition: Condition | None) -> None:
        if not self._reported:
            self._reported = True
            self._events.closed(condition)

    _CONTROL: ClassVar[Mapping[int, Callable[[Engine, CData], None]]] = {
        lib.PN_CONNECTION_REMOTE_OPEN: _connection_opened,
        lib.PN_CONNECTION_REMOTE_CLOSE: _connection_closed,
        lib.PN_SESSION_REMOTE_OPEN: _session_opened,
        lib.PN_SESSION_REMOTE_CLOSE: _session_closed,
        lib.PN_LINK_REMOTE_OPEN: _link_attached,
        lib.PN_LINK_REMOTE_CLOSE: _link_closed,
        lib.PN_LINK_REMOTE_DETACH: _link_detached,
        lib.PN_LINK_FLOW: _link_flow,
        lib.PN_TRANSPORT_ERROR: _transport_failed,
    }
    """What is done about events of proton that are not about a delivery: one table for all connections."""
