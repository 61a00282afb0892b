"""The two kinds of links as the endpoints see them: what can be asked of the engine, and what it reports.

A link is created by the engine when the peer attaches. It is answered by `open` or `refuse`, at once or
later; until then nothing can be sent on it. When it has ended, at whichever end and for whichever reason,
its handler's `close` was called exactly once, and all that is asked of it afterwards does nothing.

Source: AMQP 1.0 core, section 2.6 (links).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from bridge.amqp import hot_path, native
from bridge.model import conditions
from bridge.model.conditions import Condition
from cproton_ffi import lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.amqp.engine import Engine
    from bridge.amqp.native import CData
    from bridge.model.links import AttachRequest
    from bridge.model.outcomes import Outcome

OUTGOING_BYTES_MAX: Final = 1 << 20
"""How many bytes a session may hold that the peer's window or the socket have not taken yet."""


class LinkHandler(Protocol):
    """What both kinds of handlers are told."""

    def batch_ended(self) -> None:
        """All events that the engine had are handled: the time to give credit, or to send."""

    def close(self) -> object:
        """Take notice that the link has ended. Called once."""


class IncomingHandler(LinkHandler, Protocol):
    """Told about a link on which the peer sends."""

    def transferred(self, delivery: CData, payload: bytes, settled: bool, /) -> None:  # noqa: FBT001 - positional: the hot path
        """Take one whole message."""

    def arriving(self, change_bytes: int, /) -> None:
        """Count bytes of a message of several frames; all are taken back when it is whole or given up."""

    def aborted(self) -> None:
        """Take notice of a transfer that was given up."""

    def settled(self, delivery: CData, /) -> None:
        """Take notice that the peer settled an unsettled delivery."""


class OutgoingHandler(LinkHandler, Protocol):
    """Told about a link on which the bridge sends."""

    def accepted(self, delivery: CData, /) -> None:
        """Take the outcome accepted."""

    def disposed(self, delivery: CData, outcome: Outcome, /) -> None:
        """Take any other outcome, or a settlement without one (state NONE)."""


class _NotOpenYet:
    """Handles a link that has no answer yet: nothing may happen on it, and nothing is kept."""

    def batch_ended(self) -> None: ...
    def close(self) -> None: ...
    def arriving(self, change_bytes: int, /) -> None: ...
    def aborted(self) -> None: ...
    def transferred(self, delivery: CData, payload: bytes, settled: bool, /) -> None: ...  # noqa: FBT001 - positional: the hot path
    def settled(self, delivery: CData, /) -> None: ...
    def accepted(self, delivery: CData, /) -> None: ...
    def disposed(self, delivery: CData, outcome: Outcome, /) -> None: ...


_NOT_OPEN_YET: Final = _NotOpenYet()


