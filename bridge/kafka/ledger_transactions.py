"""One link's Kafka transactions: records and their ledger entries, stored together or not at all.

Blocks, and so belongs to a thread. Takes care of what Kafka lets a transaction meet: it tries again what
may be tried again, aborts and repeats what has to be aborted, and finds the one message that Kafka will not
have among those that it will. What it cannot decide, whether a commit took place above all, it says
by an exception: the ledger knows.

Sources: KIP-98, KIP-447, KIP-588; librdkafka's manual, "Transactional producer".
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Producer

from bridge.kafka import failures
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.kafka.ledger_contract import Ledger, LedgerSettings
    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure

Record: TypeAlias = tuple[str, bytes | None, bytes | None, Any, int, int]
"""Topic, value, key, headers, partition, timestamp in ms."""

STEP_SECONDS: Final = 1.0
"""How long one call may block before its caller is asked whether to go on."""
RETRY_SECONDS: Final = 0.05
_FENCED: Final = frozenset({"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"})
_STATES: Final = frozenset({"_STATE", "_FATAL", "_CONFLICT", *_FENCED})
"""Errors of `produce` that are about the transaction, not about the record."""


class Pending:
    """A message on its way: the record, its identity, and who waits for its outcome.

    `failure` is why Kafka will not have it; `is_decided` that it is stored, or that there is one.
    `was_sent` is true from when it may be in a transaction. `deadline` is on the monotonic clock.
    """

    __slots__ = (
        "deadline",
        "failure",
        "fingerprint",
        "is_decided",
        "is_given_up",
        "record",
        "reports",
        "sequence",
        "time_ms",
        "was_sent",
    )

    def __init__(
        self,
        record: Record,
        fingerprint: bytes,
        sequence: int,
        time_ms: int,
        deadline: float,
        report: Callable[[object, None], None],
    ) -> None:
        self.record = record
        self.fingerprint = fingerprint
        self.sequence = sequence
        self.time_ms = time_ms
        self.deadline = deadline
        self.reports = [report]
        self.failure: Failure | None = None
        self.is_decided = False
        self.is_given_up = False
        self.was_sent = False

    def delivered(self, error: KafkaError | None, _message: object) -> None:
        """Take the delivery report; only errors are reported, before the transaction ends."""
        if error is not None and self.failure is None:
            self.failure = failures.classify(error)


class BrokenError(Exception):
    """The producer cannot go on; what it was at may be stored or not. Another one may go on."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.description)
        self.failure = failure


class FencedError(BrokenError):
    """Another producer took the transactional id over, or Kafka gave up a transaction of this one."""


class RefusedError(BrokenError):
    """Kafka will not have it, however often it is asked."""


class StoppedError(Exception):
    """The caller said not to go on."""


class _AbortError(Exception):
    """The transaction cannot be committed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.description)
        self.failure = failure


class _StateError(Exception):
    """The transaction takes no more records."""


def options(settings: LedgerSettings, transactional_id: str) -> Options:
    """Options of a link's producer, on top of those of the shared one."""
    timeout_ms = settings.transaction_timeout_ms
    return {
        **settings.producer,
        # The commit sends what waits, so that nothing is gained by sending earlier, in more requests.
        "linger.ms": 50,
        "acks": "all",
        "enable.idempotence": True,
        "delivery.report.only.error": True,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": timeout_ms,
        "message.timeout.ms": timeout_ms,
    }


