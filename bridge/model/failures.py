"""What went wrong on the Kafka side, in words that the AMQP side can act on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Stored(Enum):
    """Whether the record that failed may be in Kafka all the same."""

    NO = "no"
    PERHAPS = "perhaps"


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
