"""Finds out when a link was handed all that is in its partitions now: an AMQP drain wants that.

It compares the partitions' ends, which are asked for when the link asks, with how far the link's consumer
has come. A consumer hears of the end of a partition as well (`enable.partition.eof`), and so comes past
what is never handed over: the marks of transactions, records of aborted ones, the gaps of compaction.

Everything here happens on the event loop's thread. It reads no record.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bridge.model.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

ASK_AGAIN_SECONDS: Final = 0.25


class EndSearch:
    """One link's search for the ends of its partitions; a search replaces the one before.

    `ask` gives the ends of partitions, or why they are not known; `positions` are the offsets up to which
    the link was handed all there is, which others write; `reached` is called with a search's token, once,
    and at the latest after `wait_seconds`. It is called later than everything that was posted to the loop
    when the positions were written.
    """

    def __init__(
        self,
        ask: Callable[[frozenset[int]], Awaitable[dict[int, int] | Failure]],
        positions: Mapping[int, int],
        reached: Callable[[int], object],
        wait_seconds: float,
    ) -> None:
        self._ask = ask
        self._positions = positions
        self._reached = reached
        self._wait_seconds = wait_seconds
        self._loop = asyncio.get_running_loop()
        self._partitions: frozenset[int] | None = None
        """What is assigned, None before the first assignment."""
        self._held: frozenset[int] = frozenset()
        self._token: int | None = None
        self._ends: dict[int, int] | None = None
        self._question: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def searching(self) -> bool:
        """Tell whether a search is under way. Any thread may ask."""
        return self._token is not None

    def begin(self, token: int) -> None:
        """Search for the ends as they are now."""
        self.cancel()
        self._token = token
        self._timer = self._loop.call_later(self._wait_seconds, self._give_up)
        self._put_question()

    def assign(self, partitions: frozenset[int]) -> None:
        """Take the partitions that are assigned from now on."""
        self._partitions = partitions
        if self.searching:
            self._put_question()

    def hold(self, partitions: frozenset[int]) -> None:
        """Take the partitions of which the link wants nothing: it does not wait for their ends."""
        self._held = partitions
        if self.searching:
            self.check()

    def check(self) -> None:
        """Compare: the positions have changed."""
        partitions, ends, positions = self._partitions, self._ends, self._positions
        if partitions is None or ends is None:
            return
        if all(positions.get(partition, 0) >= ends[partition] for partition in partitions - self._held):
            self._end()

    def cancel(self) -> None:
        """End the search without a word."""
        self._token = self._ends = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._question is not None:
            self._question.cancel()
            self._question = None

    def _put_question(self) -> None:
        self._ends = None
        if self._question is not None and self._question is not asyncio.current_task():
            self._question.cancel()
        self._question = None
        if self._partitions is None:
            return  # still joining: what it will get is in question as well
        if self._partitions:
            self._question = self._loop.create_task(self._learn(self._partitions))
        else:
            self._end()

    async def _learn(self, partitions: frozenset[int]) -> None:
        answer = await self._ask(partitions)
        if isinstance(answer, Failure):
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            self._put_question()
            return
        self._question = None
        self._ends = answer
        self.check()

    def _give_up(self) -> None:
        if self._partitions is None:
            # The newer group protocol (KIP-848) says nothing to a member that gets no partition: who has
            # heard nothing for so long counts as one.
            self._partitions = frozenset()
        self._end()

    def _end(self) -> None:
        token = self._token
        self.cancel()
        if token is not None:
            # What was handed over up to here may be posted and not handled yet: this comes after it.
            self._loop.call_soon(self._reached, token)
