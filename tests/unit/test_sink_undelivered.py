from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.sink_port import REJECTED, UNDELIVERABLE_HERE, Delivered, MemoryRecord
from support.sink_rig import (
    ABOUT,
    LIMITS,
    NOT_FOUND,
    REDELIVERY,
    SETTLED,
    TIMED_OUT,
    UNSETTLED,
    MemoryDeadLetters,
    MemoryTimers,
    SinkLog,
    SinkRig,
)

from bridge.codec import Map, Symbol, encode
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, DeliveryState, Outcome
from bridge.sink.lane import Lane
from bridge.sink.ports import DeadLetter, Reason
from bridge.sink.redelivery import RECORD_BYTES, Retry
from bridge.sink.undelivered import Surroundings, Undelivered

if TYPE_CHECKING:
    from bridge.sink.policy import SinkLimits, SinkPolicy

BROWSING = replace(UNSETTLED, browses=True, commits=False)
SMALL = replace(LIMITS, message_max_bytes=30)


def rig_after_delivery(
    count: int, *, policy: SinkPolicy = UNSETTLED, dead_letters: bool = True, limits: SinkLimits = LIMITS
) -> SinkRig:
    """Give a link that has sent all records of one partition and has no credit left."""
    rig = SinkRig(policy, records=count, dead_letters=dead_letters, limits=limits)
    rig.flow(count)
    rig.run()
    assert len(rig.peer.delivered) == count
    return rig


def fail(rig: SinkRig, times: int, outcome: Outcome = MODIFIED_FAILED) -> None:
    """Let attempts of the first record fail."""
    for _ in range(times):
        rig.dispose([(last(rig, 0), outcome)])
        rig.flow(1)
        rig.timers.fire_all()


def last(rig: SinkRig, offset: int) -> Delivered:
    """Give the last delivery of a record."""
    return [delivery for delivery in rig.peer.delivered if delivery.offset == offset][-1]


def encoded(**pairs: str) -> bytes:
    return encode(Map((Symbol(key), value) for key, value in pairs.items()))


# ---------------------------------------------------------------------- what goes to the dead-letter topic


def test_a_rejected_record_goes_there_with_the_receivers_reason() -> None:
    rig = rig_after_delivery(1)
    condition = Condition(conditions.DECODE_ERROR, "not one of ours")

    rig.dispose([(last(rig, 0), Outcome(DeliveryState.REJECTED, condition))])

    (burial,) = rig.dead_letters.pending
    assert burial.place == (0, 0)
    assert burial.letter == DeadLetter(Reason.REJECTED, 1, condition)


def test_a_record_that_is_undeliverable_here_goes_there_with_the_receivers_annotations() -> None:
    rig = rig_after_delivery(1)
    annotations = encoded(cause="x")

    rig.dispose([(last(rig, 0), replace(UNDELIVERABLE_HERE, annotations=annotations))])

    (burial,) = rig.dead_letters.pending
    assert burial.letter == DeadLetter(Reason.UNDELIVERABLE_HERE, 1, annotations=annotations)


def test_a_record_that_failed_too_often_goes_there() -> None:
    rig = rig_after_delivery(1)

    fail(rig, REDELIVERY.attempts_max)

    (burial,) = rig.dead_letters.pending
    assert burial.letter == DeadLetter(Reason.MAX_ATTEMPTS, 3)
    assert [delivery.attempts for delivery in rig.peer.delivered] == [0, 1, 2]
    assert rig.timers.pauses() == []


def test_a_record_that_is_only_ever_released_goes_there_too() -> None:
    rules = replace(REDELIVERY, attempts_max=2, releases_max=3)
    rig = rig_after_delivery(1, policy=replace(UNSETTLED, redelivery=rules))

    fail(rig, 6, RELEASED)

    (burial,) = rig.dead_letters.pending
    assert burial.letter == DeadLetter(Reason.MAX_ATTEMPTS, 6)


def test_annotations_of_all_attempts_go_there() -> None:
    rig = rig_after_delivery(1)
    for pairs in (encoded(a="1", b="1"), encoded(b="2")):
        fail(rig, 1, replace(MODIFIED_FAILED, annotations=pairs))

    rig.dispose([(last(rig, 0), replace(UNDELIVERABLE_HERE, annotations=encoded(c="3")))])

    (burial,) = rig.dead_letters.pending
    assert burial.letter.annotations == encoded(a="1", b="2", c="3")
    assert burial.letter.attempts == 3


def test_a_message_that_is_larger_than_the_receiver_takes_goes_there_and_costs_no_credit() -> None:
    rig = SinkRig(dead_letters=True, limits=SMALL)
    rig.topic.append(0, b"x" * 30)
    rig.topic.append(0, b"y")

    rig.flow(2)
    rig.run()

    (burial,) = rig.dead_letters.pending
    assert (burial.letter.reason, burial.letter.attempts) == (Reason.MESSAGE_SIZE_EXCEEDED, 0)
    assert burial.letter.condition is not None
    assert burial.letter.condition.name == conditions.LINK_MESSAGE_SIZE_EXCEEDED
    assert [delivery.offset for delivery in rig.peer.delivered] == [1]
    assert rig.peer.link_credit == 1


