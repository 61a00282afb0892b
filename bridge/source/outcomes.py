"""Which outcome a sender gets for a message that Kafka did not take, or that no record can be made of.

A failure that will not pass is `rejected`. One that may pass is `released` when the record is surely not
stored, and `modified` with delivery-failed when it may be stored, but only towards a peer whose source
lists that outcome: some clients take an outcome that they did not list for success. To all others it is
`rejected` with `retriable` in the condition's info.

The info of every condition says whether the same message may succeed later, and where it was going.

Source: AMQP 1.0 core, sections 3.4.2-3.4.5 and 3.5.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bridge.model import conditions, dialect
from bridge.model.conditions import Condition
from bridge.model.failures import Failure, Reach, Stored
from bridge.model.outcomes import MODIFIED_FAILED, RELEASED, DeliveryState, Outcome

if TYPE_CHECKING:
    from bridge.mapping.errors import MappingError

RELEASED_SYMBOL: Final = "amqp:released:list"
MODIFIED_SYMBOL: Final = "amqp:modified:list"

ALL_UNDERSTOOD: Final = frozenset({DeliveryState.RELEASED, DeliveryState.MODIFIED})
"""For peers of which an operator knows that they look at every outcome, whatever they list."""

_UNDERSTOOD: Final = {
    # descriptors in their symbolic form (core 3.4), and the bare names that some clients write
    RELEASED_SYMBOL: DeliveryState.RELEASED,
    "amqp:released": DeliveryState.RELEASED,
    MODIFIED_SYMBOL: DeliveryState.MODIFIED,
    "amqp:modified": DeliveryState.MODIFIED,
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message was going.

    `reference` names the link as the bridge's log does; `partition` is None while Kafka has not chosen one.
    """

    topic: str
    reference: str
    partition: int | None = None

    @classmethod
    def of(cls, topic: str, reference: str, partition: int | None) -> Place:
        """Make one of what a producer says, to which a negative partition is none."""
        return cls(topic, reference, None if partition is None or partition < 0 else partition)

    def info(self) -> dict[str, str | int | bool]:
        """Say it in a condition's info."""
        said: dict[str, str | int | bool] = {"topic": self.topic, "reference": self.reference}
        if self.partition is not None:
            said["partition"] = self.partition
        return said


def understood(outcomes: frozenset[str]) -> frozenset[DeliveryState]:
    """Give the optional outcomes among the symbols that a peer's source lists."""
    return frozenset(_UNDERSTOOD[symbol] for symbol in outcomes if symbol in _UNDERSTOOD)


def for_failure(failure: Failure, understood_by_peer: frozenset[DeliveryState], place: Place) -> Outcome:
    """Choose the outcome for a message that failed in Kafka."""
    if failure.retriable:
        if failure.stored is Stored.NO and DeliveryState.RELEASED in understood_by_peer:
            return RELEASED
        if failure.stored is Stored.PERHAPS and DeliveryState.MODIFIED in understood_by_peer:
            return MODIFIED_FAILED
    # Clients do not retry most conditions; internal-error they do.
    name = conditions.INTERNAL_ERROR if failure.retriable else failure.condition
    return rejected(condition(failure, place, name))


def for_link(failure: Failure, place: Place, partitions: int) -> Condition | None:
    """Say why a link ends with a failure that all of its messages will meet; None if they will not.

    `partitions` is how many the topic had when the link was attached.
    """
    # To librdkafka a topic that is deleted has no partitions, at first.
    vanished = failure.reach is Reach.PARTITION and (place.partition or 0) < partitions
    if failure.reach is Reach.TOPIC or vanished:
        return condition(failure, place, conditions.RESOURCE_DELETED)
    if failure.reach is Reach.OWNER:
        return condition(failure, place, conditions.LINK_STOLEN)
    return None


def condition(
    failure: Failure, place: Place, name: str | None = None, *, description: str | None = None
) -> Condition:
    """Describe a failure to a peer, under its own condition and description or others."""
    return Condition(
        failure.condition if name is None else name,
        failure.description if description is None else description,
        {**failure.info(), **place.info()},
        dialect.SEND if failure.kafka_error else "",
    )


def for_error(error: MappingError, place: Place) -> Outcome:
    """Give the outcome for a message that no record can be made of."""
    return refused(error.condition, error.description, place)


def refused(name: str, description: str, place: Place) -> Outcome:
    """Reject a message that the bridge itself refuses, for good."""
    return rejected(Condition(name, description, {"retriable": False, **place.info()}))


def misdirected(partition: int, bound_to: int, place: Place) -> Outcome:
    """Reject a message that names another partition than its link is bound to."""
    return refused(
        conditions.INVALID_FIELD,
        f"the message names partition {partition}, its link is bound to partition {bound_to} of"
        f" {place.topic}: send it on another link",
        place,
    )


def rejected(condition: Condition) -> Outcome:
    """Give the outcome `rejected` for a reason."""
    return Outcome(DeliveryState.REJECTED, condition)
