"""A connection that sends: blocks of transfers as far as credit, window and socket go; outcomes counted.

It never holds more than one block that the socket has not taken. When a transfer was given to the
socket and when its outcome was read is kept for every unsettled message.
Source: AMQP 1.0 core, 2.5.6 (session flow control), 2.6.7 (credit), 2.6.12 (settlement).
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bench.load import frames, reading
from bench.load.blocks import Block
from bench.load.connection import Connection, Link
from bench.load.outcomes import Outcomes
from bench.load.runs import Runs, numbers
from bridge.codec import Described

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bench.load.blocks import Mode
    from bench.load.connection import Inbox
    from bench.load.messages import Template
    from bench.load.outcomes import Tally

_REJECTED: Final = 0x25


class SendingLink(Link):
    """A link with its credit. `left` is how many messages it is yet to send."""

    def __init__(self, name: str, handle: int) -> None:
        super().__init__(name, handle)
        self.left = 0
        self.delivery_count = 0
        self.credit = 0
        self.queued = False
        """It waits for its turn, with messages and credit for them."""


@dataclass(frozen=True, slots=True)
class Cargo:
    """What a sender sends: messages of a template to an address, no more than `capacity`."""

    address: str
    mode: Mode
    template: Template
    capacity: int


class Sender(Connection[SendingLink]):
    """Sends its cargo, as much of it as its owner gives to its links."""

    def __init__(
        self,
        port: int,
        inbox: Inbox,
        container_id: str,
        links: list[SendingLink],
        cargo: Cargo,
        tally: Tally,
    ) -> None:
        super().__init__(port, inbox, container_id, links)
        self._tally = tally
        self._cargo = cargo
        self._queue: deque[SendingLink] = deque()
        self._echoes: list[SendingLink | None] = []
        settled = cargo.mode == "settled"
        self._outcomes = None if settled else Outcomes(cargo.mode, cargo.capacity, tally)
        self._runs = Runs()
        self._measured_from = 0
        self._next_id = 0
        # Transfers are counted from the session's start: those made, and those that the peer's window takes.
        self._next_outgoing_id = 0
        self._window_end = 0
        self._block: Block | None = None
        # Of the block on its way: what it holds and what it began with; how many bytes are sent.
        self._rows = self._first_id = self._first_transfer = self._sent_bytes = 0

    # ------------------------------------------------------------------ for the owner

    @property
    def ready(self) -> bool:
        """Tell whether each link is attached and has credit."""
        return self.attached == len(self.links) and all(link.credit > 0 for link in self.links)

    def give(self, link: SendingLink, count: int) -> None:
        """Let a link send so many more messages; `flush` sends them."""
        link.left += count
        self._tally.left += count
        self._enqueue(link)

    def start_clock(self) -> None:
        """Measure the latencies of what is sent from now on alone."""
        self._measured_from = self._next_id

    def latencies(self) -> NDArray[np.uint32]:
        """Give how long each outcome took since the clock was started, in µs, in order of sending."""
        if self._outcomes is None:
            return np.zeros(0, np.uint32)
        return self._outcomes.latencies(self._measured_from, self._next_id)

    # ------------------------------------------------------------------ sending

    def attach_frames(self, link: SendingLink) -> bytes:
        """Make what attaches a link."""
        return frames.attach(link.name, link.handle, self._cargo.address, self._cargo.mode, receiver=False)

    def flush(self) -> bool:
        """Send what is due, one block at most; tells whether there is more as soon as the socket takes it."""
        if self._control_cut and not self._send_control():
            return True
        if not self._send_block():
            return True
        # The socket has whole frames: others may go between those of the block.
        self._answer_echoes()
        if self._sent_bytes == self._end() and not self._queue:
            self._part()
        if self._control and not self._send_control():
            return True
        if self._sent_bytes == self._end() and self._queue:
            self._make_block()
            if not self._send_block():
                return True
        # When the peer's window is shut, its next flow will say that there is more to do.
        return self._sent_bytes == self._end() and bool(self._queue or self._parting)

    def _make_block(self) -> None:
        link = self._queue.popleft()
        link.queued = False
        block = self._block
        if block is None:
            block = self._block = Block(self._cargo.template, self.max_frame_bytes, self._cargo.mode)
        count = min(block.rows, link.left, link.credit)
        first_id, first_of_link = self._next_id, link.delivery_count
        block.fill(count, link.handle, first_id, self._tally.numbered, first_of_link)
        self._tally.numbered += count
        self._tally.left -= count
        if self._outcomes is not None:
            self._outcomes.expect(first_id, count, first_of_link)
        self._rows, self._first_id, self._sent_bytes = count, first_id, 0
        self._first_transfer = self._next_outgoing_id
        self._next_outgoing_id += count * len(block.frame_ends)
        self._next_id += count
        link.delivery_count += count
        link.left -= count
        link.credit -= count
        self._enqueue(link)

    def _enqueue(self, link: SendingLink) -> None:
        if link.left and link.credit > 0 and not link.queued:
            link.queued = True
            self._queue.append(link)

    def _send_block(self) -> bool:
        """Send of the block what the window lets through; tells whether the socket took that."""
        limit, start = self._limit(), self._sent_bytes
        if start >= limit or self._block is None:
            return True
        now = _microseconds()
        end = self._sent_bytes = start + self.send(self._block.memory[start:limit])
        if self._outcomes is not None:
            # Of messages that this call has begun: the others were begun before.
            size, first_id = self._block.row_bytes, self._first_id
            self._outcomes.sent(first_id - (-start // size), first_id - (-end // size), now)
        return end == limit

    def _end(self) -> int:
        """Give how many bytes of the block are to be sent."""
        return self._rows * self._block.row_bytes if self._block else 0

    def _limit(self) -> int:
        """Give how many of them the peer's window lets through: whole frames."""
        if self._block is None or self._window_end >= self._next_outgoing_id:
            return self._end()
        ends = self._block.frame_ends
        rows, extra = divmod(max(0, self._window_end - self._first_transfer), len(ends))
        return rows * self._block.row_bytes + (ends[extra - 1] if extra else 0)

    def _transfers_sent(self) -> int:
        """Give how many transfers the socket has, at the end of one."""
        if self._block is None:
            return 0
        rows, extra = divmod(self._sent_bytes, self._block.row_bytes)
        ends = self._block.frame_ends
        return self._first_transfer + rows * len(ends) + bisect_right(ends, extra)

    # ------------------------------------------------------------------ what the peer says

    def window(self, next_incoming_id: int, frames_taken: int) -> None:
        """Take how many transfers the peer's session takes, from which on (2.5.6)."""
        behind = (self._next_outgoing_id - next_incoming_id) & 0xFFFFFFFF
        self._window_end = self._next_outgoing_id - behind + frames_taken

    def flow(self, fields: list[Any]) -> None:
        """Take a flow: the session's window, a link's credit (2.6.7)."""
        self.window(int(fields[0] or 0), int(fields[1]))
        link = None
        if fields[4] is not None:
            link = self._by_peer_handle[int(fields[4])]
            behind = (link.delivery_count - int(fields[5] or 0)) & 0xFFFFFFFF
            link.credit = max(0, int(fields[6] or 0) - behind)
            self._enqueue(link)
        if fields[9]:
            self._echoes.append(link)

    def dispositions(self, at: int, end: int) -> int:
        """Take outcomes; they count when all that was read with them is handled."""
        inbox, outcomes = self._inbox, self._outcomes
        size = int.from_bytes(inbox.bytes[at : at + 4], "big")
        answer = reading.disposition(inbox.bytes, at + frames.HEADER_BYTES)
        state = answer.state
        if outcomes is None:
            return at + size
        if not answer.settled:
            if state in reading.OUTCOMES:
                self._control += frames.settle(answer.first, answer.last, receiver=False, state=state)
                outcomes.answered(answer.first, answer.last, state)
            return at + size
        if state != frames.ACCEPTED and not self._tally.refusal:
            fields = reading.performative(bytes(inbox.bytes[at + frames.HEADER_BYTES : at + size]), 0).fields
            self._tally.refusal = _refusal(state, fields[4])
        frame, free = ((at, at + size),), (answer.first_at, answer.last_at)
        rows = self._runs.alike(inbox.array, at, end, size, frame, free)
        if rows == 1:
            outcomes.answered(answer.first, answer.last, state)
        else:
            firsts = numbers(inbox.array, answer.first_at, rows, size)
            outcomes.answered_each(firsts, numbers(inbox.array, answer.last_at, rows, size), state)
        return at + rows * size

    def batch_ended(self) -> None:
        """Count the outcomes that were read."""
        if self._outcomes is not None:
            self._outcomes.settle_up(_microseconds())

    def _answer_echoes(self) -> None:
        for link in self._echoes:
            handle = None if link is None else link.handle
            count, credit = (0, 0) if link is None else (link.delivery_count, link.credit)
            self._control += frames.flow(
                self._next_incoming_id, self._transfers_sent(), handle, count, credit
            )
        self._echoes.clear()


def _microseconds() -> int:
    return time.perf_counter_ns() // 1000 & 0xFFFFFFFF


def _refusal(state: int, value: Any) -> str:  # noqa: ANN401 - a field, whatever it holds
    """Say what became of a message that was not accepted."""
    fields = value.value if isinstance(value, Described) and isinstance(value.value, list) else []
    reason = reading.error_text(fields[0]) if state == _REJECTED and fields else ""
    return f"{reading.OUTCOMES.get(state, 'settled without an outcome')} {reason}".strip()
