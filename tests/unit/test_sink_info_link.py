from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from support.sink_port import REJECTED, SETTLED_WITHOUT_STATE, ReceivingPeer, encode_message

from bridge.model.outcomes import MODIFIED_FAILED, RELEASED
from bridge.sink.info_link import InfoLink

if TYPE_CHECKING:
    from bridge.model.outcomes import Outcome

MESSAGES: Final = [encode_message(0, offset, 0, 0, None, b"x", None, 0, False) for offset in range(3)]  # noqa: FBT003 - Encode


class Rig:
    """An open link with its receiver."""

    def __init__(self, peer: ReceivingPeer, *, settles: bool = False) -> None:
        self.peer = peer
        self.ends: list[tuple[int, int]] = []
        self.link = InfoLink(
            peer, MESSAGES, settles=settles, ended=lambda accepted, left: self.ends.append((accepted, left))
        )
        self.link.opened()

    def flow(self, credit: int, *, drain: bool = False) -> None:
        self.peer.link_credit, self.peer.drain = credit, drain
        self.link.batch_ended()

    def offsets(self) -> list[int]:
        return [delivered.offset for delivered in self.peer.delivered]


def test_messages_are_sent_in_order_as_far_as_credit_goes() -> None:
    rig = Rig(ReceivingPeer())
    assert rig.offsets() == []
    rig.flow(2)
    assert rig.offsets() == [0, 1]
    rig.flow(5)
    assert rig.offsets() == [0, 1, 2]
    assert rig.peer.link_credit == 4


def test_credit_that_is_there_at_the_attach_is_used() -> None:
    peer = ReceivingPeer()
    peer.link_credit = 5

    assert Rig(peer).offsets() == [0, 1, 2]


def test_accepted_messages_are_settled_and_counted() -> None:
    rig = Rig(ReceivingPeer())
    rig.flow(3)
    for delivery in rig.peer.delivered[:2]:
        rig.link.accepted(delivery)
    rig.link.accepted(rig.peer.delivered[0])
    rig.link.batch_ended()
    assert list(rig.peer.unsettled) == rig.peer.delivered[2:]

    rig.link.close()
    rig.link.close()
    assert rig.ends == [(2, 1)]


@pytest.mark.parametrize("outcome", [RELEASED, MODIFIED_FAILED, REJECTED, SETTLED_WITHOUT_STATE])
def test_what_a_receiver_does_not_take_is_settled_and_not_sent_again(outcome: Outcome) -> None:
    rig = Rig(ReceivingPeer())
    rig.flow(10)
    for delivery in rig.peer.delivered:
        rig.link.disposed(delivery, outcome)
    rig.link.batch_ended()

    assert rig.offsets() == [0, 1, 2]
    assert rig.peer.unsettled == {}
    rig.link.close()
    assert rig.ends == [(0, 0)]


def test_settled_messages_need_no_answer() -> None:
    rig = Rig(ReceivingPeer(), settles=True)
    rig.flow(3)

    assert (rig.offsets(), rig.peer.unsettled) == ([0, 1, 2], {})
    rig.link.close()
    assert rig.ends == [(0, 0)]


def test_a_drain_gives_back_what_is_left_of_the_credit() -> None:
    rig = Rig(ReceivingPeer())
    rig.flow(2, drain=True)
    assert (rig.offsets(), rig.peer.returned) == ([0, 1], 0)
    rig.flow(10, drain=True)
    assert (rig.offsets(), rig.peer.returned) == ([0, 1, 2], 9)
    rig.flow(10, drain=True)
    assert rig.peer.returned == 19
    rig.flow(10)
    assert rig.peer.returned == 19


def test_what_waits_for_room_is_sent_before_credit_goes_back() -> None:
    rig = Rig(ReceivingPeer(room=1))
    rig.flow(10, drain=True)
    assert (rig.offsets(), rig.peer.returned, rig.peer.blocked) == ([0], 0, True)

    rig.peer.capacity = 1 << 20
    rig.link.batch_ended()
    assert (rig.offsets(), rig.peer.returned) == ([0, 1, 2], 7)


def test_nothing_is_sent_on_a_link_that_has_ended() -> None:
    rig = Rig(ReceivingPeer())
    rig.link.close()
    rig.flow(3, drain=True)

    assert (rig.offsets(), rig.peer.returned) == ([], 0)
