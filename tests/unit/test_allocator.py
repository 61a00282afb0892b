from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys

import pytest

from bridge.allocator import (
    LOOK_SECONDS,
    RELAXED_SECONDS,
    SPARE_BYTES,
    STILL_SECONDS,
    TIGHT_PART,
    TRIM_SECONDS_MAX,
    USEFUL_BYTES,
    Tightness,
    Trims,
    resident_bytes,
)

BASE = 70 << 20
LARGE = BASE + SPARE_BYTES + 1

needs_glibc = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc"
)


def test_memory_is_tight_when_much_is_held_and_nothing_of_it_goes() -> None:
    tightness = Tightness(0)
    assert not tightness.is_tight(1.0, STILL_SECONDS / 2)
    assert tightness.is_tight(1.0, STILL_SECONDS)
    assert tightness.is_tight(1.1, 2 * STILL_SECONDS)


def test_memory_is_not_tight_at_once_when_much_comes_after_a_long_silence() -> None:
    tightness = Tightness(0)
    assert not tightness.is_tight(0.0, 1000 * STILL_SECONDS)
    assert not tightness.is_tight(1.0, 1000.1 * STILL_SECONDS)
    assert tightness.is_tight(1.0, 1001 * STILL_SECONDS)


def test_memory_stays_tight_for_a_while_when_kafka_answers_again() -> None:
    tightness = Tightness(0)
    came_back = 10 * STILL_SECONDS
    assert tightness.is_tight(1.0, came_back)
    assert tightness.is_tight(0.9, came_back + RELAXED_SECONDS - 0.1)
    assert not tightness.is_tight(0.8, came_back + RELAXED_SECONDS)
    assert tightness.is_tight(0.8, came_back + RELAXED_SECONDS + STILL_SECONDS), "it is away again"


def test_memory_is_not_tight_while_something_goes_nor_while_little_is_held() -> None:
    tightness = Tightness(0)
    for step in range(100):
        assert not tightness.is_tight(1 - step % 2 / 10, step * STILL_SECONDS / 2)
    for step in range(100, 200):
        assert not tightness.is_tight(TIGHT_PART, step * STILL_SECONDS)


def test_trims_are_of_use_again_once_little_is_held_where_there_was_much() -> None:
    tightness = Tightness(0)
    told = []
    for part in (0.1, 0.5, 0.1, 0.6, 0.4, 0.2, 0.1, 0.9, 0.0):
        tightness.is_tight(part, 0)
        told.append(tightness.has_eased())
    assert told == [False] * 5 + [True, False, False, True]


def test_a_process_of_the_same_size_is_never_trimmed() -> None:
    trims = Trims(BASE, 0)
    for seconds in range(0, 10**9, 999_983):
        assert not trims.is_due(BASE + seconds % SPARE_BYTES, seconds, busy=seconds % 2 == 0)


def test_growth_is_counted_from_the_least_that_was_seen() -> None:
    trims = Trims(LARGE, 0)
    assert not trims.is_due(LARGE, 1, busy=False)
    assert not trims.is_due(BASE, 2, busy=False)
    assert trims.is_due(LARGE, 3, busy=False)


def test_after_a_trim_of_use_the_next_may_come_at_once() -> None:
    trims = Trims(BASE, 0)
    trims.done(LARGE, LARGE - USEFUL_BYTES, 100)
    assert trims.is_due(LARGE, 101, busy=False)


def test_trims_of_no_use_become_rare_but_never_end() -> None:
    trims = Trims(BASE, 0)
    pauses, last = [], 0
    for second in range(1000):
        if trims.is_due(LARGE, second, busy=False):
            pauses.append(second - last)
            trims.done(LARGE, LARGE - USEFUL_BYTES + 1, second)
            last = second
    assert pauses[:4] == [0, LOOK_SECONDS, 2 * LOOK_SECONDS, 4 * LOOK_SECONDS]
    assert set(pauses[6:]) == {TRIM_SECONDS_MAX}


