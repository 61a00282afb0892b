"""One link's consumer: a member of a group, or a reader of chosen partitions, in a thread of its own.

The thread polls, commits and answers rebalances; everything it learns goes to the event loop in
batches. A thread and not the loop, since a rebalance has to wait for what is in flight, and a commit
for its coordinator. The link asks by setting plain attributes, which the thread reads.

While the link wants nothing the partitions are paused and the consumer keeps polling, so that it
stays in its group (KIP-62) and takes part in rebalances. Partitions that are lost are never
committed, nor is anything of an assignment that has ended.
"""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from bridge.kafka import failures
from bridge.kafka.asking import END
from bridge.kafka.committing import Committer
from bridge.kafka.contract import COMMITTED
from bridge.kafka.ends import EndSearch
from bridge.kafka.error_tables import TOPIC_MISSING
from bridge.kafka.placing import ASK, Placer, Reset
from bridge.kafka.telling import Teller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.kafka.asking import OffsetAsker
    from bridge.kafka.contract import FeedEvents, FeedLog, FeedSettings, Offsets
    from bridge.kafka.settings import Options
    from bridge.model.failures import Failure

POLL_SECONDS: Final = 0.1
QUIET_POLLS: Final = 50
QUIET_POLL_SECONDS: Final = 0.5
"""Where nothing has come for so many polls they are longer: a thousand quiet links are a thousand threads.
What the link asks for meanwhile waits for the poll's end, unless a record ends it."""
BATCH_RECORDS: Final = 500
PAUSE_AFTER_SECONDS: Final = 0.5
"""A link that wants nothing for so long is paused; pausing throws away what was read ahead."""
PAUSED_POLL_SECONDS: Final = 0.3
_PARTITION_EOF: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's own codes begin with it
_AUTO_OFFSET_RESET: Final = KafkaError._AUTO_OFFSET_RESET  # noqa: SLF001 - likewise


def check(options: Options) -> None:
    """Let librdkafka judge the options of consumers, which are made only when receivers attach.

    Raises ValueError with its words.
    """
    try:
        Consumer(options).close()
    except KafkaException as error:
        raise ValueError(f"librdkafka refuses the consumer's options: {error}") from error


