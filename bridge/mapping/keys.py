"""Topics whose records need a key: those that Kafka compacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.mapping.errors import MappingError
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.record import Record


def keyed(to_record: Callable[[bytes], Record], topic: str) -> Callable[[bytes], Record]:
    """Make the mapping that refuses messages without a key (MappingError, precondition-failed).

    Kafka would refuse them too, but with each the whole batch that it is in, other senders' records
    included.
    """

    def check(message: bytes) -> Record:
        record = to_record(message)
        if record[1] is None:
            raise MappingError(
                conditions.PRECONDITION_FAILED,
                f"topic {topic} is compacted, so each message needs a key: give it the annotation"
                " x-opt-bridge.key or x-opt-partition-key, or a group-id",
            )
        return record

    return check
