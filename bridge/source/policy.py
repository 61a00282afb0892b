"""From the settlement modes that a sender attaches with to how the source endpoint treats its link.

Decides credit, acknowledgement class and settlement for the life of a link; touches nothing.
Source: AMQP 1.0 core, sections 2.6.12 and 2.8.2-2.8.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bridge.model.links import ReceiverSettleMode, SenderSettleMode


@dataclass(frozen=True, slots=True)
class SourcePolicy:
    """How a source link works.

    prefetch: credit is topped up on arrival and not tied to Kafka (the link is at most once).
    settled_unacknowledged: pre-settled messages go through the acks=0 producer.
    settles_first: the bridge settles with its outcome; if not, it remembers the delivery until the
    sender has settled it (rcv-settle-mode second).
    window: the credit window, in messages.
    """

    prefetch: bool
    settled_unacknowledged: bool
    settles_first: bool
    window: int


def choose(
    snd_settle_mode: SenderSettleMode,
    rcv_settle_mode: ReceiverSettleMode,
    *,
    prefetch_credit: int,
    manual_credit: int,
    mixed_settled: Literal["ordered", "acks0"],
) -> SourcePolicy:
    """Give the policy for a link; credits are in messages.

    Pre-settled messages of a mixed link share the acknowledged producer by default, so that their order
    among the unsettled ones is kept.
    """
    if snd_settle_mode is SenderSettleMode.SETTLED:
        return SourcePolicy(
            prefetch=True,
            settled_unacknowledged=True,
            settles_first=True,
            window=prefetch_credit,
        )
    return SourcePolicy(
        prefetch=False,
        settled_unacknowledged=mixed_settled == "acks0",
        settles_first=rcv_settle_mode is ReceiverSettleMode.FIRST,
        window=manual_credit,
    )
