from __future__ import annotations

from dataclasses import replace

import pytest
from support.source_port import (
    NO_LEADER,
    QUEUE_IS_FULL,
    REFERENCE,
    TIMED_OUT,
    TOO_LARGE,
    TOPIC,
    UNDECODABLE,
    SourceRig,
)

from bridge.model import conditions
from bridge.model.failures import Failure, Reach
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, DeliveryState, Outcome
from bridge.source.budget import message_bytes
from bridge.source.policy import SourcePolicy


def policy(
    window: int = 10, *, settled: bool = False, acks0: bool = False, second: bool = False
) -> SourcePolicy:
    return SourcePolicy(
        prefetch=settled,
        settled_unacknowledged=settled or acks0,
        settles_first=not second,
        window=window,
    )


def condition_name(outcome: Outcome) -> str:
    assert outcome.state is DeliveryState.REJECTED
    assert outcome.condition is not None
    return outcome.condition.name


# ---------------------------------------------------------------------- unsettled


def test_the_window_is_granted_when_the_link_opens() -> None:
    rig = SourceRig(policy(window=10))

    assert rig.peer.grants == [10]


def test_a_message_becomes_a_record_of_the_links_topic() -> None:
    rig = SourceRig(policy())

    rig.send_all(b"blue")

    (produced,) = rig.producer.queue
    assert (produced.topic(), produced.value(), produced.partition()) == (TOPIC, b"blue", -1)


def test_a_message_is_accepted_and_settled_when_kafka_has_it_and_not_before() -> None:
    rig = SourceRig(policy())

    (delivery,) = rig.send_all(b"blue")
    assert rig.peer.unanswered == {delivery}

    rig.store()
    assert rig.peer.outcomes == {delivery: ACCEPTED}
    assert rig.peer.unsettled == set()


def test_reports_are_answered_together_when_the_link_is_flushed() -> None:
    rig = SourceRig(policy())
    rig.send_all(b"1", b"2", b"3")

    rig.producer.store(2)
    rig.producer.store(1)

    assert rig.told_of_stored == 0
    assert rig.peer.outcomes == {}
    assert rig.ready == [rig.link]
    rig.flush()
    assert rig.told_of_stored == 1
    assert rig.peer.count(DeliveryState.ACCEPTED) == 3


def test_what_kafka_does_not_acknowledge_costs_credit() -> None:
    rig = SourceRig(policy(window=2))

    rig.send_all(b"1", b"2")

    assert rig.peer.credit == 0
    assert rig.peer.grants == [2]


def test_credit_comes_back_at_half_a_window() -> None:
    rig = SourceRig(policy(window=10))
    rig.send_all(*[b"value"] * 9)

    rig.store(4)
    assert rig.peer.grants == [10]

    rig.store(1)
    assert rig.peer.grants == [10, 5]


def test_credit_comes_back_at_once_to_a_sender_that_has_none() -> None:
    rig = SourceRig(policy(window=10))
    rig.send_all(*[b"value"] * 10)

    rig.store(1)

    assert rig.peer.grants == [10, 1]


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [(NO_LEADER, RELEASED), (TIMED_OUT, MODIFIED_FAILED)],
    ids=["released", "modified"],
)
def test_a_failure_that_may_pass_is_told_as_such(failure: object, outcome: Outcome) -> None:
    rig = SourceRig(policy(), understood=frozenset({DeliveryState.RELEASED, DeliveryState.MODIFIED}))
    (delivery,) = rig.send_all(b"blue")

    rig.producer.queue.pop().report(failure, None)
    rig.flush()

    assert rig.peer.outcomes == {delivery: outcome}
    assert rig.log.refusals == [outcome]


def test_a_record_that_kafka_refuses_is_rejected_alone() -> None:
    rig = SourceRig(policy())
    first, second = rig.send_all(b"1", b"2")

    rig.fail(TOO_LARGE)
    rig.store()

    assert condition_name(rig.peer.outcomes[first]) == conditions.LINK_MESSAGE_SIZE_EXCEEDED
    assert rig.peer.outcomes[second] == ACCEPTED


