"""One consumer of a share link: a member of a share group (KIP-932), in a thread of its own.

librdkafka lets a share consumer ask for records only when all of its last batch are acknowledged, and serves
one thread. Having asked, it goes on asking by itself until there is an answer; records that came while nobody
looked would be locked for nothing. So a thread that once found nothing goes on polling until it finds
something, whether it is still wanted or not.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from confluent_kafka import AcknowledgeType, KafkaException, ShareConsumer

from bridge.kafka import failures, share_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.kafka.share_contract import ShareFeedSettings
    from bridge.model.failures import Failure

POLL_SECONDS: Final = 0.25
WAIT_SECONDS: Final = 60.0
"""How long a thread sleeps that has nothing to do: it is woken when it has."""
COMMIT_SECONDS: Final = 10.0
FAILED_POLL_SECONDS: Final = 0.5
OWING_SECONDS: Final = 1.0
"""How long a thread that is to stop waits after its batch lapses: that is when all of it is given back."""

Acknowledgements: TypeAlias = "Sequence[tuple[Any, int]]"
"""Records, and what Kafka is told of each."""


class MemberOwner(Protocol):
    """Who has a member. Called on the event loop's thread."""

    def got(self, member: Member, records: Sequence[Any], lapses_at: float) -> None:
        """Take a batch, which is to be acknowledged before `lapses_at` (of `time.monotonic`)."""

    def told(self, tickets: Sequence[int], failed: dict[int, Failure]) -> None:
        """Take Kafka's answer to acknowledgements, with what failed by partition."""

    def found_nothing(self, token: int) -> None:
        """Take notice that nothing came for a while."""

    def unreadable(self, partition: int, offset: int, failure: Failure) -> None:
        """Take notice of a record that could not be read."""

    def member_failed(self, failure: Failure) -> None:
        """Take notice that the member cannot go on."""

    def member_stopped(self, member: Member) -> None:
        """Take notice that the member has left the group."""


