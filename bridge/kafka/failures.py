"""Reads a KafkaError into a Failure: what it is called, whether it passes, whether the record is stored.

An error that is not in the tables counts as one that may pass and may have been stored: nothing is
then promised that Kafka did not promise.

Sources: librdkafka's error codes (rdkafka.h), the Kafka protocol guide's error table.
"""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaError, KafkaException

from bridge.model import conditions
from bridge.model.failures import Failure, Stored

QUEUE_FULL: Final = Failure(
    "_QUEUE_FULL",
    KafkaError._QUEUE_FULL,  # noqa: SLF001 - librdkafka's local error codes begin with an underscore
    "the producer's queue is full",
    conditions.INTERNAL_ERROR,
    retriable=True,
    stored=Stored.NO,
)

_PERMANENT: Final[dict[str, str]] = {
    "MSG_SIZE_TOO_LARGE": conditions.LINK_MESSAGE_SIZE_EXCEEDED,
    "RECORD_LIST_TOO_LARGE": conditions.LINK_MESSAGE_SIZE_EXCEEDED,
    "INVALID_MSG_SIZE": conditions.LINK_MESSAGE_SIZE_EXCEEDED,
    "UNKNOWN_TOPIC_OR_PART": conditions.NOT_FOUND,
    "_UNKNOWN_TOPIC": conditions.NOT_FOUND,
    "UNKNOWN_TOPIC_ID": conditions.NOT_FOUND,
    "_UNKNOWN_PARTITION": conditions.INVALID_FIELD,
    "TOPIC_EXCEPTION": conditions.INVALID_FIELD,
    "INVALID_GROUP_ID": conditions.INVALID_FIELD,
    "TOPIC_AUTHORIZATION_FAILED": conditions.UNAUTHORIZED_ACCESS,
    "GROUP_AUTHORIZATION_FAILED": conditions.UNAUTHORIZED_ACCESS,
    "CLUSTER_AUTHORIZATION_FAILED": conditions.UNAUTHORIZED_ACCESS,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": conditions.UNAUTHORIZED_ACCESS,
    "INVALID_RECORD": conditions.PRECONDITION_FAILED,
    "INVALID_TIMESTAMP": conditions.PRECONDITION_FAILED,
    "POLICY_VIOLATION": conditions.PRECONDITION_FAILED,
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": conditions.PRECONDITION_FAILED,
    "UNSUPPORTED_COMPRESSION_TYPE": conditions.PRECONDITION_FAILED,
    "INVALID_REQUIRED_ACKS": conditions.PRECONDITION_FAILED,
    "_INVALID_ARG": conditions.INVALID_FIELD,
    "GROUP_MAX_SIZE_REACHED": conditions.RESOURCE_LIMIT_EXCEEDED,
    "INCONSISTENT_GROUP_PROTOCOL": conditions.PRECONDITION_FAILED,
}
"""Errors that the same message, or the same attach, will meet again, with their AMQP condition."""

_SURELY_NOT_STORED: Final = frozenset(
    {
        "_QUEUE_FULL",
        "_RESOLVE",
        "_AUTHENTICATION",
        "_SSL",
        "_WAIT_CACHE",
        "THROTTLING_QUOTA_EXCEEDED",
        "SASL_AUTHENTICATION_FAILED",
    }
)
"""Errors that may pass and with which a record has never been in a request that a broker took up.

A leader's refusal (NOT_LEADER_FOR_PARTITION, NOT_ENOUGH_REPLICAS ...) is none of them: it is about
the last attempt, and one before it may have been stored.
"""


def classify(error: KafkaError) -> Failure:
    """Read an error."""
    name = error.name()
    permanent = _PERMANENT.get(name)
    return Failure(
        kafka_error=name,
        kafka_code=error.code(),
        description=f"Kafka: {error.str()} ({name})",
        condition=permanent or conditions.INTERNAL_ERROR,
        retriable=permanent is None,
        stored=Stored.NO if permanent is not None or name in _SURELY_NOT_STORED else Stored.PERHAPS,
    )


def classify_report(error: object) -> Failure:
    """Read the error of a delivery report."""
    if isinstance(error, KafkaError):
        return classify(error)
    return classify_exception(TypeError(f"a report gave {type(error).__name__}"))


def classify_exception(error: BaseException) -> Failure:
    """Read an exception that confluent_kafka raised."""
    if isinstance(error, BufferError):
        return QUEUE_FULL
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        return classify(error.args[0])
    return Failure(
        kafka_error=type(error).__name__,
        kafka_code=-1,
        description=f"the record could not be handed to Kafka: {type(error).__name__}",
        condition=conditions.INTERNAL_ERROR,
        retriable=False,
        stored=Stored.NO,
    )
