from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from confluent_kafka import KafkaError, KafkaException

from bridge.kafka import error_tables, failures
from bridge.model import conditions
from bridge.model.failures import Reach, Stored

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
    "_UNSUPPORTED_FEATURE": "amqp:not-implemented",
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
    "_PURGE_INFLIGHT",
    # A batch that waits to be sent again is purged by the same name.
    "_PURGE_QUEUE",
    # What is in flight on a connection that fails gets the name of that failure.
    "_SSL",
    "_AUTHENTICATION",
    # What a later Kafka will say
    "UNKNOWN",
]
SURELY_NOT_STORED: Final = ["_QUEUE_FULL", "_INVALID_DIFFERENT_RECORD", "THROTTLING_QUOTA_EXCEEDED"]
FATAL: Final = ["OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH", "_FATAL", "_GAPLESS_GUARANTEE"]
FENCED: Final = ["_FENCED", "PRODUCER_FENCED", "FENCED_INSTANCE_ID"]
TABLES: Final = [
    frozenset(error_tables.PERMANENT),
    error_tables.FENCED,
    error_tables.FATAL,
    error_tables.NOT_STORED,
    error_tables.PERHAPS_STORED,
    error_tables.OF_OTHERS,
]


def error(name: str) -> KafkaError:
    code: int = getattr(KafkaError, name)
    return KafkaError(code)


def test_the_enumeration_was_found() -> None:
    assert len(CODES) > 150
    assert {KafkaError._ALL_BROKERS_DOWN, KafkaError.MSG_SIZE_TOO_LARGE} <= set(CODES)  # noqa: SLF001 - librdkafka's names


@pytest.mark.parametrize("code", CODES, ids=lambda code: KafkaError(code).name())
def test_every_error_is_read_on_purpose(code: int) -> None:
    name = KafkaError(code).name()

    assert sum(name in table for table in TABLES) == 1, f"{name} belongs in one of the tables"


@pytest.mark.parametrize("code", CODES, ids=lambda code: KafkaError(code).name())
def test_every_error_can_be_told(code: int) -> None:
    failure = failures.classify(KafkaError(code))

    assert failure.kafka_code == code
    assert failure.kafka_error == KafkaError(code).name()
    assert failure.kafka_error in failure.description
    assert failure.condition in CONDITIONS
    # What will not pass has a reason that its peer can act on; what may pass has the one
    # condition that clients retry, and no record is said to be absent that might be there.
    assert failure.retriable == (failure.condition == conditions.INTERNAL_ERROR)
    if not failure.retriable and failure.reach is not Reach.OWNER:
        assert failure.stored is Stored.NO


def test_an_error_that_nobody_knows_yet_promises_nothing() -> None:
    failure = failures.classify(KafkaError(9999))

    assert (failure.condition, failure.retriable, failure.stored, failure.reach) == (
        conditions.INTERNAL_ERROR,
        True,
        Stored.PERHAPS,
        Reach.RECORD,
    )


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


@pytest.mark.parametrize("name", FATAL)
def test_a_producer_that_lost_track_is_told_from_its_records(name: str) -> None:
    failure = failures.classify(error(name))

    assert (failure.retriable, failure.stored, failure.reach) == (True, Stored.PERHAPS, Reach.PRODUCER)


def test_any_error_that_librdkafka_calls_fatal_ends_the_producer() -> None:
    fatal = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no idempotent writes", fatal=True)

    assert failures.classify(fatal).reach is Reach.PRODUCER
    assert failures.classify(error("CLUSTER_AUTHORIZATION_FAILED")).reach is Reach.RECORD


@pytest.mark.parametrize("name", FENCED)
def test_who_was_replaced_is_told_so(name: str) -> None:
    failure = failures.classify(error(name))

    assert (failure.condition, failure.retriable, failure.reach) == ("amqp:link:stolen", False, Reach.OWNER)


@pytest.mark.parametrize(
    ("name", "reach"),
    [
        ("UNKNOWN_TOPIC_OR_PART", Reach.TOPIC),
        ("_UNKNOWN_TOPIC", Reach.TOPIC),
        ("UNKNOWN_TOPIC_ID", Reach.TOPIC),
        ("_UNKNOWN_PARTITION", Reach.PARTITION),
        ("INVALID_RECORD", Reach.BATCH),
        ("INVALID_TIMESTAMP", Reach.BATCH),
        ("MSG_SIZE_TOO_LARGE", Reach.BATCH),
        ("_INVALID_DIFFERENT_RECORD", Reach.BATCH),
        ("TOPIC_AUTHORIZATION_FAILED", Reach.RECORD),
        ("_MSG_TIMED_OUT", Reach.RECORD),
    ],
)
def test_who_else_meets_a_failure_can_be_told(name: str, reach: Reach) -> None:
    assert failures.classify(error(name)).reach is reach


def test_a_record_that_was_not_taken_has_no_neighbours() -> None:
    too_large = failures.classify_exception(KafkaException(error("MSG_SIZE_TOO_LARGE")))

    assert too_large.reach is Reach.RECORD
    assert failures.classify_exception(KafkaException(error("_UNKNOWN_TOPIC"))).reach is Reach.TOPIC


