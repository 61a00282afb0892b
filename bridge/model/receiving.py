"""Where a receiver begins to read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Position(Enum):
    """The kinds of places to begin at.

    EARLIEST, LATEST: the first record that is still there, the end.
    OFFSET: an offset, of the one partition that is read.
    TIME: the first record whose timestamp is not before a time, the end where there is none.
    AGE: TIME, so long before the attach.
    """

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSET = "offset"
    TIME = "time"
    AGE = "age"


@dataclass(frozen=True, slots=True)
class Start:
    """A place to begin at.

    `value` is an offset, or milliseconds: since the epoch (TIME), or back from the attach (AGE).
    """

    position: Position
    value: int = 0


EARLIEST: Final = Start(Position.EARLIEST)
LATEST: Final = Start(Position.LATEST)
