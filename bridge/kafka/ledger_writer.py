"""The thread of one deduplicating link: takes what has gathered into transactions, as long as the link lives.

It opens a producer, claims the link's name, waits until the ledger was read up to that claim, and stores
batch after batch. When its producer breaks it finds out whether the name is still its own, opens another
one, and lets the ledger say what became of the batch in between.

It judges no message and reports no outcome: that is the event loop's, to which it hands what is
decided, a batch at a time.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from confluent_kafka import KafkaException

from bridge.kafka import failures
from bridge.kafka.ledger_reader import end_offset
from bridge.kafka.ledger_transactions import (
    BrokenError,
    FencedError,
    LedgerTransactions,
    Pending,
    RefusedError,
    StoppedError,
)
from bridge.model.failures import Reach

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    from bridge.kafka.ledger_contract import Ledger, LedgerSettings
    from bridge.kafka.ledger_reader import LedgerReaders
    from bridge.model.failures import Failure

BATCH_RECORDS: Final = 1000
BATCH_BYTES: Final = 8 * 1024 * 1024
IDLE_SECONDS: Final = 1.0
BACKOFF_SECONDS: Final = 0.1
BACKOFF_MAX_SECONDS: Final = 5.0
READER_BACKOFF_SECONDS: Final = 0.5
_MISSING: Final = frozenset({Reach.TOPIC, Reach.PARTITION})
"""Brokers say so for a moment of a topic that is there: whether it is, the next claim shows."""


class WriterEvents(Protocol):
    """What the thread tells, on the event loop's thread."""

    def opened(self) -> None:
        """Report that the ledger is known: messages can be judged. Each time a producer was opened."""

    def lost(self) -> None:
        """Report that the ledger cannot be read: no message can be judged until `opened`."""

    def decided(self, items: list[Pending]) -> None:
        """Report messages that are stored, or that Kafka will not have (`failure`)."""

    def dropped(self, items: list[Pending]) -> None:
        """Report messages that had been given up before they were sent."""

    def stolen(self) -> None:
        """Report that the ledger has a later claim to the link's name."""

    def ended(self, failure: Failure | None) -> None:
        """Report the thread's end, and why, if that was not asked for."""


