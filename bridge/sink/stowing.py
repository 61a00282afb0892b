"""The headers of records that wait for the receiver's answers, kept small.

A list of ten headers is more than thirty objects. While hundreds of records wait, those would drive one
another out of the processor's caches, and cost more to free one by one than they cost to make: a block of
bytes for each record takes a fifth of the CPU and of the memory. Nearly all are accepted, and nobody asks
for their headers again.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bridge.sink.ports import ConsumedRecord

_NONE: Final[list[tuple[str, bytes | None]]] = []


def stow(record: ConsumedRecord, headers: list[tuple[str, bytes | None]] | None) -> bytes | None:
    """Take a record's headers away; gives what `restore` needs to put them back, None if it has none."""
    if not headers:
        return None
    record.set_headers(_NONE)
    return marshal.dumps(headers)


def restore(record: ConsumedRecord, stowed: bytes | None) -> None:
    """Give a record back the headers that were taken away."""
    if stowed is not None:
        record.set_headers(marshal.loads(stowed))  # noqa: S302 - packed by this process
