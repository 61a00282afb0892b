"""Passes over the records that a receiver's filters do not want.

The filters look at the message as it is delivered, with its annotations and its delivery-count, so it
is encoded first. It decides nothing about offsets: what gives no bytes, the link passes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.filters.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.filters.contract import Predicate
    from bridge.mapping.profiles import RecordToMessage


class Selecting:
    """Maps the records that all predicates want as `encode` does, and the others to no bytes.

    `filtered` counts the records that a predicate did not want, each time that it did not.
    """

    __slots__ = ("_encode", "_predicates", "filtered")

    def __init__(self, encode: RecordToMessage, predicates: Sequence[Predicate]) -> None:
        self._encode = encode
        self._predicates = tuple(predicates)
        self.filtered = 0

    @property
    def damaged(self) -> int:
        """Count the records that were not all that their headers promised."""
        return self._encode.damaged

    def __call__(  # noqa: PLR0913, PLR0917 - a record has that many parts, and a tuple costs time
        self,
        partition: int,
        offset: int,
        timestamp_type: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
        delivery_count: int,
        again: bool = False,  # noqa: FBT001, FBT002 - positional: the hot path
        /,
    ) -> bytes:
        """Encode the message for one delivery; b"" for a record that is to be skipped."""
        payload = self._encode(
            partition, offset, timestamp_type, timestamp_ms, key, value, headers, delivery_count, again
        )
        if not payload:
            return payload
        view = View(payload)
        for is_wanted in self._predicates:
            if not is_wanted(view):
                self.filtered += 1
                return b""
        return payload


def selecting(encode: RecordToMessage, predicates: Sequence[Predicate]) -> Selecting:
    """Put predicates behind a mapping."""
    return Selecting(encode, predicates)