def test_a_record_that_the_producer_does_not_take_is_answered_at_once() -> None:
    rig = SourceRig(policy())
    rig.producer.refusal = TOO_LARGE

    (delivery,) = rig.send_all(b"blue")

    assert condition_name(rig.peer.outcomes[delivery]) == conditions.LINK_MESSAGE_SIZE_EXCEEDED


def test_a_message_that_cannot_become_a_record_is_rejected_with_its_reason() -> None:
    rig = SourceRig(policy())

    (delivery,) = rig.send_all(UNDECODABLE)

    outcome = rig.peer.outcomes[delivery]
    assert condition_name(outcome) == conditions.DECODE_ERROR
    assert outcome.condition is not None
    assert outcome.condition.description == "the message cannot be decoded"
    assert rig.producer.taken == []


def test_every_outcome_gives_credit_back() -> None:
    rig = SourceRig(policy(window=4))
    rig.send_all(UNDECODABLE, b"1", b"2", b"3")
    assert rig.peer.credit == 1, "for the message that was rejected at once"

    rig.fail(TOO_LARGE)
    assert rig.peer.credit == 1, "one more is less than half a window"

    rig.fail(TIMED_OUT)
    assert rig.peer.credit == 3

    rig.send_all(UNDECODABLE, UNDECODABLE, UNDECODABLE)
    assert rig.peer.credit == 3

    rig.store()
    rig.send_all(UNDECODABLE)
    assert rig.peer.credit == 4


def test_an_aborted_transfer_gives_its_credit_back_and_leaves_nothing() -> None:
    rig = SourceRig(policy(window=1))

    rig.peer.transfer(settled=True)
    rig.link.aborted()
    rig.link.batch_ended()

    assert rig.peer.grants == [1, 1]
    assert rig.link.window.in_flight == 0
    assert rig.producer.taken == []
    assert (rig.log.drops, rig.log.refusals) == ([], [])


# ---------------------------------------------------------------------- a batch that is refused as a whole

REFUSED_BATCH = replace(TOO_LARGE, kafka_error="INVALID_RECORD", reach=Reach.BATCH)


def test_a_record_whose_batch_was_refused_is_sent_again_alone() -> None:
    rig = SourceRig(policy())
    good, bad = rig.send_all(b"good@3", b"bad")
    for _ in range(2):
        rig.fail(REFUSED_BATCH)
    assert rig.peer.outcomes == {}, "one of them may have been refused for the other"
    assert [(each.value(), each.partition()) for each in rig.alone.queue] == [(b"good", 3), (b"bad", -1)]

    rig.alone.store(1)
    rig.alone.fail(REFUSED_BATCH)
    rig.flush()

    assert rig.peer.outcomes[good] == ACCEPTED
    assert rig.peer.outcomes[bad].state is DeliveryState.REJECTED
    assert rig.link.window.in_flight == 0
    assert rig.budget.held_bytes == 0


@pytest.mark.parametrize(("failure", "state"), [(TIMED_OUT, "MODIFIED"), (TOO_LARGE, "REJECTED")])
def test_a_record_that_cannot_be_sent_again_has_the_reason_of_that(failure: Failure, state: str) -> None:
    rig = SourceRig(policy(), understood=frozenset({DeliveryState.MODIFIED}))
    (delivery,) = rig.send_all(b"1")
    rig.alone.refusal = failure

    rig.fail(REFUSED_BATCH)

    assert rig.peer.outcomes[delivery].state.name == state
    assert rig.budget.held_bytes == 0


