"""One timer for the deadlines of all connections: heartbeats to send, and silence to give up.

A timer for each connection would wake the process hundreds of times a second for a crowd of idle ones, and
cost a KiB of memory each. Here those whose deadlines are close together are called together.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import asyncio

STEP_SECONDS: Final = 0.02
"""How late a deadline may be met, and how often the process wakes for deadlines at most."""


class Ticking(Protocol):
    """Who has a deadline."""

    def tick(self) -> None:
        """Take notice that it has come; on the event loop's thread, in a callback of its own."""


class Deadlines:
    """Knows who is to be called when. Each has one deadline at most."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._step_of: dict[Ticking, int] = {}
        self._waiting: dict[int, set[Ticking]] = {}
        self._order: list[int] = []
        """The steps in which somebody is called, as a heap."""
        self._timer: asyncio.TimerHandle | None = None

    def set(self, waiter: Ticking, seconds: float) -> None:
        """Call it once at this time of the loop's clock, instead of the one that was set before."""
        self.clear(waiter)
        step = math.ceil(seconds / STEP_SECONDS)
        waiting = self._waiting.get(step)
        if waiting is None:
            waiting = self._waiting[step] = set()
            heappush(self._order, step)
            if self._order[0] == step:
                self._wake_at(step)
        waiting.add(waiter)
        self._step_of[waiter] = step

    def clear(self, waiter: Ticking) -> None:
        """Do not call it any more."""
        step = self._step_of.pop(waiter, None)
        if step is not None:
            self._waiting[step].discard(waiter)

    def _wake_at(self, step: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(step * STEP_SECONDS, self._come)

    def _come(self) -> None:
        self._timer = None
        now = self._loop.time()
        while self._order and self._order[0] * STEP_SECONDS <= now:
            for waiter in self._waiting.pop(heappop(self._order)):
                del self._step_of[waiter]
                self._loop.call_soon(waiter.tick)
        if self._order:
            self._wake_at(self._order[0])
