"""Reads a KafkaError into a Failure: what it is called, whether it passes, whether the record is stored.

What each error means stands in `error_tables`. One that is in none of the tables, since a later Kafka
sent it, counts as one that may pass and may have been stored: nothing is then promised that Kafka did
not promise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from bridge.kafka.error_tables import (
    FATAL,
    FENCED,
    NOT_STORED,
    OF_A_BATCH,
    PARTITION_MISSING,
    PERMANENT,
    TOPIC_MISSING,
)
from bridge.model import conditions
from bridge.model.failures import Failure, Reach, Stored

QUEUE_FULL: Final = Failure(
    "_QUEUE_FULL",
    KafkaError._QUEUE_FULL,  # noqa: SLF001 - librdkafka's local error codes begin with an underscore
    "the producer's queue is full",
    conditions.INTERNAL_ERROR,
    retriable=True,
    stored=Stored.NO,
)
ENDED: Final = "_FATAL"
"""What a producer says that takes nothing any more."""
GIVEN_UP: Final = "_PURGE_QUEUE"
"""What it says of the records that it had not sent."""


def classify(error: KafkaError) -> Failure:
    """Read an error: of a report, of metadata, or one that a consumer gave."""
    name = error.name()
    condition, retriable, stored = _meaning(name)
    return Failure(
        kafka_error=name,
        kafka_code=error.code(),
        description=f"Kafka: {error.str()} ({name})",
        condition=condition,
        retriable=retriable,
        stored=stored,
        reach=Reach.PRODUCER if error.fatal() and name not in FENCED else _REACHES.get(name, Reach.RECORD),
    )


def classify_report(error: object) -> Failure:
    """Read the error of a delivery report."""
    if isinstance(error, KafkaError):
        return classify(error)
    return classify_exception(TypeError(f"a report gave {type(error).__name__}"))


def classify_exception(error: BaseException) -> Failure:
    """Read an exception that confluent_kafka raised.

    Whatever its error means in a report: no record was taken that could be stored.
    """
    if isinstance(error, BufferError):
        return QUEUE_FULL
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        failure = classify(error.args[0])
        # Nor was it in a batch with others.
        reach = Reach.RECORD if failure.reach is Reach.BATCH else failure.reach
        return replace(failure, stored=Stored.NO, reach=reach)
    return Failure(
        kafka_error=type(error).__name__,
        kafka_code=-1,
        description=f"the record could not be handed to Kafka: {type(error).__name__}",
        condition=conditions.INTERNAL_ERROR,
        retriable=False,
        stored=Stored.NO,
    )


def classify_end(name: str, description: str) -> Failure | None:
    """Read the error for which a producer takes nothing any more, by its name and text.

    Gives None where the next producer may well take what this one did not.
    """
    if name not in PERMANENT:
        return None
    return Failure(
        kafka_error=name,
        kafka_code=getattr(KafkaError, name),
        description=f"Kafka: {description} ({name})",
        condition=PERMANENT[name],
        retriable=False,
        stored=Stored.NO,
    )


_REACHES: Final[dict[str, Reach]] = {
    **dict.fromkeys(OF_A_BATCH, Reach.BATCH),
    **dict.fromkeys(PARTITION_MISSING, Reach.PARTITION),
    **dict.fromkeys(TOPIC_MISSING, Reach.TOPIC),
    **dict.fromkeys(FATAL, Reach.PRODUCER),
    **dict.fromkeys(FENCED, Reach.OWNER),
}


def _meaning(name: str) -> tuple[str, bool, Stored]:
    """Give the condition, whether it may pass, and whether the record may be stored."""
    if name in PERMANENT:
        return PERMANENT[name], False, Stored.NO
    if name in FENCED:
        return conditions.LINK_STOLEN, False, Stored.PERHAPS
    return conditions.INTERNAL_ERROR, True, Stored.NO if name in NOT_STORED else Stored.PERHAPS