class Link:
    """What incoming and outgoing links share: attach, detach, and where they belong."""

    def __init__(self, engine: Engine, pointer: CData, request: AttachRequest) -> None:
        self.engine = engine
        self.pointer = pointer
        self.request = request
        self.discards = True
        """Nothing that arrives is wanted: the link is not open yet, or it has ended."""
        self.touched = False
        """Something happened on it in the current batch of events."""
        self.ended = False
        self.reason: Condition | None = None
        """Why the bridge ended it, if it was the bridge."""
        self._answered = False

    @property
    def base_handler(self) -> LinkHandler:
        """The handler, whichever kind it is."""
        raise NotImplementedError

    def _open(self, max_message_size_bytes: int = 0) -> None:
        if self.ended:
            # The peer was faster: what the handler holds is given back.
            self.engine.call(self, self.base_handler.close)
            return
        pointer = self.pointer
        self._answered = True
        self._echo_attach()
        if max_message_size_bytes:
            lib.pn_link_set_max_message_size(pointer, max_message_size_bytes)
        lib.pn_link_open(pointer)
        self.discards = False
        self.engine.changed()

    def _echo_attach(self) -> None:
        pointer = self.pointer
        source, target = lib.pn_link_source(pointer), lib.pn_link_target(pointer)
        lib.pn_terminus_copy(source, lib.pn_link_remote_source(pointer))
        lib.pn_terminus_copy(target, lib.pn_link_remote_target(pointer))
        # Proton takes a terminus without an address for none, and a peer takes none for a refusal.
        if lib.pn_terminus_get_type(source) == lib.PN_UNSPECIFIED:
            lib.pn_terminus_set_type(source, lib.PN_SOURCE)
        if lib.pn_terminus_get_type(target) == lib.PN_UNSPECIFIED:
            lib.pn_terminus_set_type(target, lib.PN_TARGET)
        # What is echoed is what is applied (core 3.5.3): no filter is.
        lib.pn_data_clear(lib.pn_terminus_filter(source))
        lib.pn_link_set_snd_settle_mode(pointer, int(self.request.snd_settle_mode))
        lib.pn_link_set_rcv_settle_mode(pointer, int(self.request.rcv_settle_mode))

    def refuse(self, condition: Condition) -> None:
        """Answer the attach with a null terminus at the bridge's side, then detach with the reason.

        That is how a peer can tell a refusal from a link that ended (core 2.6.3).
        """
        if self.ended:
            return
        pointer = self.pointer
        self._answered = True
        self._echo_attach()
        ours = lib.pn_link_target if self.request.peer_sends else lib.pn_link_source
        lib.pn_terminus_set_type(ours(pointer), lib.PN_UNSPECIFIED)
        lib.pn_link_open(pointer)
        self._end_locally(condition)

    def detach(self, condition: Condition) -> None:
        """End an open link for a reason."""
        if self.ended:
            return
        if not self._answered:
            self.refuse(condition)
            return
        self._end_locally(condition)

    def _end_locally(self, condition: Condition) -> None:
        self.reason = condition
        native.write_condition(lib.pn_link_condition(self.pointer), condition, *self.engine.telling())
        lib.pn_link_close(self.pointer)
        self._renew_window()
        self.engine.changed()
        self.end()

    def ended_by_peer(self, *, closed: bool) -> None:
        """Answer the peer's detach in kind; a link that was never answered is attached first."""
        if self.ended:
            return
        if not self._answered:
            lib.pn_link_open(self.pointer)
        if closed:
            lib.pn_link_close(self.pointer)
        else:
            lib.pn_link_detach(self.pointer)
        self._renew_window()
        self.end()

    def _renew_window(self) -> None:
        """Open the session's window again for its other links, where this one may have narrowed it."""

    def end(self) -> None:
        """Tell the handler, once, that the link is over. Used for every way in which a link ends."""
        if not self.ended:
            self.ended = True
            self.discards = True
            self.engine.call(self, self.base_handler.close)


class IncomingLink(Link):
    """A link on which the peer sends. It is the port of a source link."""

    def __init__(self, engine: Engine, pointer: CData, request: AttachRequest) -> None:
        super().__init__(engine, pointer, request)
        self.handler: IncomingHandler = _NOT_OPEN_YET
        self.assembling: bytearray | None = None
        self.presettled: CData | None = None
        """The last delivery of the current batch that arrived settled or was given up."""
        self.max_message_size_bytes = 0

    @property
    def base_handler(self) -> LinkHandler:
        """The handler."""
        return self.handler

    def open(self, handler: IncomingHandler, max_message_size_bytes: int) -> None:
        """Answer the attach; larger messages than that are stopped, and the link with them."""
        self.handler = handler
        self.max_message_size_bytes = max_message_size_bytes
        self._open(max_message_size_bytes)

    def _renew_window(self) -> None:
        native.renew_window(self.pointer)

    def end(self) -> None:
        """Tell the handler, once, that the link is over; what arrived of a message is forgotten."""
        self.assembling = None
        super().end()

    def overrun(self) -> None:
        """End the link: its peer sends more messages than it has credit for (core 2.6.7).

        A peer that does not stop even then loses its connection.
        """
        condition = Condition(
            conditions.LINK_TRANSFER_LIMIT_EXCEEDED,
            f"more messages than there was credit for came on link {self.request.link_name!r}",
        )
        if self.ended:
            self.engine.close(condition)
        else:
            self.detach(condition)

    def oversized(self) -> None:
        """End the link: its peer sends more than the message size that it was told (core 2.7.3)."""
        self.detach(
            Condition(
                conditions.LINK_MESSAGE_SIZE_EXCEEDED,
                f"a message on link {self.request.link_name!r} is larger than the announced"
                f" max-message-size of {self.max_message_size_bytes} bytes",
            )
        )

    def accept(self, deliveries: Sequence[CData], *, settle: bool) -> None:
        """Send the outcome accepted for each."""
        if not self.ended:
            hot_path.accept(deliveries, settles=settle)
            self.engine.changed()

    def answer(self, delivery: CData, outcome: Outcome, *, settle: bool) -> None:
        """Send an outcome."""
        if not self.ended:
            native.write_outcome(delivery, outcome, *self.engine.telling())
            if settle:
                hot_path.settle(delivery)
            self.engine.changed()

    def settle(self, delivery: CData) -> None:
        """Settle, and forget the delivery."""
        if not self.ended:
            hot_path.settle(delivery)
            self.engine.changed()

    def grant(self, credit: int) -> None:
        """Give the peer so many credits more."""
        if not self.ended:
            lib.pn_link_flow(self.pointer, credit)
            self.engine.changed()


