from __future__ import annotations

import numpy as np
import pytest

from bench.load import frames
from bench.load.reading import disposition
from bench.load.runs import Runs, numbers

SIZE = len(frames.settle(0, 0, receiver=True))


def inbox(*answers: tuple[int, int]) -> bytearray:
    """Give frames that accept these deliveries, one each, or that give them such another outcome."""
    return bytearray(
        b"".join(frames.settle(each, each, receiver=True, state=state) for each, state in answers)
    )


def alike(data: bytearray, runs: Runs | None = None, at: int = 0) -> int:
    first = disposition(data, at + frames.HEADER_BYTES)
    array = np.frombuffer(data, np.uint8)
    free = (first.first_at, first.last_at)
    return (runs or Runs()).alike(array, at, len(data), SIZE, [(at, at + SIZE)], free)


def test_frames_that_differ_in_numbers_alone_are_a_run() -> None:
    data = inbox(*((number * number, 0x24) for number in range(500, 520)))
    assert alike(data) == 20
    first = disposition(data, frames.HEADER_BYTES)
    found = numbers(np.frombuffer(data, np.uint8), first.first_at, 20, SIZE)
    assert found.tolist() == [number * number for number in range(500, 520)]


@pytest.mark.parametrize("place", [1, 7, 8, 19])
def test_a_run_ends_before_the_first_other_frame(place: int) -> None:
    data = inbox(*((number, 0x25 if number == place else 0x24) for number in range(20)))
    assert alike(data) == place


def test_a_few_frames_are_not_looked_at() -> None:
    assert alike(inbox(*((number, 0x24) for number in range(7)))) == 1


def test_the_rest_of_a_frame_is_no_part_of_a_run() -> None:
    data = inbox(*((number, 0x24) for number in range(20)))
    assert alike(data[:-1]) == 19


def test_long_runs_are_found_in_growing_pieces_and_never_beyond_their_end() -> None:
    data, runs, at, found = inbox(*((number, 0x24) for number in range(1000))), Runs(), 0, []
    while at < len(data):
        found.append(alike(data, runs, at))
        at += found[-1] * SIZE
    assert sum(found) == 1000
    assert len(found) < 10


def test_frames_of_changing_kinds_are_soon_taken_one_by_one() -> None:
    data, runs = inbox(*((number, 0x24 + number % 2) for number in range(100))), Runs()
    assert [alike(data, runs, place * SIZE) for place in range(80)] == [1] * 80


def test_numbers_without_bytes_are_zero() -> None:
    assert numbers(np.zeros(100, np.uint8), (5, 5), 9, 10).tolist() == [0] * 9