def test_records_wait_for_room_when_more_were_refused_than_can_be_sent_alone() -> None:
    rig = SourceRig(policy())
    deliveries = rig.send_all(*[b"%d" % number for number in range(8)])
    rig.alone.capacity = 3
    for _ in deliveries:
        rig.producer.fail(REFUSED_BATCH)
    rig.flush()
    assert (len(rig.alone.queue), rig.peer.outcomes) == (3, {})
    assert rig.waiting == [rig.link]

    while rig.alone.queue:
        rig.alone.store()
        rig.flush()

    assert rig.alone.taken == [b"%d" % number for number in range(8)]
    assert rig.peer.outcomes == dict.fromkeys(deliveries, ACCEPTED)


def test_records_that_wait_to_be_sent_alone_are_forgotten_with_their_link() -> None:
    rig = SourceRig(policy())
    rig.alone.capacity = 0
    rig.send_all(b"1", b"2", settled=True)
    for _ in range(2):
        rig.producer.fail(REFUSED_BATCH)
    rig.flush()

    rig.detach()

    assert len(rig.log.drops) == 2
    assert rig.log.ends == [(0, 0, 0)]
    assert rig.budget.held_bytes == 0


def test_none_is_sent_alone_once_the_first_of_them_has_ended_the_link() -> None:
    rig = SourceRig(policy())
    rig.send_all(b"1", b"2", b"3")
    for _ in range(3):
        rig.producer.fail(REFUSED_BATCH)
    rig.alone.refusal = replace(TOO_LARGE, reach=Reach.TOPIC)

    def end() -> None:
        rig.alone.refusal = None
        rig.link.close()

    rig.peer.on_detach = end
    rig.flush()

    assert rig.peer.detached
    assert rig.alone.taken == []
    assert rig.budget.held_bytes == 0


def test_what_fails_behind_a_record_that_ended_the_link_leaves_no_bytes_behind() -> None:
    rig = SourceRig(policy())
    rig.send_all(b"1", b"2")
    rig.alone.capacity = 0
    rig.producer.fail(replace(TOO_LARGE, reach=Reach.TOPIC))
    rig.producer.fail(REFUSED_BATCH)

    rig.flush()

    assert rig.peer.detached
    assert rig.waiting == []
    assert rig.budget.held_bytes == 0


def test_a_defect_in_the_mapping_leaves_no_bytes_behind() -> None:
    rig = SourceRig(policy())

    with pytest.raises(ValueError, match="invalid literal"):
        rig.send(b"value@not a number")
    rig.detach()

    assert rig.budget.held_bytes == 0


# ---------------------------------------------------------------------- partitions


def test_a_link_that_is_bound_to_a_partition_sends_there() -> None:
    rig = SourceRig(policy(), partition=3)

    rig.send_all(b"any", b"same@3")

    assert [produced.partition() for produced in rig.producer.queue] == [3, 3]


def test_a_message_for_another_partition_than_its_links_is_rejected() -> None:
    rig = SourceRig(policy(), partition=3)

    (delivery,) = rig.send_all(b"blue@2")

    outcome = rig.peer.outcomes[delivery]
    assert condition_name(outcome) == conditions.INVALID_FIELD
    assert outcome.condition is not None
    assert "partition 2" in outcome.condition.description
    assert rig.producer.taken == []


def test_a_message_names_its_partition_on_a_link_that_does_not() -> None:
    rig = SourceRig(policy())

    rig.send_all(b"blue@2")

    assert [produced.partition() for produced in rig.producer.queue] == [2]


# ---------------------------------------------------------------------- a full queue


def test_a_full_queue_holds_messages_back_and_answers_nothing() -> None:
    rig = SourceRig(policy(), capacity=1)

    rig.send_all(b"1", b"2", b"3")

    assert rig.producer.taken == [b"1"]
    assert rig.peer.outcomes == {}
    assert rig.waiting == [rig.link], "it asks to try again"


def test_held_messages_follow_in_their_order() -> None:
    rig = SourceRig(policy(), capacity=2)
    rig.send_all(b"1", b"2", b"3", b"4")

    rig.producer.capacity = 3
    rig.send(b"5")
    rig.store(1)
    rig.store()
    rig.store()

    assert rig.producer.taken == [b"1", b"2", b"3", b"4", b"5"]
    assert rig.peer.count(DeliveryState.ACCEPTED) == 5


