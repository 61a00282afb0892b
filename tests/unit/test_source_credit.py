from __future__ import annotations

import pytest

from bridge.source.credit import CreditWindow


def window_after(*, arrived: int = 0, answered: int = 0, size: int = 10) -> CreditWindow:
    window = CreditWindow(size)
    window.grant()
    for _ in range(arrived):
        window.arrived()
    window.answered(answered)
    return window


def test_a_window_holds_at_least_one_message() -> None:
    with pytest.raises(ValueError, match="not 0"):
        CreditWindow(0)


def test_the_first_grant_is_the_whole_window() -> None:
    assert CreditWindow(10).grant() == 10


def test_nothing_is_granted_twice() -> None:
    window = window_after()

    assert window.grant() == 0
    assert window.granted == 10


def test_what_is_in_flight_is_not_granted() -> None:
    assert window_after(arrived=10).grant() == 0


def test_less_than_half_a_window_is_held_back_while_the_peer_has_credit() -> None:
    assert window_after(arrived=4, answered=4).grant() == 0


def test_half_a_window_is_given_back() -> None:
    assert window_after(arrived=5, answered=5).grant() == 5


def test_half_of_an_odd_window_is_rounded_up() -> None:
    assert window_after(size=9, arrived=4, answered=4).grant() == 0
    assert window_after(size=9, arrived=5, answered=5).grant() == 5


def test_one_credit_is_given_at_once_to_a_peer_that_has_none() -> None:
    assert window_after(arrived=10, answered=1).grant() == 1


def test_what_is_in_doubt_costs_no_credit_up_to_a_window() -> None:
    window = CreditWindow(4)
    for _ in range(4):
        window.grant()
        window.arrived()
        window.answered(in_doubt=True)
    window.grant()

    assert (window.granted, window.in_doubt) == (4, 4)


def test_a_sender_that_settles_nothing_gets_two_windows() -> None:
    window = CreditWindow(4)
    arrived = 0
    for _ in range(100):
        window.grant()
        while window.granted:
            window.arrived()
            arrived += 1
        window.answered(window.in_flight, in_doubt=True)

    assert arrived == 8
    assert window.grant() == 0


def test_settling_gives_the_credit_that_doubt_had_taken() -> None:
    window = CreditWindow(4)
    window.in_doubt = 8

    assert window.grant() == 0
    window.settled(3)
    assert window.grant() == 3
