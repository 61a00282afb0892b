"""`crowd`: attaches many idle connections, holds them for a while, and closes them."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import uuid4

from bench.load import frames
from bench.load.connection import Connection, Inbox, Link
from bench.load.loop import Loop
from bench.load.results import Clock

_AT_ONCE: Final = 64
"""How many connections are on their way to be attached at a time."""


@dataclass(frozen=True, slots=True)
class CrowdOptions:
    """How many connections, with how many sender links each, and for how long they are held."""

    port: int
    address: str
    connections: int
    links: int = 1
    seconds: float = 10.0


class Idle(Connection[Link]):
    """A connection with sender links that never send."""

    def __init__(self, port: int, inbox: Inbox, container_id: str, links: list[Link], address: str) -> None:
        super().__init__(port, inbox, container_id, links)
        self._address = address

    def attach_frames(self, link: Link) -> bytes:
        """Make what attaches a link."""
        return frames.attach(link.name, link.handle, self._address, "unsettled", receiver=False)


class Crowd:
    """One run. Raises LoadError when a connection does not last, OSError when there are too many."""

    def __init__(self, options: CrowdOptions) -> None:
        self._options = options
        self._loop = Loop()
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def run(self) -> dict[str, Any]:
        """Attach, hold and close; gives how long the first of it took."""
        options, clock = self._options, Clock()
        with self._loop:
            self._attach_all()
            times = clock.stop()
            print("attached", file=sys.stderr, flush=True)
            self._hold()
            self._loop.close()
        return {
            "connections": options.connections,
            "links": options.links,
            "seconds": times["seconds"],
            "cpu_seconds": times["cpu_seconds"],
        }

    def problems(self) -> list[str]:
        """Say what did not go as asked: nothing that does not end the run."""
        return []

    def _attach_all(self) -> None:
        options, inbox = self._options, Inbox()
        for first in range(0, options.connections, _AT_ONCE):
            wave = [
                Idle(options.port, inbox, f"load-crowd-{index}", self._links(), options.address)
                for index in range(first, min(first + _AT_ONCE, options.connections))
            ]
            for connection in wave:
                self._loop.add(connection)
            self._loop.run(partial(_all_attached, wave), "links to be attached")

    def _links(self) -> list[Link]:
        return [Link(f"idle-{uuid4()}", handle) for handle in range(self._options.links)]

    def _hold(self) -> None:
        end = time.monotonic() + self._options.seconds
        while (left := end - time.monotonic()) > 0:
            self._loop.turn(min(left, 1.0))


def _all_attached(wave: list[Idle]) -> bool:
    return all(connection.attached == len(connection.links) for connection in wave)
