"""How much a link wants from its consumer: enough for the receiver's credit, and not far ahead of it.

Counts in totals since the link began, so that the consumer's thread can read one number: it may have
handed over as many records as `allowed` says. Before the first credit nothing is asked for.

The room ahead of credit is as large as the largest credit that the receiver ever gave, within the
configured bound: a receiver that takes records one at a time makes the bridge hold few of them.
"""

from __future__ import annotations


class Demand:
    """Counts records; `buffer_records` bounds what may wait in the process for credit."""

    __slots__ = ("_ahead", "_buffer_records", "allowed", "sent")

    def __init__(self, buffer_records: int) -> None:
        if buffer_records < 1:
            raise ValueError(f"a buffer holds at least one record, not {buffer_records}")
        self._buffer_records = buffer_records
        self._ahead = 0
        self.allowed = 0
        self.sent = 0

    def returned(self, credit: int) -> None:
        """Take notice of credit that goes back unused: records are to wait for its return."""
        if credit > self._ahead:
            self._ahead = min(credit, self._buffer_records)

    def update(self, credit: int) -> int | None:
        """Take the receiver's credit as it is now. Gives the new total if it is worth telling.

        It is when half of what may wait has left, or when the consumer stands still.
        """
        self.returned(credit)
        allowed = self.sent + min(credit, self._buffer_records) + self._ahead
        step = allowed - self.allowed
        if step <= 0 or (step * 2 < self._ahead and self.allowed > self.sent):
            return None
        self.allowed = allowed
        return allowed
