"""What stands at both ends of a soak of receivers: a producer of records, and Kafka's word on offsets.

Each is a thread of its own, ends with its `with` statement, and raises there what it met.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition
from support.journal import place_of, value_of

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from support.journal import Journal

FLUSH_SECONDS: Final = 120.0
POLL_SECONDS: Final = 0.2
REQUEST_SECONDS: Final = 2.0
PAUSE_SECONDS: Final = 0.01
PORTION: Final = 500


class Worker:
    """A thread that works until it is done or the `with` statement is over."""

    def __init__(self, name: str) -> None:
        self._stopping = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._guarded, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stopping = True
        self._thread.join()
        if kind is None:
            self.check()

    def check(self) -> None:
        """Raise what the thread has met, if anything."""
        if self._failure is not None:
            raise self._failure

    def work(self) -> None:
        """Do it."""
        raise NotImplementedError

    def _guarded(self) -> None:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001 - the thread that waits for this one raises it
            self._failure = error


class Production(Worker):
    """A plain Kafka producer that writes the records of a journal, never far ahead of the receivers.

    It is idempotent, so that record `n` of a partition has the offset `n`, whatever brokers do meanwhile.
    """

    def __init__(self, bootstrap_servers: str, topic: str, journal: Journal, *, ahead: int) -> None:
        super().__init__("production")
        self._topic = topic
        self._journal = journal
        self._ahead = ahead
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self.produced = 0
        """How many were handed to the producer."""
        self.stored = 0
        """How many all brokers have."""

    @property
    def is_done(self) -> bool:
        """Whether all are stored."""
        self.check()
        return self.stored == self._journal.total

    def work(self) -> None:
        journal, producer = self._journal, self._producer
        for number in range(journal.total):
            while not self._stopping and self.produced - journal.delivered.records > self._ahead:
                producer.poll(PAUSE_SECONDS)
                time.sleep(PAUSE_SECONDS)
            if self._stopping:
                return
            offset, partition = divmod(number, journal.partitions)
            producer.produce(
                self._topic, value_of(partition, offset), partition=partition, on_delivery=self._delivered
            )
            self.produced += 1
            if number % PORTION == 0:
                producer.poll(0)
        while self.stored < journal.total and not self._stopping:
            producer.poll(PAUSE_SECONDS)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        place = message.partition(), message.offset()
        if place != place_of(message.value() or b""):
            raise AssertionError(f"a record that says {message.value()!r} is stored at {place}")
        self.stored += 1


class CommittedWatch(Worker):
    """Asks Kafka all along what a group has committed: no record is passed that nobody accepted.

    What Kafka says is compared with what was accepted by then: an answer can only be behind.
    """

    def __init__(self, bootstrap_servers: str, group: str, topic: str, journal: Journal) -> None:
        super().__init__("committed")
        self._journal = journal
        self._partitions = [TopicPartition(topic, number) for number in range(journal.partitions)]
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": group,  # asks only, and never joins
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self.committed = [0] * journal.partitions
        self.answers = 0
        """How often Kafka has answered."""
        self.passed: list[str] = []
        """What must not be: offsets that passed a record, or went back."""

    def is_done(self) -> bool:
        """Tell whether all records are committed. Raises what the thread has met."""
        self.check()
        return min(self.committed) >= self._journal.records

    def work(self) -> None:
        try:
            while not self._stopping:
                self._ask()
                time.sleep(POLL_SECONDS)
        finally:
            self._consumer.close()

    def _ask(self) -> None:
        try:
            answer = self._consumer.committed(self._partitions, timeout=REQUEST_SECONDS)
        except KafkaException:
            return  # the broker is away that knows
        if any(each.error is not None for each in answer):
            return
        self.answers += 1
        for each in answer:
            number, offset = each.partition, max(each.offset, 0)
            accepted = self._journal.accepted.frontier(number)
            if offset > accepted:
                self.passed.append(f"partition {number}: {offset} is committed, {accepted} is not accepted")
            if offset < self.committed[number]:
                self.passed.append(
                    f"partition {number}: {offset} is committed after {self.committed[number]}"
                )
            self.committed[number] = offset


class DeadLetterWatch(Worker):
    """Reads a dead-letter topic all along, and marks the records that are there."""

    def __init__(self, bootstrap_servers: str, topic: str, journal: Journal) -> None:
        super().__init__("dead letters")
        self._journal = journal
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "dead-letters",  # required, though nothing is ever committed
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.assign(
            [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(journal.partitions)]
        )

    def is_done(self) -> bool:
        """Tell whether each record was accepted, or is here. Raises what the thread has met."""
        self.check()
        journal = self._journal
        if journal.accepted.records + journal.buried.records < journal.total:
            return False
        return journal.accepted.either(journal.buried) == journal.total

    def work(self) -> None:
        try:
            while not self._stopping:
                self._read()
            self._read()
        finally:
            self._consumer.close()

    def _read(self) -> None:
        for message in self._consumer.consume(PORTION, POLL_SECONDS):
            if message.error() is None:
                self._journal.buried.add(*place_of(message.value() or b""))
