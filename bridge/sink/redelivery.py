"""When a record that was not accepted is sent again, and when that is given up.

A failed attempt (modified with delivery-failed) counts towards the delivery-count that receivers see, a
release does not: the receiver says that it has not looked at the message (AMQP 1.0 core, 3.4.4). Receivers
that only ever release would go round for ever, so that some releases in a row count as a failed attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bridge.mapping.annotate import merge

if TYPE_CHECKING:
    from bridge.model.outcomes import Outcome
    from bridge.sink.ports import ConsumedRecord

RECORD_BYTES: Final = 1024
"""What a record takes in the process until it is dealt with, beside its value."""
_DOUBLINGS_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class Redelivery:
    """The rules of a link.

    The pause before an attempt doubles from `backoff_seconds` to `backoff_max_seconds`. After
    `attempts_max` failed attempts a record is given up, where there is somewhere to put it.
    `releases_max` releases in a row count as a failed attempt. `ahead_records` is how far a partition may
    go on while one of its records waits: None for not at all, so that the partition's order is kept.
    """

    backoff_seconds: float
    backoff_max_seconds: float
    attempts_max: int
    releases_max: int
    ahead_records: int | None = None

    def pause_seconds(self, tries: int) -> float:
        """Give the pause before a record is sent again, or put away again, that was tried so often."""
        doublings = min(max(tries, 1) - 1, _DOUBLINGS_MAX)
        return float(min(self.backoff_seconds * 2**doublings, self.backoff_max_seconds))


class Retry:
    """A record that was sent, and is to be sent again: what became of its attempts.

    `failed` is its delivery-count, `tries` how often it came back, for whatever reason.
    """

    __slots__ = ("_released", "annotations", "failed", "is_due", "offset", "record", "tries")

    def __init__(self, record: ConsumedRecord) -> None:
        self.record = record
        self.offset = record.offset() or 0
        self.failed = 0
        self.tries = 0
        self.annotations = b""
        """What receivers wanted merged into its annotations: an encoded AMQP map, or nothing."""
        self.is_due = False
        """Its pause is over."""
        self._released = 0

    def __lt__(self, other: Retry) -> bool:
        return self.offset < other.offset

    def came_back(self, outcome: Outcome, releases_max: int) -> None:
        """Count an attempt that ended with released, modified or no outcome at all."""
        self.tries += 1
        self.is_due = False
        if outcome.annotations:
            self.annotations = merge(self.annotations, outcome.annotations)
        if not outcome.delivery_failed:
            self._released += 1
            if self._released < releases_max:
                return
        self._released = 0
        self.failed += 1