def test_large_messages_go_to_kafka_from_where_they_are_and_are_kept_while_the_queue_is_full() -> None:
    rig = SourceRig(policy(), capacity=1)

    rig.send_large(b"first")
    rig.send_large(b"second")
    rig.send_large(b"third", settled=True)
    rig.send(b"fourth")

    assert rig.producer.taken == [b"first"]
    for _ in range(4):
        rig.store()
    assert rig.producer.taken == [b"first", b"second", b"third", b"fourth"]
    assert rig.peer.count(DeliveryState.ACCEPTED) == 3


def test_a_large_message_without_a_record_is_rejected_as_any_other() -> None:
    rig = SourceRig(policy())

    delivery = rig.send_large(UNDECODABLE)
    rig.send_large(UNDECODABLE, settled=True)

    assert rig.producer.taken == []
    assert rig.peer.outcomes[delivery].state is DeliveryState.REJECTED
    assert len(rig.log.drops) == 1


def test_a_queue_that_stays_full_is_asked_again_at_each_flush() -> None:
    rig = SourceRig(policy(), capacity=1)
    rig.send_all(b"1", b"2")

    rig.flush()
    assert rig.waiting == [rig.link]
    rig.flush()
    assert rig.waiting == [rig.link]
    assert rig.producer.taken == [b"1"]


def test_a_held_message_that_is_refused_later_is_answered_and_lets_the_next_pass() -> None:
    rig = SourceRig(policy(), capacity=1)
    _, second, third = rig.send_all(b"1", b"2", b"3")

    rig.producer.store()
    rig.producer.refusal = TOO_LARGE
    rig.flush()

    assert rig.peer.outcomes[second].state is DeliveryState.REJECTED
    assert rig.peer.outcomes[third].state is DeliveryState.REJECTED
    assert rig.ready == []
    assert rig.link.window.in_flight == 0


# ---------------------------------------------------------------------- pre-settled


def test_a_settled_sender_gets_credit_without_any_report() -> None:
    rig = SourceRig(policy(window=4, settled=True))

    for _ in range(20):
        rig.send_all(b"1", b"2", settled=True)

    assert len(rig.unacknowledged.queue) == 40
    assert rig.producer.taken == []
    assert rig.peer.credit >= 2
    assert rig.peer.outcomes == {}


def test_a_settled_message_that_is_lost_is_counted() -> None:
    rig = SourceRig(policy(settled=True))

    rig.send_all(b"1", settled=True)
    rig.unacknowledged.fail(TIMED_OUT)
    rig.send_all(UNDECODABLE, settled=True)
    rig.unacknowledged.refusal = QUEUE_IS_FULL
    rig.send_all(b"2", settled=True)

    assert rig.log.drops == [
        "the record timed out",
        "the message cannot be decoded",
        "the producer's queue is full",
    ]
    assert rig.link.window.in_flight == 0


def test_the_messages_of_a_mixed_link_share_a_producer_and_keep_their_order() -> None:
    rig = SourceRig(policy())

    unsettled = rig.send(b"1")
    rig.send(b"2", settled=True)
    other = rig.send(b"3")
    rig.store()

    assert rig.producer.taken == [b"1", b"2", b"3"]
    assert rig.peer.outcomes == {unsettled: ACCEPTED, other: ACCEPTED}
    assert rig.link.window.in_flight == 0


def test_a_pre_settled_message_of_a_mixed_link_that_is_lost_is_counted_and_gives_credit_back() -> None:
    rig = SourceRig(policy(window=3))

    rig.send_all(b"1", b"2", UNDECODABLE, settled=True)
    rig.fail(TOO_LARGE)
    rig.fail(TIMED_OUT)

    assert rig.log.drops == [
        "the message cannot be decoded",
        "the record is too large",
        "the record timed out",
    ]
    assert rig.peer.outcomes == {}
    assert rig.link.window.in_flight == 0
    assert sum(rig.peer.grants) == 6


