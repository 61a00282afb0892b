"""What went wrong on the Kafka side, in words that the AMQP side can act on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Stored(Enum):
    """Whether the record that failed may be in Kafka all the same."""

    NO = "no"
    PERHAPS = "perhaps"


class Reach(Enum):
    """How far a failure reaches beyond the one record that met it.

    RECORD: no further.
    BATCH: it was a batch that was refused, for whichever of its records; sent in one of its own, a record
    meets no failure but its own.
    PARTITION: the partition is not there, and perhaps its topic not any more.
    TOPIC: the topic is not there (any more).
    PRODUCER: the producer takes nothing any more and is replaced.
    OWNER: somebody else has taken over the identity (transactional id, group instance id) under which it
    was done.
    """

    RECORD = "record"
    BATCH = "batch"
    PARTITION = "partition"
    TOPIC = "topic"
    PRODUCER = "producer"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Failure:
    """One classified Kafka error.

    `kafka_error` and `kafka_code` are librdkafka's name and number, `condition` is the AMQP symbol
    that describes it to a peer, `retriable` whether the same message may succeed later.
    """

    kafka_error: str
    kafka_code: int
    description: str
    condition: str
    retriable: bool
    stored: Stored
    reach: Reach = Reach.RECORD

    def info(self) -> dict[str, str | int | bool]:
        """Give what programs are told of it, in the info of a condition; no names where Kafka gave none."""
        of_kafka: dict[str, str | int | bool] = {}
        if self.kafka_error:
            of_kafka = {"kafka-error": self.kafka_error, "kafka-code": self.kafka_code}
        return {**of_kafka, "retriable": self.retriable}
