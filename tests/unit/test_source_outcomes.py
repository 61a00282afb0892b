from __future__ import annotations

import pytest
from support.source_port import NO_LEADER, TIMED_OUT, TOO_LARGE

from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.failures import Failure, Stored
from bridge.model.outcomes import MODIFIED_FAILED, RELEASED, DeliveryState
from bridge.source import outcomes
from bridge.source.outcomes import Place

NEITHER: frozenset[DeliveryState] = frozenset()
PLACE = Place("orders", "connection 1, link sender", 3)
BOTH = frozenset({DeliveryState.RELEASED, DeliveryState.MODIFIED})


def test_the_outcomes_of_a_jms_client_are_understood() -> None:
    symbols = {"amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list"}

    assert outcomes.understood(frozenset(symbols)) == BOTH


def test_bare_names_are_understood() -> None:
    assert outcomes.understood(frozenset({"amqp:released", "amqp:modified"})) == BOTH


def test_a_source_that_lists_nothing_or_other_symbols_understands_neither() -> None:
    assert outcomes.understood(frozenset()) == NEITHER
    assert outcomes.understood(frozenset({"amqp:accepted:list", "released"})) == NEITHER


def test_a_record_that_is_surely_not_stored_is_released() -> None:
    assert outcomes.for_failure(NO_LEADER, BOTH, PLACE) == RELEASED


def test_a_record_that_may_be_stored_is_modified_as_failed() -> None:
    outcome = outcomes.for_failure(TIMED_OUT, BOTH, PLACE)

    assert outcome == MODIFIED_FAILED
    assert outcome.delivery_failed
    assert not outcome.undeliverable_here


@pytest.mark.parametrize(
    ("failure", "understood"),
    [
        (NO_LEADER, NEITHER),
        (NO_LEADER, frozenset({DeliveryState.MODIFIED})),
        (TIMED_OUT, NEITHER),
        (TIMED_OUT, frozenset({DeliveryState.RELEASED})),
    ],
)
def test_a_peer_that_does_not_list_the_outcome_gets_rejected_and_may_retry(
    failure: Failure, understood: frozenset[DeliveryState]
) -> None:
    outcome = outcomes.for_failure(failure, understood, PLACE)

    assert outcome.state is DeliveryState.REJECTED
    assert outcome.condition is not None
    assert outcome.condition.name == conditions.INTERNAL_ERROR
    assert outcome.condition.info["retriable"] is True


def test_a_failure_that_may_pass_never_has_a_condition_that_clients_do_not_retry() -> None:
    throttled = Failure(
        "THROTTLING_QUOTA_EXCEEDED",
        89,
        "over the quota",
        conditions.RESOURCE_LIMIT_EXCEEDED,
        retriable=True,
        stored=Stored.NO,
    )

    outcome = outcomes.for_failure(throttled, NEITHER, PLACE)

    assert outcome.condition is not None
    assert outcome.condition.name == conditions.INTERNAL_ERROR


@pytest.mark.parametrize("understood", [NEITHER, BOTH])
def test_a_failure_that_will_not_pass_is_rejected_with_its_own_condition(
    understood: frozenset[DeliveryState],
) -> None:
    outcome = outcomes.for_failure(TOO_LARGE, understood, PLACE)

    assert outcome.state is DeliveryState.REJECTED
    assert outcome.condition == Condition(
        conditions.LINK_MESSAGE_SIZE_EXCEEDED,
        "the record is too large",
        {
            "kafka-error": "MSG_SIZE_TOO_LARGE",
            "kafka-code": 10,
            "retriable": False,
            "topic": "orders",
            "reference": "connection 1, link sender",
            "partition": 3,
        },
        "io.strimzi:error-to-kafka",
    )


def test_rejected_carries_its_condition() -> None:
    condition = Condition(conditions.DECODE_ERROR, "not AMQP")

    outcome = outcomes.rejected(condition)

    assert outcome.state is DeliveryState.REJECTED
    assert outcome.condition == condition
