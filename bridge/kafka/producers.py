"""A producer that links share, and the reports of all of them.

librdkafka sends in its own threads; its reports are served by `poll`, here on the event loop's thread
and many at a time: a thread of its own would fight the loop for the interpreter with every report.
Nothing here blocks.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Producer

from bridge.kafka import failures, settings

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from bridge.kafka.settings import Options
    from bridge.mapping.record import Headers
    from bridge.model.failures import Failure

Report: TypeAlias = Callable[[object, Any], None]
"""Called with a KafkaError (None: stored) and the Message that it is about."""

BUSY_POLL_SECONDS: Final = 0.001
IDLE_POLL_SECONDS: Final = 0.1
"""Errors, logs and statistics of an idle producer are served so often."""


class Flushable(Protocol):
    """A link that has reports to answer."""

    def flush(self) -> None:
        """Answer them."""

    def broke(self, error: Exception) -> None:
        """Take notice that `flush` raised: a defect, which ends the link alone."""


class SharedProducer:
    """One librdkafka producer, replaced by a new one when it fails for good.

    Raises ValueError when librdkafka refuses an option, with its words.
    """

    def __init__(self, options: Options, wake: Callable[[], None]) -> None:
        self._options = options
        self._wake = wake
        self._former: list[Producer] = []
        self._queue_records = settings.queue_records(options)
        self.refusal: Failure | None = None
        """Why it takes nothing any more, if that is what the next one will say, too."""
        self.awake = False
        """Whether anything is outstanding, as far as was seen when its reports were last served."""
        self._producer = self._make()
        self._produce = self._producer.produce

    def rebuild(self) -> None:
        """Go on with a new producer. Raises ValueError when none can be made; then nothing has changed.

        An idempotent producer that met a fatal error takes nothing any more. What it still holds is
        given up, with a report for each record, and those that were sent may have been stored. To wait for
        the answers to these would tell which, but the new producer's records would overtake them: accepted
        records would be out of order.
        """
        former, self._producer = self._producer, self._make()
        self._produce = self._producer.produce
        self._former.append(former)
        former.purge(blocking=False)
        self._wake_up()

    def produce(
        self,
        topic: str,
        value: Buffer | None,
        key: bytes | None,
        headers: Headers | None,
        partition: int,
        timestamp_ms: int,
        report: Report,
        /,
    ) -> Failure | None:
        """Hand a record over; `report` is called later, unless a failure is given back at once.

        A record that failed at once is surely not stored: also while the producer is of no use any more
        and not replaced yet.

        The value is copied. It may be any object with a buffer but those that have to be released, such as a
        memoryview, which the client refuses: that is a failure, too.
        """
        if not self.awake:
            self._wake_up()
        try:
            if headers is None:
                self._produce(topic, value, key, partition, report, None, timestamp_ms)  # type: ignore[arg-type] # see above
            else:
                self._produce(topic, value, key, partition, report, None, timestamp_ms, headers)  # type: ignore[arg-type] # lists are invariant; the client takes bytes
        except (BufferError, KafkaException, TypeError, ValueError) as error:
            failure = failures.classify_exception(error)
            return self.refusal or failure if failure.kafka_error == failures.ENDED else failure
        return None

    def poll(self) -> bool:
        """Serve the reports that are there, those of former producers first; tells whether there were any."""
        if self._former:
            for former in self._former:
                _poll_former(former)
            self._former = [former for former in self._former if len(former)]
        try:
            return self._producer.poll(0) > 0
        except KafkaException as error:
            if not _is_fatal(error):
                raise
            # confluent_kafka raises what librdkafka calls fatal here, instead of giving it to the callback.
            self._options["error_cb"](error.args[0])
        return False

    def outstanding(self) -> int:
        """Count records and reports that are not through yet."""
        if self._former:
            return len(self._producer) + sum(map(len, self._former))
        return len(self._producer)

    def room(self) -> int:
        """Tell how many more records the queue takes; its bytes may run out before."""
        if self._queue_records == 0:
            return sys.maxsize
        return max(0, self._queue_records - len(self._producer))

    def _make(self) -> Producer:
        try:
            return Producer(self._options)
        except KafkaException as error:
            raise ValueError(f"librdkafka refuses the producer's options: {error}") from error

    def _wake_up(self) -> None:
        self.awake = True
        self._wake()


def _poll_former(producer: Producer) -> None:
    try:
        producer.poll(0)
    except KafkaException as error:
        if not _is_fatal(error):  # that it is of no use any more is known
            raise


def _is_fatal(error: KafkaException) -> bool:
    return bool(error.args) and isinstance(error.args[0], KafkaError) and error.args[0].fatal()


class ReportPump:
    """Serves the reports of all producers, then lets the links answer them, once for many.

    Polls every millisecond those producers with anything outstanding, the others now and then. `on_defect`
    is told of an exception in a report's handling, which no record caused and which must not stop the
    others.
    """

    def __init__(self, on_defect: Callable[[Exception], None]) -> None:
        self._on_defect = on_defect
        self._loop = asyncio.get_running_loop()
        self._producers: list[SharedProducer] = []
        self._ready: list[Flushable] = []
        self._retrying: dict[Flushable, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._poll_all_at = 0.0
        self._busy = False
        self._started = False
        self._closed = False

    def start(self, producers: Iterable[SharedProducer] = ()) -> None:
        """Begin to serve these producers, and those that were added."""
        self._producers.extend(producer for producer in producers if producer not in self._producers)
        self._started = True
        self._run()

    def add(self, producer: SharedProducer) -> None:
        """Serve one more producer."""
        self._producers.append(producer)

    def ready(self, link: Flushable) -> None:
        """Remember a link that has something to answer."""
        self._ready.append(link)
        self.wake()

    def retry(self, link: Flushable) -> None:
        """Remember a link that was told that a queue is full: until there were reports, or now and then."""
        self._retrying[link] = None

    def wake(self) -> None:
        """Serve soon."""
        if not self._busy and self._started and not self._closed:
            self._busy = True
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_later(BUSY_POLL_SECONDS, self._run)

    def close(self) -> None:
        """Serve no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def busy(self) -> bool:
        """Tell whether anything is outstanding, or waits for a link to answer it."""
        return (
            bool(self._ready)
            or bool(self._retrying)
            or any(producer.outstanding() for producer in self._producers)
        )

    def _run(self) -> None:
        if self._closed:
            return
        self._busy = True
        now = self._loop.time()
        poll_all = now >= self._poll_all_at
        if poll_all:
            self._poll_all_at = now + IDLE_POLL_SECONDS
        try:
            served = poll_all
            for producer in self._producers:
                if poll_all or producer.awake:
                    served = self._poll(producer) or served
            ready, self._ready = self._ready, []
            if served and self._retrying:
                retrying, self._retrying = self._retrying, {}
                ready += retrying
            for link in ready:
                self._flush(link)
        finally:
            # Whatever happened, the next reports are served.
            self._busy = bool(self._ready) or any(producer.awake for producer in self._producers)
            seconds = BUSY_POLL_SECONDS if self._busy else IDLE_POLL_SECONDS
            self._timer = self._loop.call_later(seconds, self._run)

    def _poll(self, producer: SharedProducer) -> bool:
        served = False
        try:
            served = producer.poll()
        except Exception as error:  # noqa: BLE001 - the reports of all links come through here
            self._on_defect(error)
        producer.awake = producer.outstanding() > 0
        return served

    def _flush(self, link: Flushable) -> None:
        try:
            link.flush()
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            link.broke(error)
