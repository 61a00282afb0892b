from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.sink_port import (
    EXPIRED,
    NO_LIMIT,
    REJECTED,
    SETTLED_WITHOUT_STATE,
    UNDELIVERABLE_HERE,
    Delivered,
    MemoryRecord,
)
from support.sink_rig import LIMITS, REDELIVERY, SETTLED, UNSETTLED, SinkRig

from bridge.codec import Map, Symbol, decode, encode
from bridge.model import conditions
from bridge.model.failures import Failure, Stored
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, DeliveryState, Outcome
from bridge.sink.outbound import TURN_RECORDS
from bridge.sink.redelivery import RECORD_BYTES

if TYPE_CHECKING:
    from bridge.sink.policy import SinkPolicy
    from bridge.sink.redelivery import Redelivery

DETACHING = replace(UNSETTLED, rejected="detach")


def rig_after_delivery(
    count: int,
    *,
    records: int | None = None,
    policy: SinkPolicy = UNSETTLED,
    commit_count: int = NO_LIMIT,
    dead_letters: bool = False,
) -> SinkRig:
    """Give a link that has sent `count` records of one partition and has no credit left."""
    rig = SinkRig(
        policy,
        limits=replace(LIMITS, commit_count=commit_count),
        records=count if records is None else records,
        dead_letters=dead_letters,
    )
    rig.flow(count)
    rig.run()
    assert len(rig.peer.delivered) == count
    return rig


def redelivering(rules: Redelivery) -> SinkPolicy:
    """Give the policy of an unsettled receiver with such rules of redelivery."""
    return replace(UNSETTLED, redelivery=rules)


def modified(pairs: list[tuple[str, str]]) -> Outcome:
    """Give the outcome modified with these annotations."""
    annotations = encode(Map((Symbol(key), value) for key, value in pairs))
    return Outcome(DeliveryState.MODIFIED, delivery_failed=True, annotations=annotations)


def decoded(delivery: Delivered) -> dict[object, object]:
    """Read the annotations of a delivery."""
    if not delivery.annotations:
        return {}
    annotations, _ = decode(delivery.annotations)
    assert isinstance(annotations, Map)
    return dict(annotations)


def offsets(delivered: list[Delivered]) -> list[int]:
    return [delivery.offset for delivery in delivered]


# ---------------------------------------------------------------------- sending


def test_nothing_is_asked_for_without_credit() -> None:
    rig = SinkRig(records=3)

    assert rig.feed.allowed == 0
    assert rig.poll() == 0


def test_records_are_sent_as_far_as_credit_goes_and_some_wait() -> None:
    rig = SinkRig(records=10)

    rig.flow(3)
    rig.run()

    assert offsets(rig.peer.delivered) == [0, 1, 2]
    assert rig.peer.link_credit == 0
    assert rig.feed.handed == 6, "three wait for the next credit"


def test_what_waits_is_sent_when_credit_comes() -> None:
    rig = rig_after_delivery(3, records=10)

    rig.flow(2)

    assert offsets(rig.peer.delivered) == [0, 1, 2, 3, 4]


def test_credit_that_was_there_before_the_link_was_answered_is_used() -> None:
    rig = SinkRig(records=1)
    rig.peer.link_credit = 1

    rig.link.opened()
    rig.run()

    assert len(rig.peer.delivered) == 1


def test_no_more_is_sent_than_there_is_room_for() -> None:
    rig = SinkRig(room_bytes=30)
    for _ in range(5):
        rig.topic.append(0, b"x" * 8)

    rig.flow(5)
    rig.run()

    assert [delivery.size_bytes for delivery in rig.peer.delivered] == [21, 21], "what has begun is finished"


@pytest.mark.parametrize("policy", [UNSETTLED, SETTLED], ids=["unsettled", "settled"])
def test_sending_goes_on_when_there_is_room_again(policy: SinkPolicy) -> None:
    """And without any help: the receiver need not answer, nor give credit, before it has everything."""
    rig = SinkRig(policy, room_bytes=30)
    for _ in range(5):
        rig.topic.append(0, b"x" * 8)
    rig.flow(5)
    rig.run()

    rig.socket_writes()
    assert offsets(rig.peer.delivered) == [0, 1, 2, 3]
    rig.socket_writes()
    assert offsets(rig.peer.delivered) == [0, 1, 2, 3, 4]


def test_the_bytes_of_what_left_are_told_to_the_consumer() -> None:
    rig = SinkRig(buffer_bytes=100)
    for _ in range(5):
        rig.topic.append(0, b"x" * 70)

    rig.flow(1)
    rig.run()
    rig.flow(1)
    rig.run()

    assert (rig.feed.handed_bytes, rig.feed.taken_bytes) == (3 * 70, 2 * 70)


