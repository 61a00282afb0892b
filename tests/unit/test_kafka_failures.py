from __future__ import annotations

from typing import Final

import pytest
from confluent_kafka import KafkaError, KafkaException

from bridge.kafka import failures
from bridge.model import conditions
from bridge.model.failures import Stored

CODES: Final = sorted(
    {code for name, code in vars(KafkaError).items() if not name.startswith("__") and isinstance(code, int)}
)
"""Every error that librdkafka knows, its own (negative) and the brokers'."""

CONDITIONS: Final = {
    value for value in vars(conditions).values() if isinstance(value, str) and value.startswith("amqp:")
}

PERMANENT: Final = {
    "UNKNOWN_TOPIC_OR_PART": "amqp:not-found",
    "_UNKNOWN_TOPIC": "amqp:not-found",
    "TOPIC_AUTHORIZATION_FAILED": "amqp:unauthorized-access",
    "GROUP_AUTHORIZATION_FAILED": "amqp:unauthorized-access",
    "CLUSTER_AUTHORIZATION_FAILED": "amqp:unauthorized-access",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "amqp:unauthorized-access",
    "MSG_SIZE_TOO_LARGE": "amqp:link:message-size-exceeded",
    "RECORD_LIST_TOO_LARGE": "amqp:link:message-size-exceeded",
    "_UNKNOWN_PARTITION": "amqp:invalid-field",
    "TOPIC_EXCEPTION": "amqp:invalid-field",
    "INVALID_RECORD": "amqp:precondition-failed",
    "INVALID_TIMESTAMP": "amqp:precondition-failed",
    "POLICY_VIOLATION": "amqp:precondition-failed",
}
PERHAPS_STORED: Final = [
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "NOT_LEADER_FOR_PARTITION",
    "LEADER_NOT_AVAILABLE",
    "NETWORK_EXCEPTION",
    "REQUEST_TIMED_OUT",
    "_MSG_TIMED_OUT",
    "_TIMED_OUT",
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "KAFKA_STORAGE_ERROR",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "INVALID_PRODUCER_EPOCH",
    "_FATAL",
    "_PURGE_INFLIGHT",
    # A batch that waits to be sent again is purged by the same name.
    "_PURGE_QUEUE",
]
SURELY_NOT_STORED: Final = ["_QUEUE_FULL", "THROTTLING_QUOTA_EXCEEDED"]


def error(name: str) -> KafkaError:
    code: int = getattr(KafkaError, name)
    return KafkaError(code)


def test_the_enumeration_was_found() -> None:
    assert len(CODES) > 150
    assert {KafkaError._ALL_BROKERS_DOWN, KafkaError.MSG_SIZE_TOO_LARGE} <= set(CODES)  # noqa: SLF001 - librdkafka's names


@pytest.mark.parametrize("code", CODES, ids=lambda code: KafkaError(code).name())
def test_every_error_is_read(code: int) -> None:
    failure = failures.classify(KafkaError(code))

    assert failure.kafka_code == code
    assert failure.kafka_error == KafkaError(code).name()
    assert failure.kafka_error in failure.description
    assert failure.condition in CONDITIONS
    # What will not pass has a reason that its peer can act on; what may pass has the one
    # condition that clients retry, and no record is said to be absent that might be there.
    assert failure.retriable == (failure.condition == conditions.INTERNAL_ERROR)
    if not failure.retriable:
        assert failure.stored is Stored.NO


@pytest.mark.parametrize(("name", "condition"), PERMANENT.items())
def test_what_will_not_pass_says_why(name: str, condition: str) -> None:
    failure = failures.classify(error(name))

    assert (failure.condition, failure.retriable, failure.stored) == (condition, False, Stored.NO)


@pytest.mark.parametrize("name", PERHAPS_STORED)
def test_what_may_pass_may_be_stored(name: str) -> None:
    failure = failures.classify(error(name))

    assert (failure.retriable, failure.stored) == (True, Stored.PERHAPS)


@pytest.mark.parametrize("name", SURELY_NOT_STORED)
def test_what_never_left_is_not_stored(name: str) -> None:
    failure = failures.classify(error(name))

    assert (failure.retriable, failure.stored) == (True, Stored.NO)


def test_the_tables_name_errors_that_exist() -> None:
    known = {KafkaError(code).name() for code in CODES}

    assert set(failures._PERMANENT) <= known  # noqa: SLF001 - a misspelt name would never be met
    assert known >= failures._SURELY_NOT_STORED  # noqa: SLF001 - the same
    assert failures._SURELY_NOT_STORED.isdisjoint(failures._PERMANENT)  # noqa: SLF001 - the same


def test_a_full_queue_is_told_by_an_exception() -> None:
    assert failures.classify_exception(BufferError("Local: Queue full")) == failures.QUEUE_FULL
    assert failures.QUEUE_FULL.kafka_error == error("_QUEUE_FULL").name()
    assert failures.QUEUE_FULL.stored is Stored.NO


def test_an_exception_with_an_error_is_that_error() -> None:
    raised = KafkaException(error("_UNKNOWN_PARTITION"))

    assert failures.classify_exception(raised) == failures.classify(error("_UNKNOWN_PARTITION"))


@pytest.mark.parametrize("raised", [TypeError("bad header"), KafkaException(), KafkaException("text")])
def test_another_exception_is_a_defect_that_no_repetition_cures(raised: Exception) -> None:
    failure = failures.classify_exception(raised)

    assert failure.kafka_error == type(raised).__name__
    assert (failure.condition, failure.retriable, failure.stored) == (
        conditions.INTERNAL_ERROR,
        False,
        Stored.NO,
    )
    assert "bad header" not in failure.description  # it could quote a message


def test_a_report_has_an_error_or_is_a_defect() -> None:
    assert failures.classify_report(error("_MSG_TIMED_OUT")) == failures.classify(error("_MSG_TIMED_OUT"))
    assert not failures.classify_report("no error at all").retriable
