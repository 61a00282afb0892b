from __future__ import annotations

import dataclasses

import pytest

from bridge.model import conditions
from bridge.model.failures import Failure, Stored


def test_a_record_that_failed_is_surely_not_stored_or_perhaps() -> None:
    assert {state.value for state in Stored} == {"no", "perhaps"}


def test_equal_failures_are_equal_and_cannot_be_changed() -> None:
    failure = Failure("X", 1, "it failed", conditions.INTERNAL_ERROR, retriable=True, stored=Stored.PERHAPS)

    assert failure == dataclasses.replace(failure)
    assert failure != dataclasses.replace(failure, stored=Stored.NO)
    with pytest.raises(dataclasses.FrozenInstanceError):
        failure.retriable = False  # type: ignore[misc]  # that it cannot is the test


def test_programs_are_told_kafkas_names_and_whether_to_try_again() -> None:
    failure = Failure("X", 1, "it failed", conditions.INTERNAL_ERROR, retriable=True, stored=Stored.PERHAPS)

    assert failure.info() == {"kafka-error": "X", "kafka-code": 1, "retriable": True}
    assert dataclasses.replace(failure, kafka_error="").info() == {"retriable": True}