def test_pre_settled_messages_give_their_credit_back_once() -> None:
    rig = SourceRig(policy(window=4))
    rig.send_all(b"1", b"2", settled=True)

    rig.store(1)
    assert rig.link.window.in_flight == 1
    rig.store(1)
    assert rig.link.window.in_flight == 0


@pytest.mark.parametrize("settled", [False, True], ids=["ordered", "acks0"])
def test_a_pre_settled_message_that_is_lost_after_its_link_is_counted(*, settled: bool) -> None:
    """Such a sender often detaches as soon as it has sent."""
    rig = SourceRig(policy(settled=settled))
    rig.send_all(b"1", settled=True)

    rig.detach()
    (rig.unacknowledged if settled else rig.producer).fail(TIMED_OUT)

    assert rig.log.drops == ["the record timed out"]


def test_a_pre_settled_message_that_waits_for_a_full_queue_is_lost_with_its_link() -> None:
    rig = SourceRig(policy(), capacity=1)
    rig.send_all(b"1", settled=True)
    rig.send_all(b"2")
    rig.send_all(b"3", settled=True)

    rig.detach()

    assert rig.log.drops == ["the link ended while the queue was full"]
    assert rig.log.ends == [(0, 1, 0)]


def test_pre_settled_messages_may_have_the_unacknowledged_producer() -> None:
    rig = SourceRig(policy(acks0=True))

    delivery = rig.send(b"1")
    rig.send(b"2", settled=True)
    rig.store()

    assert (rig.producer.taken, rig.unacknowledged.taken) == ([b"1"], [b"2"])
    assert rig.peer.outcomes == {delivery: ACCEPTED}


# ---------------------------------------------------------------------- rcv-settle-mode second


def test_in_mode_second_the_outcome_is_sent_and_the_sender_settles() -> None:
    rig = SourceRig(policy(second=True))
    (delivery,) = rig.send_all(b"blue")

    rig.store()
    assert rig.peer.outcomes == {delivery: ACCEPTED}
    assert rig.peer.in_doubt == {delivery}
    assert rig.link.window.in_doubt == 1

    rig.settle(delivery)
    assert rig.peer.unsettled == set()
    assert rig.link.window.in_doubt == 0


def test_in_mode_second_a_rejection_waits_for_the_sender_too() -> None:
    rig = SourceRig(policy(second=True))
    (delivery,) = rig.send_all(UNDECODABLE)

    assert rig.peer.in_doubt == {delivery}
    rig.settle(delivery)
    assert rig.peer.unsettled == set()


@pytest.mark.parametrize("fails", [False, True], ids=["stored", "failed"])
def test_a_sender_that_settles_before_the_outcome_is_answered_and_forgotten_at_once(*, fails: bool) -> None:
    rig = SourceRig(policy(second=True))
    (delivery,) = rig.send_all(b"blue")

    rig.settle(delivery)
    assert rig.peer.unanswered == {delivery}
    if fails:
        rig.fail(TOO_LARGE)
    else:
        rig.store()

    assert rig.peer.unsettled == set()
    assert rig.link.window.in_doubt == 0


def test_one_report_answers_deliveries_that_are_settled_early_and_others() -> None:
    rig = SourceRig(policy(second=True))
    first, second, third = rig.send_all(b"1", b"2", b"3")
    rig.settle(second)

    rig.store()

    assert rig.peer.count(DeliveryState.ACCEPTED) == 3
    assert rig.peer.in_doubt == {first, third}
    assert rig.link.window.in_doubt == 2


@pytest.mark.parametrize("fails", [False, True], ids=["stored", "failed"])
def test_a_delivery_that_is_settled_early_is_forgotten_entirely(*, fails: bool) -> None:
    """The engine gives its handles out again once both ends have settled."""
    rig = SourceRig(policy(second=True))
    (delivery,) = rig.send_all(b"1")
    rig.settle(delivery)
    if fails:
        rig.fail(TOO_LARGE)
    else:
        rig.store()

    rig.peer.sent = delivery
    rig.send_all(b"2")
    rig.store()

    assert rig.peer.in_doubt == {delivery}


