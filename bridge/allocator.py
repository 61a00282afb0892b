"""How the C library's allocator treats the large blocks that large messages and Kafka's requests take.

glibc has two ways. A block may be a mapping of its own: it goes back to the system when it is freed, and
each of its pages costs a page fault when it is written, which is two thirds of the CPU of a message of a
megabyte. Or it is a part of a heap, which costs nothing; but what is free between two blocks stays with the
process, which after some large messages would be several times as large as what it holds.

So blocks are parts of a heap, of which the free pages are given back from time to time; and when messages
wait for a Kafka that answers none of them, so that memory counts and speed does not, new blocks are mappings
of their own.

There is one heap. By default threads get others, up to eight for each core of the machine, and each
consumer has five threads: receivers that come and go leave free memory in one heap after another, which
threads with another heap do not use, and whose end no trim gives back: malloc_trim(3) cuts the first heap
alone. Twenty receivers of half a million records each, one after another, left 12 MiB so, and 0.2 MiB with
one heap. Threads seldom wait for each other there: the interpreter runs one of them at a time, and glibc
keeps small blocks for each without a lock. With eight receivers a record took 0.10 futex calls instead of
0.09, and the same CPU.

Where the C library is another one than glibc, nothing happens.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
"""As in malloc.h."""

HEAPS: Final = 1
"""How many there are for all threads together."""

HEAP_BLOCK_BYTES: Final = 4 << 20
"""Up to so large, blocks are parts of the heap: several times what a Kafka takes for a record by default."""
HEAP_END_BYTES: Final = 4 << 20
"""How much may be free at the end of the heap before free() gives it back."""
TIGHT_BYTES: Final = 128 << 10
"""Both while memory is tight. It is what glibc begins with."""

TIGHT_PART: Final = 1 / 2
"""Memory is tight when more than this part of the budget is held ..."""
STILL_SECONDS: Final = 1.0
"""... and nothing of it has gone for so long. Where Kafka is only slower than the senders, as much is held,
but what goes makes room for what comes."""
RELAXED_SECONDS: Final = 30.0
"""It stays so for so long after that: when Kafka comes back all senders begin again at once."""
EASY_PART: Final = 1 / 4
"""When after that not more than so much is held, trims may be of use again."""

WATCH_SECONDS: Final = 0.1
"""How often the budget is looked at. A burst may be quicker: what came until then is in the heap."""
LOOK_SECONDS: Final = 5.0
"""How often the resident set is looked at."""
TRIM_SECONDS_MAX: Final = 60.0
"""The time between two trims while the process is busy, and the longest when the last ones were of no use."""
BUSY_PART: Final = 1 / 4
"""A process is busy that uses more than this part of a core."""
SPARE_BYTES: Final = 32 << 20
"""What the process may have over the least that it had before the heap is trimmed."""
USEFUL_BYTES: Final = 8 << 20
"""What a trim has to give back to be of use."""


def prepare() -> None:
    """Say how large blocks are treated. To be called before there are threads."""
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, HEAPS)
        _set(mallopt, HEAP_BLOCK_BYTES, HEAP_END_BYTES)


def _set(mallopt: Callable[..., int], block_bytes: int, end_bytes: int) -> None:
    # Any value that is set ends the dynamic adjustment of both (mallopt(3)).
    mallopt(_M_MMAP_THRESHOLD, block_bytes)
    mallopt(_M_TRIM_THRESHOLD, end_bytes)


class Allocator:
    """Gives memory back. `held_part` tells how much of the budget is held: 0 is nothing, 1 all of it."""

    def __init__(self, held_part: Callable[[], float]) -> None:
        self._held_part = held_part
        self._mallopt, self._malloc_trim = _function("mallopt"), _function("malloc_trim")
        self._tight = False

    def _tighten(self, *, tight: bool) -> None:
        if tight is not self._tight and self._mallopt is not None:
            self._tight = tight
            if tight:
                _set(self._mallopt, TIGHT_BYTES, TIGHT_BYTES)
            else:
                _set(self._mallopt, HEAP_BLOCK_BYTES, HEAP_END_BYTES)

    async def watch(self) -> None:
        """Look after memory until this is cancelled; ends by itself where the C library is not glibc."""
        if self._malloc_trim is None:
            return
        looked = time.monotonic()
        used = time.process_time()
        tightness = Tightness(looked)
        trims = Trims(resident_bytes(), looked)
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            now, part = time.monotonic(), self._held_part()
            self._tighten(tight=tightness.is_tight(part, now))
            if now - looked < LOOK_SECONDS:
                continue
            now_used = time.process_time()
            busy = now_used - used > BUSY_PART * (now - looked)
            looked, used = now, now_used
            if tightness.has_eased():
                trims.hasten()
            before = resident_bytes()
            if trims.is_due(before, now, busy=busy):
                # Milliseconds, for which the heap is locked.
                await asyncio.to_thread(self._malloc_trim, 0)
                trims.done(before, resident_bytes(), now)


class Tightness:
    """When memory is tight, from the part of the budget that is held; times are seconds of any one clock."""

    def __init__(self, now: float) -> None:
        self._part = 0.0
        self._went = self._until = now
        self._was_full = False

    def is_tight(self, part: float, now: float) -> bool:
        """Tell whether it is tight, with so much being held now."""
        if part <= TIGHT_PART:
            self._went = now
        else:
            self._was_full = True
            if part < self._part:
                self._went = now
            elif now - self._went >= STILL_SECONDS:
                self._until = now + RELAXED_SECONDS
        self._part = part
        return now < self._until

    def has_eased(self) -> bool:
        """Tell, once, that little is held where there was much."""
        if not self._was_full or self._part > EASY_PART:
            return False
        self._was_full = False
        return True


class Trims:
    """When the heap is trimmed: after the process has grown, and more and more rarely if that is of no use.

    All bytes are those of the resident set; times are seconds of any one clock.
    """

    def __init__(self, resident: int, now: float) -> None:
        self._least = resident
        self._last = now
        self._pause_seconds = 0.0

    def is_due(self, resident: int, now: float, *, busy: bool) -> bool:
        """Tell whether to trim now. A busy process would soon use again what it gives back."""
        self._least = min(self._least, resident)
        pause_seconds = TRIM_SECONDS_MAX if busy else self._pause_seconds
        return resident > self._least + SPARE_BYTES and now >= self._last + pause_seconds

    def done(self, before: int, after: int, now: float) -> None:
        """Note what a trim has made of the resident set."""
        if before - after >= USEFUL_BYTES:
            self._pause_seconds = 0.0
        else:
            # It is in use: by connections and links, or by messages for as long as Kafka is away.
            self._pause_seconds = min(max(2 * self._pause_seconds, LOOK_SECONDS), TRIM_SECONDS_MAX)
        self._last = now

    def hasten(self) -> None:
        """Forget that the last ones were of no use: much was freed since."""
        self._pause_seconds = 0.0


def resident_bytes() -> int:
    """Read the resident set (statm of proc(5)). Raises OSError where there is none."""
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _function(name: str) -> Callable[..., int] | None:
    """Find a function that only glibc has; it takes numbers, and runs without the GIL."""
    return getattr(ctypes.CDLL(None), name, None)
