from __future__ import annotations

from support.share_rig import EXPIRED, LAPSED, ShareRig, policy

from bridge.model import conditions
from bridge.model.failures import Failure, Stored
from bridge.model.links import SenderSettleMode
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED
from bridge.sink.ports import Reason
from bridge.sink.share_link import LATE_DELIVERIES_MAX

UNSETTLED = policy(SenderSettleMode.UNSETTLED)
SETTLED = policy(SenderSettleMode.SETTLED)


def offsets(rig: ShareRig) -> list[int]:
    return [delivery.offset for delivery in rig.peer.delivered]


def test_nothing_is_asked_for_without_credit() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * 3)
    assert rig.feed.wanted == 0
    rig.flow(2)
    assert rig.feed.wanted == 2


def test_a_batch_beyond_credit_waits_and_no_other_is_wanted() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * 3)
    rig.flow(2)
    rig.poll()
    assert offsets(rig) == [0, 1]
    assert rig.feed.wanted == 0
    rig.flow(2)
    assert offsets(rig) == [0, 1, 2]
    assert rig.feed.wanted == 1


def test_an_accepted_delivery_is_settled_when_kafka_has_recorded_it() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    rig.flow(1)
    rig.poll()
    rig.dispose([(rig.peer.delivered[0], ACCEPTED)])
    assert not rig.peer.settled
    rig.confirm()
    assert rig.peer.settled == rig.peer.delivered
    assert not rig.peer.overruled
    assert rig.group.accepted == [0]
    assert rig.link.accepted_count == 1


def test_what_kafka_records_of_one_partition_alone_is_settled_so() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * 2)
    rig.flow(2)
    rig.poll()
    for delivery in rig.peer.delivered:
        rig.dispose([(delivery, ACCEPTED)])
    first, second = rig.peer.delivered
    (ticket, _), (other, _) = rig.feed.pending
    rig.link.acknowledged(other, {})
    rig.link.acknowledged(ticket, {0: LAPSED})
    assert rig.peer.settled == [second, first]
    assert rig.peer.overruled == {first: RELEASED}


def test_all_answers_of_one_batch_of_events_go_to_kafka_together() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * 3)
    rig.flow(3)
    rig.poll()
    rig.dispose([(delivery, ACCEPTED) for delivery in rig.peer.delivered])
    assert len(rig.feed.pending) == 1


def test_an_answer_that_kafka_does_not_take_is_counted_and_the_delivery_released() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    rig.flow(1)
    rig.poll()
    rig.dispose([(rig.peer.delivered[0], ACCEPTED)])
    rig.fail()
    assert rig.log.unrecords == [(0, "accept")]
    assert rig.link.unrecorded_count == 1
    assert rig.link.accepted_count == 0
    assert rig.peer.settled == rig.peer.delivered
    assert rig.peer.overruled == {rig.peer.delivered[0]: RELEASED}


def test_the_header_tells_how_often_kafka_gave_the_record_before() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    rig.flow(2)
    rig.poll()
    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.fire_timers()
    rig.confirm()
    rig.poll()
    first, second = rig.peer.delivered
    assert (first.failed, first.again) == (0, False)
    assert (second.failed, second.again) == (1, True)


def test_a_record_that_kafka_gives_for_the_last_time_is_sent_first() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * 3, attempts_max=9)
    rig.group.given[2] = 4
    rig.flow(1)
    rig.poll()
    assert offsets(rig) == [2]


def test_an_expired_record_is_accepted_and_not_sent() -> None:
    rig = ShareRig(UNSETTLED, [EXPIRED, b"x"])
    rig.flow(1)
    rig.poll()
    rig.confirm()
    assert offsets(rig) == [1]
    assert rig.group.accepted == [0]
    assert rig.link.accepted_count == 0


def test_a_settled_delivery_is_sent_only_when_kafka_has_recorded_it() -> None:
    rig = ShareRig(SETTLED, [b"x"] * 3)
    rig.flow(2)
    rig.poll()
    assert not rig.peer.delivered
    rig.confirm()
    assert offsets(rig) == rig.group.accepted == [0, 1]
    assert rig.link.accepted_count == 2


