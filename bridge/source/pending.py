"""Records of a source link that are neither stored nor answered, and what has to be known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bridge.mapping.record import Headers, Record
    from bridge.source.ports import Delivery, Produce, Produced


class Parked(NamedTuple):
    """A record that the producer's full queue did not take yet."""

    delivery: Delivery | None
    size_bytes: int
    produce: Produce
    topic: str
    record: Record


class Failed(NamedTuple):
    """A report of a record that was not stored."""

    delivery: Delivery | None
    size_bytes: int
    error: object
    produced: Produced | None
    headers: Headers | None
    timestamp_ms: int
    was_alone: bool = False