@pytest.mark.parametrize("policy", [UNSETTLED, SETTLED], ids=["unsettled", "settled"])
def test_a_record_that_has_expired_costs_no_credit_and_is_done(policy: SinkPolicy) -> None:
    rig = SinkRig(policy)
    for value in (b"1", EXPIRED, b"3", EXPIRED):
        rig.topic.append(0, value)

    rig.flow(3)
    rig.run()
    rig.run()
    rig.accept(*rig.peer.unsettled)
    rig.commit()

    assert offsets(rig.peer.delivered) == [0, 2]
    assert rig.peer.link_credit == 1
    assert rig.topic.committed == {0: 4}
    assert rig.feed.taken_bytes == rig.feed.handed_bytes
    assert (rig.link.accepted_count, rig.link.late_count) == (0 if policy.sends_settled else 2, 0)


def test_partitions_take_turns() -> None:
    rig = SinkRig(partitions=2, records=2 * TURN_RECORDS, limits=replace(LIMITS, buffer_records=2_000))

    rig.flow(2 * TURN_RECORDS)
    rig.run()

    assert [delivery.partition for delivery in rig.peer.delivered] == [0] * TURN_RECORDS + [1] * TURN_RECORDS


def test_no_more_is_unanswered_than_the_bound_of_bytes() -> None:
    """Whatever credit there is: a small record takes more in the process than its bytes on the wire."""
    rig = SinkRig(records=9, limits=replace(LIMITS, unsettled_bytes=3 * RECORD_BYTES))

    rig.flow(9)
    rig.run()
    assert offsets(rig.peer.delivered) == [0, 1, 2]

    rig.accept(rig.peer.delivered[1])
    assert offsets(rig.peer.delivered) == [0, 1, 2, 3]


def test_a_record_larger_than_the_bound_of_bytes_is_sent_alone() -> None:
    rig = SinkRig(limits=replace(LIMITS, unsettled_bytes=RECORD_BYTES))
    for _ in range(2):
        rig.topic.append(0, b"x" * 5 * RECORD_BYTES)

    rig.flow(2)
    rig.run()
    assert offsets(rig.peer.delivered) == [0]

    rig.accept(*rig.peer.delivered)
    assert offsets(rig.peer.delivered) == [0, 1]


# ---------------------------------------------------------------------- drain


def test_credit_is_returned_when_nothing_is_in_kafka() -> None:
    rig = SinkRig()

    rig.flow(5, drain=True)
    assert rig.peer.link_credit == 5, "nobody has looked yet"

    assert rig.tell_end()
    assert (rig.peer.link_credit, rig.peer.returned) == (0, 5)


def test_what_is_in_kafka_is_sent_before_credit_is_returned() -> None:
    rig = SinkRig(records=3)

    rig.flow(5, drain=True)
    assert not rig.tell_end()
    rig.run()

    assert offsets(rig.peer.delivered) == [0, 1, 2]
    assert (rig.peer.link_credit, rig.peer.returned) == (0, 2)


def test_what_waits_is_sent_before_credit_is_returned() -> None:
    rig = rig_after_delivery(3, records=6)

    rig.flow(10, drain=True)
    assert offsets(rig.peer.delivered) == [0, 1, 2, 3, 4, 5]
    assert rig.peer.link_credit == 7

    rig.run()
    assert rig.peer.link_credit == 0


def test_credit_is_returned_when_the_end_is_not_found_in_time() -> None:
    rig = SinkRig(records=1)

    rig.flow(5, drain=True)
    rig.tell_end(in_time=False)

    assert rig.peer.link_credit == 0


def test_credit_is_not_returned_while_what_waits_has_no_room() -> None:
    rig = SinkRig(records=4, room_bytes=1)
    rig.flow(2)
    rig.run()
    rig.socket_writes()

    rig.flow(10, drain=True)
    for _ in range(3):
        assert rig.peer.link_credit > 0
        rig.socket_writes()
    rig.run()

    assert offsets(rig.peer.delivered) == [0, 1, 2, 3]
    assert rig.peer.link_credit == 0


def test_credit_is_returned_when_no_more_may_be_unanswered() -> None:
    """A receiver that drains before it answers would wait for ever otherwise."""
    rig = SinkRig(records=4, limits=replace(LIMITS, unsettled_bytes=1))
    rig.flow(2)
    rig.run()

    rig.flow(2, drain=True)

    assert offsets(rig.peer.delivered) == [0]
    assert rig.peer.link_credit == 0


def test_an_end_that_was_asked_for_in_a_former_drain_ends_no_other() -> None:
    rig = SinkRig()
    rig.flow(5, drain=True)
    former = rig.feed.found_end()
    assert former is not None
    rig.flow(5)

    rig.link.reached_end(former)
    assert rig.peer.link_credit == 5, "nobody drains"
    rig.topic.append()
    rig.flow(5, drain=True)
    rig.link.reached_end(former)
    assert rig.peer.link_credit == 5, "there is a record since then"

    rig.run()
    assert offsets(rig.peer.delivered) == [0]
    assert rig.peer.link_credit == 0


def test_a_receiver_that_only_ever_drains_gets_records() -> None:
    """Serve a JMS client without prefetch: its receiveNoWait gives one credit and wants it used or back."""
    rig = SinkRig(records=3)

    for _ in range(4):
        rig.flow(1, drain=True)
        rig.run()

    assert offsets(rig.peer.delivered) == [0, 1, 2]
    assert rig.peer.returned == 1


