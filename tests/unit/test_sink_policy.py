from __future__ import annotations

from functools import partial

import pytest
from support.sink_rig import REDELIVERY

from bridge.model.links import SenderSettleMode
from bridge.sink import policy

choose = partial(policy.choose, rejected="skip", redelivery=REDELIVERY)


def test_a_receiver_that_wants_settled_deliveries_gets_them() -> None:
    assert choose(SenderSettleMode.SETTLED).sends_settled


@pytest.mark.parametrize("mode", [SenderSettleMode.UNSETTLED, SenderSettleMode.MIXED])
def test_other_receivers_get_unsettled_deliveries(mode: SenderSettleMode) -> None:
    assert not choose(mode).sends_settled


def test_what_becomes_of_rejected_records_is_as_configured() -> None:
    assert choose(SenderSettleMode.MIXED).rejected == "skip"
    assert choose(SenderSettleMode.MIXED, rejected="detach").rejected == "detach"


def test_a_member_of_a_group_commits() -> None:
    chosen = choose(SenderSettleMode.MIXED)

    assert (chosen.commits, chosen.browses) == (True, False)


def test_who_reads_for_no_group_commits_nothing() -> None:
    assert not choose(SenderSettleMode.MIXED, commits=False).commits


def test_who_browses_commits_nothing() -> None:
    chosen = choose(SenderSettleMode.MIXED, browses=True)

    assert (chosen.commits, chosen.browses) == (False, True)