def test_a_settled_delivery_is_not_sent_when_kafka_has_not_recorded_it() -> None:
    rig = ShareRig(SETTLED, [b"x"])
    rig.flow(1)
    rig.poll()
    rig.fail()
    assert not rig.peer.delivered
    assert rig.log.unrecords == [(0, "accept")]


def test_what_was_cleared_for_credit_that_is_gone_is_sent_with_the_next() -> None:
    rig = ShareRig(SETTLED, [b"x"])
    rig.flow(1)
    rig.poll()
    rig.flow(0)
    rig.confirm()
    assert not rig.peer.delivered
    rig.flow(1)
    assert offsets(rig) == [0]


def test_what_lapses_goes_back_to_the_group_sent_or_not() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * 2)
    rig.flow(1)
    rig.poll()
    rig.lapsing()
    rig.confirm()
    assert sorted(rig.group.available) == [0, 1]
    assert rig.log.lapses == [0]
    assert rig.link.lapsed_count == 1


def test_what_others_may_want_goes_back_unless_it_was_sent() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * 2)
    rig.flow(1)
    rig.poll()
    rig.unwanted()
    rig.confirm()
    assert rig.group.available == [1]
    rig.dispose([(rig.peer.delivered[0], ACCEPTED)])
    rig.confirm()
    assert rig.group.accepted == [0]


def test_a_record_that_kafka_would_drop_waits_for_credit() -> None:
    rig = ShareRig(UNSETTLED, [b"x"], attempts_max=1)
    rig.flow(1)
    rig.peer.link_credit = 0
    rig.poll()
    rig.unwanted()
    rig.flow(1)
    assert offsets(rig) == [0]


def test_an_outcome_after_the_lapse_is_counted_and_changes_nothing() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    rig.flow(1)
    rig.poll()
    rig.lapsing()
    rig.confirm()
    rig.dispose([(rig.peer.delivered[0], ACCEPTED)])
    assert rig.log.late == [(0, ACCEPTED)]
    assert rig.link.late_count == 1
    assert rig.group.available == [0]
    assert rig.peer.settled == rig.peer.delivered
    assert rig.peer.overruled == {rig.peer.delivered[0]: RELEASED}


def test_deliveries_that_are_never_answered_are_released_at_last() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * (LATE_DELIVERIES_MAX + 1), attempts_max=9)
    rig.flow(LATE_DELIVERIES_MAX + 1)
    rig.poll()
    rig.lapsing()
    assert rig.peer.settled == [rig.peer.delivered[0]]
    assert rig.peer.overruled == {rig.peer.delivered[0]: RELEASED}


def test_a_record_that_lapses_for_the_last_time_goes_to_the_dead_letter_topic() -> None:
    rig = ShareRig(UNSETTLED, [b"x"], attempts_max=1)
    rig.flow(1)
    rig.poll()
    rig.lapsing()
    rig.letters.answer()
    rig.confirm()
    assert rig.letters.taken == rig.group.rejected == [0]
    assert not rig.group.dropped


def test_detaching_releases_all_that_is_unanswered() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * 3)
    rig.flow(2)
    rig.poll()
    rig.dispose([(rig.peer.delivered[0], ACCEPTED)])
    rig.detach()
    assert rig.feed.stopped
    assert (rig.log.closes, rig.log.ends) == (1, [])
    rig.confirm()
    assert rig.group.accepted == [0]
    assert sorted(rig.group.available) == [1, 2]
    assert rig.log.ends == [(1, 1)]


def test_what_is_accepted_before_the_detach_and_not_recorded_does_not_count_as_accepted() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    rig.flow(1)
    rig.poll()
    rig.dispose([(rig.peer.delivered[0], ACCEPTED)])
    rig.detach()
    rig.fail()
    assert rig.log.ends == [(0, 0)]
    assert rig.link.unrecorded_count == 1