def test_trims_come_soon_again_when_much_was_freed() -> None:
    trims = Trims(BASE, 0)
    for second in range(5):
        trims.done(LARGE, LARGE, second)
    assert not trims.is_due(LARGE, 6, busy=False)
    trims.hasten()
    assert trims.is_due(LARGE, 6, busy=False)
    trims.done(LARGE, LARGE, 6)
    assert trims.is_due(LARGE, 6 + LOOK_SECONDS, busy=False), "and not after the longest pause"


def test_a_busy_process_is_trimmed_rarely_however_useful() -> None:
    trims = Trims(BASE, 0)
    seconds = [0]
    for second in range(200):
        if trims.is_due(LARGE, second, busy=True):
            seconds.append(second)
            trims.done(LARGE, BASE, second)
    assert seconds == [number * TRIM_SECONDS_MAX for number in range(4)]


def test_the_resident_set_grows_with_what_is_written() -> None:
    before = resident_bytes()
    with mmap.mmap(-1, 64 << 20) as pages:  # not memory that this process has had before and freed
        pages.write(b"x" * len(pages))
        assert resident_bytes() - before > len(pages) // 2


FREED = """
import asyncio
from bridge import allocator

allocator.SPARE_BYTES, allocator.WATCH_SECONDS, allocator.LOOK_SECONDS = 1 << 20, 0.01, 0.02
allocator.STILL_SECONDS = 0.01
allocator.prepare()

async def main():
    watch = asyncio.create_task(allocator.Allocator(lambda: {held}).watch())
    await asyncio.sleep(0.1)
    base = allocator.resident_bytes()
    blocks = [b"x" * (1 << 20) for _ in range(64)]
    kept = blocks[1::2]
    full = allocator.resident_bytes() - base
    del blocks
    print(full >> 20, (allocator.resident_bytes() - base) >> 20)
    while allocator.resident_bytes() - base > 40 << 20:
        await asyncio.sleep(0.01)
    watch.cancel()

asyncio.run(main())
"""
"""Fills 64 MiB, frees every other block, says how many MiB are resident before and after, awaits their
return."""


@needs_glibc
@pytest.mark.parametrize(("held", "stays"), [(0, True), (1, False)])
def test_free_blocks_go_back_later_and_at_once_when_memory_is_tight(held: int, *, stays: bool) -> None:
    process = subprocess.run(  # noqa: S603 - a program of our own
        [sys.executable, "-c", FREED.format(held=held)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    full, freed = map(int, process.stdout.split())
    assert full >= 60
    assert (freed >= 60) is stays


FREED_BY_THREADS = """
import ctypes
import threading
from bridge import allocator

allocator.prepare()
all_have, all_freed = threading.Barrier(17), threading.Barrier(17)

def use():
    blocks = [b"x" * (1 << 20) for _ in range(3)]
    all_have.wait()
    del blocks
    all_freed.wait()

base = allocator.resident_bytes()
threads = [threading.Thread(target=use) for _ in range(16)]
for thread in threads:
    thread.start()
all_have.wait()
full = allocator.resident_bytes() - base
all_freed.wait()
for thread in threads:
    thread.join()
ctypes.CDLL(None).malloc_trim(0)
print(full >> 20, (allocator.resident_bytes() - base) >> 20)
"""
"""Sixteen threads take 3 MiB each, all at once, and free them. Says how much is resident before and after."""


@needs_glibc
def test_a_trim_gives_back_what_threads_have_freed() -> None:
    """In heaps of their own up to 4 MiB would stay with each of them: nothing that a trim takes."""
    process = subprocess.run(  # noqa: S603 - a program of our own
        [sys.executable, "-c", FREED_BY_THREADS],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    full, left = map(int, process.stdout.split())
    assert full >= 45
    assert left < 12