# ---------------------------------------------------------------------- outcomes


def test_an_accepted_record_is_settled_and_its_offset_committed() -> None:
    rig = rig_after_delivery(2)
    first, _ = rig.peer.delivered

    rig.accept(first)
    rig.commit()

    assert first not in rig.peer.unsettled
    assert rig.topic.committed == {0: 1}


def test_settlements_of_a_batch_are_sent_together_at_its_end() -> None:
    rig = rig_after_delivery(2)
    first, second = rig.peer.delivered

    rig.link.accepted(first)
    rig.link.disposed(second, REJECTED)
    assert len(rig.peer.unsettled) == 2

    rig.link.batch_ended()
    assert len(rig.peer.unsettled) == 0


def test_an_outcome_counts_once() -> None:
    rig = rig_after_delivery(1)
    (delivery,) = rig.peer.delivered

    rig.accept(delivery)
    rig.accept(delivery)
    rig.dispose([(delivery, RELEASED)])

    assert rig.link.accepted_count == 1
    assert rig.timers.pauses() == []


@pytest.mark.parametrize("outcome", [REJECTED, UNDELIVERABLE_HERE], ids=["rejected", "undeliverable-here"])
def test_a_record_that_is_refused_for_good_is_passed_over_and_reported(outcome: Outcome) -> None:
    rig = rig_after_delivery(2)
    first, second = rig.peer.delivered

    rig.dispose([(first, outcome), (second, ACCEPTED)])
    rig.commit()

    assert rig.log.skips == [(0, 0, outcome)]
    assert rig.topic.committed == {0: 2}
    assert rig.timers.pauses() == []


@pytest.mark.parametrize("outcome", [REJECTED, UNDELIVERABLE_HERE], ids=["rejected", "undeliverable-here"])
def test_a_refusal_can_end_the_link_and_leave_the_offset(outcome: Outcome) -> None:
    rig = rig_after_delivery(3, policy=DETACHING)
    first, second, third = rig.peer.delivered

    rig.dispose([(first, ACCEPTED), (second, outcome), (third, ACCEPTED)])

    assert rig.peer.condition is not None
    assert rig.peer.condition.name == conditions.PRECONDITION_FAILED
    assert "partition 0, offset 1 " in rig.peer.condition.description
    assert rig.topic.committed == {0: 1}
    assert rig.feed.stopped


@pytest.mark.parametrize(
    ("outcome", "attempts"),
    [(RELEASED, 0), (MODIFIED_FAILED, 1), (SETTLED_WITHOUT_STATE, 0)],
    ids=["released", "modified", "settled"],
)
def test_a_record_that_is_given_back_is_sent_again_after_a_back_off(outcome: Outcome, attempts: int) -> None:
    rig = rig_after_delivery(1)
    (delivery,) = rig.peer.delivered

    rig.dispose([(delivery, outcome)])
    rig.flow(1)
    rig.commit()
    assert len(rig.peer.delivered) == 1
    assert rig.topic.committed.get(0, 0) == 0, "it is not committed away"
    assert rig.log.redeliveries == [(0, 0, outcome)]

    rig.timers.fire_all()
    again = rig.peer.delivered[1]
    assert (again.offset, again.attempts) == (0, attempts)
    rig.accept(again)
    rig.commit()
    assert rig.topic.committed == {0: 1}


def test_only_failed_attempts_raise_the_delivery_count() -> None:
    rig = rig_after_delivery(1)

    for outcome in (RELEASED, MODIFIED_FAILED, SETTLED_WITHOUT_STATE, MODIFIED_FAILED):
        rig.dispose([(rig.peer.delivered[-1], outcome)])
        rig.flow(1)
        rig.timers.fire_all()

    assert [delivery.attempts for delivery in rig.peer.delivered] == [0, 0, 1, 1, 2]


def test_nothing_else_is_sent_during_a_back_off() -> None:
    rig = rig_after_delivery(2, records=6)

    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.flow(2)
    rig.run()
    assert offsets(rig.peer.delivered) == [0, 1]

    rig.timers.fire_all()
    assert offsets(rig.peer.delivered) == [0, 1, 0, 2]


def test_records_are_sent_again_in_their_order() -> None:
    rig = rig_after_delivery(4)

    rig.dispose([(rig.peer.delivered[index], RELEASED) for index in (2, 0, 3, 1)])
    rig.flow(4)
    rig.timers.fire_all()

    assert offsets(rig.peer.delivered[4:]) == [0, 1, 2, 3]


def test_records_that_were_given_back_one_after_the_other_are_sent_again_in_their_order() -> None:
    rig = rig_after_delivery(2)

    for delivery in list(rig.peer.delivered):
        rig.dispose([(delivery, RELEASED)])
        rig.timers.fire_all()
    rig.flow(2)

    assert offsets(rig.peer.delivered[2:]) == [0, 1]


