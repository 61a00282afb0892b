"""Producers that store each message once, however often it is sent, to whichever replica.

One producer for each link: a message and its entry in the ledger are one Kafka transaction, whose
transactional id is made of the link's name. Whoever attaches a link of that name takes the id over: Kafka
then decides what the former owner left open, and lets it store nothing any more. The new owner claims
the name in the ledger and reads up to that claim; from there on it knows what was stored, and says so for
a message that comes again.

The event loop judges messages and hears their outcomes; a thread of each link blocks for Kafka and
takes what has gathered meanwhile into one transaction. What a transaction became that broke in the
middle of its commit, the ledger tells.

A producer that was made and not started holds nothing: no slot, no name. While the ledger cannot be read,
messages are taken and wait: they are judged when it is known again.

Sources: KIP-98 (transactions), KIP-618 (one transactional producer for each source task).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from bridge.kafka import failures, ledger_failures
from bridge.kafka.ledger_reader import LedgerReaders
from bridge.kafka.ledger_topic import LedgerTopic
from bridge.kafka.ledger_transactions import Pending
from bridge.kafka.ledger_writer import LedgerWriter
from bridge.model.failures import Failure, Stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import KafkaError

    from bridge.kafka.ledger_contract import DeduplicationEvents, Ledger, LedgerSettings
    from bridge.kafka.ledger_transactions import Record
    from bridge.kafka.settings import Options
    from bridge.mapping.record import Headers

Report: TypeAlias = Callable[[object, None], None]
"""Called with a Failure (None: the message is in Kafka); the second argument is of no use here."""

QUEUE_RECORDS: Final = 100_000
"""Far above any window of credit: what a link may send at all is bounded there."""
QUEUE_BYTES: Final = 268_435_456
"""The values that one link may have on their way. What is unsettled is bounded before, by the byte budget."""
SETTLED_BYTES: Final = 16 * 1024 * 1024
"""The same for what was sent settled, which no credit holds back."""
EXPIRY_SECONDS: Final = 0.5
HANDOVER_SECONDS: Final = 5.0
"""How long a link waits for the one that it replaces in this process to store what it has."""


_GONE: Final[Record] = ("", None, None, None, -1, 0)
"""In place of a record that is not sent any more: its bytes need not wait for the thread."""


class DeduplicatingProducers:
    """The producers of all links that ask for deduplication, and the ledger that they share."""

    def __init__(self, settings: LedgerSettings) -> None:
        loop = asyncio.get_running_loop()
        # Threads of the links serve their clients, and so call what hears of errors.
        settings = replace(
            settings,
            producer=_heard_on(loop, settings.producer),
            client=_heard_on(loop, settings.client),
        )
        self._settings = settings
        self._topic = LedgerTopic(settings)
        self._readers = LedgerReaders(settings)
        self._producers: dict[bytes, DeduplicatingProducer] = {}
        self._alive: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        """Count the links that were started and have not ended."""
        return len(self._alive)

    async def open(self, ledger: Ledger) -> DeduplicatingProducer | Failure:
        """Make a link's producer, to be started at once; or say why it cannot have one.

        The ledger's topic is looked for, and created if it is missing. A producer that a link of the
        same name has in this process is stolen when this one is started: only then is it known that the
        new link lives. One that is not to be started is closed, or just dropped.
        """
        partitions = await self._topic.partitions()
        if isinstance(partitions, Failure):
            return partitions
        if len(self._alive) >= self._settings.links_max:
            return ledger_failures.too_many_links(self._settings.links_max)
        return DeduplicatingProducer(
            self._settings, ledger, ledger.partition(partitions), self._readers, self._started
        )

    async def stopped(self, seconds: float) -> None:
        """Wait until all that were closed have stored what they had, at most so long."""
        if self._alive:
            await asyncio.wait(self._alive, timeout=seconds)

    def _started(self, writer: bytes, producer: DeduplicatingProducer) -> asyncio.Future[None] | None:
        """Give a producer its name and its place; gives the end of the one that it has to wait for."""
        former = self._producers.get(writer)
        self._producers[writer] = producer
        self._alive.add(producer.stopped)
        producer.stopped.add_done_callback(lambda _: self._ended(writer, producer))
        if former is None:
            return None
        former.stolen()
        return former.stopped

    def _ended(self, writer: bytes, producer: DeduplicatingProducer) -> None:
        self._alive.discard(producer.stopped)
        if self._producers.get(writer) is producer:
            del self._producers[writer]


class DeduplicatingProducer:
    """One link's producer: what it takes is stored once. `close` ends it when it has stored that."""

    def __init__(
        self,
        settings: LedgerSettings,
        ledger: Ledger,
        partition: int,
        readers: LedgerReaders,
        started: Callable[[bytes, DeduplicatingProducer], asyncio.Future[None] | None],
    ) -> None:
        self._ledger = ledger
        self._started = started
        self._timeout_seconds = settings.delivery_timeout_seconds
        self._loop = asyncio.get_running_loop()
        self._events: DeduplicationEvents | None = None
        self._writer = LedgerWriter(settings, ledger, partition, readers, self, self._loop)
        self._in_flight: dict[bytes, Pending] = {}
        self._in_flight_bytes = 0
        self._unjudged: list[Pending] = []
        """Those in flight that came while the ledger could not be read."""
        self._is_blind = False
        self._duplicates: list[Report] = []
        self._expiry: asyncio.TimerHandle | None = None
        self._closing = False
        self._failure: Failure | None = None
        """Why it takes nothing any more."""
        self.is_ready = False
        """Messages can be judged."""
        self.duplicates_suppressed = 0
        self.stopped: asyncio.Future[None] = self._loop.create_future()
        """Done when its thread has ended."""

    # ------------------------------------------------------------------ from the link

    def start(self, events: DeduplicationEvents) -> None:
        """Begin: take the link's name over and read the ledger; `events.ready` is called when done.

        What was closed before is not started.
        """
        if self._closing:
            return
        self._events = events
        self._expiry = self._loop.call_later(EXPIRY_SECONDS, self._expire)
        former = self._started(self._ledger.writer, self)
        if former is None or former.done():
            self._start_writer()
        else:
            # It would only be fenced; so it may store what it has, and this one finds that in the ledger.
            waiting = self._loop.create_task(_wait(former, HANDOVER_SECONDS))
            waiting.add_done_callback(lambda _: self._start_writer())

    @property
    def transactions(self) -> int:
        """Count the transactions that were committed."""
        return self._writer.transactions

    def room(self) -> int:
        """Count the messages that it still takes."""
        if not self.is_ready or self._in_flight_bytes >= QUEUE_BYTES:
            return 0
        # What was given up is in the queue as well, until the thread comes to it.
        return max(0, QUEUE_RECORDS - max(len(self._in_flight), self._writer.waiting()))

    def outstanding(self) -> int:
        """Count the messages that have no report yet."""
        return len(self._in_flight) + len(self._duplicates)

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers | None,
        partition: int,
        timestamp_ms: int,
        report: Report,
        identity: bytes,
        /,
    ) -> Failure | None:
        """Take a record; `report` is called later, unless a failure is given back at once.

        A report without an error says that the message is in Kafka, by this record or by one before
        it with the same `identity`.
        """
        if self._failure is not None:
            return self._failure
        if not self.room() or not self._holds(value, QUEUE_BYTES):
            return failures.QUEUE_FULL
        fingerprint = self._ledger.fingerprint(identity)
        deadline = time.monotonic() + self._timeout_seconds
        first = self._in_flight.get(fingerprint)
        if first is not None:
            self.duplicates_suppressed += 1
            first.reports.append(report)
            first.deadline = deadline
            return None
        now_ms = time.time_ns() // 1_000_000
        if not self._is_blind and self._ledger.remembers(fingerprint, now_ms):
            self._suppress([report])
            return None
        record = topic, value, key, headers, partition, timestamp_ms
        item = Pending(record, fingerprint, self._ledger.sequence(now_ms), now_ms, deadline, report)
        self._in_flight[fingerprint] = item
        self._in_flight_bytes += len(value or b"")
        if self._is_blind:
            self._unjudged.append(item)
        else:
            self._writer.take(item)
        return None

    def produce_settled(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers | None,
        partition: int,
        timestamp_ms: int,
        report: Report,
        identity: bytes,
        /,
    ) -> Failure | None:
        """Take a record that was sent settled, as `produce` does: fewer bytes of them may wait."""
        if self._failure is None and not self._holds(value, SETTLED_BYTES):
            return failures.QUEUE_FULL
        return self.produce(topic, value, key, headers, partition, timestamp_ms, report, identity)

    def close(self) -> None:
        """Store what was taken, at most for as long as a message may wait, and end."""
        if self._closing:
            return
        self._closing = True
        if self._events is None:
            self.ended(None)  # it was never started
        else:
            self._writer.close(self._timeout_seconds)

    # ------------------------------------------------------------------ from the writer

    def opened(self) -> None:
        """Take notice that the ledger is known (again)."""
        self._is_blind = False
        self._judge()
        if not self.is_ready:
            self.is_ready = True
            if self._events is not None and not self._closing:
                self._events.ready()

    def lost(self) -> None:
        """Take notice that the ledger cannot be read: what comes from now on waits for `opened`."""
        self._is_blind = True

    def decided(self, items: list[Pending]) -> None:
        """Report what was decided; what was stored is remembered first."""
        stored = [(item.sequence, item.time_ms, item.fingerprint) for item in items if item.failure is None]
        self._ledger.remember(stored, time.time_ns() // 1_000_000)
        for item in items:
            self._forget(item)
            _report(item, item.failure)

    def dropped(self, items: list[Pending]) -> None:
        """Forget what was given up; a sender may have come again meanwhile."""
        for item in items:
            self._forget(item)
            _report(item, ledger_failures.timed_out(Stored.NO))

    def stolen(self) -> None:
        """End in favour of the link's attachment elsewhere. What is under way may be stored yet."""
        if self._failure is None:
            self._failure = ledger_failures.STOLEN
            if not self._closing and self._events is not None:
                self._events.stolen()
        self.close()

    def ended(self, failure: Failure | None) -> None:
        """Take notice that the thread ended; `failure` says why, if it was not asked to."""
        self._writer.leave()
        if self._failure is None:
            self._failure = failure or ledger_failures.CLOSED
            if failure is not None and not self._closing and self._events is not None:
                self._events.failed(failure)
        self._closing = True
        left, self._in_flight, self._in_flight_bytes = self._in_flight, {}, 0
        self._unjudged.clear()
        for item in left.values():
            _report(item, self._failure)
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if not self.stopped.done():
            self.stopped.set_result(None)

    # ------------------------------------------------------------------ inside

    def _start_writer(self) -> None:
        if self._closing:  # while it waited for its predecessor: the name is left to whoever has it
            self.ended(None)
            return
        try:
            self._writer.start()
        except RuntimeError as error:  # the system gives no more threads
            self.ended(failures.classify_exception(error))

    def _holds(self, value: bytes | None, limit_bytes: int) -> bool:
        """Tell whether a value fits in; a single one does, of whatever size."""
        return not self._in_flight or self._in_flight_bytes + len(value or b"") <= limit_bytes

    def _forget(self, item: Pending) -> None:
        if self._in_flight.get(item.fingerprint) is item:
            del self._in_flight[item.fingerprint]
            self._in_flight_bytes -= len(item.record[1] or b"")

    def _judge(self) -> None:
        """Judge what came meanwhile: hand it on, or answer it as what the ledger knows by now."""
        unjudged, self._unjudged = self._unjudged, []
        now_ms = time.time_ns() // 1_000_000
        for item in unjudged:
            if item.is_given_up:
                continue
            if self._ledger.remembers(item.fingerprint, now_ms):
                self._forget(item)
                self._suppress(item.reports)
            else:
                self._writer.take(item)

    def _suppress(self, reports: Sequence[Report]) -> None:
        self.duplicates_suppressed += 1
        if not self._duplicates:
            self._loop.call_soon(self._report_duplicates)
        self._duplicates += reports

    def _report_duplicates(self) -> None:
        reports, self._duplicates = self._duplicates, []
        for report in reports:
            report(None, None)

    def _expire(self) -> None:
        """Answer what has waited too long. What was never sent is given up, the rest may be stored yet."""
        now = time.monotonic()
        for item in [each for each in self._in_flight.values() if each.deadline <= now and each.reports]:
            item.is_given_up = not item.was_sent
            if item.was_sent:  # also if the thread has taken it just now
                _report(item, ledger_failures.timed_out(Stored.PERHAPS))
            else:
                self._forget(item)
                item.record = _GONE
                _report(item, ledger_failures.timed_out(Stored.NO))
        self._unjudged = [item for item in self._unjudged if not item.is_given_up]
        self._expiry = self._loop.call_later(EXPIRY_SECONDS, self._expire)


def _heard_on(loop: asyncio.AbstractEventLoop, options: Options) -> Options:
    """Let the options' sink of errors be called on the loop's thread, from whichever thread."""
    heard: Callable[[KafkaError], None] | None = options.get("error_cb")
    if heard is None:
        return options

    def pass_on(error: KafkaError) -> None:
        with suppress(RuntimeError):  # the loop is closed: the process is ending
            loop.call_soon_threadsafe(heard, error)

    return {**options, "error_cb": pass_on}


async def _wait(former: asyncio.Future[None], seconds: float) -> None:
    await asyncio.wait([former], timeout=seconds)


def _report(item: Pending, failure: Failure | None) -> None:
    reports, item.reports = item.reports, []
    for report in reports:
        report(failure, None)