def test_the_tables_name_errors_that_exist() -> None:
    known = {KafkaError(code).name() for code in CODES}

    for table in [
        *TABLES,
        error_tables.TOPIC_MISSING,
        error_tables.PARTITION_MISSING,
        error_tables.OF_A_BATCH,
    ]:
        assert table <= known  # a misspelt name would never be met
    assert error_tables.PERMANENT.keys() >= error_tables.TOPIC_MISSING | error_tables.PARTITION_MISSING


def test_a_full_queue_is_told_by_an_exception() -> None:
    assert failures.classify_exception(BufferError("Local: Queue full")) == failures.QUEUE_FULL
    assert failures.QUEUE_FULL.kafka_error == error("_QUEUE_FULL").name()
    assert failures.QUEUE_FULL.stored is Stored.NO


def test_an_exception_with_an_error_is_that_error() -> None:
    raised = KafkaException(error("_UNKNOWN_PARTITION"))

    assert failures.classify_exception(raised) == failures.classify(error("_UNKNOWN_PARTITION"))


@pytest.mark.parametrize("name", ["_FATAL", "_STATE", "_TIMED_OUT"])
def test_what_raised_an_exception_was_not_taken(name: str) -> None:
    in_report = failures.classify(error(name))

    assert in_report.stored is Stored.PERHAPS
    assert failures.classify_exception(KafkaException(error(name))) == replace(in_report, stored=Stored.NO)


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


def test_why_a_producer_ended_is_told_only_if_it_is_for_good() -> None:
    denied = failures.classify_end("CLUSTER_AUTHORIZATION_FAILED", "no idempotent writes")

    assert denied is not None
    assert (denied.condition, denied.retriable, denied.stored) == (
        conditions.UNAUTHORIZED_ACCESS,
        False,
        Stored.NO,
    )
    assert denied.kafka_code == KafkaError.CLUSTER_AUTHORIZATION_FAILED
    assert "no idempotent writes" in denied.description
    assert failures.classify_end("OUT_OF_ORDER_SEQUENCE_NUMBER", "lost track") is None


def test_a_report_has_an_error_or_is_a_defect() -> None:
    assert failures.classify_report(error("_MSG_TIMED_OUT")) == failures.classify(error("_MSG_TIMED_OUT"))
    assert not failures.classify_report("no error at all").retriable


@pytest.mark.parametrize(
    "name", ["UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"]
)
def test_what_a_consumer_misses_was_deleted(name: str) -> None:
    told = failures.classify_consumer(error(name), "orders", 3)
    raised = failures.classify_consumer_exception(KafkaException(error(name)), "orders")

    assert told.condition == raised.condition == conditions.RESOURCE_DELETED
    assert not told.retriable
    assert "partition 3 of 'orders':" in told.description
    assert "topic 'orders':" in raised.description


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("TOPIC_AUTHORIZATION_FAILED", True),
        ("GROUP_AUTHORIZATION_FAILED", True),
        ("UNKNOWN_TOPIC_OR_PART", True),
        ("FENCED_INSTANCE_ID", True),
        ("_FATAL", True),
        ("_TRANSPORT", False),
        ("_ALL_BROKERS_DOWN", False),
        ("_MAX_POLL_EXCEEDED", False),
        ("LEADER_NOT_AVAILABLE", False),
        ("UNSTABLE_OFFSET_COMMIT", False),
    ],
)
def test_a_consumer_goes_on_after_what_may_pass(name: str, *, ends: bool) -> None:
    assert failures.ends_consumer(error(name)) is ends


@pytest.mark.parametrize(
    ("name", "condition", "reach"),
    [
        ("FENCED_INSTANCE_ID", conditions.LINK_STOLEN, Reach.OWNER),
        ("UNRELEASED_INSTANCE_ID", conditions.INTERNAL_ERROR, Reach.RECORD),
        ("GROUP_AUTHORIZATION_FAILED", conditions.UNAUTHORIZED_ACCESS, Reach.RECORD),
        ("_FATAL", conditions.INTERNAL_ERROR, Reach.PRODUCER),
    ],
)
def test_why_a_consumer_takes_part_no_more_is_read_from_what_it_says(
    name: str, condition: str, reach: Reach
) -> None:
    fatal = KafkaError(KafkaError._FATAL, f"Fatal error: {error(name).str()}: because")  # noqa: SLF001 - librdkafka's name
    failure = failures.classify_consumer(fatal, "orders")

    assert (failure.kafka_error, failure.condition, failure.reach) == (name, condition, reach)
    assert "because" in failure.description


def test_a_defect_of_a_consumer_is_not_called_one_of_a_record() -> None:
    failure = failures.classify_consumer_exception(TypeError("with a key"), "orders")

    assert failure.kafka_code == failures.DEFECT_CODE
    assert "record" not in failure.description
    assert "with a key" not in failure.description
