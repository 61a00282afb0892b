from __future__ import annotations

import pytest

from bridge.sink.demand import Demand


def test_a_buffer_holds_at_least_one_record() -> None:
    with pytest.raises(ValueError, match="not 0"):
        Demand(0)


def test_without_credit_nothing_is_asked_for() -> None:
    demand = Demand(100)

    assert demand.update(0) is None
    assert demand.allowed == 0


def test_a_receiver_that_takes_one_at_a_time_makes_one_wait() -> None:
    assert Demand(100).update(1) == 2


def test_as_many_wait_as_the_receiver_ever_gave_credit_for() -> None:
    demand = Demand(100)

    assert demand.update(30) == 60
    demand.sent = 30
    assert demand.update(0) is None
    demand.sent = 60
    assert demand.update(0) == 90


def test_a_large_credit_is_met_up_to_the_bound() -> None:
    assert Demand(100).update(1_000_000) == 200


def test_small_steps_are_not_told() -> None:
    demand = Demand(100)
    demand.update(10)

    demand.sent = 4
    assert demand.update(10) is None

    demand.sent = 5
    assert demand.update(10) == 25


def test_a_consumer_that_stands_still_is_told_of_a_small_step_too() -> None:
    demand = Demand(100)
    demand.update(10)
    demand.sent = 20
    demand.update(0)
    demand.sent = 30

    assert demand.allowed == 30
    assert demand.update(1) == 41


def test_the_total_never_falls() -> None:
    demand = Demand(100)
    demand.update(50)

    assert demand.update(0) is None
    assert demand.allowed == 100