def test_one_timer_serves_all_that_is_given_back_together() -> None:
    rig = rig_after_delivery(3)

    rig.dispose([(delivery, RELEASED) for delivery in rig.peer.delivered])

    assert rig.timers.pauses() == [1]


def test_the_back_off_doubles_up_to_its_longest() -> None:
    rig = rig_after_delivery(1, policy=redelivering(replace(REDELIVERY, backoff_max_seconds=5)))
    pauses = []

    for _ in range(5):
        rig.dispose([(rig.peer.delivered[-1], RELEASED)])
        pauses += rig.timers.pauses()
        rig.flow(1)
        rig.timers.fire_all()

    assert pauses == [1, 2, 4, 5, 5]


def test_a_record_is_sent_again_for_ever_where_there_is_no_dead_letter_topic() -> None:
    rig = rig_after_delivery(1)

    for _ in range(20):
        rig.dispose([(rig.peer.delivered[-1], MODIFIED_FAILED)])
        rig.flow(1)
        rig.timers.fire_all()

    assert [delivery.attempts for delivery in rig.peer.delivered] == list(range(21))


def test_some_releases_in_a_row_count_as_a_failed_attempt() -> None:
    rig = rig_after_delivery(1, policy=redelivering(replace(REDELIVERY, releases_max=2)))

    for outcome in (RELEASED, RELEASED, RELEASED, MODIFIED_FAILED, RELEASED, SETTLED_WITHOUT_STATE):
        rig.dispose([(rig.peer.delivered[-1], outcome)])
        rig.flow(1)
        rig.timers.fire_all()

    assert [delivery.attempts for delivery in rig.peer.delivered] == [0, 0, 1, 1, 2, 2, 3]


def test_annotations_of_an_outcome_are_merged_into_what_is_sent_again() -> None:
    rig = rig_after_delivery(1)

    for pairs in ([("a", "1"), ("b", "1")], [("b", "2")], []):
        rig.dispose([(rig.peer.delivered[-1], modified(pairs))])
        rig.flow(1)
        rig.timers.fire_all()

    assert [decoded(delivery) for delivery in rig.peer.delivered] == [
        {},
        {"a": "1", "b": "1"},
        {"a": "1", "b": "2"},
        {"a": "1", "b": "2"},
    ]


def test_other_partitions_go_on_during_a_back_off() -> None:
    rig = SinkRig(partitions=2, records=2)
    rig.flow(1)
    rig.run()

    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.flow(5)
    rig.run()

    assert [(each.partition, each.offset) for each in rig.peer.delivered] == [(0, 0), (1, 0), (1, 1)]


def test_with_skip_ahead_others_are_sent_during_a_back_off_as_far_ahead_as_they_may() -> None:
    rig = rig_after_delivery(2, records=9, policy=redelivering(replace(REDELIVERY, ahead_records=4)))

    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.flow(5)
    rig.run()
    assert offsets(rig.peer.delivered) == [0, 1, 2, 3]

    rig.accept(*rig.peer.delivered[1:])
    rig.run()
    assert offsets(rig.peer.delivered) == [0, 1, 2, 3], "what was accepted counts as ahead, too"

    rig.timers.fire_all()
    assert offsets(rig.peer.delivered) == [0, 1, 2, 3, 0]
    rig.accept(rig.peer.delivered[4])
    assert offsets(rig.peer.delivered) == [0, 1, 2, 3, 0, 4, 5]


def test_with_skip_ahead_a_record_does_not_wait_for_the_longer_back_off_of_one_before_it() -> None:
    rig = rig_after_delivery(2, records=2, policy=redelivering(replace(REDELIVERY, ahead_records=4)))
    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.timers.fire()
    rig.flow(1)
    assert offsets(rig.peer.delivered) == [0, 1, 0]

    rig.dispose([(rig.peer.delivered[2], RELEASED), (rig.peer.delivered[1], RELEASED)])
    assert rig.timers.pauses() == [1, 2]
    rig.flow(2)
    rig.timers.fire()

    assert offsets(rig.peer.delivered) == [0, 1, 0, 1]


def test_credit_is_returned_during_a_back_off() -> None:
    rig = rig_after_delivery(1, records=2)
    rig.dispose([(rig.peer.delivered[0], RELEASED)])

    rig.flow(4, drain=True)
    rig.run()

    assert rig.peer.link_credit == 0
    assert len(rig.peer.delivered) == 1


def test_a_back_off_that_ends_after_the_link_does_nothing() -> None:
    rig = rig_after_delivery(1)
    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.flow(1)

    rig.detach()
    rig.timers.fire_all()

    assert len(rig.peer.delivered) == 1


# ---------------------------------------------------------------------- commits


def test_offsets_are_committed_after_so_many_answers() -> None:
    rig = rig_after_delivery(4, commit_count=3)
    first, second, third, fourth = rig.peer.delivered

    rig.accept(first, second)
    assert rig.feed.to_commit == {}

    rig.accept(third)
    assert rig.feed.to_commit == {0: (1, 3)}
    rig.confirm()

    rig.accept(fourth)
    assert rig.feed.to_commit == {}


