"""A connection that receives: credit and window renewed, transfers walked over, outcomes sent in ranges.

Messages are counted and dropped. Frames that are alike but for delivery-id and tag are taken as one run,
by comparing them as rows of a matrix; others one by one.
Source: AMQP 1.0 core, 2.5.6 (session flow control), 2.6.7 (credit), 2.7.5 (transfer), 2.7.6 (disposition).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.load import frames, reading
from bench.load.connection import Connection, Link
from bench.load.errors import LoadError
from bench.load.results import Clock
from bench.load.runs import Runs

if TYPE_CHECKING:
    from bench.load.blocks import Mode
    from bench.load.connection import Inbox
    from bench.load.reading import Transfer


@dataclass(slots=True)
class Arrivals:
    """What all receivers of a run have received: whole messages, and the bytes of their bodies."""

    messages: int = 0
    body_bytes: int = 0
    first_at: float = 0.0
    """When the first bytes of the first one came; time.perf_counter()."""
    clock: Clock | None = None
    """Started at the same moment."""


class ReceivingLink(Link):
    """A link with the credit that the peer has on it. `most` is how many messages it may ever get."""

    def __init__(self, name: str, handle: int, most: int) -> None:
        super().__init__(name, handle)
        self.most = most
        self.delivery_count = 0
        self.credit = 0
        self.body_bytes = 0
        """Of the message that is here in part."""


class Receiver(Connection[ReceivingLink]):
    """Receives what comes on its links, each of which has up to `credit`; accepts what is not settled."""

    def __init__(
        self,
        port: int,
        inbox: Inbox,
        container_id: str,
        links: list[ReceivingLink],
        *,
        address: str,
        mode: Mode,
        credit: int,
        arrivals: Arrivals,
    ) -> None:
        super().__init__(port, inbox, container_id, links)
        self._address = address
        self._mode = mode
        self._credit = credit
        self._arrivals = arrivals
        self._window_renewed_at = 0
        self._runs = Runs()
        # Delivery-ids follow one another in a session: settled are those before `first_open`.
        self._first_open: int | None = None
        self._last_id = -1
        self._unsettled = False
        self._touched: set[ReceivingLink] = set()
        self._in_part: dict[int, int] = {}
        """The delivery-ids of messages of which more frames are to come, by handle."""
        self._bodies: dict[int, tuple[int, bytes, int]] = {}

    # ------------------------------------------------------------------ credit

    def attach_frames(self, link: ReceivingLink) -> bytes:
        """Make what attaches a link, and gives it its first credit."""
        link.credit = min(self._credit, link.most)
        attach = frames.attach(link.name, link.handle, self._address, self._mode, receiver=True)
        return attach + frames.flow(None, 0, link.handle, 0, link.credit)

    def batch_ended(self) -> None:
        """Answer what was read: outcomes, credit, the session's window."""
        if self._unsettled:
            self._settle()
        for link in self._touched:
            self._renew(link)
        self._touched.clear()
        if self._next_incoming_id - self._window_renewed_at >= frames.WINDOW_FRAMES // 2:
            self._window_renewed_at = self._next_incoming_id
            self._control += frames.flow(self._next_incoming_id, 0)

    def _settle(self) -> None:
        """Accept what is whole; ids that are in part hold back those after them."""
        last = min([self._last_id, *(delivery_id - 1 for delivery_id in self._in_part.values())])
        if self._first_open is not None and last >= self._first_open:
            self._control += frames.settle(self._first_open, last, receiver=True)
            self._first_open = last + 1
        self._unsettled = bool(self._in_part)

    def _renew(self, link: ReceivingLink) -> None:
        """Give credit back when half of it is used."""
        if link.credit > self._credit // 2:
            return
        more = min(self._credit, link.most - link.delivery_count) - link.credit
        if more > 0:
            link.credit += more
            self._window_renewed_at = self._next_incoming_id
            self._control += frames.flow(
                self._next_incoming_id, 0, link.handle, link.delivery_count, link.credit
            )

    # ------------------------------------------------------------------ transfers

    def transfers(self, at: int, end: int) -> int:
        """Take the transfer at `at`, and those that are alike behind it; gives where the last one ends."""
        data, arrivals = self._inbox.bytes, self._arrivals
        if arrivals.clock is None:
            arrivals.clock, arrivals.first_at = Clock(), time.perf_counter()
        size = int.from_bytes(data[at : at + 4], "big")
        transfer = reading.transfer(data, at + frames.HEADER_BYTES)
        link = self._by_peer_handle.get(transfer.handle)
        if link is None:
            raise LoadError(f"the peer sent a transfer on the unknown handle {transfer.handle}")
        self._touched.add(link)
        self._unsettled |= not transfer.settled
        if transfer.more or transfer.handle in self._in_part:
            self._take_part(link, transfer, at + size)
            self._next_incoming_id += 1
            return at + size
        if transfer.delivery_id is None:
            raise LoadError("the peer sent a transfer without a delivery-id")
        if self._first_open is None:
            self._first_open = transfer.delivery_id
        section_at, content_at, body_bytes = self._body(transfer.payload_at, at + size)
        # Only with the same constructor at the same place is a body as long as the first one.
        same = ((at, transfer.payload_at), (section_at, content_at))
        free = (transfer.id_at, transfer.tag_at)
        count = self._runs.alike(self._inbox.array, at, end, size, same, free)
        self._next_incoming_id += count
        self._last_id = transfer.delivery_id + count - 1
        link.delivery_count += count
        link.credit -= count
        arrivals.messages += count
        arrivals.body_bytes += count * body_bytes
        return at + count * size

    def _take_part(self, link: ReceivingLink, transfer: Transfer, end: int) -> None:
        """Take one frame of a message of several."""
        arrivals = self._arrivals
        if transfer.handle not in self._in_part:
            if transfer.delivery_id is None:
                raise LoadError("the peer sent a transfer without a delivery-id")
            if self._first_open is None:
                self._first_open = transfer.delivery_id
            self._in_part[transfer.handle] = self._last_id = transfer.delivery_id
            link.body_bytes = self._body(transfer.payload_at, end)[2]
        if transfer.more and not transfer.aborted:
            return
        del self._in_part[transfer.handle]
        link.delivery_count += 1
        link.credit -= 1
        if not transfer.aborted:
            arrivals.messages += 1
            arrivals.body_bytes += link.body_bytes

    def _body(self, at: int, end: int) -> tuple[int, int, int]:
        """Give where the first body section of a message starts, where its content does, and its bytes.

        The message, or what there is of it, is between `at` and `end`. Most have the same constructor at
        the same distance from the end as the last one of their length.
        """
        data, size = self._inbox.bytes, end - at
        if known := self._bodies.get(size):
            distance, constructor, content_bytes = known
            if data.startswith(constructor, end - distance):
                return end - distance, end - distance + len(constructor), content_bytes
        found = reading.body(data, at, end)
        if found is None:
            return end, end, 0
        constructor = bytes(data[found.section_at : found.content_at])
        self._bodies[size] = end - found.section_at, constructor, found.content_bytes
        return found.section_at, found.content_at, found.content_bytes
