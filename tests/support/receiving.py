"""One receiving connection that never blocks, and a link on it whose receiver behaves as it is told.

Beside the deliveries, which its owner's journal hears of, it does what receivers do: it gives credit, answers
at once or when it finds the time, in order or not, with all outcomes, and leaves in one of several ways.
"""

from __future__ import annotations

import errno
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from support.crowd_connection import CrowdConnection
from support.load_connection import MODES, buffer, view

from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    import random

    from support.journal import Journal, Marks

SESSION_BYTES: Final = 1 << 26
_RESETS: Final = {errno.ECONNRESET, errno.EPIPE}


@dataclass(frozen=True, slots=True)
class Manner:
    """How a receiver behaves.

    It keeps up to `credit` messages in flight and ahead. Each time it looks it answers each message that it
    holds with the probability `haste`; 1 is at once. `returns` and `rejects` are the shares that it releases
    or fails, and that it rejects. With `waits` it settles only after the bridge has (rcv-settle-mode second).
    """

    credit: int
    haste: float = 1.0
    returns: float = 0.0
    rejects: float = 0.0
    waits: bool = False


class ReceivingConnection(CrowdConnection):
    """One connection with one link at a time."""

    def __init__(self, port: int, container: str, journal: Journal, chance: random.Random) -> None:
        super().__init__(port, container, 0)
        lib.pn_session_set_incoming_capacity(self._session, SESSION_BYTES)
        self._journal = journal
        self._chance = chance
        self._link: Any = None
        self._manner = Manner(1)
        self._held: dict[Any, tuple[int, int]] = {}
        """Deliveries that are not answered yet."""
        self._told: dict[Any, tuple[int, int]] = {}
        """Deliveries that are answered and that the bridge is to settle first."""
        self._unwritten: list[tuple[Marks, tuple[int, int]]] = []
        """Answers that are with the engine and not with the socket."""
        self._detaching = False
        self.got = 0
        """How many messages came over the current link."""
        self.ended_by_bridge: Counter[str] = Counter()
        """Conditions with which the bridge detached links."""
        self.lost = False
        """The bridge is gone."""

    # ------------------------------------------------------------------ what a receiver does

    def receive_from(self, address: str, name: str, manner: Manner) -> None:
        """Attach a link; the one before has to be detached."""
        link = lib.pn_receiver(self._session, name.encode())
        lib.pn_terminus_set_address(lib.pn_link_source(link), address.encode())
        mode = MODES["second" if manner.waits else "unsettled"]
        lib.pn_link_set_snd_settle_mode(link, mode.snd)
        lib.pn_link_set_rcv_settle_mode(link, mode.rcv)
        lib.pn_link_open(link)
        lib.pn_link_flow(link, manner.credit)
        self._link, self._manner = link, manner
        self._detaching = False
        self.got = 0

    def look(self) -> None:
        """Answer some of what is held."""
        if self._detaching or not self._held:
            return
        haste, chance = self._manner.haste, self._chance
        chosen = [delivery for delivery in self._held if chance.random() < haste]
        for delivery in chosen:
            self._answer(delivery, self._held.pop(delivery))
        self._renew_credit()

    def detach_link(self, *, closed: bool) -> None:
        """Detach the link; what it holds stays unanswered."""
        self._detaching = True
        self._held.clear()
        if closed:
            lib.pn_link_close(self._link)
        else:
            lib.pn_link_detach(self._link)

    def close(self) -> None:
        self._held.clear()
        self._told.clear()
        super().close()

    def is_detached(self) -> bool:
        """Tell whether there is no link now; then another one may be attached."""
        return self._link is None

    def is_attached(self) -> bool:
        return self._link is not None and bool(lib.pn_link_state(self._link) & lib.PN_REMOTE_ACTIVE)

    @property
    def awaits_settlement(self) -> bool:
        """Whether the bridge has still to settle what was answered."""
        return bool(self._told)

    # ------------------------------------------------------------------ the socket

    def receive(self) -> None:
        try:
            super().receive()
        except ConnectionResetError:
            self.lost = True

    def send(self) -> bool:
        """Write what there is; tells whether there is more for when the socket has room."""
        pending = lib.pn_transport_pending(self._transport)
        if self._unwritten and pending > 0:
            # They are encoded, and go with the next bytes: who hears of them does so after this.
            unwritten, self._unwritten = self._unwritten, []
            for marks, place in unwritten:
                marks.add(*place)
        try:
            return not self.flush()
        except OSError as error:
            if error.errno not in _RESETS:
                raise
            self.lost = True
            return False

    # ------------------------------------------------------------------ events

    def _handle_events(self) -> None:
        while event := lib.pn_collector_peek(self._collector):
            kind = lib.pn_event_type(event)
            if kind == lib.PN_DELIVERY:
                self._delivery(lib.pn_event_delivery(event))
            elif kind in (lib.PN_LINK_REMOTE_CLOSE, lib.PN_LINK_REMOTE_DETACH):
                self._link_over(lib.pn_event_link(event))
            elif kind == lib.PN_CONNECTION_REMOTE_CLOSE:
                self._peer_closed(lib.pn_connection_remote_condition(self._connection))
            elif kind == lib.PN_TRANSPORT_ERROR:
                self._peer_closed(lib.pn_transport_condition(self._transport))
            lib.pn_collector_pop(self._collector)
        self._renew_credit()

    def _delivery(self, delivery: Any) -> None:  # noqa: ANN401 - a C pointer
        if not lib.pn_delivery_readable(delivery):
            if lib.pn_delivery_updated(delivery) and lib.pn_delivery_settled(delivery):
                self._settled(delivery)
            return
        if lib.pn_delivery_partial(delivery):
            return
        size = lib.pn_delivery_pending(delivery)
        lib.pn_link_recv(lib.pn_delivery_link(delivery), buffer, size)
        lib.pn_link_advance(lib.pn_delivery_link(delivery))
        place = self._journal.got(bytes(view[:size]))
        self.got += 1
        if self._detaching:
            return
        if self._manner.haste >= 1:
            self._answer(delivery, place)
        else:
            self._held[delivery] = place

    def _settled(self, delivery: Any) -> None:  # noqa: ANN401 - a C pointer
        """Take the bridge's settlement, which for a delivery that was not answered is just its end."""
        self._held.pop(delivery, None)
        place = self._told.pop(delivery, None)
        told = lib.pn_delivery_local_state(delivery)
        if (
            place is not None
            and told == lib.PN_ACCEPTED
            and lib.pn_delivery_remote_state(delivery) in (0, told)
        ):
            self._journal.settled.add(*place)
        lib.pn_delivery_settle(delivery)

    def _answer(self, delivery: Any, place: tuple[int, int]) -> None:  # noqa: ANN401 - a C pointer
        drawn = self._chance.random()
        journal, manner = self._journal, self._manner
        if drawn < manner.rejects:
            marks, outcome = journal.rejected, lib.PN_REJECTED
        elif drawn < manner.rejects + manner.returns:
            marks, outcome = journal.returned, self._chance.choice((lib.PN_RELEASED, lib.PN_MODIFIED))
            if outcome == lib.PN_MODIFIED:
                lib.pn_disposition_set_failed(lib.pn_delivery_local(delivery), True)  # noqa: FBT003 - a C function
        else:
            marks, outcome = journal.accepted, lib.PN_ACCEPTED
        lib.pn_delivery_update(delivery, outcome)
        self._unwritten.append((marks, place))
        if manner.waits:
            self._told[delivery] = place
        else:
            lib.pn_delivery_settle(delivery)

    def _renew_credit(self) -> None:
        if self._link is None or self._detaching:
            return
        missing = self._manner.credit - lib.pn_link_credit(self._link) - len(self._held) - len(self._told)
        if missing * 2 >= self._manner.credit:
            lib.pn_link_flow(self._link, missing)

    def _link_over(self, pointer: Any) -> None:  # noqa: ANN401 - a C pointer
        if not self._detaching and not self._closing:
            condition = lib.pn_link_remote_condition(pointer)
            name = description = ""
            if lib.pn_condition_is_set(condition):
                name = ffi.string(lib.pn_condition_get_name(condition)).decode()
                description = ffi.string(lib.pn_condition_get_description(condition) or b"").decode()
            self.ended_by_bridge[f"{name}: {description}"] += 1
            lib.pn_link_close(pointer)
        self._held.clear()
        self._told.clear()
        lib.pn_link_free(pointer)
        self._link = None