def test_what_is_committed_is_not_committed_again() -> None:
    rig = rig_after_delivery(1)
    rig.accept(*rig.peer.delivered)
    rig.commit()

    rig.link.commit()

    assert rig.feed.to_commit == {}


def test_a_commit_that_failed_is_made_again() -> None:
    rig = rig_after_delivery(1)
    rig.accept(*rig.peer.delivered)
    rig.link.commit()
    rig.feed.to_commit.clear()

    rig.commit()

    assert rig.topic.committed == {0: 1}


# ---------------------------------------------------------------------- settled


def test_a_settled_receiver_gets_records_that_are_committed() -> None:
    rig = SinkRig(SETTLED, records=3)
    rig.peer.on_send = lambda delivery: committed.append(rig.topic.committed[0] > delivery.offset)
    committed: list[bool] = []

    rig.flow(2)
    rig.run()

    assert offsets(rig.peer.delivered) == [0, 1]
    assert committed == [True, True]
    assert rig.peer.unsettled == {}


def test_for_a_settled_receiver_as_much_waits_as_it_gave_credit_for() -> None:
    rig = SinkRig(SETTLED, records=9)

    rig.flow(2)
    rig.run()

    assert len(rig.peer.delivered) == 2
    assert rig.feed.handed == 4
    assert rig.topic.committed == {0: 4}


def test_what_waits_on_a_settled_link_is_given_back_at_its_end() -> None:
    rig = SinkRig(SETTLED, records=9, partitions=2)
    rig.flow(5)
    rig.poll(1, partition=1)
    rig.run()
    assert rig.topic.committed == {0: 9, 1: 1}
    assert [(each.partition, each.offset) for each in rig.peer.delivered] == [
        (1, 0),
        *[(0, offset) for offset in range(4)],
    ]

    rig.detach()

    assert rig.topic.committed == {0: 4, 1: 1}


def test_what_comes_after_the_end_of_a_settled_link_is_given_back() -> None:
    rig = SinkRig(SETTLED, records=9)
    rig.flow(3)
    rig.poll(2)
    late = [rig.feed.poll(2), rig.feed.poll(1)]

    rig.detach()
    for records in late:
        rig.link.consumed(records)
    rig.feed.commit_pending()

    assert offsets(rig.peer.delivered) == [0, 1]
    assert rig.topic.committed == {0: 2}


def test_what_comes_after_the_end_of_a_settled_link_is_not_passed_over() -> None:
    rig = SinkRig(SETTLED, records=9)
    rig.flow(2)
    rig.poll(3)
    late = rig.feed.poll(1)

    rig.detach()
    rig.link.consumed(late)
    rig.feed.commit_pending()

    assert rig.topic.committed == {0: 2}, "the first that was not sent waited before"


def test_a_settled_receiver_that_drains_gets_what_there_is() -> None:
    rig = SinkRig(SETTLED, records=2)

    rig.flow(5, drain=True)
    rig.run()

    assert offsets(rig.peer.delivered) == [0, 1]
    assert rig.peer.link_credit == 0


def test_a_settled_link_does_not_commit_by_itself() -> None:
    rig = SinkRig(SETTLED, records=2)
    rig.flow(2)
    rig.run()
    rig.link.commit()

    rig.detach()

    assert rig.feed.to_commit == {}


# ---------------------------------------------------------------------- rebalances


def test_records_of_partitions_that_are_not_the_links_are_dropped_and_replaced() -> None:
    rig = SinkRig(records=3)
    rig.flow(1)
    assert rig.feed.allowed == 2
    rig.feed.handed = rig.feed.handed_bytes = 2

    rig.link.consumed([MemoryRecord(7, 0, b"x"), MemoryRecord(7, 1, b"x")])
    assert rig.peer.delivered == []
    assert rig.feed.taken_bytes == 2

    rig.run()
    assert offsets(rig.peer.delivered) == [0]


def test_a_link_without_partitions_stays_attached() -> None:
    rig = SinkRig(partitions=0)

    rig.flow(5)

    assert rig.peer.condition is None
    assert not rig.link.closed


def test_a_revoke_waits_for_what_is_in_flight() -> None:
    rig = rig_after_delivery(2)

    drained = rig.revoking(0)
    rig.accept(rig.peer.delivered[0])
    assert drained == []

    rig.accept(rig.peer.delivered[1])
    assert drained == [True]
    rig.revoked(0)
    assert rig.topic.committed == {0: 2}


def test_a_revoke_does_not_wait_for_other_partitions() -> None:
    rig = SinkRig(partitions=2, records=1)
    rig.flow(1)
    rig.run()

    assert rig.revoking(1) == [True]


