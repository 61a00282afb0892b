"""Receivers that come and go: each lives for a while at one of the bridges, leaves, and comes back anew.

All of them are driven by one thread, and by one source of chance, so that a seed tells what they do (when
they do it depends on the machine).
"""

from __future__ import annotations

import selectors
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from support.receiving import ReceivingConnection
from support.soak import LIMIT_SECONDS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from support.journal import Journal
    from support.receiving import Manner

TURN_SECONDS: Final = 0.02
TICK_SECONDS: Final = 0.5
LEAVES_AFTER_SECONDS: Final = 2.0
"""When a connection is dropped that does not get its close answered."""


@dataclass(slots=True)
class Life:
    """A place among the receivers: who is there, until when, and what is under way."""

    connection: ReceivingConnection | None = None
    ends_at: float = 0.0
    ends_with: int = 0
    """How many messages it takes at most."""
    leaving: str = ""


@dataclass(frozen=True, slots=True)
class Living:
    """How receivers live: where they read, how many there are, and the longest lives.

    `manner` chooses how a new one behaves. A life ends at random before `seconds` or `messages` are over.
    """

    address: str
    chance: random.Random
    manner: Callable[[random.Random], Manner]
    size: int
    seconds: float
    messages: int


class Population:
    """The receivers of one address, at any of some bridges.

    Use it in a `with` statement, whose end drops those that are left.
    """

    def __init__(self, journal: Journal, ports: Sequence[int], living: Living) -> None:
        self._journal = journal
        self._ports = ports
        self._living = living
        self._chance = living.chance
        self._lives = [Life() for _ in range(living.size)]
        self._names = 0
        self._leaving = False
        self._selector = selectors.DefaultSelector()
        self._ticked_at = self._looked_at = 0.0
        self.left: Counter[str] = Counter()
        """How often receivers have left, by the way they did."""
        self.ended_by_bridge: Counter[str] = Counter()
        """How often a bridge has detached a link, by what it said."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for life in self._lives:
            if life.connection is not None:
                self._drop(life)
        self._selector.close()

    def run(self, until: Callable[[], bool]) -> None:
        """Let them live until the condition holds.

        Raises TimeoutError if it does not for long (a bound for what has failed).
        """
        deadline = time.monotonic() + LIMIT_SECONDS * 0.9
        while not until():
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError(
                    f"{self._journal.accepted.records} of {self._journal.total} records were accepted"
                )
            for key, events in self._selector.select(TURN_SECONDS):
                connection = key.data.connection
                if events & selectors.EVENT_READ:
                    connection.receive()
                self._work(key.data)
            if now - self._looked_at >= TURN_SECONDS:
                self._looked_at = now
                self._live(now)

    def leave(self) -> None:
        """Let all of them leave in good order; they do not come back."""
        for life in self._lives:
            if life.connection is not None and not life.leaving:
                self._leave(life, "close", time.monotonic())

        def gone() -> bool:
            return all(life.connection is None for life in self._lives)

        self._leaving = True
        self.run(gone)

    def was_quiet_for(self, seconds: float) -> Callable[[], bool]:
        """Give a condition that holds when nothing has come for so long."""
        seen, since = -1, 0.0

        def quiet() -> bool:
            nonlocal seen, since
            if self._journal.deliveries != seen:
                seen, since = self._journal.deliveries, time.monotonic()
            return time.monotonic() - since >= seconds

        return quiet

    # ------------------------------------------------------------------ lives

    def _live(self, now: float) -> None:
        ticks = now - self._ticked_at >= TICK_SECONDS
        if ticks:
            self._ticked_at = now
        for life in self._lives:
            connection = life.connection
            if connection is None:
                if now >= life.ends_at and not self._leaving:
                    self._come(life, now)
                continue
            if ticks:
                connection.tick()
            if connection.lost or connection.ended or (life.leaving == "close" and now >= life.ends_at):
                self._drop(life)
                life.ends_at = now + self._chance.random() * self._living.seconds / 10
                continue
            if connection.is_detached() and life.leaving != "close":
                self._attach(life, now)
            elif not life.leaving and (now >= life.ends_at or connection.got >= life.ends_with):
                ways = ("close", "drop", "detach", "suspend")
                self._leave(life, self._chance.choice(ways), now)
                if life.connection is None:
                    continue
            connection.look()
            self._work(life)

    def _come(self, life: Life, now: float) -> None:
        self._names += 1
        connection = ReceivingConnection(
            self._chance.choice(self._ports), f"receiver-{self._names}", self._journal, self._chance
        )
        connection.ended_by_bridge = self.ended_by_bridge
        life.connection = connection
        self._selector.register(connection.socket, selectors.EVENT_READ, life)
        self._attach(life, now)
        self._work(life)

    def _attach(self, life: Life, now: float) -> None:
        if life.connection is None:
            return
        self._names += 1
        life.leaving = ""
        life.ends_at = now + self._living.seconds * self._chance.uniform(0.1, 1)
        life.ends_with = self._chance.randrange(1, self._living.messages)
        manner = self._living.manner(self._chance)
        life.connection.receive_from(self._living.address, f"link-{self._names}", manner)

    def _leave(self, life: Life, way: str, now: float) -> None:
        connection = life.connection
        if connection is None:
            return
        self.left[way] += 1
        if way == "drop":
            self._drop(life)
            life.ends_at = now + self._chance.random() * self._living.seconds / 10
            return
        life.leaving = way
        if way == "close":
            connection.close()
            life.ends_at = now + LEAVES_AFTER_SECONDS
        else:
            connection.detach_link(closed=way == "detach")

    def _drop(self, life: Life) -> None:
        if life.connection is not None:
            self._selector.unregister(life.connection.socket)
            life.connection.drop()
        life.connection = None
        life.leaving = ""

    def _work(self, life: Life) -> None:
        connection = life.connection
        if connection is None:
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.send() else 0)
        if self._selector.get_key(connection.socket).events != events:
            self._selector.modify(connection.socket, events, life)
