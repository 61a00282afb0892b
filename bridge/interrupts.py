"""How a command that has processes of its own is interrupted: in good order, and once."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Never

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Let the first signal end the block by KeyboardInterrupt, and no other one break that off.

    So everything is taken down. Should that hang, kill -9 takes all processes along.
    """

    def end(_number: int, _frame: FrameType | None) -> Never:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in _ENDING}
    if before[signal.SIGHUP] == signal.SIG_IGN:  # nohup keeps its promise
        del before[signal.SIGHUP]
    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