def test_in_mode_first_a_settlement_of_the_senders_changes_nothing() -> None:
    rig = SourceRig(policy())
    (delivery,) = rig.send_all(b"blue")

    rig.settle(delivery)
    rig.store()

    assert rig.peer.outcomes == {delivery: ACCEPTED}
    assert rig.peer.unsettled == set()


# ---------------------------------------------------------------------- credit in bytes, and Kafka's state


def test_credit_follows_the_bytes_that_the_messages_take() -> None:
    budget = 32 * message_bytes(15_360)
    rig = SourceRig(policy(window=100), budget_bytes=budget)

    for _ in range(20):
        rig.send_all(*[b"x" * 15_360] * rig.peer.credit)
        assert rig.budget.held_bytes <= budget
        rig.store()

    assert rig.link.window.limit == rig.peer.credit == 8, "a quarter of it"


def test_credit_is_not_more_than_the_producers_queue_takes() -> None:
    rig = SourceRig(policy(window=100), capacity=7, sees_room=True)

    assert rig.peer.grants == [7]


def test_a_link_gets_one_credit_even_when_the_queue_is_full() -> None:
    rig = SourceRig(policy(window=100), capacity=0, sees_room=True)

    assert rig.peer.grants == [1]


def test_no_credit_is_given_while_kafka_is_away_and_the_link_stays() -> None:
    rig = SourceRig(policy(window=4))
    deliveries = rig.send_all(b"1", b"2", b"3", b"4")
    rig.kafka_takes = False

    for _ in deliveries:
        rig.fail(TIMED_OUT)
    assert rig.peer.grants == [4]
    assert not rig.peer.detached

    rig.kafka_takes = True
    rig.link.credit_may_flow()
    assert rig.peer.grants == [4, 4]


def test_a_settled_sender_gets_credit_while_kafka_is_away() -> None:
    rig = SourceRig(policy(window=4, settled=True))
    rig.kafka_takes = False

    rig.send_all(b"1", b"2", settled=True)

    assert rig.peer.grants == [4, 2]


def test_what_is_held_is_counted_until_kafka_answers_even_after_the_link() -> None:
    rig = SourceRig(policy())
    rig.send_all(b"x" * 1000, b"y" * 500)
    assert rig.budget.held_bytes == message_bytes(1000) + message_bytes(500)

    rig.store(1)
    assert rig.budget.held_bytes == message_bytes(500)
    rig.detach()
    assert rig.budget.held_bytes == message_bytes(500)
    rig.producer.store()
    assert rig.budget.held_bytes == 0


# ---------------------------------------------------------------------- the end


@pytest.mark.parametrize(
    ("reach", "condition"),
    [(Reach.TOPIC, conditions.RESOURCE_DELETED), (Reach.OWNER, conditions.LINK_STOLEN)],
)
def test_a_failure_that_every_message_will_meet_ends_the_link(reach: Reach, condition: str) -> None:
    rig = SourceRig(policy())
    stored, gone, behind = rig.send_all(b"1", b"2", b"3")
    failure = replace(TOO_LARGE, kafka_error="GONE", reach=reach)

    rig.producer.store(1)
    rig.producer.fail(failure)
    rig.producer.fail(failure)
    rig.flush()

    assert rig.peer.outcomes == {stored: ACCEPTED}
    assert rig.peer.unanswered == {gone, behind}, "their sender knows that they have no outcome"
    assert rig.peer.condition is not None
    assert rig.peer.condition.name == condition
    assert rig.peer.condition.info["kafka-error"] == "GONE"
    assert rig.log.ends == [(1, 2, 0)]
    assert rig.budget.held_bytes == 0


