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
"""What a producer says that takes nothing any more, and a consumer that is in its group no more."""
GIVEN_UP: Final = "_PURGE_QUEUE"
"""What a producer says of the records that it had not sent."""
DEFECT_CODE: Final = -1
"""In the place of librdkafka's number: the error is not one of Kafka's."""


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


def classify_consumer(error: KafkaError, topic: str, partition: int | None = None) -> Failure:
    """Read an error that a consumer met in a topic that was there when its link was attached.

    If it is not there now it was deleted.
    """
    return _in_topic(classify(_unveiled(error)), topic, partition)


def ends_consumer(error: KafkaError) -> bool:
    """Tell whether a consumer cannot go on after an error that it gave in the place of a record."""
    return error.fatal() or error.name() == ENDED or not classify(error).retriable


def _unveiled(error: KafkaError) -> KafkaError:
    """Give the error for which a consumer takes part no more: it says so in words alone."""
    if error.name() == ENDED:
        for code in _REASONS_TO_END:
            if KafkaError(code).str() in error.str():
                return KafkaError(code, error.str())
    return error


def classify_consumer_exception(error: BaseException, topic: str) -> Failure:
    """Read an exception that a consumer raised; like `classify_consumer`."""
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        error = KafkaException(_unveiled(error.args[0]))
    failure = classify_exception(error)
    if failure.kafka_code == DEFECT_CODE:
        failure = replace(failure, description=f"the consumer cannot go on: {failure.kafka_error}")
    return _in_topic(failure, topic, None)


def _in_topic(failure: Failure, topic: str, partition: int | None) -> Failure:
    place = (
        f"topic {topic!r}" if partition is None or partition < 0 else f"partition {partition} of {topic!r}"
    )
    gone = failure.reach in (Reach.TOPIC, Reach.PARTITION)
    return replace(
        failure,
        description=f"{place}: {failure.description}",
        condition=conditions.RESOURCE_DELETED if gone else failure.condition,
        # It is not about a record, and nothing was to be stored.
        stored=Stored.NO,
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
        kafka_code=DEFECT_CODE,
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


_REASONS_TO_END: Final = tuple(
    getattr(KafkaError, name) for name in (*PERMANENT, *FENCED, "UNRELEASED_INSTANCE_ID")
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
