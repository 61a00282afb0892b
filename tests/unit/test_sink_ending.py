from __future__ import annotations

from dataclasses import replace

from support.sink_rig import NOT_FOUND

from bridge.model import conditions
from bridge.model.failures import Reach
from bridge.sink import ending

ABOUT = {"topic": "orders", "group": "reporting"}


def test_a_consumer_that_cannot_go_on_says_why() -> None:
    condition = ending.consumer_failed(NOT_FOUND, ABOUT)

    assert condition.name == conditions.NOT_FOUND
    assert condition.description == "no such topic"
    assert condition.info == {
        **ABOUT,
        "kafka-error": "UNKNOWN_TOPIC_OR_PART",
        "kafka-code": 3,
        "retriable": False,
    }


def test_a_consumer_whose_identity_another_one_has_is_stolen() -> None:
    condition = ending.consumer_failed(replace(NOT_FOUND, reach=Reach.OWNER), ABOUT)

    assert condition.name == conditions.LINK_STOLEN


def test_a_refusal_says_which_record_it_was() -> None:
    condition = ending.refused(3, 7, ABOUT)

    assert condition.name == conditions.PRECONDITION_FAILED
    assert "partition 3, offset 7 was refused" in condition.description
    assert condition.info == {**ABOUT, "partition": 3, "offset": 7}


def test_a_message_that_is_too_large_says_what_there_was_room_for() -> None:
    condition = ending.too_large(300, 200)
    assert condition.name == conditions.LINK_MESSAGE_SIZE_EXCEEDED
    assert "300 bytes" in condition.description
    assert "200 of max-message-size" in condition.description

    told = ending.too_large_to_go_on(condition, 3, 7, ABOUT)
    assert told.name == conditions.LINK_MESSAGE_SIZE_EXCEEDED
    assert "partition 3, offset 7: a message of 300 bytes" in told.description
    assert told.info == {**ABOUT, "partition": 3, "offset": 7}


def test_a_dead_letter_topic_that_takes_nothing_says_why() -> None:
    condition = ending.put_away_failed(NOT_FOUND, 3, 7, ABOUT)

    assert condition.name == conditions.PRECONDITION_FAILED
    assert "the dead-letter topic: no such topic" in condition.description
    assert condition.info == {
        **ABOUT,
        "partition": 3,
        "offset": 7,
        "kafka-error": "UNKNOWN_TOPIC_OR_PART",
        "kafka-code": 3,
        "retriable": False,
    }