def test_a_message_that_has_become_too_large_goes_there() -> None:
    """What receivers add to its annotations makes it larger each time."""
    rig = rig_after_delivery(1, limits=SMALL)

    fail(rig, 1, replace(MODIFIED_FAILED, annotations=encoded(cause="x" * 30)))

    (burial,) = rig.dead_letters.pending
    assert (burial.letter.reason, burial.letter.attempts) == (Reason.MESSAGE_SIZE_EXCEEDED, 1)
    assert rig.peer.link_credit == 1


# ---------------------------------------------------------------------- until the dead-letter topic has it


def test_the_offset_moves_when_the_dead_letter_topic_has_the_record() -> None:
    rig = rig_after_delivery(2)
    rig.dispose([(last(rig, 0), REJECTED), (last(rig, 1), ACCEPTED)])
    rig.commit()
    assert rig.topic.committed.get(0, 0) == 0

    rig.dead_letters.answer()
    rig.commit()

    assert rig.topic.committed == {0: 2}
    assert [place[:2] for place in rig.log.dead_letters] == [(0, 0)]
    assert rig.log.skips == []


def test_what_goes_to_the_dead_letter_topic_holds_no_other_record_up() -> None:
    rig = SinkRig(records=3, dead_letters=True)
    rig.flow(1)
    rig.run()

    rig.dispose([(last(rig, 0), REJECTED)])
    rig.flow(2)
    rig.run()

    assert [delivery.offset for delivery in rig.peer.delivered] == [0, 1, 2]


def test_what_goes_to_the_dead_letter_topic_counts_among_the_bytes_that_are_not_answered() -> None:
    rig = SinkRig(records=3, dead_letters=True, limits=replace(LIMITS, unsettled_bytes=1))
    rig.flow(3)
    rig.run()

    rig.dispose([(last(rig, 0), REJECTED)])
    assert len(rig.peer.delivered) == 1

    rig.dead_letters.answer()
    assert len(rig.peer.delivered) == 2


def test_messages_that_are_too_large_count_while_others_are_sent() -> None:
    rig = SinkRig(dead_letters=True, limits=replace(SMALL, unsettled_bytes=2 * RECORD_BYTES))
    for size in (30, 30, 1):
        rig.topic.append(0, b"x" * size)

    rig.flow(3)
    rig.run()
    assert (len(rig.dead_letters.pending), len(rig.peer.delivered)) == (2, 0)

    rig.dead_letters.answer()
    assert len(rig.peer.delivered) == 1


def test_a_dead_letter_topic_that_takes_the_record_later_is_tried_again_after_a_back_off() -> None:
    rig = rig_after_delivery(1)
    rig.dispose([(last(rig, 0), REJECTED)])
    letter = rig.dead_letters.pending[0].letter
    pauses = []

    for _ in range(3):
        rig.dead_letters.answer(failure=TIMED_OUT)
        pauses += rig.timers.pauses()
        rig.timers.fire_all()
    rig.commit()
    assert pauses == [1, 2, 4]
    assert rig.topic.committed.get(0, 0) == 0
    assert rig.log.dead_letter_failures == [(0, 0, TIMED_OUT)] * 3

    rig.dead_letters.answer()
    rig.commit()
    assert rig.dead_letters.stored[0].letter == letter
    assert rig.topic.committed == {0: 1}


def test_a_dead_letter_topic_that_never_takes_the_record_ends_the_link_and_leaves_the_offset() -> None:
    rig = rig_after_delivery(2)
    rig.dispose([(last(rig, 0), ACCEPTED), (last(rig, 1), REJECTED)])

    rig.dead_letters.answer(failure=NOT_FOUND)

    assert rig.peer.condition is not None
    assert rig.peer.condition.name == conditions.PRECONDITION_FAILED
    assert "dead-letter topic" in rig.peer.condition.description
    assert rig.topic.committed == {0: 1}
    assert rig.log.ends == [(1, 1)]


def test_what_the_dead_letter_topic_says_after_the_link_changes_nothing() -> None:
    rig = rig_after_delivery(3)
    rig.dispose([(delivery, REJECTED) for delivery in rig.peer.delivered])
    rig.detach()

    for failure in (None, TIMED_OUT, NOT_FOUND):
        rig.dead_letters.answer(failure=failure)
    rig.timers.fire_all()

    assert rig.dead_letters.pending == [], "the next owner of the partition deals with it"
    assert rig.topic.committed.get(0, 0) == 0
    assert rig.peer.condition is None


# ---------------------------------------------------------------------- without a dead-letter topic


