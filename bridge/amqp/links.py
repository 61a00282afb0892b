"""The two kinds of links as the endpoints see them: what can be asked of the engine, and what it reports.

A link is created by the engine when the peer attaches. It is answered by `open` or `refuse`, at once or
later; until then nothing can be sent on it. When it has ended, at whichever end and for whichever reason,
its handler's `close` was called exactly once, and all that is asked of it afterwards does nothing.

Source: AMQP 1.0 core, section 2.6 (links).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.amqp import hot_path, native, termini, usual_path
from bridge.amqp.handlers import NOT_OPEN_YET
from bridge.amqp.pieces import LargeMessage
from bridge.amqp.termini import Granted
from bridge.model import conditions
from bridge.model.conditions import Condition
from cproton_ffi import lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.amqp.assembly import Assembly
    from bridge.amqp.engine import Engine
    from bridge.amqp.handlers import IncomingHandler, LinkHandler, OutgoingHandler
    from bridge.amqp.native import CData
    from bridge.amqp.termini import DistributionMode
    from bridge.model.links import AttachRequest
    from bridge.model.outcomes import Outcome

OUTGOING_BYTES_MAX: Final = 1 << 20
"""What a session may hold that the peer's window or the socket have not taken yet."""


class Link:
    """What incoming and outgoing links share: attach, detach, and where they belong."""

    __slots__ = (
        "_answered",
        "closed_by_peer",
        "discards",
        "ended",
        "engine",
        "handler",
        "pointer",
        "reason",
        "request",
        "touched",
    )

    def __init__(self, engine: Engine, pointer: CData, request: AttachRequest) -> None:
        self.engine = engine
        self.handler: LinkHandler = NOT_OPEN_YET
        """Who is told what happens; for incoming and outgoing links one of their own kind."""
        self.pointer = pointer
        self.request = request
        self.discards = True
        """Nothing that arrives is wanted: the link is not open yet, or it has ended."""
        self.touched = False
        """Something happened on it in the current batch of events."""
        self.ended = False
        self.reason: Condition | None = None
        """Why the bridge ended it, if it was the bridge."""
        self.closed_by_peer = False
        """The peer ended it for good; one that it only detaches, or that a connection took with it, may come
        back under its name. Known when the handler's `close` is called.
        """
        self._answered = False

    def batch_ended(self) -> None:
        """Tell the handler that all events that the engine had are handled, or that there is room again."""
        self.handler.batch_ended()

    def _open(self, granted: Granted, max_message_size_bytes: int = 0) -> None:
        if self.ended:
            # The peer was faster: what the handler holds is given back.
            self.engine.call(self, self.handler.close)
            return
        pointer = self.pointer
        self._answered = True
        termini.write_answer(pointer, self.request, granted)
        if max_message_size_bytes:
            lib.pn_link_set_max_message_size(pointer, max_message_size_bytes)
        lib.pn_link_open(pointer)
        self.discards = False
        self.engine.changed()

    def refuse(self, condition: Condition) -> None:
        """Answer the attach with a null terminus at the bridge's side, then detach with the reason.

        That is how a peer can tell a refusal from a link that ended (core 2.6.3).
        """
        if self.ended:
            return
        self._answered = True
        termini.write_answer(self.pointer, self.request, None)
        lib.pn_link_open(self.pointer)
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
        self.closed_by_peer = closed
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
            self.engine.call(self, self.handler.close)

    def forget_handler(self) -> None:
        """Part from the handler of a link that has ended, and that knows its link.

        Python frees both at once then, and the connection with them; else they would wait for its garbage
        collector, thousands of pairs when a crowd has left.
        """
        self.handler = NOT_OPEN_YET


