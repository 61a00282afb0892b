"""Topics of the benchmarks: made for a case, filled for its receivers, and deleted soon after.

Records of typical messages are what the bridge itself would have written: its native mapping makes them.
"""

from __future__ import annotations

import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.load.messages import DIGITS, template
from bench.programs import BenchError
from bridge.mapping.options import MappingOptions
from bridge.mapping.profiles import DEFAULT, PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from confluent_kafka import Message

    from bench.cases import Shape
    from bench.load.messages import Template

KafkaHeaders: TypeAlias = list[tuple[str, str | bytes | None]]

PARTITIONS: Final = 4
MESSAGE_MAX_BYTES: Final = 4 * 1024 * 1024
"""Of the topics: Kafka's default would refuse a body of 1 MiB for its header's sake."""
REQUEST_SECONDS: Final = 30.0
FLUSH_SECONDS: Final = 120.0
DISTINCT: Final = 1000
"""So many different typical messages are made, and used in turns: headers are the costly part."""
QUEUE_BYTES: Final = 256 * 1024
_QUIET: Final = {"log_level": 0}


class Topics:
    """Makes and deletes topics of one cluster. Raises BenchError where Kafka refuses."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, **_QUIET})

    def create(self, partitions: int = PARTITIONS) -> str:
        """Make a topic with a name that none had before; gives the name."""
        name = f"bench-{uuid.uuid4().hex[:12]}"
        config = {"max.message.bytes": str(MESSAGE_MAX_BYTES)}
        try:
            self._admin.create_topics([NewTopic(name, partitions, config=config)])[name].result(
                REQUEST_SECONDS
            )
        except (KafkaException, TimeoutError) as error:
            raise BenchError(f"Kafka made no topic {name}: {error}") from error
        return name

    def delete(self, name: str) -> None:
        """Delete a topic; a failure is of no consequence."""
        with suppress(KafkaException, TimeoutError):
            self._admin.delete_topics([name])[name].result(REQUEST_SECONDS)

    @contextmanager
    def temporary(self, partitions: int = PARTITIONS) -> Iterator[str]:
        """Make a topic for the length of the block."""
        name = self.create(partitions)
        try:
            yield name
        finally:
            self.delete(name)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Delete the records before an offset, as retention does."""
        wanted = [TopicPartition(topic, partition, before)]
        try:
            for answer in self._admin.delete_records(wanted).values():
                answer.result(REQUEST_SECONDS)
        except (KafkaException, TimeoutError) as error:
            raise BenchError(f"Kafka did not delete records of {topic}: {error}") from error

    def fill(self, topic: str, count: int, size: int, shape: Shape) -> None:
        """Append records with bodies of so many bytes; each begins with its number, in 12 digits."""
        failures: list[KafkaError] = []

        def reported(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                failures.append(error)

        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap_servers,
                "acks": "1",
                "linger.ms": 20,
                "batch.size": QUEUE_BYTES,
                "message.max.bytes": MESSAGE_MAX_BYTES,
                "queue.buffering.max.messages": 200_000,
                "queue.buffering.max.kbytes": QUEUE_BYTES,
                # A report for each record would cost more than the record.
                "delivery.report.only.error": True,
                **_QUIET,
            }
        )
        headers: Sequence[KafkaHeaders | None] = typical_headers(size) if shape == "typical" else [None]
        rest = b"x" * (size - DIGITS)
        for number in range(count):
            value = b"%012d" % number + rest
            while True:
                try:
                    producer.produce(
                        topic, value, headers=headers[number % len(headers)], on_delivery=reported
                    )
                except BufferError:
                    producer.poll(0.05)
                    continue
                break
        left = producer.flush(FLUSH_SECONDS)
        if failures or left:
            raise BenchError(f"Kafka did not take the records of {topic}: {failures[:1] or 'in time'}")


def typical_headers(size: int) -> list[KafkaHeaders | None]:
    """Give the headers that the bridge writes for typical messages, as they come one after another."""
    to_record = PROFILES[DEFAULT].message_to_record(MappingOptions())
    made = template("typical", size)
    # confluent_kafka's type is wider, and a list of it does not take the narrower one.
    return [cast("KafkaHeaders | None", to_record(message(made, number))[2]) for number in range(DISTINCT)]


def message(made: Template, number: int) -> bytes:
    """Fill in a template for the message of one number."""
    encoded = bytearray(made.encoded)
    for field in made.fields:
        place = np.ndarray((1,), field.dtype, encoded, field.at)
        place[:] = field.values(np.array([number]))
    return bytes(encoded)
