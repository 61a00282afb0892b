"""The credit window of a source link: pure arithmetic about what a sender may still send.

Three numbers describe a link: what the peer may still send (`granted`), what arrived and has no outcome
yet (`in_flight`), and what has an outcome that the sender has not settled yet (`in_doubt`, only with
rcv-settle-mode second). The rules:

1. When credit is given, granted + in_flight never exceeds the limit, which never exceeds the window.
2. Credit is given back in batches: when half of the limit can be given, or at once when the peer has none.
3. An outcome gives credit back, whatever it is. A sender that leaves more than a whole window of outcomes
   unsettled gets no more until it settles: what the bridge must remember stays bounded by two windows.

The shape is that of h2's WindowManager.
"""

from __future__ import annotations


class CreditWindow:
    """Counts one link's credit. All numbers are messages.

    `window` is the configured size, at least 1; `limit` what of it may be used for now (the byte budget
    decides), at least 1 as well. The hot path may change the counters directly, as the methods do:
    `granted` and `in_flight` are public for that.
    """

    __slots__ = ("granted", "in_doubt", "in_flight", "limit", "window")

    def __init__(self, window: int) -> None:
        if window < 1:
            raise ValueError(f"a credit window holds at least one message, not {window}")
        self.window = window
        self.limit = window
        self.granted = 0
        self.in_flight = 0
        self.in_doubt = 0

    def arrived(self) -> None:
        """One message arrived: it used one credit and is in flight now."""
        self.granted -= 1
        self.in_flight += 1

    def answered(self, count: int = 1, *, in_doubt: bool = False) -> None:
        """Record that `count` messages have their outcome; in doubt until the sender settles them, or not."""
        self.in_flight -= count
        if in_doubt:
            self.in_doubt += count

    def settled(self, count: int = 1) -> None:
        """Record that the sender settled `count` deliveries that were in doubt."""
        self.in_doubt -= count

    def is_low(self) -> bool:
        """Tell whether the peer has used half of what it may, so that a grant may be due."""
        return self.granted * 2 <= self.limit

    def grant(self, room: int | None = None) -> int:
        """Take what can be given to the peer now: 0, or a number of messages to send as credit.

        `room` is how many messages the producer's queue still takes. One is given even without: a link
        with nothing in flight would never be asked again, and what the queue does not take is held.
        """
        limit = self.limit
        free = limit - self.granted - self.in_flight
        if self.in_doubt > self.window:
            free -= self.in_doubt - self.window
        if free <= 0 or (self.granted > 0 and free * 2 < limit):
            return 0
        if room is not None and free > room:
            free = max(1, room)
        self.granted += free
        return free
