"""A receiver that notes which messages came when, by the numbers that their bodies begin with.

It looks at the first and the last message of what it reads at once, and settles all of it together.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bench.load import frames, reading
from bench.load.connection import Connection, Inbox, Link
from bench.load.errors import LoadError
from bench.load.messages import DIGITS

if TYPE_CHECKING:
    from bench.load.reading import Transfer

CREDIT: Final = 1000


@dataclass(frozen=True, slots=True)
class Arrival:
    """What was read at once: when (time.perf_counter), and the numbers of its first and last message."""

    at: float
    first: int
    last: int


class NumberedReceiver(Connection[Link]):
    """A connection with one link that receives unsettled messages, each of them in one frame, in order."""

    def __init__(self, port: int, address: str) -> None:
        self._address = address
        self._delivery_count = 0
        self._credit = 0
        super().__init__(port, Inbox(), "bench-numbered", [Link("numbered", 0)])
        self.arrivals: list[Arrival] = []
        self.next_number = 0
        """One more than the number of the last message."""

    def attach_frames(self, link: Link) -> bytes:
        """Make the attach, and the first credit with it."""
        self._credit = CREDIT
        attach = frames.attach(link.name, link.handle, self._address, "unsettled", receiver=True)
        return attach + frames.flow(None, 0, link.handle, 0, CREDIT)

    def transfers(self, at: int, end: int) -> int:
        """Take all whole transfers that follow each other."""
        data = self._inbox.bytes
        first_at, last_at, last_end, count = at, at, at, 0
        while end - at >= frames.HEADER_BYTES:
            size, words, _, _ = frames.HEADER.unpack_from(data, at)
            if at + size > end or size <= frames.HEADER_BYTES or data[at + 4 * words + 2] != frames.TRANSFER:
                break
            last_at, at = at, at + size
            last_end = at
            count += 1
        self._took(first_at, last_at, last_end, count)
        return at

    def _took(self, first_at: int, last_at: int, end: int, count: int) -> None:
        first = self._transfer(first_at)
        last = self._transfer(last_at)
        numbers = self._number(first, end), self._number(last, end)
        self.arrivals.append(Arrival(time.perf_counter(), *numbers))
        self.next_number = numbers[1] + 1
        if first.delivery_id is None or last.delivery_id is None:
            raise LoadError("a transfer without a delivery-id")
        self._control += frames.settle(first.delivery_id, last.delivery_id, receiver=True)
        self._next_incoming_id += count
        self._delivery_count += count
        self._credit -= count
        if self._credit * 2 <= CREDIT:
            self._credit = CREDIT
            self._control += frames.flow(
                self._next_incoming_id, 0, self.links[0].handle, self._delivery_count, CREDIT
            )

    def _transfer(self, at: int) -> Transfer:
        words = self._inbox.bytes[at + 4]
        return reading.transfer(self._inbox.bytes, at + 4 * words)

    def _number(self, transfer: Transfer, end: int) -> int:
        body = reading.body(self._inbox.bytes, transfer.payload_at, end)
        if transfer.more or body is None:
            raise LoadError("a message that is not in one frame")
        return int(self._inbox.bytes[body.content_at : body.content_at + DIGITS])

    def flow(self, fields: list[Any]) -> None:
        """Answer the peer that asks how it stands."""
        if fields[9]:
            link = self.links[0]
            self._control += frames.flow(
                self._next_incoming_id, 0, link.handle, self._delivery_count, self._credit
            )
