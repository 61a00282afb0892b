"""One link's consumer: a member of a consumer group, in a thread of its own.

The thread polls, commits and answers rebalances; everything it learns goes to the event loop in
batches. A thread and not the loop, since a rebalance has to wait for what is in flight, and a commit
for its coordinator. The link asks by setting plain attributes, which the thread reads.

While the link wants nothing the partitions are paused and the consumer keeps polling, so that it
stays in its group (KIP-62) and takes part in rebalances. Partitions that are lost are never
committed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from bridge.kafka import failures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.kafka.contract import FeedEvents, FeedLog, FeedSettings
    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure

POLL_SECONDS: Final = 0.1
BATCH_RECORDS: Final = 500
PAUSE_AFTER_SECONDS: Final = 0.5
"""A link that wants nothing for so long is paused; pausing throws away what was read ahead."""
PAUSED_POLL_SECONDS: Final = 0.3
LOOP_ANSWER_SECONDS: Final = 5.0
COMMIT_RETRY_SECONDS: Final = 0.2
COMMIT_AGAIN_SECONDS: Final = 1.0
COMMIT_ATTEMPTS_AT_END: Final = 3
_REBALANCE_ERRORS: Final = frozenset(
    {"ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "_ASSIGNMENT_LOST"}
)
"""Refusals of a commit that end with a rebalance, in which the consumer has to take part first."""


def check(options: Options) -> None:
    """Let librdkafka judge the options of consumers, which are made only when receivers attach.

    Raises ValueError with its words.
    """
    try:
        Consumer(options).close()
    except KafkaException as error:
        raise ValueError(f"librdkafka refuses the consumer's options: {error}") from error


class GroupFeed:
    """A consumer thread for one link. `stop` ends it; its thread is a daemon all the same."""

    def __init__(self, settings: FeedSettings, log: FeedLog) -> None:
        self._settings = settings
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._events: FeedEvents | None = None
        self._wake = threading.Event()
        self._stopping = False
        self._allowed = 0
        self._handed = 0
        self._handed_bytes = 0
        self._taken_bytes = 0
        self._to_commit: dict[int, int] = {}
        self._commit_not_before = 0.0
        self._lock = threading.Lock()
        self._paused = False
        self._new_partitions = False
        """Partitions came that are not paused; those that were there before may be."""
        self._taken_away: set[int] = set()
        """Partitions that went while the current batch was read."""
        self._wanted_nothing_since = 0.0
        self._thread = threading.Thread(target=self._run, name="consumer", daemon=True)
        self.stopped: asyncio.Future[None] = self._loop.create_future()
        """Done when the thread has left the group."""

    # ------------------------------------------------------------------ from the loop

    def start(self, events: FeedEvents) -> None:
        """Join the group."""
        self._events = events
        try:
            self._thread.start()
        except RuntimeError:
            # The system gives no more threads: nobody is to wait for this one.
            self._set_stopped()
            raise

    @property
    def is_paused(self) -> bool:
        """Tell whether it holds its partitions without reading them."""
        return self._paused

    def allow(self, total: int) -> None:
        """Allow so many records to be handed over, counted since the start."""
        self._allowed = total
        self._wake.set()

    def took(self, size_bytes: int) -> None:
        """Say that so many bytes have left the link's buffer."""
        self._taken_bytes += size_bytes
        if self._handed_bytes - self._taken_bytes < self._settings.buffer_bytes:
            self._wake.set()

    def commit(self, offsets: dict[int, int]) -> None:
        """Commit these offsets soon."""
        with self._lock:
            self._to_commit.update(offsets)
        self._wake.set()

    def stop(self, offsets: dict[int, int]) -> None:
        """Commit these offsets and leave the group, soon."""
        self.commit(offsets)
        self._stopping = True
        self._wake.set()

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            consumer = Consumer(self._settings.options)
        except KafkaException as error:
            self._tell_failed(failures.classify_exception(error))
            self._post(self._set_stopped)
            return
        try:
            consumer.subscribe(
                [self._settings.topic],
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_lost,
            )
            while not self._stopping:
                self._step(consumer)
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            self._tell_failed(failures.classify_exception(error))
        finally:
            self._stopping = True
            # A link that ends because of its consumer says what to commit only after it heard of that.
            self._await_loop()
            self._commit_pending(consumer)
            consumer.close()
            self._post(self._set_stopped)

    def _step(self, consumer: Consumer) -> None:
        self._commit_pending(consumer)
        room = self._allowed - self._handed
        if room <= 0 or self._handed_bytes - self._taken_bytes >= self._settings.buffer_bytes:
            self._wait_for_demand(consumer)
            return
        self._wanted_nothing_since = 0.0
        if self._paused or self._new_partitions:
            # librdkafka remembers that a partition was paused, also when it went away and came back.
            self._paused = self._new_partitions = False
            consumer.resume(consumer.assignment())
        self._taken_away.clear()
        first = consumer.poll(POLL_SECONDS)
        if first is None:
            return
        messages = [first]
        if room > 1:
            # `poll` waits for one, `consume` without a wait takes what else is there.
            messages += consumer.consume(min(room, BATCH_RECORDS) - 1, 0)
        records = [message for message in messages if message.error() is None]
        if self._taken_away:
            # A rebalance came between them: these belong to the partition's next owner.
            records = [record for record in records if record.partition() not in self._taken_away]
        for message in messages:
            error = message.error()
            if error is not None:
                self._consume_failed(error)
        if records and (not self._settings.commit_first or self._commit_records(consumer, records)):
            self._handed += len(records)
            self._handed_bytes += sum(map(len, records))
            self._tell("consumed", records)

    def _wait_for_demand(self, consumer: Consumer) -> None:
        now = time.monotonic()
        if not self._wanted_nothing_since:
            self._wanted_nothing_since = now
        if not self._paused or self._new_partitions:
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()
            if now - self._wanted_nothing_since < PAUSE_AFTER_SECONDS:
                return
            self._pause(consumer)
        else:
            self._wake.wait(PAUSED_POLL_SECONDS)
            self._wake.clear()
        message = consumer.poll(0)
        if message is None:
            return
        error = message.error()
        if error is not None:
            self._consume_failed(error)
        elif not self._settings.commit_first or self._commit_records(consumer, [message]):
            # Fetched before the pause took hold: it is handed over beyond what was allowed.
            self._handed += 1
            self._handed_bytes += len(message)
            self._tell("consumed", [message])

    def _pause(self, consumer: Consumer) -> None:
        assignment = consumer.assignment()
        if assignment:
            consumer.pause(assignment)
            self._paused = True
        self._new_partitions = False

    def _consume_failed(self, error: KafkaError) -> None:
        failure = failures.classify(error)
        if not failure.retriable or error.fatal():
            self._stopping = True
            self._tell_failed(failure)

    # ------------------------------------------------------------------ commits

    def _commit_pending(self, consumer: Consumer) -> None:
        if not self._stopping and time.monotonic() < self._commit_not_before:
            return
        with self._lock:
            offsets, self._to_commit = self._to_commit, {}
        for _attempt in range(COMMIT_ATTEMPTS_AT_END if self._stopping else 1):
            failure = self._commit(consumer, offsets) if offsets else None
            if failure is None or not failure.retriable:
                return
            if self._stopping:
                time.sleep(COMMIT_RETRY_SECONDS)
        with self._lock:
            self._commit_not_before = time.monotonic() + COMMIT_AGAIN_SECONDS
            # For the next commit, or for the revoke that leaving the group brings.
            self._to_commit = {**offsets, **self._to_commit}

    def _commit(self, consumer: Consumer, offsets: dict[int, int]) -> Failure | None:
        topic = self._settings.topic
        try:
            answers = consumer.commit(
                offsets=[TopicPartition(topic, partition, offset) for partition, offset in offsets.items()],
                asynchronous=False,
            )
        except KafkaException as error:
            return self._commit_failed(offsets, failures.classify_exception(error))
        done = {answer.partition: answer.offset for answer in answers if answer.error is None}
        self._tell("committed", done)
        for answer in answers:
            if answer.error is not None:
                return self._commit_failed(offsets, failures.classify(answer.error))
        return None

    def _commit_failed(self, offsets: dict[int, int], failure: Failure) -> Failure:
        self._post(lambda: self._log.commit_failed(offsets, failure))
        return failure

    def _commit_records(self, consumer: Consumer, records: Sequence[Message[Any, Any]]) -> bool:
        """Commit records before they are sent. If that fails, none of them is, and none is passed over."""
        first: dict[int, int] = {}
        after: dict[int, int] = {}
        for record in records:
            partition, offset = record.partition() or 0, record.offset() or 0
            first.setdefault(partition, offset)
            after[partition] = offset + 1
        while not self._stopping:
            failure = self._commit(consumer, after)
            if failure is None:
                return True
            if not failure.retriable:
                self._stopping = True
                self._tell_failed(failure)
            elif failure.kafka_error in _REBALANCE_ERRORS:
                self._rewind(consumer, first)
                return False
            else:
                time.sleep(COMMIT_RETRY_SECONDS)
        return False

    def _rewind(self, consumer: Consumer, offsets: dict[int, int]) -> None:
        """Read from these offsets again, in the partitions that are still assigned."""
        for partition, offset in offsets.items():
            with suppress(KafkaException):  # it is not ours any more: its next owner reads it
                consumer.seek(TopicPartition(self._settings.topic, partition, offset))

    # ------------------------------------------------------------------ rebalances

    def _on_assign(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        numbers = [partition.partition for partition in partitions]
        self._new_partitions = True
        self._tell("assigned", numbers)
        self._post(lambda: self._log.rebalanced("assigned", numbers))

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        numbers = [partition.partition for partition in partitions]
        self._taken_away.update(numbers)
        self._post(lambda: self._log.rebalanced("revoked", numbers))
        if not self._stopping:
            drained = threading.Event()
            self._tell("revoking", numbers, drained.set)
            drained.wait(self._settings.revoke_wait_seconds)
        answer: Future[dict[int, int]] = Future()
        self._post(lambda: self._answer_revoked(numbers, answer))
        try:
            offsets = answer.result(LOOP_ANSWER_SECONDS)
        except (TimeoutError, CancelledError):
            offsets = {}
        with self._lock:
            # A link that was closed meanwhile has left its offsets here, and has none any more.
            left = {number: self._to_commit.pop(number) for number in numbers if number in self._to_commit}
        offsets = {**left, **offsets}
        if offsets:
            self._commit(consumer, offsets)

    def _answer_revoked(self, numbers: list[int], answer: Future[dict[int, int]]) -> None:
        if self._events is None:
            answer.set_result({})
        else:
            answer.set_result(self._events.revoked(numbers))

    def _on_lost(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        numbers = [partition.partition for partition in partitions]
        self._taken_away.update(numbers)
        with self._lock:
            for number in numbers:
                self._to_commit.pop(number, None)
        self._tell("lost", numbers)
        self._post(lambda: self._log.rebalanced("lost", numbers))

    # ------------------------------------------------------------------ to the loop

    def _tell(self, event: str, *arguments: object) -> None:
        self._post(lambda: self._call_link(event, arguments))

    def _call_link(self, event: str, arguments: tuple[object, ...]) -> None:
        try:
            getattr(self._events, event)(*arguments)
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            self._log.broke(error)
            if self._events is not None:
                self._events.failed(failures.classify_exception(error))

    def _tell_failed(self, failure: Failure) -> None:
        self._tell("failed", failure)

    def _post(self, call: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            # The loop is closed: the process is ending, and nobody is left to tell.
            self._stopping = True

    def _await_loop(self) -> None:
        """Wait until the loop has handled what was posted so far."""
        handled = threading.Event()
        self._post(handled.set)
        handled.wait(LOOP_ANSWER_SECONDS)

    def _set_stopped(self) -> None:
        if not self.stopped.done():
            self.stopped.set_result(None)
