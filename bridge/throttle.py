"""The last line of defence of the process's memory: sockets that are not read while the budget is exceeded.

Credit keeps senders within the budget; it counts messages, though, and the next one may be of any size.
Peers notice no more than a slow connection: their heartbeats are not missed, and the bridge's go out.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.observability import events

if TYPE_CHECKING:
    from bridge.amqp.listener import Listener
    from bridge.source.budget import ByteBudget

CHECK_SECONDS: Final = 0.1
STALLED_CHECKS: Final = 100
"""After so many checks, ten seconds, in which nothing came of any message, the largest ones are given up."""

STALLED: Final = Condition(
    conditions.RESOURCE_LIMIT_EXCEEDED,
    "the bridge's memory was full of messages of which nothing more came, this link's among them: send it"
    " again",
)


class Throttle:
    """Stops and starts the listener's reading as the budget says."""

    def __init__(self, budget: ByteBudget, listener: Listener) -> None:
        self._budget = budget
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.Handle | None = None
        self._arrived_bytes = 0
        """What had arrived of messages that are not whole, at the last check."""
        self._stalled_checks = 0
        budget.watch(self._exceeded, self._relieved)

    def close(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _exceeded(self) -> None:
        events.memory_budget_exceeded(self._budget.held_bytes, self._budget.total_bytes)
        # At once: in this very turn of the loop hundreds of sockets may have a piece of input each.
        self._listener.stop_reading()
        if self._timer is None:
            self._timer = self._loop.call_soon(self._check)

    def _check(self) -> None:
        self._timer = None
        if not self._budget.exceeded:
            return
        arrived_bytes = self._budget.arriving_bytes
        if self._budget.held_bytes == arrived_bytes:
            # Nothing that is held can be answered, as nothing of it is whole: one at a time becomes so. If
            # nothing came of that one since the last check, its peer may be dead or slow: another has a turn.
            stalled = arrived_bytes == self._arrived_bytes
            waiting = self._listener.finish_one_message(another=stalled)
            self._stalled_checks = self._stalled_checks + 1 if stalled else 0
            if self._stalled_checks > max(STALLED_CHECKS, waiting):
                self._give_up()
        self._arrived_bytes = arrived_bytes
        self._timer = self._loop.call_later(CHECK_SECONDS, self._check)

    def _give_up(self) -> None:
        """End links until there is room again: all had their turn, and their peers are dead or stuck."""
        self._stalled_checks = links = 0
        while self._budget.exceeded and self._listener.give_up_largest(STALLED):
            links += 1
        events.messages_given_up(links)

    def _relieved(self) -> None:
        events.memory_budget_relieved(self._budget.held_bytes, self._budget.total_bytes)
        self._loop.call_soon(self._start)

    def _start(self) -> None:
        if not self._budget.exceeded:
            self._listener.start_reading()
