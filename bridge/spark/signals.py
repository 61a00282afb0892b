"""What SIGINT and SIGTERM do to an ingestion: the first asks for a stop, the second ends it.

Keeps the handlers; never decides what a stop means.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)


class StopError(BaseException):
    """A signal asked for an end at once. Like KeyboardInterrupt, no handler of errors catches it."""


class Signals:
    """What SIGINT and SIGTERM do: the first asks for a stop, the second is a `StopError`."""

    def __init__(self) -> None:
        self.received = 0
        self.is_patient = False

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take the signals, and give them back at the end."""
        before = {number: signal.getsignal(number) for number in _STOPPING}
        self.take()
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def take(self) -> None:
        """Take the signals; needed again after Spark has taken SIGINT."""
        for number in _STOPPING:
            signal.signal(number, self._on_signal)

    def ignore(self) -> None:
        """Ignore further signals: the end has begun."""
        for number in _STOPPING:
            signal.signal(number, signal.SIG_IGN)

    def is_stop_requested(self) -> bool:
        """Tell whether a signal has come."""
        return self.received != 0

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        is_first = self.received == 0
        self.received = number
        if not (is_first and self.is_patient):
            raise StopError
