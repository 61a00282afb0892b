from __future__ import annotations

import numpy as np

from bench.load.outcomes import Outcomes, Tally

ACCEPTED, RELEASED = 0x24, 0x26


def ids(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


def test_outcomes_of_ranges_count_once_and_have_their_time() -> None:
    tally = Tally()
    outcomes = Outcomes("unsettled", 100, tally)
    outcomes.expect(0, 50, first_of_link=0)
    assert tally.awaited == 50
    outcomes.sent(0, 20, 1000)
    outcomes.sent(20, 50, 3000)
    outcomes.answered(10, 19, ACCEPTED)
    outcomes.answered(20, 29, ACCEPTED)
    outcomes.answered(30, 30, RELEASED)
    outcomes.settle_up(5000)
    outcomes.answered(10, 30, ACCEPTED)
    outcomes.settle_up(9000)
    assert tally.outcomes == {"accepted": 20, "released": 1}
    assert tally.awaited == 29
    assert outcomes.latencies(0, 50).tolist() == [4000] * 10 + [2000] * 11
    assert outcomes.latencies(25, 50).tolist() == [2000] * 6


def test_in_mixed_mode_only_every_second_message_has_an_outcome() -> None:
    tally = Tally()
    outcomes = Outcomes("mixed", 100, tally)
    outcomes.expect(0, 5, first_of_link=0)
    outcomes.expect(5, 6, first_of_link=5)
    outcomes.sent(0, 11, 0)
    assert tally.awaited == 5
    outcomes.answered(0, 10, ACCEPTED)
    outcomes.settle_up(7)
    assert tally.awaited == 0
    assert tally.outcomes == {"accepted": 5}
    assert outcomes.latencies(0, 11).tolist() == [7] * 5


def test_scattered_outcomes_count_as_those_of_ranges_do() -> None:
    tally = Tally()
    outcomes = Outcomes("mixed", 100, tally)
    outcomes.expect(0, 100, first_of_link=0)
    outcomes.sent(0, 100, 10)
    outcomes.answered_each(ids(1, 2, 3, 51), ids(1, 2, 3, 51), ACCEPTED)
    outcomes.settle_up(30)
    assert tally.outcomes == {"accepted": 3}
    outcomes.answered_each(ids(50, 60), ids(55, 69), RELEASED)
    outcomes.settle_up(40)
    assert tally.outcomes == {"accepted": 3, "released": 7}
    assert tally.awaited == 40
    # Those of 1, 3, 51 and of the odd ones of 50 to 55 and 60 to 69, in order of sending.
    assert outcomes.latencies(0, 100).tolist() == [20, 20, 20, *[30] * 7]


def test_the_clock_may_pass_its_end() -> None:
    outcomes = Outcomes("unsettled", 1, Tally())
    outcomes.expect(0, 1, first_of_link=0)
    outcomes.sent(0, 1, 2**32 - 100)
    outcomes.answered(0, 0, ACCEPTED)
    outcomes.settle_up(50)
    assert outcomes.latencies(0, 1).tolist() == [150]
