"""Commits what a link is through with, in the thread of its consumer.

A commit that fails is wanted again a little later, unless Kafka will never take it: then the link ends.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from bridge.kafka import failures
from bridge.kafka.commits import PendingCommits
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bridge.kafka.contract import FeedSettings, Offsets
    from bridge.kafka.telling import Teller
    from bridge.model.failures import Failure

_partition_of: Final = methodcaller("partition")

COMMIT_RETRY_SECONDS: Final = 0.2
COMMIT_AGAIN_SECONDS: Final = 1.0
COMMIT_ATTEMPTS_AT_END: Final = 3
_REBALANCE_ERRORS: Final = frozenset(
    {
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "REBALANCE_IN_PROGRESS",
        "FENCED_MEMBER_EPOCH",
        "STALE_MEMBER_EPOCH",
        "_ASSIGNMENT_LOST",
    }
)
"""Refusals of a commit that end with a rebalance, in which the consumer has to take part first."""


class Committer:
    """Commits for one link."""

    def __init__(self, settings: FeedSettings, teller: Teller) -> None:
        self._settings = settings
        self._teller = teller
        self._not_before = 0.0
        self.pending = PendingCommits(enabled=settings.commits)

    def commit_pending(self, consumer: Consumer) -> None:
        """Commit what waits. Once; a few times if the consumer is ending."""
        if not self._teller.stopping and time.monotonic() < self._not_before:
            return
        offsets = self.pending.take()
        if not offsets:
            return
        failure: Failure | None = None
        for _attempt in range(COMMIT_ATTEMPTS_AT_END if self._teller.stopping else 1):
            failure = self._commit(consumer, offsets)
            if failure is None:
                return
            if not failure.retriable:
                self._teller.fail(failure)
                return
            if self._teller.stopping:
                time.sleep(COMMIT_RETRY_SECONDS)
        # During a rebalance the group takes no commits, and takes them again as soon as it is over.
        again_seconds = COMMIT_RETRY_SECONDS if _by_rebalance(failure) else COMMIT_AGAIN_SECONDS
        self._not_before = time.monotonic() + again_seconds
        # For the next commit, or for the revoke that leaving the group brings.
        self.pending.add(offsets)

    def commit_leaving(self, consumer: Consumer, partitions: Sequence[int], answer: Offsets) -> None:
        """Commit for partitions that are being revoked, and end their generation."""
        # A link that was closed meanwhile has left its offsets here, and has none any more.
        self.pending.add(answer)
        offsets = self.pending.take(partitions)
        if offsets:
            self._commit(consumer, offsets)
        self.pending.end(partitions)

    def commit_first(
        self, consumer: Consumer, records: Sequence[Message[Any, Any]]
    ) -> tuple[bool, dict[int, int]]:
        """Commit records before they are sent. Tells if they may be, and where each partition is read on.

        If it fails none of them is to be sent, and none is passed over: they are read again.
        """
        first: dict[int, int] = {}
        after: dict[int, int] = {}
        runs: Iterable[tuple[int | None, Iterable[Message[Any, Any]]]] = groupby(records, _partition_of)
        if len(self.pending.partitions) == 1 and records[0].partition() == records[-1].partition():
            # All are of that one: what was taken away meanwhile is not among them.
            runs = [(records[0].partition(), records)]
        for number, run in runs:
            partition, following = number or 0, list(run)
            first.setdefault(partition, following[0].offset() or 0)
            after[partition] = (following[-1].offset() or 0) + 1
        # Its own generation: nothing was read in another one.
        offsets = {partition: (0, offset) for partition, offset in after.items()}
        while not self._teller.stopping:
            failure = self._commit(consumer, offsets)
            if failure is None:
                return True, after
            if not failure.retriable:
                self._teller.fail(failure)
            elif _by_rebalance(failure):
                break
            else:
                time.sleep(COMMIT_RETRY_SECONDS)
        for partition, offset in first.items():
            with suppress(KafkaException):  # it is not ours any more: its next owner reads it
                consumer.seek(TopicPartition(self._settings.topic, partition, offset))
        return False, first

    def _commit(self, consumer: Consumer, offsets: Offsets) -> Failure | None:
        topic = self._settings.topic
        wanted = [TopicPartition(topic, partition, offset) for partition, (_, offset) in offsets.items()]
        try:
            answers = consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as error:
            return self._failed(offsets, failures.classify_consumer_exception(error, topic))
        done = {answer.partition: answer.offset for answer in answers if answer.error is None}
        self._teller.tell("committed", done)
        for answer in answers:
            if answer.error is not None:
                failure = failures.classify_consumer(answer.error, topic, answer.partition)
                return self._failed(offsets, failure)
        return None

    def _failed(self, offsets: Offsets, failure: Failure) -> Failure:
        if self._settings.assigned and _by_rebalance(failure):
            failure = replace(
                failure,
                description="the group has members that subscribe to topics; Kafka then takes no offsets"
                f" of a reader that chose its partitions itself: {failure.description}",
                condition=conditions.PRECONDITION_FAILED,
                retriable=False,
            )
        elif _by_rebalance(failure):
            # Part of every rebalance, which is told of itself.
            return failure
        told = {partition: offset for partition, (_, offset) in offsets.items()}
        self._teller.report(lambda log: log.commit_failed(told, failure))
        return failure


def _by_rebalance(failure: Failure | None) -> bool:
    """Tell whether a commit was refused for a rebalance that is under way."""
    return failure is not None and failure.kafka_error in _REBALANCE_ERRORS
