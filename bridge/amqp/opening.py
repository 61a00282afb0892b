"""How long a peer has to open its connection: proton watches silence only after its protocol header."""

from __future__ import annotations


class OpeningWatch:
    """Watches one connection until it is open. Times are milliseconds of any clock, never 0."""

    __slots__ = ("_deadline_ms", "_timeout_ms")

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._deadline_ms = 0

    def is_over(self, now_ms: int) -> bool:
        """Tell whether the peer took too long; the time runs from the first call on."""
        if not self._timeout_ms:
            return False
        if not self._deadline_ms:
            self._deadline_ms = now_ms + self._timeout_ms
        return now_ms >= self._deadline_ms

    def earlier(self, deadline_ms: int) -> int:
        """Give its deadline, or another one if that is earlier; 0 is none."""
        return min(deadline_ms or self._deadline_ms, self._deadline_ms or deadline_ms)
