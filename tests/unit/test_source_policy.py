from __future__ import annotations

from typing import Literal

import pytest

from bridge.model.links import ReceiverSettleMode, SenderSettleMode
from bridge.source.policy import SourcePolicy, choose


def policy(
    snd: SenderSettleMode,
    rcv: ReceiverSettleMode = ReceiverSettleMode.FIRST,
    mixed_settled: Literal["ordered", "acks0"] = "ordered",
) -> SourcePolicy:
    return choose(snd, rcv, prefetch_credit=7, manual_credit=3, mixed_settled=mixed_settled)


@pytest.mark.parametrize("rcv", ReceiverSettleMode)
def test_a_settled_sender_gets_prefetch_and_the_unacknowledged_producer(rcv: ReceiverSettleMode) -> None:
    chosen = policy(SenderSettleMode.SETTLED, rcv)

    assert chosen.prefetch
    assert chosen.settled_unacknowledged
    assert chosen.window == 7


@pytest.mark.parametrize("snd", [SenderSettleMode.UNSETTLED, SenderSettleMode.MIXED])
def test_other_senders_get_manual_credit_and_one_producer_for_all(snd: SenderSettleMode) -> None:
    chosen = policy(snd)

    assert not chosen.prefetch
    assert not chosen.settled_unacknowledged
    assert chosen.window == 3


@pytest.mark.parametrize("snd", [SenderSettleMode.UNSETTLED, SenderSettleMode.MIXED])
def test_pre_settled_messages_of_other_senders_can_be_sent_without_acknowledgement(
    snd: SenderSettleMode,
) -> None:
    assert policy(snd, mixed_settled="acks0").settled_unacknowledged


@pytest.mark.parametrize("snd", [SenderSettleMode.UNSETTLED, SenderSettleMode.MIXED])
def test_the_bridge_settles_first_unless_the_sender_wants_to(snd: SenderSettleMode) -> None:
    assert policy(snd, ReceiverSettleMode.FIRST).settles_first
    assert not policy(snd, ReceiverSettleMode.SECOND).settles_first
