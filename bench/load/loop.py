"""The one loop that drives all connections of a run: it waits for sockets, reads, and sends on.

Decides nothing about messages.
"""

from __future__ import annotations

import selectors
import time
from typing import TYPE_CHECKING, Any, Final, Self

from bench.load.errors import LoadError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.load.connection import Connection

SILENCE_SECONDS: Final = 60.0
"""How long nothing at all may happen before a run is given up: a bound for what failed, no measure."""
_KEEP_ALIVE_SECONDS: Final = 1.0
_READ: Final = selectors.EVENT_READ
_BOTH: Final = selectors.EVENT_READ | selectors.EVENT_WRITE
SELECT_MAX: Final = 1000
"""As many connections as `select` surely takes: it knows no file descriptor above 1,023."""


class Loop:
    """Drives connections until what is waited for has come; use it in a `with` statement.

    `exact` is for pacing: it waits with `select`, to the microsecond; epoll counts milliseconds.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self._selector = selectors.SelectSelector() if exact else selectors.DefaultSelector()
        self._writing: dict[Connection[Any], bool] = {}
        self._kept_alive_at = self._heard_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._writing:
            connection.drop()
        self._selector.close()

    def add(self, connection: Connection[Any]) -> None:
        """Drive a connection from now on."""
        self._selector.register(connection, _READ, connection)
        self._writing[connection] = False
        self.send(connection)

    def send(self, connection: Connection[Any]) -> None:
        """Let a connection send what its owner gave it to send."""
        more = connection.flush()
        if more is not self._writing[connection]:
            self._writing[connection] = more
            self._selector.modify(connection, _BOTH if more else _READ, connection)

    def run(self, until: Callable[[], bool], what: str) -> None:
        """Drive the connections until something is so, which is looked at after each turn.

        Raises LoadError, which names `what` was waited for, when nothing happens any more.
        """
        while not until():
            self.turn(_KEEP_ALIVE_SECONDS)
            if time.monotonic() - self._heard_at > SILENCE_SECONDS:
                raise LoadError(f"nothing happened for {SILENCE_SECONDS:.0f} s while waiting for {what}")

    def turn(self, seconds: float) -> None:
        """Wait so long for sockets at most, and serve those that are ready."""
        ready = self._selector.select(seconds)
        now = time.monotonic()
        for key, events in ready:
            connection: Connection[Any] = key.data
            if events & _READ:
                self._heard_at = now
                connection.read()
            self.send(connection)
            if connection.closed:
                self._forget(connection)
        if now - self._kept_alive_at >= _KEEP_ALIVE_SECONDS:
            self._kept_alive_at = now
            for connection in self._writing:
                connection.keep_alive(now)
                self.send(connection)

    def close(self) -> None:
        """Close all connections and wait until the peers have closed them too. Raises LoadError."""
        for connection in self._writing:
            connection.close()
            self.send(connection)
        self.run(lambda: not self._writing, "connections to be closed")

    def _forget(self, connection: Connection[Any]) -> None:
        self._selector.unregister(connection)
        del self._writing[connection]
        connection.drop()
