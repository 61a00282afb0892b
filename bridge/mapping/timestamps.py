"""The timestamp of a record where a route takes it from its message: the property creation-time.

A client's clock may be wrong. A time too far from the bridge's own counts as none, or Kafka would refuse
the record, or delete it early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.record import Record

_CREATION_TIME: Final = "creation-time"


def stamped(
    to_record: Callable[[bytes], Record], max_skew_ms: int, now_ms: Callable[[], int]
) -> Callable[[bytes], Record]:
    """Make the mapping that stamps records with their message's creation-time.

    For the profiles that keep it as the header of that name; a message without one, or with one more than
    `max_skew_ms` before or after the clock, is stamped on arrival.
    """

    def stamp(message: bytes) -> Record:
        record = to_record(message)
        created_ms = _created_ms(record)
        if created_ms is None or abs(created_ms - now_ms()) > max_skew_ms:
            return record
        return (*record[:4], created_ms)

    return stamp


def _created_ms(record: Record) -> int | None:
    for name, value in record[2] or ():
        if name == _CREATION_TIME:
            try:
                created_ms = int(value or b"")
            except ValueError:
                return None
            # Kafka's clients take 0 for "now", and know no time before the epoch.
            return created_ms if created_ms > 0 else None
    return None
