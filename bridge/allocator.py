"""How the C library's allocator treats the large blocks that large messages take.

glibc has two ways. A block may be a mapping of its own: it goes back to the system when it is freed, and each
of its pages costs a page fault when it is written, which is two thirds of the CPU of a message of a megabyte.
Or it is a part of a heap, which costs nothing, and what is free between two blocks stays with the process: after
some large messages it would be several times as large as what it holds.

So blocks are parts of heaps, of which the free pages are given back from time to time; and when messages
wait for Kafka in numbers, so that memory counts and speed does not, new blocks are mappings of their own.

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
"""As in malloc.h."""

HEAP_BLOCK_BYTES: Final = 4 << 20
"""Up to so large, blocks are parts of heaps: several times what a Kafka takes for a record by default."""
TIGHT_BLOCK_BYTES: Final = 128 << 10
"""The same while memory is tight. It is what glibc begins with."""
HEAP_END_BYTES: Final = 16 << 20
"""How much may be free at the end of a heap before free() gives it back: less, and each message would."""

TIGHT_PART: Final = 1 / 2
"""Memory is tight when so much of the budget is held."""
RELAXED_PART: Final = 1 / 4
"""It is no more when not more than so much is."""

WATCH_SECONDS: Final = 0.1
"""How often the budget is looked at: in that time no more can come than some ten megabytes."""
LOOK_SECONDS: Final = 5.0
"""How often the resident set is looked at."""
TRIM_SECONDS_MAX: Final = 60.0
"""The longest time between two trims, when the last ones were of little use."""
SPARE_BYTES: Final = 32 << 20
"""What the process may have over the least that it had before heaps are trimmed."""
USEFUL_BYTES: Final = 8 << 20
"""What a trim has to give back for the next one to come as soon."""


def prepare() -> None:
    """Say how large blocks are treated. To be called before there are threads."""
    mallopt = _function("mallopt")
    if mallopt is not None:
        # Any value that is set ends the dynamic adjustment (mallopt(3)), so both have to be.
        mallopt(_M_TRIM_THRESHOLD, HEAP_END_BYTES)
        mallopt(_M_MMAP_THRESHOLD, HEAP_BLOCK_BYTES)


async def watch(held_part: Callable[[], float]) -> None:
    """Give memory back for as long as this runs; `held_part` tells how much of the budget is held, from 0 to 1."""
    mallopt, malloc_trim = _function("mallopt"), _function("malloc_trim")
    if mallopt is None or malloc_trim is None:
        return
    trims = Trims(resident_bytes())
    tight = False
    next_look = time.monotonic() + LOOK_SECONDS
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        part = held_part()
        if not tight and part > TIGHT_PART:
            tight = True
            mallopt(_M_MMAP_THRESHOLD, TIGHT_BLOCK_BYTES)
        now = time.monotonic()
        if now < next_look:
            continue
        next_look = now + LOOK_SECONDS
        if tight and part <= RELAXED_PART:
            tight = False
            mallopt(_M_MMAP_THRESHOLD, HEAP_BLOCK_BYTES)
            trims.hasten()
        before = resident_bytes()
        if trims.is_due(before, now):
            # Milliseconds, for which heaps are locked one by one.
            await asyncio.to_thread(malloc_trim, 0)
            trims.done(before, resident_bytes(), now)


class Trims:
    """When heaps are trimmed: whenever the process has grown, and less and less often if that is of no use.

    All bytes are those of the resident set; times are seconds of any one clock.
    """

    def __init__(self, resident: int) -> None:
        self._least = resident
        self._pause_seconds = LOOK_SECONDS
        self._not_before = 0.0

    def is_due(self, resident: int, now: float) -> bool:
        """Tell whether to trim now."""
        self._least = min(self._least, resident)
        return resident > self._least + SPARE_BYTES and now >= self._not_before

    def done(self, before: int, after: int, now: float) -> None:
        """Note what a trim has made of the resident set."""
        if before - after >= USEFUL_BYTES:
            self._pause_seconds = LOOK_SECONDS
        else:
            # It is in use: by connections and links, or by messages for as long as Kafka is away.
            self._pause_seconds = min(2 * self._pause_seconds, TRIM_SECONDS_MAX)
        self._not_before = now + self._pause_seconds

    def hasten(self) -> None:
        """Forget that the last ones were of little use: much was freed since."""
        self._pause_seconds = LOOK_SECONDS
        self._not_before = 0.0


def resident_bytes() -> int:
    """Read the resident set (statm of proc(5)). Raises OSError where there is none."""
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _function(name: str) -> Callable[..., int] | None:
    """Find a function of the C library that only glibc has; it takes numbers, and is called without the GIL."""
    return getattr(ctypes.CDLL(None), name, None)