class OutgoingLink(Link):
    """A link on which the bridge sends. It is the port of a sink link."""

    def __init__(self, engine: Engine, pointer: CData, request: AttachRequest) -> None:
        super().__init__(engine, pointer, request)
        self.handler: OutgoingHandler = _NOT_OPEN_YET
        self._session = lib.pn_link_session(pointer)
        self._stale_bytes = 0

    @property
    def base_handler(self) -> LinkHandler:
        """The handler."""
        return self.handler

    def open(self, handler: OutgoingHandler) -> None:
        """Answer the attach."""
        self.handler = handler
        self._open()

    def credit(self) -> int:
        """Tell how many messages the peer takes now."""
        return 0 if self.ended else int(lib.pn_link_credit(self.pointer))

    def draining(self) -> bool:
        """Tell whether the peer wants its unused credit back."""
        return not self.ended and bool(lib.pn_link_get_drain(self.pointer))

    def room_bytes(self) -> int:
        """Tell how many bytes may be sent now without piling up in the process.

        When it says that there are none, `batch_ended` is called once there are.
        """
        if self.ended:
            return 0
        if not self.engine.congested:
            held_bytes = int(lib.pn_session_outgoing_bytes(self._session))
            room = OUTGOING_BYTES_MAX - held_bytes + self._stale_bytes
            if room > 0:
                return room
            if not lib.pn_link_queued(self.pointer) and not self.engine.queues(self._session):
                # Nothing is held: proton goes on counting what links had not sent when they ended.
                self._stale_bytes = held_bytes
                return OUTGOING_BYTES_MAX
        self.engine.blocked(self)
        return 0

    def send(self, tag: bytes, payload: bytes) -> CData:
        """Send a message unsettled and give its delivery. Only with credit."""
        return hot_path.send(self.pointer, tag, payload)

    def send_settled(self, tag: bytes, payload: bytes) -> None:
        """Send a message settled. Only with credit."""
        hot_path.send_settled(self.pointer, tag, payload)

    def sent(self) -> None:
        """Say that a batch was sent."""
        self.engine.changed()

    def settle(self, deliveries: Sequence[CData]) -> None:
        """Settle deliveries, and forget them."""
        if not self.ended:
            for delivery in deliveries:
                hot_path.settle(delivery)
            self.engine.changed()

    def drained(self) -> None:
        """Give unused credit back, as the peer asked (core 2.6.7); if not now, `batch_ended` is called."""
        if self.ended:
            return
        if lib.pn_link_queued(self.pointer):
            # Messages wait for the session's window. Proton would answer once they have left, and forgets.
            self.engine.blocked(self)
        else:
            lib.pn_link_drained(self.pointer)
            self.engine.changed()
