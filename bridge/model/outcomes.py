"""Delivery states and outcomes (AMQP 1.0 core, section 3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bridge.model.conditions import Condition


class DeliveryState(IntEnum):
    """The descriptor codes of the delivery states; NONE where a disposition carries no state."""

    NONE = 0
    RECEIVED = 0x23
    ACCEPTED = 0x24
    REJECTED = 0x25
    RELEASED = 0x26
    MODIFIED = 0x27


@dataclass(frozen=True, slots=True)
class Outcome:
    """A delivery's terminal state with what belongs to it.

    `condition` is used with REJECTED only, the two flags with MODIFIED only, and so are `annotations`:
    what a receiver wants merged into the message's annotations, as an encoded AMQP map; empty for none.
    """

    state: DeliveryState
    condition: Condition | None = None
    delivery_failed: bool = False
    undeliverable_here: bool = False
    annotations: bytes = b""


ACCEPTED: Final = Outcome(DeliveryState.ACCEPTED)
RELEASED: Final = Outcome(DeliveryState.RELEASED)
MODIFIED_FAILED: Final = Outcome(DeliveryState.MODIFIED, delivery_failed=True)
