"""What an outcome does to the sender's credit and to the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.source_port import NO_LEADER, REFERENCE, TIMED_OUT, TOPIC, SendingPeer

from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.outcomes import DeliveryState
from bridge.source import outcomes
from bridge.source.answers import AnsweringLink
from bridge.source.budget import ByteBudget
from bridge.source.outcomes import Place
from bridge.source.policy import SourcePolicy
from bridge.source.ports import Peer, SourceDoors

if TYPE_CHECKING:
    from bridge.model.outcomes import Outcome

PLACE = Place(TOPIC, REFERENCE, 0)


class Told:
    """What operators were told."""

    def __init__(self) -> None:
        self.refusals: list[Outcome] = []
        self.drops: list[str] = []

    def refused(self, outcome: Outcome) -> None:
        self.refusals.append(outcome)

    def dropped(self, reason: str) -> None:
        self.drops.append(reason)

    def broke(self, error: Exception) -> None:
        self.drops.append(repr(error))

    def ended(self, *_counts: int) -> None: ...


class Link(AnsweringLink):
    """A link with two credits whose messages are in flight, a hundred bytes each."""

    def __init__(self, peer: SendingPeer, told: Told, budget: ByteBudget) -> None:
        doors = SourceDoors(
            lambda _error: TIMED_OUT, lambda _: None, lambda _: None, lambda: True, lambda: None, budget
        )
        policy = SourcePolicy(window=2, prefetch=False, settles_first=True, settled_unacknowledged=False)
        super().__init__(peer, policy, doors, Peer(outcomes.ALL_UNDERSTOOD, REFERENCE), told)
        self._topic, self._partitions, self._room = TOPIC, 6, lambda: 100
        self._gives_credit = True
        self._grant()

    def arrive(self, peer: SendingPeer, *, settled: bool = False) -> int:
        self.window.arrived()
        self._arrived += 1
        self._arrived_bytes += 100
        self._presettled += settled
        return peer.transfer(settled=settled)

    def end_of_batch(self) -> None:
        self._count_bytes()
        self._grant()


def test_a_failure_answers_and_gives_room_and_credit_back() -> None:
    peer, told, budget = SendingPeer(), Told(), ByteBudget(1 << 30)
    link = Link(peer, told, budget)
    deliveries = [link.arrive(peer), link.arrive(peer)]
    link.end_of_batch()
    assert (peer.credit, budget.held_bytes) == (0, 200)

    for delivery in deliveries:
        link.failed(delivery, 100, TIMED_OUT, PLACE)
    link.end_of_batch()
    assert peer.count(DeliveryState.MODIFIED) + peer.count(DeliveryState.RELEASED) == 2
    assert len(told.refusals) == 2
    assert (peer.credit, budget.held_bytes, link.arrived_count) == (2, 0, 2)


def test_what_was_sent_settled_is_dropped_and_told() -> None:
    peer, told, budget = SendingPeer(), Told(), ByteBudget(1 << 30)
    link = Link(peer, told, budget)
    link.arrive(peer, settled=True)
    link.failed(None, 100, NO_LEADER, PLACE)
    link.end_of_batch()
    assert told.drops == [NO_LEADER.description]
    assert not peer.outcomes
    assert (link.window.in_flight, budget.held_bytes) == (0, 0)


def test_no_credit_is_given_once_the_process_is_about_to_end() -> None:
    peer = SendingPeer()
    link = Link(peer, Told(), ByteBudget(1 << 30))
    link.arrive(peer)
    link.arrive(peer)
    link.stop_credit()
    link.failed(0, 100, TIMED_OUT, PLACE)
    link.credit_may_flow()
    assert peer.credit == 0
    assert peer.grants == [2]


def test_a_link_that_ended_is_not_detached_again() -> None:
    peer = SendingPeer()
    link = Link(peer, Told(), ByteBudget(1 << 30))
    link.closed = True
    link.detach(Condition(conditions.INTERNAL_ERROR, "too late"))
    assert not peer.detached