class LedgerWriter:
    """A thread for one link. `take`, `close` and `leave` are the loop's; the thread is a daemon."""

    def __init__(
        self,
        settings: LedgerSettings,
        ledger: Ledger,
        partition: int,
        readers: LedgerReaders,
        events: WriterEvents,
        loop: AbstractEventLoop,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._partition = partition
        self._readers = readers
        self._events = events
        self._loop = loop
        self._queue: deque[Pending] = deque()
        self._batch: list[Pending] = []
        """Taken out of the queue, and not decided."""
        self._wake = threading.Event()
        self._learned = threading.Event()
        self._reading_failure: Failure | None = None
        """The last of them."""
        self._reading_failures = 0
        """Counted by the loop."""
        self._heeded_failures = 0
        """Those that the thread has acted upon."""
        self._has_opened = False
        self._closing = False
        self._stops_at = float("inf")
        self._thread = threading.Thread(target=self._run, name="deduplication", daemon=True)
        self.transactions = 0

    # ------------------------------------------------------------------ from the loop

    def start(self) -> None:
        """Begin; raises RuntimeError when the system gives no more threads."""
        self._thread.start()

    def take(self, item: Pending) -> None:
        """Store a message, behind those taken before."""
        self._queue.append(item)
        if not self._wake.is_set():
            self._wake.set()

    def waiting(self) -> int:
        """Count the messages that the thread has not come to."""
        return len(self._queue)

    def close(self, seconds: float) -> None:
        """Store what was taken, at most for so long, and end."""
        self._stops_at = time.monotonic() + seconds
        self._closing = True
        self._wake.set()

    def leave(self) -> None:
        """Read the ledger no more."""
        self._readers.leave(self._ledger.window, self._learn)

    def _follow(self) -> None:
        self._readers.follow(self._ledger.window, self._partition, self._learn)

    def _learn(self, failure: Failure | None) -> None:
        if failure is not None:
            self._reading_failure = failure
            self._reading_failures += 1
            self._events.lost()
            self._wake.set()
        elif self._ledger.is_stolen:
            self._events.stolen()
        self._learned.set()

    def _opened(self, heeded_failures: int) -> None:
        # A reader that failed in this moment makes the thread begin anew.
        if self._reading_failures == heeded_failures or not self._ledger.window.is_shared:
            self._events.opened()

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        failure: Failure | None = None
        try:
            self._serve()
        except StoppedError:
            pass
        except BrokenError as error:
            failure = error.failure
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            failure = failures.classify_exception(error)
        self._post(self._events.ended, failure)

    def _serve(self) -> None:
        """Let one producer after another work, until the link is closed."""
        batch = self._batch
        backoff_seconds = BACKOFF_SECONDS
        give_up_at = time.monotonic() + self._settings.delivery_timeout_seconds
        while True:
            transactions = LedgerTransactions(self._settings, self._ledger, self._partition, self._keep_on)
            committed_before = self.transactions
            try:
                self._open(transactions)
                backoff_seconds = BACKOFF_SECONDS
                self._judge(batch)
                while self._fill(batch, transactions):
                    transactions.store(batch)
                    self._settle(batch)
                    self.transactions = committed_before + transactions.committed
            except RefusedError:
                raise
            except BrokenError as error:
                if not self._has_opened and time.monotonic() >= give_up_at:
                    raise
                is_fenced = isinstance(error, FencedError)
            else:
                return
            finally:
                self._settle(batch)
                self.transactions = committed_before + transactions.committed
                transactions.close()
            self._pause(backoff_seconds)
            backoff_seconds = min(2 * backoff_seconds, BACKOFF_MAX_SECONDS)
            if self._has_opened and self._is_stolen(is_fenced=is_fenced):
                self._post(self._events.stolen)
                return

    def _open(self, transactions: LedgerTransactions) -> None:
        self._read_ledger()
        transactions.open(os.urandom(16), time.time_ns() // 1_000_000)
        self._await(lambda: self._ledger.has_claimed)
        if not self._ledger.window.is_shared:
            self._post(self.leave)
        self._has_opened = True
        self._post(self._opened, self._heeded_failures)

    def _fill(self, batch: list[Pending], transactions: LedgerTransactions) -> bool:
        """Take what has gathered into an empty batch; False when there will be no more."""
        while not batch:
            if self._ledger.window.is_shared:
                self._check_reading()
            given_up = []
            size_bytes = 0
            while self._queue and len(batch) < BATCH_RECORDS and size_bytes < BATCH_BYTES:
                item = self._queue.popleft()
                # In this order: the loop gives an item up, and then looks whether it was sent.
                item.was_sent = True
                if item.is_given_up:
                    given_up.append(item)
                else:
                    batch.append(item)
                    size_bytes += len(item.record[1] or b"")
            if given_up:
                self._post(self._events.dropped, given_up)
            if not batch and not self._queue:
                if self._closing:
                    return False
                self._wake.wait(IDLE_SECONDS)
                self._wake.clear()
                transactions.poll()
        return True

    def _settle(self, batch: list[Pending]) -> None:
        """Hand over what is decided, and leave the rest in the batch."""
        decided = [item for item in batch if item.is_decided]
        if decided:
            batch[:] = [item for item in batch if not item.is_decided]
            self._post(self._events.decided, decided)

    def _judge(self, batch: list[Pending]) -> None:
        """Let the ledger say what became of messages whose transaction broke."""
        for item in batch:
            item.is_decided = self._ledger.has_stored(item.sequence)
            item.failure = None
        self._settle(batch)

    def _is_stolen(self, *, is_fenced: bool) -> bool:
        """Tell whether the link was attached elsewhere, by what the ledger holds at this moment.

        Kafka fences a producer as well when it gave up a transaction that took too long. A producer that
        was not fenced may have a transaction open, which only its successor ends: it is not waited for.
        """
        deadline = time.monotonic() + self._settings.delivery_timeout_seconds
        end = self._end_of_ledger(deadline, committed=not is_fenced)
        while True:
            self._read_ledger()
            try:
                self._await(lambda: self._ledger.is_stolen or self._ledger.window.position >= end)
            except RefusedError:
                raise
            except BrokenError:
                if time.monotonic() >= deadline:
                    raise
            else:
                return self._ledger.is_stolen
            self._pause(READER_BACKOFF_SECONDS)

    def _end_of_ledger(self, deadline: float, *, committed: bool) -> int:
        while True:
            try:
                return end_offset(self._settings, self._partition, committed=committed)
            except KafkaException as error:
                failure = failures.classify_exception(error)
                if not failure.retriable and (failure.reach not in _MISSING or time.monotonic() >= deadline):
                    raise RefusedError(failure) from error
            self._pause(BACKOFF_SECONDS)

    def _read_ledger(self) -> None:
        """Have the ledger read, by another reader if the one before has failed."""
        self._heeded_failures = self._reading_failures
        self._post(self._follow)

    def _check_reading(self) -> None:
        """Raise if the reader has failed: the link would know no more of what others store."""
        failure = self._reading_failure
        if failure is not None and self._reading_failures != self._heeded_failures:
            passes = failure.retriable or failure.reach in _MISSING
            raise BrokenError(failure) if passes else RefusedError(failure)

    def _await(self, learned: Callable[[], bool]) -> None:
        """Wait until the ledger was read so far."""
        while not learned():
            self._learned.wait(IDLE_SECONDS)
            self._learned.clear()
            self._check_reading()
            if not self._keep_on():
                raise StoppedError

    def _pause(self, seconds: float) -> None:
        if not self._keep_on():
            raise StoppedError
        time.sleep(seconds)

    def _keep_on(self) -> bool:
        if self._closing and not self._batch and not self._queue:
            return False
        return time.monotonic() < self._stops_at

    def _post(self, call: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            # The loop is closed: the process is ending, and nobody is left to tell.
            self._stops_at = 0.0
