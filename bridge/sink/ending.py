"""What a receiver is told when its link ends for a reason of the sink endpoint's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.model import conditions, dialect
from bridge.model.conditions import Condition
from bridge.model.failures import Reach

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.model.failures import Failure

NOT_COMMITTED: Final = "; its offset is not committed"
GIVEN_BACK: Final = "; it goes back to the group"
"""What becomes of the record at which a link ends (`then`): in a consumer group, and in a share group."""


def consumer_failed(failure: Failure, about: Mapping[str, str]) -> Condition:
    """Tell that Kafka refuses the link's consumer for good, or that another one has its identity."""
    name = conditions.LINK_STOLEN if failure.reach is Reach.OWNER else failure.condition
    return Condition(name, failure.description, {**about, **failure.info()}, dialect.SUBSCRIBE)


def too_large(size_bytes: int, largest_bytes: int) -> Condition:
    """Tell that a message is larger than the receiver takes."""
    return Condition(
        conditions.LINK_MESSAGE_SIZE_EXCEEDED,
        f"a message of {size_bytes} bytes is larger than the {largest_bytes} of max-message-size with which"
        " the receiver attached",
    )


def refused(partition: int, offset: int, about: Mapping[str, str], then: str = NOT_COMMITTED) -> Condition:
    """Tell that the receiver's refusal of a record ends the link, as it is set."""
    return Condition(
        conditions.PRECONDITION_FAILED,
        f"{_record(partition, offset)} was refused and sink.rejected is detach{then}",
        {**about, "partition": partition, "offset": offset},
    )


def too_large_to_go_on(
    condition: Condition, partition: int, offset: int, about: Mapping[str, str], then: str = NOT_COMMITTED
) -> Condition:
    """Tell that a link ends at a message that is larger than the receiver takes."""
    return Condition(
        condition.name,
        f"{_record(partition, offset)}: {condition.description}{then}",
        {**about, "partition": partition, "offset": offset},
    )


def put_away_failed(
    failure: Failure, partition: int, offset: int, about: Mapping[str, str], then: str = NOT_COMMITTED
) -> Condition:
    """Tell that the dead-letter topic does not take a record."""
    return Condition(
        conditions.PRECONDITION_FAILED,
        f"{_record(partition, offset)} could not be put into the dead-letter topic:"
        f" {failure.description}{then}",
        {**about, "partition": partition, "offset": offset, **failure.info()},
    )


def _record(partition: int, offset: int) -> str:
    return f"the record at partition {partition}, offset {offset}"