class IncomingLink(Link):
    """A link on which the peer sends. It is the port of a source link."""

    __slots__ = ("assembling", "max_message_size_bytes", "presettled", "whole_bytes_max")
    handler: IncomingHandler

    def __init__(self, engine: Engine, pointer: CData, request: AttachRequest) -> None:
        super().__init__(engine, pointer, request)
        self.assembling: Assembly | None = None
        self.presettled: CData | None = None
        """The last one that arrived settled or was given up, in a piece of input: then its handle is free."""
        self.max_message_size_bytes = 0
        self.whole_bytes_max = 0
        """The largest message taken in one piece now; 0 while one is being assembled, or none is wanted."""

    delivery_changed = hot_path.received
    """Handle an event of one of its deliveries."""

    def batch_ended(self) -> None:
        """Tell the handler what came of a message that is not whole, and that all events are handled."""
        if self.assembling is not None:
            hot_path.count_arriving(self, self.assembling)
        self.handler.batch_ended()

    def open(self, handler: IncomingHandler, max_message_size_bytes: int) -> None:
        """Answer the attach; larger messages than that are stopped, and the link with them."""
        self.handler = handler
        self.max_message_size_bytes = max_message_size_bytes
        self._open(Granted(), max_message_size_bytes)
        self.assembled()

    def assembled(self) -> None:
        """Take messages in one piece again, if any are wanted: nothing has arrived in part."""
        self.assembling = None
        largest = min(self.max_message_size_bytes, hot_path.SCRATCH_BYTES)
        self.whole_bytes_max = 0 if self.discards else largest

    def _renew_window(self) -> None:
        native.renew_window(self.pointer)

    def end(self) -> None:
        """Tell the handler, once, that the link is over; what arrived of a message is forgotten."""
        self.assembling = None
        self.whole_bytes_max = 0
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
            usual_path.accept(deliveries, settles=settle)
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

    __slots__ = ("_session", "_stale_bytes", "large", "whole_bytes_max")
    handler: OutgoingHandler

    def __init__(self, engine: Engine, pointer: CData, request: AttachRequest) -> None:
        super().__init__(engine, pointer, request)
        self._session = lib.pn_link_session(pointer)
        self._stale_bytes = 0
        self.large: LargeMessage | None = None
        """What proton has a part of; nothing else can be sent before it has all of it."""
        self.whole_bytes_max = hot_path.PIECE_BYTES
        """The largest message that goes in one piece now; negative as long as another one has not gone."""

    delivery_changed = hot_path.disposed
    """Handle an event of one of its deliveries."""
    send = usual_path.send
    """Send a message unsettled and give its delivery. Only with credit and room."""
    send_settled = usual_path.send_settled
    """Send a message settled. Only with credit and room."""

    def open(
        self,
        handler: OutgoingHandler,
        applied: frozenset[str] = frozenset(),
        *,
        browses: bool = False,
        durable: bool = False,
        capabilities: frozenset[str] = termini.CAPABILITIES,
    ) -> None:
        """Answer the attach, and tell the peer what it gets of what it asked for (see `termini`).

        `applied` names the filters of the request that are in place; `browses` says that what is sent here
        is there for others all the same; `durable` that the position outlives the link, which is told to
        peers that asked for it; `capabilities` are all that the source can do.
        """
        self.handler = handler
        mode: DistributionMode = "copy" if browses else "move"
        self._open(Granted(applied, mode, durable and self.request.durable, capabilities))

    def batch_ended(self) -> None:
        """Go on with a large message first."""
        self._send_more()
        super().batch_ended()

    def _end_locally(self, condition: Condition) -> None:
        if self.large is not None and self.large.settles:
            # Nobody sends it again, so all of it goes before the detach.
            self.large.send_rest()
        super()._end_locally(condition)

    def end(self) -> None:
        """Tell the handler, once, that the link is over; the rest of a large message stays here."""
        self.large = None
        super().end()

    def credit(self) -> int:
        """Tell how many messages the peer takes now."""
        if self.ended:
            return 0
        # Proton counts a message when it has all of it.
        return int(lib.pn_link_credit(self.pointer)) - (self.large is not None)

    def draining(self) -> bool:
        """Tell whether the peer wants its unused credit back."""
        return not self.ended and bool(lib.pn_link_get_drain(self.pointer))

    def room_bytes(self) -> int:
        """Tell how many bytes may be sent now without piling up in the process.

        When it says that there are none, `batch_ended` is called once there are.
        """
        if self.ended:
            return 0
        if not self.engine.congested and self.large is None:
            held_bytes = int(lib.pn_session_outgoing_bytes(self._session))
            room = OUTGOING_BYTES_MAX - held_bytes + self._stale_bytes
            if room > 0:
                return room
            if not self.engine.queues(self._session):
                # Nothing is held: proton goes on counting what links had not sent when they ended.
                self._stale_bytes = held_bytes
                return OUTGOING_BYTES_MAX
        self.engine.blocked(self)
        return 0

    def queues(self) -> bool:
        """Tell whether messages wait for the session's window, the rest of a large one included."""
        return self.large is not None or bool(lib.pn_link_queued(self.pointer))

    def send_large(self, tag: bytes, payload: bytes, *, settles: bool) -> CData:
        """Send a message a piece at a time, and give its delivery."""
        if self.large is not None:
            # Whoever asks for room first does not come here.
            self.large.send_rest()
        self.whole_bytes_max = -1
        self.large = large = LargeMessage(self.pointer, tag, payload, settles=settles)
        self._send_more()
        return large.delivery

    def _send_more(self) -> None:
        if self.large is None or self.ended:
            return
        if not self.engine.congested and self.large.send_more():
            self.large = None
            self.whole_bytes_max = hot_path.PIECE_BYTES
        else:
            self.engine.blocked(self)
        self.engine.changed()

    def sent(self) -> None:
        """Say that a batch was sent."""
        self.engine.changed()

    def settle(self, deliveries: Sequence[CData]) -> None:
        """Settle deliveries, and forget them."""
        if self.ended:
            return
        if (large := self.large) is not None and large.delivery in deliveries:
            # Its receiver did not wait for the end of it; proton would take it for whole.
            large.settles = True
            deliveries = [delivery for delivery in deliveries if delivery != large.delivery]
        usual_path.settle_all(deliveries)
        self.engine.changed()

    def settle_as(self, deliveries: Sequence[CData], outcome: Outcome) -> None:
        """Settle deliveries with an outcome of the bridge's own, and forget them.

        For a peer that has not settled, whose own outcome does not hold; one that has is told nothing.
        """
        if self.ended:
            return
        for delivery in deliveries:
            native.write_outcome(delivery, outcome, *self.engine.telling())
        self.settle(deliveries)

    def drained(self) -> None:
        """Give unused credit back, as the peer asked (core 2.6.7); if not now, `batch_ended` is called."""
        if self.ended:
            return
        if self.queues():  # for the session's window: proton would answer once they have left, and forgets
            self.engine.blocked(self)
        else:
            lib.pn_link_drained(self.pointer)
            self.engine.changed()
