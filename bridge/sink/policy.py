"""From the settlement modes that a receiver attaches with to how the sink endpoint treats its link.

Source: AMQP 1.0 core, sections 2.6.12 and 2.8.2-2.8.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bridge.model.links import SenderSettleMode

if TYPE_CHECKING:
    from bridge.sink.redelivery import Redelivery


Rejected = Literal["skip", "detach"]


@dataclass(frozen=True, slots=True)
class SinkPolicy:
    """How a sink link works.

    sends_settled: offsets are committed before the records are sent, settled: at most once. If
    not, records are sent unsettled and their offsets committed once they are answered: at least
    once. (With rcv-settle-mode second the receiver's outcome comes unsettled and the bridge
    settles, then commits; the bridge treats both receiver modes alike, as it settles whenever it
    learns of an outcome.)
    rejected: what becomes of a record that the receiver rejects where there is no dead-letter topic:
    "skip" passes over it, "detach" ends the link and leaves the offset where it is.
    redelivery: when records are sent again.
    browses: the receiver looks at copies; its outcomes mean nothing.
    commits: offsets are committed, for a group.
    """

    sends_settled: bool
    rejected: Rejected
    redelivery: Redelivery
    browses: bool = False
    commits: bool = True


@dataclass(frozen=True, slots=True)
class SinkLimits:
    """A link's bounds.

    What waits for credit; when offsets are committed without a timer; how many bytes may be unanswered;
    how large a message the receiver takes, 0 for any.
    """

    buffer_records: int
    commit_count: int
    unsettled_bytes: int
    message_max_bytes: int = 0


def choose(
    snd_settle_mode: SenderSettleMode,
    *,
    rejected: Rejected,
    redelivery: Redelivery,
    browses: bool = False,
    commits: bool = True,
) -> SinkPolicy:
    """Give the policy for a link; a receiver that asks for mixed gets unsettled deliveries."""
    return SinkPolicy(
        snd_settle_mode is SenderSettleMode.SETTLED,
        rejected,
        redelivery,
        browses=browses,
        commits=commits and not browses,
    )
