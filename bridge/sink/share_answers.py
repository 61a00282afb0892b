"""What Kafka is told of the records of a share link: once of each, in batches; and what it has recorded.

Records belong to the batch that they came with, since the consumer that got it asks for no other before all
of them are answered. What is answered is kept until `flush`, so that all of one batch of events goes to Kafka
together, and then until Kafka has said whether it recorded it. It decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.sink.share_ports import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bridge.model.failures import Failure
    from bridge.sink.share_ports import Acknowledgement, Held, ShareEvents, ShareFeed


class _Batch:
    """The records that the feed handed over at once, and how many Kafka was not told of yet."""

    __slots__ = ("held", "left")

    def __init__(self, held: Sequence[Held]) -> None:
        self.held = held
        self.left = len(held)


class ShareAnswers:
    """The answers of one link."""

    def __init__(self, feed: ShareFeed, events: ShareEvents) -> None:
        self._feed = feed
        self._events = events
        self._batches: dict[int, _Batch] = {}
        self._kept: dict[int, list[tuple[Held, Acknowledgement]]] = {}
        """What the feed is to be told with the next `flush`, by batch."""
        self._told: dict[int, list[tuple[Held, Acknowledgement]]] = {}
        """What Kafka was told and has not confirmed, by ticket."""
        self._ticket = 0
        self.unrecorded_count = 0
        """Answers that Kafka did not take."""

    @property
    def is_over(self) -> bool:
        """Whether Kafka has said of all that it was told whether it recorded it."""
        return not self._kept and not self._told

    def took(self, number: int, held: Sequence[Held]) -> None:
        """Take notice of a batch; all of it will be answered."""
        self._batches[number] = _Batch(held)

    def batch(self, number: int) -> Sequence[Held]:
        """Give the records of a batch; none once Kafka was told of all of them."""
        batch = self._batches.get(number)
        return () if batch is None else batch.held

    def held(self) -> list[Held]:
        """Give the records of all batches of which Kafka was not told entirely."""
        return [held for batch in self._batches.values() for held in batch.held]

    def answer(self, held: Held, acknowledgement: Acknowledgement) -> None:
        """Let Kafka be told what became of a record; only the first time counts."""
        if held.state is not State.ANSWERED:
            held.state = State.ANSWERED
            self._kept.setdefault(held.batch, []).append((held, acknowledgement))

    def flush(self) -> None:
        """Tell the feed what was answered."""
        if not self._kept:
            return
        kept, self._kept = self._kept, {}
        for number, answered in kept.items():
            self._ticket += 1
            self._told[self._ticket] = answered
            batch = self._batches[number]
            batch.left -= len(answered)
            if not batch.left:
                del self._batches[number]
            told = [(held.record, acknowledgement) for held, acknowledgement in answered]
            self._feed.acknowledge(number, told, self._ticket)

    def confirmed(
        self, ticket: int, failures: Mapping[int, Failure]
    ) -> Iterator[tuple[Held, Acknowledgement, bool]]:
        """Take Kafka's answer, where `failures` are those of partitions.

        Gives each record with what Kafka was told of it, and whether that is recorded; reports those that
        are not.
        """
        for held, acknowledgement in self._told.pop(ticket, ()):
            failure = failures.get(held.partition)
            if failure is not None:
                self.unrecorded_count += 1
                self._events.unrecorded(held.partition, held.offset, acknowledgement.name.lower(), failure)
            yield held, acknowledgement, failure is None
