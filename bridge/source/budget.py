"""The bytes that all source links together may hold: reserved before they come, counted when they are there.

Two lines of defence, since credit counts messages and a sender's next message may be of any size:

1. Each link reserves what its credit may cost, at the average size of its messages. The reservations
   together stay within the budget; a link without one still gets a single credit, or it would starve. A link
   begins small and doubles what it has with each refill that it uses up, so that thousands of idle links
   leave room for the busy ones. None has more than a quarter of all: that is several times what Kafka's
   client has under way to a broker, and more would only wait there. Before its first message its size is
   anybody's guess: the more links there are, the fewer messages each may begin with.
2. What is held is counted to the byte. Beyond the budget the owner is told to stop reading from the
   sockets, and told again when a quarter of the budget is free.

Bytes of a message that is still arriving count as held from the first frame on.

The first line matters even where the second one holds: proton frees no buffer of a delivery before its
connection ends, but uses it again. So what a connection once had in flight, it keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGE_OVERHEAD_BYTES: Final = 1280
"""What a message takes besides its own bytes: its delivery, the producer's record, a report."""

BUFFER_BYTES_MAX: Final = 65_536
"""The largest buffer that proton has for a delivery, whose frames are taken out of it one by one."""

FIRST_SHARE_BYTES: Final = 131_072
"""What a link reserves when it opens: credit for a hundred small messages."""

FIRST_MESSAGE_BYTES_MAX: Final = 1 << 20
"""How large its first messages may be for what they take to be within that of one link."""

LINK_PART: Final = 1 / 4
"""Of the budget a link reserves no more, however many messages its window has."""

_RELIEF: Final = 0.75


def message_bytes(payload_bytes: int) -> int:
    """Give what a whole message takes while it waits for Kafka.

    Its payload is there twice: Kafka's client has a copy, and proton keeps the buffer that it came in, whose
    size is a power of two, until the delivery is settled.
    """
    buffer_bytes = 1 << payload_bytes.bit_length()
    buffer_bytes = min(buffer_bytes, BUFFER_BYTES_MAX)
    return payload_bytes + buffer_bytes + MESSAGE_OVERHEAD_BYTES


def _nothing() -> None:
    """Stand in for an owner that does not listen."""


class ByteBudget:
    """The budget of a process. `total_bytes` is at least 1.

    `on_exceeded` is called when more than that is held, `on_relieved` when a quarter is free again.
    """

    def __init__(
        self,
        total_bytes: int,
        on_exceeded: Callable[[], None] = _nothing,
        on_relieved: Callable[[], None] = _nothing,
    ) -> None:
        if total_bytes < 1:
            raise ValueError(f"a byte budget is at least one byte, not {total_bytes}")
        self.total_bytes = total_bytes
        self.link_bytes_max = max(FIRST_SHARE_BYTES, int(total_bytes * LINK_PART))
        """The most that one link reserves."""
        self.reserved_bytes = 0
        self.held_bytes = 0
        self.arriving_bytes = 0
        """Of the held ones, those of messages that are not complete yet."""
        self.exceeded = False
        self.shares = 0
        """How many links there are."""
        self._on_exceeded = on_exceeded
        self._on_relieved = on_relieved

    def watch(self, on_exceeded: Callable[[], None], on_relieved: Callable[[], None]) -> None:
        """Say who is told."""
        self._on_exceeded, self._on_relieved = on_exceeded, on_relieved

    def share(self) -> Share:
        """Open the share of one link."""
        self.shares += 1
        return Share(self)

    def first_messages(self) -> int:
        """Give how many messages a link may begin with: if all begin so, with large ones, they still fit.

        And if it is the only one, so do even larger ones.
        """
        of_all = self.total_bytes // (BUFFER_BYTES_MAX * self.shares)
        return max(1, min(of_all, self.link_bytes_max // FIRST_MESSAGE_BYTES_MAX))

    def hold(self, change_bytes: int) -> None:
        """Count bytes that came, or with a negative number bytes that went."""
        self.held_bytes += change_bytes
        if self.exceeded:
            if self.held_bytes <= self.total_bytes * _RELIEF:
                self.exceeded = False
                self._on_relieved()
        elif self.held_bytes > self.total_bytes:
            self.exceeded = True
            self._on_exceeded()


class Share:
    """What one link has of the budget."""

    __slots__ = (
        "_arriving_bytes",
        "_budget",
        "_cost_bytes",
        "_held_bytes",
        "_knows_cost",
        "_open",
        "reserved_bytes",
    )

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self._arriving_bytes = 0
        self._cost_bytes = MESSAGE_OVERHEAD_BYTES
        self._held_bytes = 0
        self._knows_cost = False
        self._open = True
        self.reserved_bytes = 0

    def learn(self, count: int, size_bytes: int) -> None:
        """Learn what `count` messages of together so many bytes, overheads included, say of the next ones.

        The average follows larger messages at once and smaller ones slowly.
        """
        self._knows_cost = True
        mean = size_bytes // count
        cost = self._cost_bytes
        self._cost_bytes = mean if mean > cost else cost - (cost - mean + 7) // 8

    def fit(self, window: int) -> int:
        """Reserve for up to `window` messages; gives how many there may be, at least 1."""
        budget, cost, reserved = self._budget, self._cost_bytes, self.reserved_bytes
        if not self._knows_cost:
            window = min(window, budget.first_messages())
        wanted = window * cost
        if wanted > reserved:
            # What it holds it has used, too, though it may not have been reserved: where the messages turned
            # out to be large, it would have to wait until nothing is left of them.
            used = max(FIRST_SHARE_BYTES, reserved * 2, self._held_bytes)
            wanted = min(wanted, used, budget.link_bytes_max)
            wanted = max(reserved, min(wanted, reserved + budget.total_bytes - budget.reserved_bytes))
        budget.reserved_bytes += wanted - reserved
        self.reserved_bytes = wanted
        return max(1, min(window, wanted // cost))

    def hold(self, change_bytes: int) -> None:
        """Count bytes of whole messages."""
        self._held_bytes += change_bytes
        self._budget.hold(change_bytes)

    def arriving(self, change_bytes: int) -> None:
        """Count bytes of a message that is still arriving."""
        self._arriving_bytes += change_bytes
        self._budget.arriving_bytes += change_bytes
        self._budget.hold(change_bytes)

    def close(self) -> None:
        """Give the reservation back. Messages that Kafka still has to answer stay counted until it does."""
        if not self._open:
            return
        self._open = False
        self._budget.shares -= 1
        self.arriving(-self._arriving_bytes)
        self._budget.reserved_bytes -= self.reserved_bytes
        self.reserved_bytes = 0
