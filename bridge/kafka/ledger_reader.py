"""Reads the ledger for the windows of this process: a thread and a consumer for each window.

A reader begins where the window's time begins, or where the window knows on, and follows the partition:
committed entries alone, so that it never passes a transaction that is not decided. A window that only
its own link writes to is read while that link begins; one that several share as long as any of them
lives. It joins no group and commits nothing.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from bridge.kafka import failures

if TYPE_CHECKING:
    from bridge.kafka.ledger_contract import LedgerSettings, Window
    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure

Learned: TypeAlias = Callable[["Failure | None"], None]
"""Called on the loop's thread when a window has learnt; with a failure when it cannot learn any more."""

_Records: TypeAlias = list[tuple[int, bytes, bytes | None]]

BATCH_RECORDS: Final = 500
POLL_SECONDS: Final = 0.2
REQUEST_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 0.5
SKEW_MS: Final = 60_000
"""Clocks of replicas may differ by so much: older entries are read as well."""
_END: Final = -1


def options(client: Options, *, committed: bool) -> Options:
    """Options of a consumer of the ledger, from those of any client."""
    return {
        **client,
        "group.id": "amqp-bridge-ledger",  # required, though it joins none
        "isolation.level": "read_committed" if committed else "read_uncommitted",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "queued.max.messages.kbytes": 1024,
        "fetch.queue.backoff.ms": 2,
    }


def end_offset(settings: LedgerSettings, partition: int, *, committed: bool) -> int:
    """Ask for the end of a ledger partition: that of what is decided, or that behind open transactions.

    Blocks; raises KafkaException.
    """
    consumer = Consumer(options(settings.client, committed=committed))
    try:
        return _watermark(consumer, TopicPartition(settings.topic, partition))
    finally:
        consumer.close()


def _watermark(consumer: Consumer, partition: TopicPartition) -> int:
    watermarks = consumer.get_watermark_offsets(partition, timeout=REQUEST_SECONDS)
    if watermarks is None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - librdkafka's own name
    return watermarks[1]


class LedgerReaders:
    """The readers of this process, one for each window that is in need of one."""

    def __init__(self, settings: LedgerSettings) -> None:
        self._settings = settings
        self._readers: dict[int, LedgerReader] = {}

    def follow(self, window: Window, partition: int, learned: Learned) -> None:
        """Let a window learn, from now on until `leave`."""
        reader = self._readers.get(id(window))
        if reader is None or reader.has_failed:
            former = reader.listeners if reader is not None else []
            reader = self._readers[id(window)] = LedgerReader(self._settings, window, partition)
            reader.listeners += former
            reader.start()
        if learned not in reader.listeners:
            reader.listeners.append(learned)

    def leave(self, window: Window, learned: Learned) -> None:
        """Need it no more; the last one to leave ends it."""
        reader = self._readers.get(id(window))
        if reader is not None and learned in reader.listeners:
            reader.listeners.remove(learned)
            if not reader.listeners:
                del self._readers[id(window)]
                reader.stop()

    def __len__(self) -> int:
        return len(self._readers)


class LedgerReader:
    """One window's thread. What it reads goes to the event loop in batches, where the window learns."""

    def __init__(self, settings: LedgerSettings, window: Window, partition: int) -> None:
        self._settings = settings
        self._window = window
        self._partition = TopicPartition(settings.topic, partition)
        self._start = window.position
        self._loop = asyncio.get_running_loop()
        self._stopping = False
        self.listeners: list[Learned] = []
        self.has_failed = False
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)

    def start(self) -> None:
        """Begin to read; that the system gives no thread is told as any other failure."""
        try:
            self._thread.start()
        except RuntimeError as error:
            self._post_failed(failures.classify_exception(error))

    def stop(self) -> None:
        """End soon."""
        self._stopping = True

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            consumer = Consumer(options(self._settings.client, committed=True))
        except Exception as error:  # noqa: BLE001 - told to those who wait for it
            self._post_failed(failures.classify_exception(error))
            return
        try:
            self._assign(consumer)
            while not self._stopping:
                self._step(consumer)
        except Exception as error:  # noqa: BLE001 - told to those who wait for it
            self._post_failed(failures.classify_exception(error))
        finally:
            consumer.close()

    def _assign(self, consumer: Consumer) -> None:
        start = self._start
        while not self._stopping and start < 0:
            try:
                start = self._first_offset(consumer)
            except KafkaException as error:
                if not failures.classify_exception(error).retriable:
                    raise
                time.sleep(RETRY_SECONDS)
        topic, partition = self._partition.topic, self._partition.partition
        consumer.assign([TopicPartition(topic, partition, start)])

    def _first_offset(self, consumer: Consumer) -> int:
        topic, partition = self._partition.topic, self._partition.partition
        # Asked for first: what comes behind it has been written since, and is not too old.
        end = _watermark(consumer, self._partition)
        since_ms = time.time_ns() // 1_000_000 - self._window.window_ms - SKEW_MS
        sought = TopicPartition(topic, partition, max(0, since_ms))
        [found] = consumer.offsets_for_times([sought], timeout=REQUEST_SECONDS)
        if found.error is not None:
            raise KafkaException(found.error)
        return end if found.offset == _END else found.offset

    def _step(self, consumer: Consumer) -> None:
        first = consumer.poll(POLL_SECONDS)
        if first is None:
            return
        prefix = self._window.key_prefix
        records: _Records = []
        reached = -1
        # `poll` waits for one, `consume` without a wait takes what else is there.
        for message in [first, *consumer.consume(BATCH_RECORDS - 1, 0)]:
            error = message.error()
            offset = message.offset() or 0
            if error is None:
                reached = offset + 1
                key = message.key()
                if isinstance(key, bytes) and key.startswith(prefix):
                    value = message.value()
                    records.append((offset, key, value if isinstance(value, bytes) else None))
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's own name
                reached = offset
            elif not failures.classify(error).retriable:
                raise KafkaException(error)
        if reached >= 0:
            self._post(records, reached)

    def _post(self, records: _Records, reached: int) -> None:
        def learn() -> None:
            if not self._stopping:
                self._window.learn(records, time.time_ns() // 1_000_000)
                self._window.reached(reached)
                self._tell(None)

        self._call(learn)

    def _post_failed(self, failure: Failure) -> None:
        def fail() -> None:
            self.has_failed = True
            self._tell(failure)

        self._call(fail)

    def _tell(self, failure: Failure | None) -> None:
        for listener in list(self.listeners):
            listener(failure)

    def _call(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            self._stopping = True  # the loop is closed: the process is ending