class Member:
    """A consumer of a share group and its thread, which is a daemon."""

    def __init__(
        self,
        settings: ShareFeedSettings,
        batch_records: int,
        owner: MemberOwner,
        post: Callable[[Callable[[], object]], None],
    ) -> None:
        self._settings = settings
        self._owner = owner
        self._post = post
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._acknowledgements: list[tuple[int, Acknowledgements]] = []
        self._wanted = False
        self._end: tuple[int, float] | None = None
        """The token of who wants to know when nothing comes, and until when it is waited for something."""
        self._open = 0
        """How many records of the batch are not acknowledged; the thread's own."""
        self._is_hunting = False
        """librdkafka asks for records by itself; the thread's own."""
        self._lapses_at = 0.0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="share-consumer", daemon=True)
        self.batch_records = batch_records
        self.unanswered = 0
        """How many records the link has of it and has not acknowledged; the owner's own."""
        self.idle_since: float | None = None
        """Since when nothing is wanted of it, by the owner's clock; the owner's own."""

    # ------------------------------------------------------------------ from the loop

    def start(self) -> None:
        """Join the group. Raises RuntimeError when the system gives no more threads."""
        self._thread.start()

    def want(self, *, wanted: bool) -> None:
        """Say whether it is to get the next batch of records as soon as it can."""
        self._wanted = wanted
        if wanted:
            self._wake.set()

    def acknowledge(self, ticket: int, acknowledgements: Acknowledgements) -> None:
        """Acknowledge records soon."""
        with self._lock:
            self._acknowledgements.append((ticket, acknowledgements))
        self._wake.set()

    def find_end(self, token: int, wait_seconds: float) -> None:
        """Look whether anything comes in that time; nothing is told if it is to stop before."""
        with self._lock:
            self._end = token, time.monotonic() + wait_seconds
        self._wake.set()

    def take_untold(self) -> list[tuple[int, Acknowledgements]]:
        """Take what it has not told Kafka, and will not: it has stopped."""
        with self._lock:
            untold, self._acknowledgements = self._acknowledgements, []
        return untold

    def stop(self) -> None:
        """Leave the group, once all records are acknowledged or their locks have lapsed."""
        self._stopping = True
        self._wake.set()

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            consumer = ShareConsumer({**self._settings.options, "max.poll.records": self.batch_records})
        except KafkaException as error:
            self._tell_failed(error)
            self._post(lambda: self._owner.member_stopped(self))
            return
        try:
            consumer.subscribe([self._settings.topic])
            while not self._stopping or self._is_owing():
                self._step(consumer)
            self._send_acknowledgements(consumer)
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            self._tell_failed(error)
        finally:
            try:
                consumer.close()
            except KafkaException as error:
                self._tell_failed(error)
            self._post(lambda: self._owner.member_stopped(self))

    def _is_owing(self) -> bool:
        return self._open > 0 and time.monotonic() < self._lapses_at + OWING_SECONDS

    def _step(self, consumer: ShareConsumer) -> None:
        self._wake.clear()
        self._send_acknowledgements(consumer)
        end = self._end
        if self._open == 0 and not self._stopping and (self._wanted or self._is_hunting or end is not None):
            self._poll(consumer)
        elif self._stopping:
            if self._open:
                self._wake.wait(max(0.0, self._lapses_at + OWING_SECONDS - time.monotonic()))
        elif end is not None:
            self._found_nothing(end)
        else:
            self._wake.wait(WAIT_SECONDS)

    def _poll(self, consumer: ShareConsumer) -> None:
        end = self._end
        wait = POLL_SECONDS if end is None else min(POLL_SECONDS, end[1] - time.monotonic())
        try:
            messages = list(consumer.poll(max(0.0, wait)))
        except KafkaException as error:
            failure = share_groups.read(failures.classify_exception(error))
            if not failure.retriable or error.args[0].fatal():
                raise
            self._wake.wait(FAILED_POLL_SECONDS)
            return
        self._is_hunting = not messages
        if not messages:
            if end is not None and time.monotonic() >= end[1]:
                self._found_nothing(end)
            return
        records = []
        for message in messages:
            error_of = message.error()
            if error_of is None:
                records.append(message)
            else:
                self._tell_unreadable(
                    message.partition() or 0, message.offset() or 0, failures.classify(error_of)
                )
        if records:
            with self._lock:
                self._end = None
            self._wanted = False
            self._open = len(records)
            self._lapses_at = lapses_at = time.monotonic() + self._settings.hold_seconds
            self._post(lambda: self._owner.got(self, records, lapses_at))

    def _send_acknowledgements(self, consumer: ShareConsumer) -> None:
        with self._lock:
            pending, self._acknowledgements = self._acknowledgements, []
        if not pending:
            return
        failed: dict[int, Failure] = {}
        partitions: set[int] = set()
        for _, acknowledgements in pending:
            self._open -= len(acknowledgements)
            for record, kind in acknowledgements:
                partitions.add(record.partition())
                try:
                    consumer.acknowledge(record, AcknowledgeType(kind))
                except Exception as error:  # noqa: BLE001 - IllegalStateException has no public name
                    failed[record.partition()] = failures.classify_exception(error)
        try:
            for partition, error_of in consumer.commit_sync(COMMIT_SECONDS).items():
                if error_of is not None:
                    failed[partition.partition] = failures.classify_exception(error_of)
        except KafkaException as error:
            # Perhaps recorded, perhaps not: those records may come again.
            failed = dict.fromkeys(partitions, failures.classify_exception(error))
        tickets = [ticket for ticket, _ in pending]
        self._post(lambda: self._owner.told(tickets, failed))

    # ------------------------------------------------------------------ to the loop

    def _found_nothing(self, end: tuple[int, float]) -> None:
        with self._lock:
            if self._end is end:  # it may have been asked anew
                self._end = None
        self._post(lambda: self._owner.found_nothing(end[0]))

    def _tell_unreadable(self, partition: int, offset: int, failure: Failure) -> None:
        self._post(lambda: self._owner.unreadable(partition, offset, failure))

    def _tell_failed(self, error: Exception) -> None:
        failure = share_groups.read(failures.classify_exception(error))
        self._post(lambda: self._owner.member_failed(failure))