def test_what_waits_of_a_partition_that_goes_away_is_not_sent() -> None:
    rig = SinkRig(partitions=2, records=2)
    rig.flow(1)
    rig.run()

    rig.revoking(0)
    rig.revoked(0)
    rig.flow(5)
    rig.run()

    assert [(delivery.partition, delivery.offset) for delivery in rig.peer.delivered] == [
        (0, 0),
        (1, 0),
        (1, 1),
    ]
    assert rig.feed.handed_bytes == rig.feed.taken_bytes


def test_what_waits_on_a_settled_link_is_given_back_when_its_partition_goes_away() -> None:
    rig = SinkRig(SETTLED, records=3, room_bytes=1)
    rig.flow(3)
    rig.run()
    assert (rig.topic.committed, offsets(rig.peer.delivered)) == ({0: 3}, [0])

    assert rig.revoking(0) == [True]
    rig.socket_writes()
    rig.revoked(0)
    for _ in range(3):
        rig.socket_writes()

    assert offsets(rig.peer.delivered) == [0, 1], "all is committed yet that goes out before the revoke ends"
    assert rig.topic.committed == {0: 2}
    assert rig.feed.handed_bytes == rig.feed.taken_bytes


def test_what_waits_on_a_settled_link_is_sent_even_if_its_partition_is_lost() -> None:
    """It is committed, so nobody else reads it."""
    rig = SinkRig(SETTLED, records=3, room_bytes=1)
    rig.flow(3)
    rig.run()

    rig.lost(0)
    for _ in range(3):
        rig.socket_writes()

    assert offsets(rig.peer.delivered) == [0, 1, 2]


def test_on_a_settled_link_a_partition_that_was_lost_and_comes_back_goes_on_where_it_was() -> None:
    rig = SinkRig(SETTLED, records=4, room_bytes=1)
    rig.flow(3)
    rig.poll(3)
    rig.lost(0)
    rig.assign(0)

    rig.flow(5)
    rig.run()
    assert (rig.feed.handed, offsets(rig.peer.delivered)) == (4, [0])
    for _ in range(4):
        rig.socket_writes()

    assert offsets(rig.peer.delivered) == [0, 1, 2, 3]


def test_a_record_that_is_given_back_during_a_revoke_is_left_to_the_next_owner() -> None:
    rig = rig_after_delivery(2)
    first, second = rig.peer.delivered
    drained = rig.revoking(0)

    rig.dispose([(first, ACCEPTED), (second, RELEASED)])
    rig.flow(5)
    rig.timers.fire_all()
    assert drained == [True]
    assert len(rig.peer.delivered) == 2

    rig.revoked(0)
    assert rig.topic.committed == {0: 1}


def test_a_record_whose_back_off_ends_during_a_revoke_is_left_to_the_next_owner() -> None:
    rig = rig_after_delivery(1)
    rig.dispose([(rig.peer.delivered[0], RELEASED)])

    assert rig.revoking(0) == [True]
    rig.flow(5)
    rig.timers.fire_all()
    rig.revoked(0)

    assert len(rig.peer.delivered) == 1
    assert rig.topic.committed.get(0, 0) == 0


def test_a_record_that_waits_to_be_sent_again_counts_once_when_its_partition_goes_away() -> None:
    rig = rig_after_delivery(1)
    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.timers.fire_all()

    rig.revoking(0)
    rig.revoked(0)

    assert rig.feed.taken_bytes == rig.feed.handed_bytes == 1


def test_after_a_revoke_late_outcomes_are_counted_and_ignored() -> None:
    rig = rig_after_delivery(4)
    rig.accept(rig.peer.delivered[0])
    rig.revoking(0)
    rig.revoked(0)
    assert rig.topic.committed == {0: 1}

    rig.dispose(zip(rig.peer.delivered[1:], [ACCEPTED, RELEASED, REJECTED], strict=True))
    rig.timers.fire_all()
    rig.link.commit()

    assert rig.link.late_count == 3
    assert rig.link.accepted_count == 1
    assert rig.peer.unsettled == {}, "they are settled all the same"
    assert (rig.log.skips, rig.log.redeliveries, rig.feed.to_commit) == ([], [], {})
    assert len(rig.peer.delivered) == 4


def test_a_late_refusal_does_not_end_the_link() -> None:
    rig = rig_after_delivery(1, policy=DETACHING)
    rig.revoking(0)
    rig.revoked(0)

    rig.dispose([(rig.peer.delivered[0], REJECTED)])

    assert rig.peer.condition is None


def test_a_partition_that_comes_back_is_sent_from_its_commit_under_other_tags() -> None:
    """The deliveries of the former generation may be unsettled still: tags must differ (core 2.6.12)."""
    rig = rig_after_delivery(2)
    rig.revoking(0)
    rig.revoked(0)
    rig.assign(0)

    rig.flow(2)
    rig.run()

    assert offsets(rig.peer.delivered) == [0, 1, 0, 1]
    assert len({delivery.tag for delivery in rig.peer.delivered}) == 4
    rig.accept(*rig.peer.delivered[:2])
    rig.commit()
    assert rig.topic.committed.get(0, 0) == 0, "those outcomes were late"
    rig.accept(*rig.peer.delivered[2:])
    rig.commit()
    assert rig.topic.committed == {0: 2}


