"""When a worker that has ended is started again. Pure."""

from __future__ import annotations

from typing import Final

FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 30.0
WELL_SECONDS: Final = 60.0
"""A worker that has served so long was well: what ends it is not what ended the one before."""


class Pauses:
    """The pauses of one worker: none at first, then a second, which doubles with each end that follows."""

    def __init__(self) -> None:
        self._next_seconds = 0.0

    def after(self, served_seconds: float) -> float:
        """Give the pause, in seconds, after a worker that has served so long; 0 if it never did."""
        if served_seconds >= WELL_SECONDS:
            self._next_seconds = 0.0
        pause_seconds = self._next_seconds
        self._next_seconds = min(LONGEST_SECONDS, max(FIRST_SECONDS, 2 * pause_seconds))
        return pause_seconds
