from __future__ import annotations

import pytest

from bridge.model.links import SenderSettleMode
from bridge.sink.policy import choose


def test_a_receiver_that_wants_settled_deliveries_gets_them() -> None:
    assert choose(SenderSettleMode.SETTLED, rejected="skip").sends_settled


@pytest.mark.parametrize("mode", [SenderSettleMode.UNSETTLED, SenderSettleMode.MIXED])
def test_other_receivers_get_unsettled_deliveries(mode: SenderSettleMode) -> None:
    assert not choose(mode, rejected="skip").sends_settled


def test_what_becomes_of_rejected_records_is_as_configured() -> None:
    assert choose(SenderSettleMode.MIXED, rejected="skip").rejected == "skip"
    assert choose(SenderSettleMode.MIXED, rejected="detach").rejected == "detach"
