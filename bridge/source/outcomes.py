"""Which outcome a sender gets for a message that Kafka did not take.

A failure that will not pass is `rejected`. One that may pass is `released` when the record is surely not
stored, and `modified` with delivery-failed when it may be stored, but only towards a peer whose source
lists that outcome: some clients take an outcome that they did not list for success. To all others it is
`rejected` with `retriable` in the condition's info.

Source: AMQP 1.0 core, sections 3.4.2-3.4.5 and 3.5.3.
"""

from __future__ import annotations

from typing import Final

from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.failures import Failure, Stored
from bridge.model.outcomes import MODIFIED_FAILED, RELEASED, DeliveryState, Outcome

RELEASED_SYMBOL: Final = "amqp:released:list"
MODIFIED_SYMBOL: Final = "amqp:modified:list"

_UNDERSTOOD: Final = {
    # descriptors in their symbolic form (core 3.4), and the bare names that some clients write
    RELEASED_SYMBOL: DeliveryState.RELEASED,
    "amqp:released": DeliveryState.RELEASED,
    MODIFIED_SYMBOL: DeliveryState.MODIFIED,
    "amqp:modified": DeliveryState.MODIFIED,
}


def understood(outcomes: frozenset[str]) -> frozenset[DeliveryState]:
    """Give the optional outcomes among the symbols that a peer's source lists."""
    return frozenset(_UNDERSTOOD[symbol] for symbol in outcomes if symbol in _UNDERSTOOD)


def for_failure(failure: Failure, understood_by_peer: frozenset[DeliveryState], *, topic: str) -> Outcome:
    """Choose the outcome for a message of `topic` that failed in Kafka."""
    if failure.retriable:
        if failure.stored is Stored.NO and DeliveryState.RELEASED in understood_by_peer:
            return RELEASED
        if failure.stored is Stored.PERHAPS and DeliveryState.MODIFIED in understood_by_peer:
            return MODIFIED_FAILED
    return rejected(
        Condition(
            # Clients do not retry most conditions; this one they do.
            conditions.INTERNAL_ERROR if failure.retriable else failure.condition,
            failure.description,
            {
                "kafka-error": failure.kafka_error,
                "kafka-code": failure.kafka_code,
                "retriable": failure.retriable,
                "topic": topic,
            },
        )
    )


def rejected(condition: Condition) -> Outcome:
    """Give the outcome `rejected` for a reason."""
    return Outcome(DeliveryState.REJECTED, condition)
