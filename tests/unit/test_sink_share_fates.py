from __future__ import annotations

from dataclasses import replace

import pytest
from support.share_rig import REJECTED, SETTLED_WITHOUT_STATE, UNDELIVERABLE_HERE, ShareRig, policy

from bridge.model import conditions
from bridge.model.failures import Failure, Stored
from bridge.model.links import SenderSettleMode
from bridge.model.outcomes import MODIFIED_FAILED, RELEASED, Outcome
from bridge.sink.ports import Reason

UNSETTLED = policy(SenderSettleMode.UNSETTLED)
AWAY = Failure(
    "_MSG_TIMED_OUT", -192, "away", conditions.INTERNAL_ERROR, retriable=True, stored=Stored.PERHAPS
)
GONE = replace(AWAY, kafka_error="UNKNOWN_TOPIC_OR_PART", retriable=False)


def sent(rig: ShareRig, outcome: Outcome) -> None:
    """Deliver one record and let the receiver answer."""
    rig.flow(1)
    rig.poll(1)
    rig.dispose([(rig.peer.delivered[-1], outcome)])


@pytest.mark.parametrize("outcome", [RELEASED, MODIFIED_FAILED, SETTLED_WITHOUT_STATE])
def test_what_comes_back_is_released_after_a_pause_and_settled_at_once(outcome: Outcome) -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    sent(rig, outcome)
    assert rig.peer.settled == rig.peer.delivered
    assert not rig.feed.pending
    assert rig.fire_timers() == [1]
    rig.confirm()
    assert rig.group.available == [0]
    assert rig.log.redeliveries == [(0, outcome)]


def test_the_pause_grows_with_the_attempts() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    pauses = []
    for _ in range(4):
        sent(rig, RELEASED)
        pauses += rig.fire_timers()
        rig.confirm()
    assert pauses == [1, 2, 4, 8]


@pytest.mark.parametrize("outcome", [RELEASED, MODIFIED_FAILED, SETTLED_WITHOUT_STATE])
def test_what_comes_back_for_the_last_time_goes_to_the_dead_letter_topic(outcome: Outcome) -> None:
    rig = ShareRig(UNSETTLED, [b"x"], attempts_max=1)
    sent(rig, outcome)
    assert not rig.feed.pending, "Kafka is told only when the dead-letter topic has it"
    rig.letters.answer()
    rig.confirm()
    assert rig.group.rejected == [0]
    assert [(letter.reason, letter.attempts) for _, letter in rig.log.letters] == [(Reason.MAX_ATTEMPTS, 1)]
    assert rig.peer.settled == rig.peer.delivered


def test_what_comes_back_for_the_last_time_without_dead_letter_topic_is_reported() -> None:
    rig = ShareRig(UNSETTLED, [b"x"], attempts_max=1, with_dead_letters=False)
    sent(rig, RELEASED)
    rig.confirm()
    assert rig.log.skips == [(0, RELEASED)]
    assert rig.group.rejected == [0]


def test_failures_are_limited_by_the_bridge_and_releases_by_kafka_alone() -> None:
    rig = ShareRig(policy(SenderSettleMode.UNSETTLED, attempts_max=2), [b"x"], attempts_max=5)
    sent(rig, MODIFIED_FAILED)
    rig.fire_timers()
    rig.confirm()
    sent(rig, RELEASED)
    assert not rig.letters.asked
    rig.fire_timers()
    rig.confirm()
    sent(rig, MODIFIED_FAILED)
    assert len(rig.letters.asked) == 1


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [(REJECTED, Reason.REJECTED), (UNDELIVERABLE_HERE, Reason.UNDELIVERABLE_HERE)],
)
def test_what_is_refused_goes_to_the_dead_letter_topic_and_is_rejected_then(
    outcome: Outcome, reason: Reason
) -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    sent(rig, replace(outcome, annotations=b"map"))
    assert not rig.feed.pending
    rig.letters.answer()
    rig.confirm()
    assert rig.group.rejected == [0]
    [(_, letter)] = rig.log.letters
    assert (letter.reason, letter.annotations) == (reason, b"map")


def test_what_is_refused_without_dead_letter_topic_is_passed_over() -> None:
    rig = ShareRig(UNSETTLED, [b"x"], with_dead_letters=False)
    sent(rig, REJECTED)
    rig.confirm()
    assert rig.log.skips == [(0, REJECTED)]
    assert rig.group.rejected == [0]


def test_what_is_refused_detaches_the_link_where_that_is_set() -> None:
    rig = ShareRig(policy(SenderSettleMode.UNSETTLED, rejected="detach"), [b"x"] * 2, with_dead_letters=False)
    sent(rig, REJECTED)
    rig.confirm()
    assert rig.peer.condition is not None
    assert rig.peer.condition.name == conditions.PRECONDITION_FAILED
    assert sorted(rig.group.available) == [0, 1]


def test_a_dead_letter_that_may_be_taken_later_is_sent_again() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    sent(rig, REJECTED)
    rig.letters.answer(AWAY)
    assert rig.fire_timers() == [1]
    rig.letters.answer(AWAY)
    assert rig.fire_timers() == [2]
    rig.letters.answer()
    rig.confirm()
    assert rig.group.rejected == [0]
    assert len(rig.log.letter_failures) == 2


def test_a_dead_letter_that_is_not_taken_before_the_lapse_is_released_and_forgotten() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    sent(rig, REJECTED)
    rig.letters.answer(AWAY)
    rig.lapsing()
    rig.confirm()
    assert rig.group.available == [0]
    rig.fire_timers()
    assert not rig.letters.asked


def test_the_dead_letter_of_a_record_that_kafka_would_drop_is_sent_until_it_is_taken() -> None:
    rig = ShareRig(UNSETTLED, [b"x"], attempts_max=1)
    sent(rig, REJECTED)
    rig.letters.answer(AWAY)
    rig.lapsing()
    rig.group.lapse(0)
    rig.detach()
    rig.fire_timers()
    rig.letters.answer(AWAY)
    rig.fire_timers()
    rig.letters.answer()
    rig.confirm()
    assert rig.letters.taken == rig.group.dropped == [0]
    assert rig.log.unrecords == [(0, "reject")]
    assert rig.feed.stopped


def test_a_dead_letter_that_is_never_taken_gives_the_record_back_and_ends_the_link() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    sent(rig, REJECTED)
    rig.letters.answer(GONE)
    rig.confirm()
    assert rig.peer.condition is not None
    assert rig.peer.condition.info["kafka-error"] == GONE.kafka_error
    assert rig.group.available == [0]
    assert rig.feed.stopped


def test_the_last_dead_letter_that_is_never_taken_is_reported() -> None:
    rig = ShareRig(UNSETTLED, [b"x"], attempts_max=1)
    sent(rig, REJECTED)
    rig.letters.answer(GONE)
    rig.confirm()
    assert rig.log.skips == [(0, REJECTED)]
    assert rig.group.rejected == [0]


def test_a_dead_letter_that_fails_after_the_end_gives_the_record_back() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    sent(rig, REJECTED)
    rig.detach()
    assert not rig.feed.stopped
    rig.letters.answer(AWAY)
    rig.confirm()
    assert rig.group.available == [0]
    assert rig.feed.stopped


def test_a_pause_that_outlives_the_lapse_changes_nothing() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    sent(rig, RELEASED)
    rig.lapsing()
    rig.confirm()
    rig.fire_timers()
    assert not rig.feed.pending
    assert rig.group.available == [0]
