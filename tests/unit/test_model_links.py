from __future__ import annotations

from bridge.model.links import AttachRequest, ReceiverSettleMode, SenderSettleMode


def test_settlement_modes_have_the_numbers_of_the_wire() -> None:
    """AMQP 1.0 core, sections 2.8.2 and 2.8.3."""
    assert (SenderSettleMode.UNSETTLED, SenderSettleMode.SETTLED, SenderSettleMode.MIXED) == (0, 1, 2)
    assert (ReceiverSettleMode.FIRST, ReceiverSettleMode.SECOND) == (0, 1)


def test_what_a_peer_does_not_say_has_the_meaning_of_the_specification() -> None:
    request = AttachRequest(
        container_id="c",
        link_name="l",
        peer_sends=True,
        address="orders",
        snd_settle_mode=SenderSettleMode.MIXED,
        rcv_settle_mode=ReceiverSettleMode.FIRST,
    )

    assert request.outcomes == frozenset()
    assert not request.dynamic
    assert not request.coordinator
    assert request.max_message_size_bytes == 0, "there is no limit"