def test_a_revoke_does_not_wait_for_deliveries_of_a_former_generation() -> None:
    rig = rig_after_delivery(1)
    rig.revoking(0)
    rig.revoked(0)
    rig.assign(0)

    assert rig.revoking(0) == [True]


def test_of_partitions_that_are_lost_nothing_is_committed() -> None:
    rig = rig_after_delivery(2, records=6)
    rig.accept(*rig.peer.delivered)
    rig.link.commit()

    rig.lost(0)
    rig.link.commit()
    rig.confirm()
    rig.flow(5)

    assert rig.topic.committed == {}
    assert len(rig.peer.delivered) == 2
    rig.detach()
    assert rig.topic.committed == {}


def test_a_commit_for_a_former_generation_is_not_made_for_the_present_one() -> None:
    rig = rig_after_delivery(2)
    rig.accept(*rig.peer.delivered)
    rig.link.commit()
    asked = dict(rig.feed.to_commit)
    rig.lost(0)
    rig.assign(0)

    rig.feed.commit(asked)
    rig.confirm()

    assert rig.topic.committed == {}


def test_a_revoke_waits_for_the_dead_letter_topic() -> None:
    rig = rig_after_delivery(1, dead_letters=True)
    drained = rig.revoking(0)

    rig.dispose([(rig.peer.delivered[0], REJECTED)])
    assert drained == []

    rig.dead_letters.answer()
    assert drained == [True]
    rig.revoked(0)
    assert rig.topic.committed == {0: 1}


def test_a_record_that_the_dead_letter_topic_did_not_take_in_time_is_left_to_the_next_owner() -> None:
    rig = rig_after_delivery(1, dead_letters=True)
    rig.dispose([(rig.peer.delivered[0], REJECTED)])
    rig.revoking(0)
    rig.revoked(0)

    rig.dead_letters.answer()
    rig.commit()

    assert rig.topic.committed.get(0, 0) == 0
    assert rig.link.late_count == 0


def test_the_end_of_the_link_ends_the_wait_for_the_dead_letter_topic() -> None:
    rig = rig_after_delivery(1, dead_letters=True)
    rig.dispose([(rig.peer.delivered[0], REJECTED)])
    drained = rig.revoking(0)

    rig.detach()

    assert drained == [True]
    assert rig.log.ends == [(0, 1)]
    rig.dead_letters.answer()


# ---------------------------------------------------------------------- the end


def test_at_the_end_what_is_done_is_committed_and_the_rest_reported() -> None:
    rig = rig_after_delivery(4)
    first, second, third, _ = rig.peer.delivered
    rig.dispose([(first, ACCEPTED), (second, RELEASED), (third, ACCEPTED)])

    rig.detach()
    rig.link.close()

    assert rig.topic.committed == {0: 1}
    assert rig.feed.stopped
    assert rig.log.ends == [(2, 2)]


def test_what_waits_to_be_sent_again_has_no_outcome_at_the_end() -> None:
    rig = rig_after_delivery(1)
    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.timers.fire_all()

    rig.detach()

    assert rig.log.ends == [(0, 1)]


def test_the_end_of_the_link_ends_the_wait_of_a_revoke() -> None:
    rig = rig_after_delivery(1)
    drained = rig.revoking(0)

    rig.detach()

    assert drained == [True]
    rig.link.revoked([0])


def test_nothing_is_sent_after_the_end() -> None:
    rig = rig_after_delivery(1, records=4)
    rig.detach()

    rig.link.consumed([MemoryRecord(0, 3, b"x")])
    rig.link.commit()
    rig.link.batch_ended()

    assert len(rig.peer.delivered) == 1


def test_a_consumer_that_cannot_go_on_ends_the_link_with_its_reason() -> None:
    rig = rig_after_delivery(1)
    failure = Failure(
        "GROUP_AUTHORIZATION_FAILED",
        30,
        "not for you",
        conditions.UNAUTHORIZED_ACCESS,
        retriable=False,
        stored=Stored.NO,
    )

    rig.link.failed(failure)
    rig.link.failed(failure)

    assert rig.log.failures == [failure]
    assert rig.peer.condition is not None
    assert rig.peer.condition.name == conditions.UNAUTHORIZED_ACCESS
    assert rig.peer.condition.info == {
        "topic": "orders",
        "kafka-error": "GROUP_AUTHORIZATION_FAILED",
        "kafka-code": 30,
        "retriable": False,
    }


# ---------------------------------------------------------------------- what is kept