class ConsumerFeed:
    """A consumer thread for one link. `stop` ends it; its thread is a daemon all the same.

    `asker` is asked for the ends of partitions; it is shared by all links.
    """

    def __init__(self, settings: FeedSettings, log: FeedLog, asker: OffsetAsker) -> None:
        self._settings = settings
        # Neither it nor those that it is given to know this feed: what a link leaves behind is freed at once.
        self._teller = teller = Teller(log)
        self._wake = threading.Event()
        self._allowed = 0
        self._handed = 0
        self._handed_bytes = 0
        self._taken_bytes = 0
        self._positions: dict[int, int] = {}
        """The offsets up to which all that can be handed over was; changed by the thread alone."""
        self._committer = Committer(settings, teller)
        self._pending = self._committer.pending
        self._placer = Placer(settings, self._positions)
        self._ends = EndSearch(
            lambda partitions: asker.ask(settings.topic, partitions, END),
            self._positions,
            lambda token: teller.tell("reached_end", token),
            settings.end_wait_seconds,
        )
        self._paused = False
        self._new_partitions = False
        """Partitions came that are not paused; those that were there before may be."""
        self._held: frozenset[int] = frozenset()
        """What the link wants nothing of, though it wants something."""
        self._holding: frozenset[int] = frozenset()
        """What is paused for that."""
        self._taken_away: set[int] = set()
        """Partitions that went while the current batch was read."""
        self._wanted_nothing_since = 0.0
        self._quiet_polls = 0
        self.stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the thread has left the group."""

    # ------------------------------------------------------------------ from the loop

    def start(self, events: FeedEvents) -> None:
        """Join the group, or begin to read."""
        self._teller.events = events
        try:
            threading.Thread(target=self._run, name="consumer", daemon=True).start()
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

    def commit(self, offsets: Offsets) -> None:
        """Commit these offsets soon; those of an assignment that has ended are dropped."""
        self._pending.add(offsets)
        self._wake.set()

    def hold(self, partitions: frozenset[int]) -> None:
        """Read nothing of these partitions until it is said again without them."""
        self._held = partitions
        self._ends.hold(partitions)
        self._wake.set()

    def find_end(self, token: int) -> None:
        """Tell `reached_end` when all is handed over that is in the partitions now, or is not known in time.

        Another token replaces the one before. A link whose allowance is used up hears of it when the time
        is over.
        """
        self._ends.begin(token)

    def stop(self, offsets: Offsets) -> None:
        """Commit these offsets and leave the group, soon."""
        self._ends.cancel()
        self._pending.add(offsets)
        self._teller.stopping = True
        self._wake.set()

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        settings = self._settings
        try:
            consumer = Consumer({**settings.options, **ASK, "error_cb": self._heard})
        except KafkaException as error:
            self._teller.fail(failures.classify_consumer_exception(error, settings.topic))
            self._teller.post(self._set_stopped)
            return
        try:
            self._begin(consumer)
            while not self._teller.stopping:
                self._step(consumer)
        except Exception as error:  # noqa: BLE001 - one link must not take the others with it
            self._teller.fail(failures.classify_consumer_exception(error, settings.topic))
        finally:
            self._teller.stopping = True
            # A link that ends because of its consumer says what to commit only after it heard of that.
            self._teller.await_loop()
            self._committer.commit_pending(consumer)
            consumer.close()
            self._teller.post(self._set_stopped)

    def _begin(self, consumer: Consumer) -> None:
        settings = self._settings
        if not settings.assigned:
            consumer.subscribe(
                [settings.topic],
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_lost,
            )
            return
        places = [
            TopicPartition(settings.topic, number, COMMITTED if settings.resumes else offset)
            for number, offset in settings.starts.items()
        ]
        self._on_assign(consumer, places)
        self._positions |= {each.partition: each.offset for each in places if each.offset >= 0}
        consumer.assign(places)

    def _step(self, consumer: Consumer) -> None:
        self._committer.commit_pending(consumer)
        if self._placer.waits:
            self._place(consumer)
        room = self._allowed - self._handed
        if room <= 0 or self._handed_bytes - self._taken_bytes >= self._settings.buffer_bytes:
            self._wait_for_demand(consumer)
            return
        self._wanted_nothing_since = 0.0
        if self._paused or self._new_partitions:
            # librdkafka remembers that a partition was paused, also when it went away and came back.
            self._paused = self._new_partitions = False
            consumer.resume(consumer.assignment())
            self._holding = frozenset()
        if self._held != self._holding:
            self._hold(consumer)
        first = consumer.poll(POLL_SECONDS if self._quiet_polls < QUIET_POLLS else QUIET_POLL_SECONDS)
        if first is None:
            self._quiet_polls += 1
            return
        self._quiet_polls = 0
        # What `poll` gives came after the rebalances that it took part in.
        self._taken_away.clear()
        messages = [first]
        if room > 1:
            # `poll` waits for one, `consume` without a wait takes what else is there.
            messages += consumer.consume(min(room, BATCH_RECORDS) - 1, 0)
        self._take(consumer, messages)

    def _take(self, consumer: Consumer, messages: Sequence[Message[Any, Any]]) -> None:
        """Hand records over, and see to what else librdkafka says."""
        records = [message for message in messages if message.error() is None]
        if self._taken_away:
            # A rebalance came between them: these belong to the partition's next owner.
            records = [record for record in records if record.partition() not in self._taken_away]
        if records:
            self._hand_over(consumer, records)
        if len(records) < len(messages):
            for message in messages:
                error = message.error()
                if error is not None:
                    self._told(message.partition(), message.offset(), error)
        if self._ends.searching:
            self._teller.post(self._ends.check)

    def _hand_over(self, consumer: Consumer, records: Sequence[Message[Any, Any]]) -> None:
        settings = self._settings
        if settings.commit_first and settings.commits:
            committed, positions = self._committer.commit_first(consumer, records)
            if not committed:
                self._positions |= positions
                return
        else:
            # Of its assignment, and not of its records: there are far fewer partitions.
            wanted = [TopicPartition(settings.topic, number) for number in self._pending.partitions]
            found = consumer.position(wanted)
            positions = {each.partition: each.offset for each in found if each.offset >= 0}
        self._handed += len(records)
        self._handed_bytes += sum(map(len, records))
        self._teller.tell("consumed", records)
        # Only now: whoever reads them and tells the link is heard after the records.
        self._positions |= positions

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
        self._taken_away.clear()
        if message is not None:
            # A record was fetched before the pause took hold: it is handed over beyond what was allowed.
            self._take(consumer, [message])

    def _hold(self, consumer: Consumer) -> None:
        """Pause what the link holds, and read on what it does not any more."""
        topic, held = self._settings.topic, self._held
        assigned = self._pending.partitions
        changed = [(consumer.pause, held - self._holding), (consumer.resume, self._holding - held)]
        for call, partitions in changed:
            concerned = [TopicPartition(topic, number) for number in partitions & assigned]
            if concerned:
                call(concerned)
        self._holding = held

    def _pause(self, consumer: Consumer) -> None:
        assignment = consumer.assignment()
        if assignment:
            consumer.pause(assignment)
            self._paused = True
        self._new_partitions = False

    def _told(self, number: int | None, offset: int | None, error: KafkaError) -> None:
        """Take what librdkafka says in the place of a record."""
        code = error.code()
        failure: Failure | None = None
        if code in (_PARTITION_EOF, _AUTO_OFFSET_RESET):
            if number is None or number not in self._pending.partitions:
                return  # it was taken away meanwhile
            if code == _PARTITION_EOF:
                self._positions[number] = max(offset or 0, self._positions.get(number, 0))
                return
            failure = self._placer.ask(number, offset, error)
        elif failures.ends_consumer(error):
            failure = failures.classify_consumer(error, self._settings.topic, number)
        if failure is not None:
            self._teller.fail(failure)

    def _heard(self, error: KafkaError) -> None:
        """Take what librdkafka says of the client as a whole."""
        self._settings.options["error_cb"](error)
        # To a reader of partitions nothing else tells that its topic was deleted.
        if self._settings.assigned and error.name() in TOPIC_MISSING:
            self._teller.fail(failures.classify_consumer(error, self._settings.topic))

    def _place(self, consumer: Consumer) -> None:
        for reset in self._placer.place(consumer):
            if reset.wanted < 0:
                # What comes from here on is the group's, also if this member goes before it got any of it.
                self._pending.begin(reset.partition, reset.to)
                continue
            self._teller.report(partial(_report_reset, reset))
            if reset.to < reset.wanted:
                # Not the records that the link knows: their numbers are given a second time.
                self._on_lost(consumer, [TopicPartition(self._settings.topic, reset.partition)])
                self._on_assign(consumer, [TopicPartition(self._settings.topic, reset.partition)])
                self._positions[reset.partition] = reset.to
        self._new_partitions = True

    # ------------------------------------------------------------------ rebalances

    def _on_assign(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        numbers = [partition.partition for partition in partitions]
        self._placer.forget(numbers)
        self._new_partitions = True
        self._teller.tell("assigned", numbers, self._pending.assign(numbers))
        self._assignment_changed()
        self._teller.report(lambda log: log.rebalanced("assigned", numbers))

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        numbers = [partition.partition for partition in partitions]
        self._taken_away.update(numbers)
        self._teller.report(lambda log: log.rebalanced("revoked", numbers))
        if not self._teller.stopping:
            drained = threading.Event()
            self._teller.tell("revoking", numbers, drained.set)
            drained.wait(self._settings.revoke_wait_seconds)
        self._committer.commit_leaving(consumer, numbers, self._teller.revoked(numbers))
        self._placer.forget(numbers)
        self._assignment_changed()

    def _on_lost(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        numbers = [partition.partition for partition in partitions]
        self._taken_away.update(numbers)
        self._pending.end(numbers)
        self._placer.forget(numbers)
        self._teller.tell("lost", numbers)
        self._assignment_changed()
        self._teller.report(lambda log: log.rebalanced("lost", numbers))

    def _assignment_changed(self) -> None:
        self._teller.post(partial(self._ends.assign, self._pending.partitions))

    # ------------------------------------------------------------------ the end

    def _set_stopped(self) -> None:
        self._ends.cancel()
        # The link knows its consumer.
        self._teller.events = None
        if not self.stopped.done():
            self.stopped.set_result(None)


def _report_reset(reset: Reset, log: FeedLog) -> None:
    log.reset(reset.partition, reset.wanted, reset.to)
