"""Whether Kafka takes records now, for those who give credit to senders and for the readiness probe.

Two signs say no: a broker that answers no question, and librdkafka's word that all brokers are down.
The latter alone is not believed, since it is also said when a broker closes a connection that was idle
for long: it is a reason to ask at once. Two signs say yes: an answer, and a record that was stored.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CHECK_SECONDS: Final = 3.0
"""How often Kafka is asked while it answers, and how long an answer is waited for."""
DOUBT_SECONDS: Final = 1.0
"""How long it is waited for when librdkafka says that all brokers are down; and the pause between two
questions while Kafka does not answer."""
ALL_DOWN: Final = "_ALL_BROKERS_DOWN"


class KafkaAvailability:
    """Knows whether Kafka takes records, and tells when that changes. For the event loop's thread alone.

    `answers` asks Kafka: it is given the seconds to wait. Until the first answer Kafka is not available.
    """

    def __init__(
        self,
        answers: Callable[[float], Awaitable[bool]],
        *,
        check_seconds: float = CHECK_SECONDS,
        doubt_seconds: float = DOUBT_SECONDS,
    ) -> None:
        self._answers = answers
        self._check_seconds = check_seconds
        self._doubt_seconds = doubt_seconds
        self._listeners: list[Callable[[bool], None]] = []
        self._doubt = asyncio.Event()
        self._stored = 0
        self.available = False
        """Whether Kafka takes records."""
        self.known = False
        """Whether anything is known yet."""

    def subscribe(self, listener: Callable[[bool], None]) -> None:
        """Call it with True or False whenever that changes, the first knowledge included."""
        self._listeners.append(listener)

    def kafka_said(self, _client: str, name: str, _description: str, _fatal: bool) -> None:  # noqa: FBT001 - ErrorSink
        """Take notice of what librdkafka said of itself (an ErrorSink)."""
        if name == ALL_DOWN:
            self._doubt.set()

    def stored(self) -> None:
        """Take notice that records were stored: for once in a batch, or as often as one likes."""
        self._stored += 1
        if not self.available:
            self._set(available=True)

    async def watch(self) -> None:
        """Ask Kafka again and again, until cancelled."""
        while True:
            doubted = self._doubt.is_set() and self.available
            self._doubt.clear()
            stored = self._stored
            answered = await self._answers(self._doubt_seconds if doubted else self._check_seconds)
            # What was stored meanwhile is the better sign.
            self._set(available=answered or self._stored > stored)
            try:
                pause_seconds = self._check_seconds if self.available else self._doubt_seconds
                await asyncio.wait_for(self._doubt.wait(), pause_seconds)
            except TimeoutError:
                pass

    def _set(self, *, available: bool) -> None:
        if self.known and available == self.available:
            return
        self.known, self.available = True, available
        for listener in self._listeners:
            listener(available)
