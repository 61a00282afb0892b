from __future__ import annotations

import pytest

from bridge.workers.pauses import LONGEST_SECONDS, WELL_SECONDS, Pauses


def test_a_worker_is_started_again_at_once_and_then_ever_later() -> None:
    pauses = Pauses()
    assert [pauses.after(0.0) for _ in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize(
    ("served_seconds", "pause_seconds"), [(WELL_SECONDS, 0.0), (WELL_SECONDS - 1, LONGEST_SECONDS)]
)
def test_one_that_was_well_for_a_minute_begins_anew(served_seconds: float, pause_seconds: float) -> None:
    pauses = Pauses()
    for _ in range(10):
        pauses.after(0.0)
    assert pauses.after(served_seconds) == pause_seconds
    assert pauses.after(0.0) == max(1.0, pause_seconds)