class LedgerTransactions:
    """A transactional producer. `keep_on` is asked between attempts; False ends them (StoppedError)."""

    def __init__(
        self, settings: LedgerSettings, ledger: Ledger, partition: int, keep_on: Callable[[], bool]
    ) -> None:
        self._ledger = ledger
        self._topic = settings.topic
        self._partition = partition
        self._keep_on = keep_on
        self._entry_failure: Failure | None = None
        self.committed = 0
        try:
            self._producer = Producer(
                options(settings, settings.transactional_id_prefix + ledger.writer.hex())
            )
        except KafkaException as error:
            raise RefusedError(failures.classify_exception(error)) from error

    def open(self, token: bytes, now_ms: int) -> None:
        """Take the link's name over from whoever has it, and claim it in the ledger.

        When this returns every transaction of former owners is decided. Raises BrokenError or a
        kind of it.
        """
        self._call(self._producer.init_transactions)
        self._begin()
        try:
            with suppress(_StateError):
                self._produce_entry(*self._ledger.claim(token, now_ms), now_ms)
            self._call(self._producer.commit_transaction)
            self._check_entries()
        except _AbortError as error:
            self._abort()
            self._check_entries()
            raise BrokenError(error.failure) from error

    def store(self, batch: Sequence[Pending]) -> None:
        """Store messages, in order, and set what became of each.

        Raises BrokenError or a kind of it: those that are not decided then may be stored or not.
        """
        waiting = list(batch)
        while waiting:
            failure = self._attempt(waiting)
            left = [item for item in waiting if not item.is_decided]
            if failure is None or len(left) < len(waiting):
                waiting = left
            elif failure.retriable:
                self._pause()
            elif len(waiting) == 1:
                self._refuse(waiting[0], failure)
                return
            else:
                # One of them, and nothing says which: halves keep the order, and find it.
                middle = len(waiting) // 2
                self.store(waiting[:middle])
                waiting = waiting[middle:]

    def poll(self) -> None:
        """Serve errors and logs. Raises BrokenError or a kind of it when the producer goes on no more."""
        self._poll(0)

    def close(self) -> None:
        """Give up what is under way."""
        self._producer.purge(blocking=False)

    # ------------------------------------------------------------------ one transaction

    def _attempt(self, batch: Sequence[Pending]) -> Failure | None:
        """Store messages in one transaction; gives why that was aborted, and decides what it can."""
        self._begin()
        sent: list[Pending] = []
        try:
            # A transaction that failed takes no more; its commit says why.
            with suppress(_StateError):
                sent += filter(self._produce, batch)
            self._call(self._producer.commit_transaction)
        except _AbortError as error:
            self._abort()
            self._check_entries()
            return self._blame(batch) or error.failure
        for item in sent:
            item.is_decided = True
        self.committed += 1
        return None

    def _blame(self, batch: Sequence[Pending]) -> Failure | None:
        """Decide messages that are surely the reason of an abort; else give a permanent one, or none."""
        waiting = [item for item in batch if not item.is_decided]
        permanent = [each.failure for each in waiting if each.failure and not each.failure.retriable]
        # A request that is too large is refused as a whole: neighbours of the one message are reported too.
        sizes = [each for each in permanent if each.condition == conditions.LINK_MESSAGE_SIZE_EXCEEDED]
        for item in waiting:
            if item.failure and not item.failure.retriable and len(sizes) <= 1:
                self._refuse(item, item.failure)
            else:
                item.failure = None
        return permanent[0] if permanent else None

    @staticmethod
    def _refuse(item: Pending, failure: Failure) -> None:
        item.failure = failure
        item.is_decided = True

    def _begin(self) -> None:
        try:
            self._producer.begin_transaction()
        except KafkaException as error:
            raise _broken(error.args[0]) from error

    def _produce(self, item: Pending) -> bool:
        """Add a message to the transaction; or decide that it cannot be stored."""
        topic, value, key, headers, partition, timestamp_ms = item.record
        while True:
            try:
                if headers is None:
                    self._producer.produce(topic, value, key, partition, item.delivered, None, timestamp_ms)
                else:
                    self._producer.produce(
                        topic, value, key, partition, item.delivered, None, timestamp_ms, headers
                    )
                break
            except BufferError:
                self._poll(RETRY_SECONDS)
            except (KafkaException, TypeError, ValueError) as error:
                self._check_state(error)
                self._refuse(item, failures.classify_exception(error))
                return False
        entry = self._ledger.write(item.sequence, item.time_ms, item.fingerprint)
        self._produce_entry(*entry, item.time_ms)
        return True

    def _produce_entry(self, key: bytes, value: bytes, time_ms: int) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic, value, key, self._partition, self._entry_delivered, None, time_ms
                )
            except BufferError:
                self._poll(RETRY_SECONDS)
            except KafkaException as error:
                self._check_state(error)
                raise _refused(failures.classify_exception(error)) from error
            else:
                return

    def _entry_delivered(self, error: KafkaError | None, _message: object) -> None:
        if error is not None and self._entry_failure is None:
            failure = failures.classify(error)
            if not failure.retriable:
                self._entry_failure = failure

    def _check_entries(self) -> None:
        if self._entry_failure is not None:
            raise _refused(self._entry_failure)

    @staticmethod
    def _check_state(error: Exception) -> None:
        """Tell what `produce` says of the transaction from what it says of a record."""
        cause = error.args[0] if error.args else None
        if isinstance(cause, KafkaError) and (cause.fatal() or cause.name() in _STATES):
            if cause.fatal() or cause.name() in _FENCED:
                raise _broken(cause) from error
            raise _StateError from error

    # ------------------------------------------------------------------ calls that block

    def _abort(self) -> None:
        try:
            self._call(self._producer.abort_transaction)
        except _AbortError as error:
            raise BrokenError(error.failure) from error

    def _call(self, call: Callable[[float], None]) -> None:
        """Call until it is done; a call that ran out of time is to be made again (KIP-98)."""
        while True:
            try:
                call(STEP_SECONDS)
            except KafkaException as error:
                cause = error.args[0]
                if not cause.fatal() and cause.txn_requires_abort():
                    raise _AbortError(failures.classify(cause)) from error
                if cause.fatal() or not cause.retriable():
                    raise _broken(cause) from error
            else:
                return
            self._pause()

    def _poll(self, seconds: float) -> None:
        """Serve what the producer has to say.

        confluent_kafka raises here what librdkafka calls fatal, instead of giving it to the callback.
        """
        try:
            self._producer.poll(seconds)
        except KafkaException as error:
            cause = error.args[0] if error.args else None
            if isinstance(cause, KafkaError) and cause.fatal():
                raise _broken(cause) from error
            raise

    def _pause(self) -> None:
        if not self._keep_on():
            raise StoppedError
        time.sleep(RETRY_SECONDS)


def _broken(error: KafkaError) -> BrokenError:
    failure = failures.classify(error)
    if error.name() in _FENCED:
        return FencedError(failure)
    return BrokenError(failure) if failure.retriable else RefusedError(failure)


def _refused(failure: Failure) -> BrokenError:
    return BrokenError(failure) if failure.retriable else RefusedError(failure)