@pytest.mark.parametrize("policy", [UNSETTLED, BROWSING], ids=["in a group", "browsing"])
def test_a_message_that_is_too_large_ends_the_link_and_leaves_the_offset(policy: SinkPolicy) -> None:
    rig = SinkRig(policy, limits=SMALL, dead_letters=policy.browses)
    rig.topic.append(0, b"y")
    rig.topic.append(0, b"x" * 30)
    rig.topic.append(0, b"z")

    rig.flow(3)
    rig.run()

    assert rig.peer.condition is None, "what was sent before is answered first, or it would come each time"
    assert [delivery.offset for delivery in rig.peer.delivered] == [0]
    rig.accept(*rig.peer.delivered)
    condition: Condition | None = rig.peer.condition
    assert condition is not None
    assert condition.name == conditions.LINK_MESSAGE_SIZE_EXCEEDED
    assert "partition 0, offset 1" in condition.description
    assert rig.topic.committed.get(0, 0) == (0 if policy.browses else 1)
    assert rig.dead_letters.pending == []


def test_a_link_that_cannot_go_on_does_not_wait_for_ever() -> None:
    rig = SinkRig(UNSETTLED, limits=SMALL)
    rig.topic.append(0, b"y")
    rig.topic.append(0, b"x" * 30)
    rig.flow(3)
    rig.run()

    rig.timers.fire_all()

    assert rig.peer.condition is not None
    assert rig.topic.committed.get(0, 0) == 0


# ---------------------------------------------------------------------- what is committed already


def settled_rig(*, dead_letters: bool) -> SinkRig:
    """Give a settled link that has met a message that is too large, between two others."""
    rig = SinkRig(SETTLED, limits=SMALL, dead_letters=dead_letters, room_bytes=1)
    for value in (b"y", b"x" * 30, b"z"):
        rig.topic.append(0, value)
    rig.flow(3)
    rig.run()
    assert [delivery.offset for delivery in rig.peer.delivered] == [0]
    return rig


def test_a_settled_receiver_is_not_sent_what_is_too_large_for_it() -> None:
    rig = settled_rig(dead_letters=False)

    rig.socket_writes()

    assert [delivery.offset for delivery in rig.peer.delivered] == [0, 2]
    assert [place[:2] for place in rig.log.skips] == [(0, 1)]


def test_what_is_too_large_for_a_settled_receiver_goes_to_the_dead_letter_topic() -> None:
    rig = settled_rig(dead_letters=True)

    rig.socket_writes()

    assert [burial.place for burial in rig.dead_letters.pending] == [(0, 1)]
    assert [delivery.offset for delivery in rig.peer.delivered] == [0, 2]


def test_so_it_does_if_its_partition_was_lost_meanwhile() -> None:
    """Nobody else reads it: it is committed. But it is tried once."""
    rig = settled_rig(dead_letters=True)
    rig.lost(0)

    rig.socket_writes()
    assert [burial.place for burial in rig.dead_letters.pending] == [(0, 1)]
    assert [delivery.offset for delivery in rig.peer.delivered] == [0, 2]

    rig.dead_letters.answer(failure=TIMED_OUT)
    rig.timers.fire_all()
    assert rig.dead_letters.pending == []


def test_a_dead_letter_topic_that_never_takes_it_does_not_end_a_settled_link() -> None:
    rig = settled_rig(dead_letters=True)
    rig.socket_writes()

    rig.dead_letters.answer(failure=NOT_FOUND)

    assert rig.peer.condition is None
    assert rig.log.dead_letter_failures == [(0, 1, NOT_FOUND)]


# ---------------------------------------------------------------------- browsing


@pytest.mark.parametrize("outcome", [REJECTED, UNDELIVERABLE_HERE, RELEASED, MODIFIED_FAILED, ACCEPTED])
def test_outcomes_of_who_browses_mean_nothing(outcome: Outcome) -> None:
    rig = rig_after_delivery(2, policy=replace(BROWSING, rejected="detach"))

    rig.dispose([(delivery, outcome) for delivery in rig.peer.delivered])
    rig.link.commit()
    rig.flow(1)
    rig.detach()

    assert (rig.dead_letters.pending, rig.timers.pauses(), rig.feed.to_commit) == ([], [], {})
    assert (rig.peer.condition, rig.topic.committed) == (None, {})
    assert rig.peer.unsettled == {}
    assert len(rig.peer.delivered) == 2


# ---------------------------------------------------------------------- the end of the link


class Told:
    """A link, as far as it hears of records that were not accepted."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.moves = 0

    def take(self, *told: object) -> None:
        """Take whatever it hears."""
        self.done.append(told)

    def moved(self) -> None:
        """Take notice that something has changed by itself."""
        self.moves += 1


def test_a_link_that_has_ended_is_let_go_when_nothing_is_on_its_way_to_the_dead_letter_topic() -> None:
    told, dead_letters = Told(), MemoryDeadLetters()
    undelivered = Undelivered(
        UNSETTLED,
        Surroundings(SinkLog(), MemoryTimers().later, dead_letters, ABOUT),
        done=told.take,
        moved=told.moved,
        again=told.take,
        ends=told.take,
        stops=told.take,
    )
    lane = Lane(0, 1, None)
    for offset in range(2):
        undelivered.give_up(lane, Retry(MemoryRecord(0, offset, b"x")), REJECTED)
    lane.close()
    undelivered.close()

    dead_letters.answer()
    assert (told.done, told.moves) == ([], 1)
    held = weakref.ref(told)
    del told
    assert held() is not None, "it hears of the other one, too"
    dead_letters.answer()
    assert held() is None