@pytest.mark.parametrize("ahead_records", [None, 1000], ids=["hold", "skip-ahead"])
def test_records_that_wait_to_be_sent_again_count_towards_what_one_receiver_may_keep(
    ahead_records: int | None,
) -> None:
    """Else a receiver that gives everything back could make the bridge hold all partitions in memory."""
    kept_bytes = 100 + RECORD_BYTES
    rig = SinkRig(
        redelivering(replace(REDELIVERY, ahead_records=ahead_records)),
        partitions=3,
        limits=replace(LIMITS, unsettled_bytes=4 * kept_bytes),
    )
    for partition in range(3):
        for _ in range(10):
            rig.topic.append(partition, b"x" * 100)

    seen = 0
    for _ in range(5):
        rig.flow(100)
        rig.run()
        given, seen = rig.peer.delivered[seen:], len(rig.peer.delivered)
        rig.dispose((delivery, RELEASED) for delivery in given)
    assert seen == 4, "four are kept, and so no other is sent"

    # Those go out again, nonetheless, and make room for the others once they are accepted.
    while len(rig.topic.committed) < 3 or min(rig.topic.committed.values()) < 10:
        rig.timers.fire_all()
        rig.flow(100)
        rig.run()
        given, seen = rig.peer.delivered[seen:], len(rig.peer.delivered)
        assert given
        rig.accept(*given)
        rig.commit()
    assert sorted({(each.partition, each.offset) for each in rig.peer.delivered}) == [
        (partition, offset) for partition in range(3) for offset in range(10)
    ]


def test_what_is_taken_away_makes_room_again() -> None:
    kept_bytes = 100 + RECORD_BYTES
    rig = SinkRig(partitions=2, limits=replace(LIMITS, unsettled_bytes=2 * kept_bytes))
    for partition in range(2):
        for _ in range(2):
            rig.topic.append(partition, b"x" * 100)
    rig.flow(2)
    rig.poll(partition=0)
    rig.dispose((delivery, RELEASED) for delivery in list(rig.peer.delivered))
    rig.flow(2)
    rig.poll(partition=1)
    assert len(rig.peer.delivered) == 2

    rig.revoking(0)
    rig.revoked(0)
    rig.flow(2)

    assert [(each.partition, each.offset) for each in rig.peer.delivered[2:]] == [(1, 0), (1, 1)]


def test_a_revoke_waits_for_its_own_deliveries_whatever_is_sent_and_answered_beside() -> None:
    rig = SinkRig(partitions=2, records=4)
    rig.flow(4)
    rig.poll(2, partition=0)
    rig.poll(2, partition=1)
    first, second, third, fourth = rig.peer.delivered

    drained = rig.revoking(0)
    rig.accept(third)
    rig.flow(2)
    rig.poll(2, partition=1)
    rig.accept(second, fourth)
    assert not drained
    rig.accept(first)

    assert drained == [True]
    rig.revoked(0)
    assert rig.topic.committed == {0: 2}


class WatchedRecord(MemoryRecord):
    """A record of which it can be told whether anybody holds it."""

    __slots__ = ("__weakref__",)


def test_a_link_that_has_ended_holds_no_record_for_a_pause_that_goes_on() -> None:
    rig = SinkRig()
    rig.topic.logs[0].append(WatchedRecord(0, 0, b"x"))
    held = weakref.ref(rig.topic.logs[0][0])
    rig.flow(1)
    rig.run()
    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.topic.logs.clear()
    assert held() is not None

    rig.detach()
    gc.collect()

    assert len(rig.timers) == 1
    assert held() is None
    rig.timers.fire()


def test_a_partition_that_goes_gives_its_room_to_the_others() -> None:
    """At once: its receiver may be busy with what it has for long, and nothing else happens on the link."""
    rig = SinkRig(partitions=2, limits=replace(LIMITS, unsettled_bytes=1), records=2)
    rig.flow(1)
    rig.run()
    rig.dispose([(rig.peer.delivered[0], RELEASED)])
    rig.flow(2)
    rig.run()
    assert [each.partition for each in rig.peer.delivered] == [0]

    rig.revoking(0)
    rig.revoked(0)

    assert [each.partition for each in rig.peer.delivered] == [0, 1]


@pytest.mark.parametrize("ahead_records", [None, 4], ids=["hold", "skip-ahead"])
def test_a_partition_that_waits_is_in_nobodys_way(ahead_records: int | None) -> None:
    """Its records would fill the buffer otherwise, again and again, and the others would never be read."""
    rig = SinkRig(
        redelivering(replace(REDELIVERY, ahead_records=ahead_records)),
        partitions=2,
        limits=replace(LIMITS, buffer_records=4),
        records=50,
    )
    rig.flow(1)
    rig.run()
    first = rig.peer.delivered[0]
    rig.dispose([(first, RELEASED)])

    rig.flow(100)
    while rig.poll() or any(each.partition for each in rig.peer.unsettled):
        rig.accept(*(each for each in rig.peer.unsettled if each.partition))
    assert rig.feed.held == {0}
    assert [each.offset for each in rig.peer.delivered if each.partition] == list(range(50))

    rig.timers.fire_all()
    rig.accept(*rig.peer.unsettled)
    while rig.poll() or rig.peer.unsettled:
        rig.accept(*rig.peer.unsettled)
    assert rig.feed.held == frozenset()
    assert {each.offset for each in rig.peer.delivered if not each.partition} == set(range(50))
    assert rig.feed.taken_bytes == rig.feed.handed_bytes