def test_a_batch_that_comes_after_the_detach_is_released() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    rig.flow(1)
    rig.detach()
    records = rig.group.acquire(1)
    rig.feed.number, rig.feed.batch = 1, {0: records[0]}
    rig.link.consumed(1, records)
    rig.confirm()
    assert rig.group.available == [0]


def test_the_feed_is_left_only_when_the_dead_letter_topic_has_answered() -> None:
    rig = ShareRig(UNSETTLED, [b"x"], attempts_max=1)
    rig.flow(1)
    rig.poll()
    rig.dispose([(rig.peer.delivered[0], MODIFIED_FAILED)])
    rig.detach()
    stopped_before = rig.feed.stopped
    rig.letters.answer()
    assert (stopped_before, rig.feed.stopped) == (False, True)
    assert not rig.log.ends
    rig.confirm()
    assert rig.letters.taken == rig.group.rejected == [0]
    assert rig.log.ends == [(0, 1)]


def test_a_drain_gives_what_is_there_and_returns_the_rest() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    rig.flow(3, drain=True)
    assert rig.peer.returned == 0
    rig.poll()
    assert offsets(rig) == [0]
    rig.dispose([(rig.peer.delivered[0], ACCEPTED)])
    rig.confirm()
    rig.poll()
    assert rig.peer.returned == 2
    assert rig.feed.wanted == 0


def test_an_end_that_was_asked_for_before_a_batch_came_is_not_the_end() -> None:
    rig = ShareRig(UNSETTLED, [b"x"] * 2)
    rig.flow(3, drain=True)
    token = rig.feed.end
    assert token is not None
    rig.poll(1)
    rig.link.reached_end(token)
    assert rig.peer.returned == 0


def test_no_end_is_the_end_of_a_drain_that_was_given_up() -> None:
    rig = ShareRig(UNSETTLED)
    rig.flow(1, drain=True)
    token = rig.feed.end
    assert token is not None
    rig.flow(1)
    rig.link.reached_end(token)
    assert rig.peer.returned == 0


def test_a_message_that_is_too_large_for_the_receiver_goes_to_the_dead_letter_topic() -> None:
    rig = ShareRig(UNSETTLED, [b"x" * 100, b"x"], message_max_bytes=50)
    rig.flow(2)
    rig.poll()
    rig.letters.answer()
    rig.confirm()
    assert offsets(rig) == [1]
    assert [(offset, letter.reason) for offset, letter in rig.log.letters] == [
        (0, Reason.MESSAGE_SIZE_EXCEEDED)
    ]


def test_a_message_that_is_too_large_ends_a_link_without_dead_letter_topic() -> None:
    rig = ShareRig(UNSETTLED, [b"x" * 100], message_max_bytes=50, with_dead_letters=False)
    rig.flow(2)
    rig.poll()
    rig.confirm()
    assert rig.peer.condition is not None
    assert rig.peer.condition.name == conditions.LINK_MESSAGE_SIZE_EXCEEDED
    assert rig.group.available == [0]


def test_a_settled_message_that_is_too_large_is_reported() -> None:
    rig = ShareRig(SETTLED, [b"x" * 100, b"x"], message_max_bytes=50)
    rig.flow(2)
    rig.poll()
    rig.confirm()
    assert offsets(rig) == [1]
    assert [offset for offset, _ in rig.log.skips] == [0]


def test_a_failure_of_the_consumers_ends_the_link_and_says_why() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    rig.link.failed(
        Failure("GROUP_AUTHORIZATION_FAILED", 30, "no", conditions.UNAUTHORIZED_ACCESS, False, Stored.NO)  # noqa: FBT003 - positional in a test
    )
    assert rig.peer.condition is not None
    assert rig.peer.condition.name == conditions.UNAUTHORIZED_ACCESS
    assert rig.feed.stopped
    assert len(rig.log.failures) == 1


def test_closing_twice_ends_once() -> None:
    rig = ShareRig(UNSETTLED, [b"x"])
    rig.detach()
    rig.link.close()
    rig.confirm()
    assert (rig.log.closes, len(rig.log.ends)) == (1, 1)