@pytest.mark.parametrize(("partition", "ends"), [(5, True), (6, False)])
def test_a_partition_that_was_there_is_gone_with_its_topic(partition: int, *, ends: bool) -> None:
    rig = SourceRig(policy())
    (delivery,) = rig.send_all(b"1@%d" % partition)

    rig.fail(
        replace(TOO_LARGE, reach=Reach.PARTITION, condition=conditions.INVALID_FIELD),
    )

    if ends:
        assert rig.peer.condition is not None
        assert rig.peer.condition.name == conditions.RESOURCE_DELETED
    else:
        assert condition_name(rig.peer.outcomes[delivery]) == conditions.INVALID_FIELD
        assert not rig.peer.detached


def test_deliveries_in_doubt_are_dropped_with_the_link_and_counted() -> None:
    rig = SourceRig(policy(second=True))
    first, _, _ = rig.send_all(b"1", b"2", b"3")
    rig.store(2)
    rig.settle(first)

    rig.detach()

    assert rig.log.ends == [(2, 1, 1)]


@pytest.mark.parametrize("failure", [TOO_LARGE, TIMED_OUT])
def test_a_condition_says_where_the_message_was_going(failure: Failure) -> None:
    rig = SourceRig(policy(), partition=3)
    (delivery,) = rig.send_all(b"1")

    rig.fail(failure)

    condition = rig.peer.outcomes[delivery].condition
    assert condition is not None
    assert condition.info == {
        "kafka-error": failure.kafka_error,
        "kafka-code": failure.kafka_code,
        "retriable": failure.retriable,
        "topic": TOPIC,
        "partition": 3,
        "reference": REFERENCE,
    }
    assert condition.former == "io.strimzi:error-to-kafka"


def test_a_condition_of_the_bridges_own_says_so_too() -> None:
    rig = SourceRig(policy())
    (delivery,) = rig.send_all(UNDECODABLE)

    condition = rig.peer.outcomes[delivery].condition
    assert condition is not None
    assert condition.info == {"retriable": False, "topic": TOPIC, "reference": REFERENCE}


def test_nothing_is_answered_after_the_end() -> None:
    rig = SourceRig(policy(), capacity=2)
    rig.send_all(b"1", b"2", b"3")
    rig.producer.store(1)

    rig.detach()
    rig.flush()
    rig.producer.store()
    rig.link.batch_ended()
    rig.link.flush()

    assert rig.peer.outcomes == {}
    assert rig.producer.taken == [b"1", b"2"], "what was held back is not sent any more"


def test_the_end_is_reported_once_with_what_was_left() -> None:
    rig = SourceRig(policy())
    rig.send_all(b"1", b"2", b"3")
    rig.store(1)

    rig.detach()
    rig.link.close()

    assert rig.log.ends == [(1, 2, 0)]


def test_a_defect_ends_the_link_with_a_reason_that_gives_nothing_away() -> None:
    rig = SourceRig(policy())
    error = ValueError("secret")

    rig.link.broke(error)

    assert rig.log.defects == [error]
    assert rig.peer.condition is not None
    assert rig.peer.condition.name == conditions.INTERNAL_ERROR
    assert "secret" not in rig.peer.condition.description


def test_a_link_that_is_told_to_stop_answers_and_gives_no_more_credit() -> None:
    rig = SourceRig(policy(window=2))
    rig.send_all(b"1", b"2")

    rig.link.stop_credit()
    rig.store()

    assert rig.peer.count(DeliveryState.ACCEPTED) == 2
    assert rig.peer.grants == [2]


def test_a_delivery_that_is_settled_twice_at_once_is_forgotten_once() -> None:
    rig = SourceRig(policy(window=2, second=True))
    (delivery,) = rig.send_all(b"1")
    rig.store()

    # Proton may hold two dispositions of one frame; the pointer of the first is free for another delivery.
    rig.settle(delivery)
    rig.link.settled(delivery)
    rig.peer.unanswered.add(delivery)
    rig.link.transferred(delivery, b"2", False)  # noqa: FBT003 - as the hot path does
    rig.store()

    assert rig.link.window.in_doubt == 1, "the later delivery waits for its own settlement"
