from __future__ import annotations

import pytest
from support.source_port import SendingPeer

from bridge.model.outcomes import ACCEPTED, RELEASED
from bridge.source.credit import CreditWindow
from bridge.source.settlement import Settlement


class Rig:
    """A settlement with so many deliveries in flight."""

    def __init__(self, count: int = 4, *, second: bool) -> None:
        self.peer, self.window = SendingPeer(), CreditWindow(10)
        self.settlement = Settlement(self.peer, self.window, settles_first=not second)
        self.peer.credit = self.window.granted = 10
        for _ in range(count):
            self.window.arrived()
            delivery = self.peer.transfer(settled=False)
            if second:
                self.settlement.arrived(delivery)


def test_with_first_an_outcome_settles() -> None:
    rig = Rig(second=False)

    rig.settlement.accept([0, 1])
    rig.settlement.answer(2, RELEASED)

    assert rig.peer.outcomes == {0: ACCEPTED, 1: ACCEPTED, 2: RELEASED}
    assert rig.peer.unsettled == {3}
    assert (rig.window.in_flight, rig.window.in_doubt) == (1, 0)
    assert rig.settlement.close() == 0


def test_with_first_a_sender_that_settles_early_changes_nothing() -> None:
    rig = Rig(second=False)

    rig.settlement.settled(0)
    rig.settlement.accept([0])

    assert rig.peer.outcomes == {0: ACCEPTED}
    assert (rig.window.in_flight, rig.window.in_doubt) == (3, 0)


def test_with_second_the_sender_settles() -> None:
    rig = Rig(second=True)

    rig.settlement.accept([0, 1])
    rig.settlement.answer(2, RELEASED)
    assert rig.peer.in_doubt == {0, 1, 2}
    assert (rig.window.in_flight, rig.window.in_doubt) == (1, 3)

    rig.settlement.settled(0)
    rig.settlement.settled(2)
    assert rig.peer.in_doubt == {1}
    assert rig.window.in_doubt == 1
    assert rig.settlement.close() == 1


@pytest.mark.parametrize("rejected", [False, True])
def test_with_second_what_is_settled_early_is_forgotten_with_its_outcome(*, rejected: bool) -> None:
    rig = Rig(second=True)
    rig.settlement.settled(1)

    if rejected:
        rig.settlement.answer(1, RELEASED)
    else:
        rig.settlement.accept([0, 1])

    assert 1 not in rig.peer.unsettled
    assert rig.settlement.close() == (0 if rejected else 1)


def test_a_settlement_of_something_else_changes_nothing() -> None:
    rig = Rig(second=True)
    rig.settlement.accept([0])
    rig.settlement.settled(0)

    rig.settlement.settled(0)
    rig.settlement.settled(99)

    assert rig.window.in_doubt == 0
