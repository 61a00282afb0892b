"""The rules of the sink link, under any order of what receivers, consumers, sockets and groups may do.

Each record that is sent, to the receiver or to the dead-letter topic, is checked as it is sent, against a
model of what may be sent then (`support.sink_model`). Rules that hold always are invariants, and `teardown`
shows that nothing has stalled: with credit given once, and answers only when nothing else moves, everything
that Kafka has is delivered, answered and committed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.machines import has_failed, machine_settings
from support.sink_model import SinkModel
from support.sink_port import (
    EXPIRED,
    NO_LIMIT,
    REJECTED,
    SETTLED_WITHOUT_STATE,
    UNDELIVERABLE_HERE,
    Delivered,
)
from support.sink_rig import NOT_FOUND, SETTLED, TIMED_OUT, UNSETTLED, SinkRig

from bridge.codec import Map, Symbol, encode
from bridge.model.conditions import DECODE_ERROR, Condition
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, DeliveryState, Outcome
from bridge.sink.policy import SinkLimits, SinkPolicy
from bridge.sink.ports import Reason
from bridge.sink.redelivery import Redelivery

if TYPE_CHECKING:
    from support.sink_rig import Burial

    from bridge.model.failures import Failure

MODIFIED_ANNOTATED: Final = [
    Outcome(
        DeliveryState.MODIFIED,
        delivery_failed=number % 2 == 0,
        undeliverable_here=number == 1,
        annotations=encode(Map([(Symbol(name), str(number))])),
    )
    for number, name in enumerate(["seen-by", "seen-by", "cause", "cause"])
]
REJECTED_WITH_REASON: Final = Outcome(DeliveryState.REJECTED, Condition(DECODE_ERROR, "no message of ours"))
OUTCOMES: Final = (
    *(REJECTED, REJECTED_WITH_REASON, UNDELIVERABLE_HERE, ACCEPTED, ACCEPTED, ACCEPTED),
    *(RELEASED, MODIFIED_FAILED, MODIFIED_FAILED, SETTLED_WITHOUT_STATE, *MODIFIED_ANNOTATED),
)
COME_BACK: Final = (RELEASED, RELEASED, SETTLED_WITHOUT_STATE, MODIFIED_FAILED, *MODIFIED_ANNOTATED)
PLENTY: Final = 100_000

values = st.one_of(st.integers(0, 30).map(lambda size: b"x" * size), st.just(EXPIRED))
redelivery_rules = st.builds(
    Redelivery,
    backoff_seconds=st.just(1.0),
    backoff_max_seconds=st.sampled_from([1.0, 3.0, 60.0]),
    attempts_max=st.integers(1, 3),
    releases_max=st.integers(1, 3),
    ahead_records=st.sampled_from([None, None, 1, 2, 5]),
)
limits_of_links = st.builds(
    SinkLimits,
    buffer_records=st.integers(1, 8),
    commit_count=st.sampled_from([1, 3, NO_LIMIT]),
    unsettled_bytes=st.sampled_from([NO_LIMIT, NO_LIMIT, NO_LIMIT, 3_000, 1]),
    message_max_bytes=st.sampled_from([0, 0, 30]),
)


class SinkLinkMachine(RuleBasedStateMachine):
    """An unsettled receiver that answers as it likes, in a group that is rebalanced all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.drained: list[bool] = []
        self.credit_max = 0

    @initialize(
        limits=limits_of_links,
        redelivery=redelivery_rules,
        rejected=st.sampled_from(["skip", "skip", "detach"]),
        buries=st.booleans(),
        partitions=st.integers(1, 3),
        sizes=st.tuples(
            st.sampled_from([NO_LIMIT, NO_LIMIT, 60, 20, 1]), st.sampled_from([NO_LIMIT, NO_LIMIT, 40, 1])
        ),
        records=st.integers(0, 8),
        credit=st.integers(0, 12),
    )
    def attach(
        self,
        limits: SinkLimits,
        redelivery: Redelivery,
        rejected: str,
        buries: bool,  # noqa: FBT001 - hypothesis passes it by name
        partitions: int,
        sizes: tuple[int, int],
        records: int,
        credit: int,
    ) -> None:
        policy = SinkPolicy(
            sends_settled=False, rejected="detach" if rejected == "detach" else "skip", redelivery=redelivery
        )
        self.rig = SinkRig(
            policy,
            limits=limits,
            partitions=partitions,
            records=records,
            room_bytes=sizes[0],
            buffer_bytes=sizes[1],
            dead_letters=buries,
        )
        self.peer, self.topic, self.feed = self.rig.peer, self.rig.topic, self.rig.feed
        self.limits = limits
        self.partitions = range(partitions)
        self.model = SinkModel(self.rig, policy, limits, buries=buries)
        self.model.took(set(self.partitions))
        self.flow(credit, drain=False)
        self.rig.run()

    def attached(self) -> bool:
        return not self.peer.detached

    def stable(self) -> bool:
        """Tell whether no rebalance is under way: while one is, the consumer waits."""
        return not self.peer.detached and not self.model.leaving

    # ------------------------------------------------------------------ the receiver

    @precondition(attached)
    @rule(credit=st.integers(0, 12), drain=st.booleans())
    def flow(self, credit: int, drain: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        self.credit_max = max(self.credit_max, credit)
        if not (self.peer.drain and self.peer.link_credit):
            self.model.end_told = False
        self.rig.flow(credit, drain=drain)

    @precondition(lambda self: self.attached() and (self.model.unanswered or self.model.late))
    @rule(data=st.data(), outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=8, max_size=8))
    def dispose(self, data: st.DataObject, outcomes: list[Outcome]) -> None:
        """Answer some deliveries, in any order, as one batch; some of them too late."""
        candidates = [*self.model.unanswered, *self.model.late]
        chosen = data.draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=8, unique=True))
        self.rig.dispose(self.model.noting(zip(chosen, outcomes, strict=False)))

    @precondition(lambda self: self.attached() and self.model.unanswered)
    @rule(data=st.data(), outcomes=st.lists(st.sampled_from(COME_BACK), min_size=1, max_size=5))
    def fail_again_and_again(self, data: st.DataObject, outcomes: list[Outcome]) -> None:
        """Do not accept a record, however often it comes."""
        delivery = data.draw(st.sampled_from(list(self.model.unanswered)))
        for outcome in outcomes:
            if delivery not in self.model.unanswered:
                return
            self.rig.dispose(self.model.noting([(delivery, outcome)]))
            if self.stable():
                self.flow(self.peer.link_credit + 2, drain=False)
                self.poll(2)
            if self.rig.timers:
                self.time_goes_on()
            delivery = self.peer.delivered[-1]

    @precondition(attached)
    @rule()
    def socket_writes(self) -> None:
        self.rig.socket_writes()

    @precondition(lambda self: self.attached() and len(self.peer.delivered) > 10)
    @rule()
    def detach(self) -> None:
        self.peer.detached = True
        self.model.end_link()

    # ------------------------------------------------------------------ time, and the dead-letter topic

    @precondition(lambda self: self.rig.timers)
    @rule()
    def time_goes_on(self) -> None:
        self.rig.timers.fire()

    @precondition(lambda self: self.rig.dead_letters.pending)
    @rule(
        data=st.data(),
        failure=st.sampled_from([None, None, None, None, None, TIMED_OUT, TIMED_OUT, NOT_FOUND]),
    )
    def answer_letter(self, data: st.DataObject, failure: Failure | None) -> None:
        pending = self.rig.dead_letters.pending
        index = data.draw(st.integers(0, len(pending) - 1))
        if self.attached():
            self.model.letter_answered(pending[index], failure)
        self.rig.dead_letters.answer(index, failure)

    # ------------------------------------------------------------------ Kafka

    @rule(partition=st.integers(0, 2), records=st.lists(st.tuples(values, st.integers(0, 3)), min_size=1))
    def append(self, partition: int, records: list[tuple[bytes, int]]) -> None:
        for value, gap in records:
            self.topic.append(partition % len(self.partitions), value, gap=gap)

    @precondition(stable)
    @rule(most=st.sampled_from([1, 3, NO_LIMIT]))
    def poll(self, most: int) -> None:
        self.rig.poll(most)

    @precondition(attached)
    @rule(in_time=st.booleans())
    def tell_end(self, in_time: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        """Tell that the end was reached, or that it cannot be found out in time."""
        token = self.feed.found_end(in_time=in_time)
        if token is None:
            return
        self.model.end_told = True
        self.rig.link.reached_end(token)
        if self.attached() and self.peer.drain and not self.model.may_have_stopped:
            assert self.peer.link_credit == 0 or self.peer.blocked, "it is used, or goes back at once"

    @precondition(stable)
    @rule()
    def commit(self) -> None:
        self.rig.commit()
        for partition in self.model.owned:
            self.model.assert_committed(partition)

    @precondition(attached)
    @rule()
    def commit_that_fails(self) -> None:
        self.rig.link.commit()
        self.feed.to_commit.clear()

    @precondition(stable)
    @rule()
    def confirm(self) -> None:
        """Commit what was asked for by count."""
        self.rig.confirm()

    # ------------------------------------------------------------------ the group

    @precondition(lambda self: self.stable() and self.model.owned)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        leaving = data.draw(st.sets(st.sampled_from(sorted(self.model.owned)), min_size=1))
        self.model.leaving = leaving
        self.model.leaves(leaving)
        self.drained = self.rig.revoking(*leaving)

    @precondition(lambda self: self.attached() and self.model.leaving)
    @rule()
    def end_revoke(self) -> None:
        """End the wait, whether everything was answered or not."""
        leaving, self.model.leaving = self.model.leaving, set()
        self.model.gave(leaving)
        self.rig.revoked(*leaving)
        for partition in leaving:
            self.model.assert_committed(partition)

    @precondition(lambda self: self.stable() and self.model.owned)
    @rule(data=st.data(), count=st.integers(0, 3))
    def lose(self, data: st.DataObject, count: int) -> None:
        """Somebody else has the partition before the link hears of it."""
        partition = data.draw(st.sampled_from(sorted(self.model.owned)))
        self.work_elsewhere(partition, count)
        committed = self.topic.committed.get(partition)
        self.model.gave({partition})
        self.rig.lost(partition)
        self.rig.confirm()
        assert self.topic.committed.get(partition) == committed, "it is not the link's to commit"

    @precondition(lambda self: self.attached() and set(self.partitions) - self.model.owned)
    @rule(data=st.data(), count=st.integers(0, 3))
    def assign(self, data: st.DataObject, count: int) -> None:
        partition = data.draw(st.sampled_from(sorted(set(self.partitions) - self.model.owned)))
        self.work_elsewhere(partition, count)
        self.rig.assign(partition)
        self.model.took({partition})
        while self.rig.poll():
            pass

    def work_elsewhere(self, partition: int, count: int) -> None:
        """Let another member do some records."""
        for record in self.topic.uncommitted(partition)[:count]:
            self.model.answered.add((partition, record.position))
            self.topic.commit({partition: record.position + 1})

    # ------------------------------------------------------------------ what holds always

    @invariant()
    def nothing_is_committed_over_a_record_without_an_answer(self) -> None:
        for partition in self.partitions:
            assert self.topic.committed.get(partition, 0) <= self.model.first_open(partition)

    @invariant()
    def pauses_end_when_they_have_to(self) -> None:
        due = {*self.model.given_back.values(), *(due for _, due in self.model.letters_again.values())}
        now = self.rig.timers.now
        if self.attached():
            assert {moment for moment in due if moment > now} <= {
                now + rest for rest in self.rig.timers.pauses()
            }

    @invariant()
    def what_has_its_outcome_is_settled(self) -> None:
        if self.attached():
            assert self.peer.unsettled.keys() == self.model.unanswered.keys() | self.model.late.keys()

    @invariant()
    def outcomes_are_counted_once(self) -> None:
        assert self.rig.link.late_count == self.model.late_outcomes
        assert self.rig.link.accepted_count == self.model.accepted
        assert len(self.rig.log.skips) == self.model.skipped
        assert len(self.rig.log.dead_letters) == len(self.rig.dead_letters.stored)

    @invariant()
    def the_link_ends_when_it_has_to(self) -> None:
        assert self.peer.detached or not self.model.has_to_end

    @invariant()
    def a_revoke_waits_as_long_as_something_is_in_flight_and_no_longer(self) -> None:
        if self.model.leaving:
            waits = self.attached() and self.model.in_flight(self.model.leaving)
            assert self.drained == ([] if waits else [True])

    @invariant()
    def no_more_waits_than_was_bounded(self) -> None:
        feed, waiting = self.feed, self.model.waiting()
        ahead = min(self.credit_max, self.limits.buffer_records)
        for partition in feed.held:
            # What waits for a record that is to be sent again is in nobody's way: once for each partition.
            assert sum(record.number == partition for record in waiting) <= 2 * ahead
        if self.attached():
            stopped_at = self.model.too_large()
            waiting = [each for each in waiting if each.number not in feed.held]
            waiting = [each for each in waiting if (each.number, each.position) not in stopped_at]
            assert len(waiting) + max(0, feed.allowed - feed.handed) <= 2 * ahead
            assert sum(map(len, waiting)) <= feed.handed_bytes - feed.taken_bytes

    # ------------------------------------------------------------------ how it ends

    def teardown(self) -> None:
        if has_failed() or not self.attached():
            return
        if self.model.leaving:
            self.end_revoke()
        absent = set(self.partitions) - self.model.owned
        self.rig.assign(*absent)
        self.model.took(absent)
        self.flow(PLENTY, drain=False)
        while self.moves() or self.answers():
            pass
        if not self.attached():
            return  # at a record that the receiver does not take: it is set to
        self.rig.commit()
        for partition in self.partitions:
            assert self.model.first_open(partition) == self.topic.end(partition), "everything is answered"
            assert self.topic.committed.get(partition, 0) == self.topic.end(partition)
        assert self.feed.handed_bytes == self.feed.taken_bytes
        self.flow(PLENTY, drain=True)
        self.tell_end(in_time=True)
        assert self.peer.link_credit == 0
        self.detach()

    def moves(self) -> bool:
        """Let happen what happens without the receiver; tell whether anything did."""
        before = self.progress()
        if self.rig.timers:
            self.time_goes_on()
        while self.rig.dead_letters.pending:
            if self.attached():
                self.model.letter_answered(self.rig.dead_letters.pending[0], None)
            self.rig.dead_letters.answer()
        if self.attached():
            self.rig.poll()
            self.rig.socket_writes()
        return before != self.progress()

    def progress(self) -> tuple[int, ...]:
        letters = self.rig.dead_letters
        dead = len(letters.pending), len(letters.stored)
        delivered = len(self.peer.delivered)
        return *dead, delivered, self.feed.handed, self.feed.taken_bytes, len(self.rig.timers)

    def answers(self) -> bool:
        """Let the receiver accept everything; tell whether there was anything."""
        deliveries = [*self.model.unanswered, *self.model.late] if self.attached() else []
        self.rig.dispose(self.model.noting((delivery, ACCEPTED) for delivery in deliveries))
        return bool(deliveries)


TestSinkLink = SinkLinkMachine.TestCase
TestSinkLink.settings = machine_settings(examples=400, steps=40)


class BrowsingMachine(RuleBasedStateMachine):
    """A receiver that looks at copies: whatever it answers, each record comes once, and all stay there."""

    @initialize(
        limits=limits_of_links,
        redelivery=redelivery_rules,
        records=st.integers(0, 8),
        buries=st.booleans(),
    )
    def attach(
        self,
        limits: SinkLimits,
        redelivery: Redelivery,
        records: int,
        buries: bool,  # noqa: FBT001 - hypothesis passes it by name
    ) -> None:
        self.rig = SinkRig(
            replace(UNSETTLED, rejected="detach", redelivery=redelivery, browses=True, commits=False),
            limits=replace(limits, message_max_bytes=0),
            partitions=2,
            records=records,
            dead_letters=buries,
        )

    @rule(credit=st.integers(0, 12))
    def flow(self, credit: int) -> None:
        self.rig.flow(credit)

    @rule(partition=st.integers(0, 1), value=values)
    def append(self, partition: int, value: bytes) -> None:
        self.rig.topic.append(partition, value)

    @rule()
    def poll(self) -> None:
        self.rig.poll()

    @rule()
    def commit(self) -> None:
        self.rig.link.commit()

    @precondition(lambda self: self.rig.peer.unsettled)
    @rule(data=st.data(), outcome=st.sampled_from(OUTCOMES))
    def dispose(self, data: st.DataObject, outcome: Outcome) -> None:
        self.rig.dispose([(data.draw(st.sampled_from(list(self.rig.peer.unsettled))), outcome)])

    @invariant()
    def outcomes_mean_nothing(self) -> None:
        rig = self.rig
        assert not rig.peer.detached
        assert (len(rig.timers), rig.dead_letters.pending, rig.log.skips, rig.log.redeliveries) == (
            0,
            [],
            [],
            [],
        )
        assert (rig.feed.to_commit, rig.topic.committed) == ({}, {})

    def teardown(self) -> None:
        if has_failed():
            return
        self.rig.flow(PLENTY)
        handed = -1
        while handed < self.rig.feed.handed or self.rig.peer.unsettled:
            handed = self.rig.feed.handed
            self.rig.dispose([(delivery, RELEASED) for delivery in list(self.rig.peer.unsettled)])
            self.rig.run()
        for partition, log in enumerate(self.rig.topic.logs):
            sent = [each.offset for each in self.rig.peer.delivered if each.partition == partition]
            assert sent == [record.position for record in log if record.content != EXPIRED]
        self.rig.detach()
        assert self.rig.topic.committed == {}


TestBrowsing = BrowsingMachine.TestCase
TestBrowsing.settings = machine_settings(examples=50, steps=30)


class SettledSinkLinkMachine(RuleBasedStateMachine):
    """A settled receiver: at most once; nothing is lost while its link lives, nor by its end.

    But for what waits of a partition that somebody else has already: that goes with the link.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[list[int]] = []
        """By partition, what was sent to the receiver or to the dead-letter topic."""
        self.credit_max = 0

    @initialize(
        limits=limits_of_links,
        buries=st.booleans(),
        partitions=st.integers(1, 3),
        room_bytes=st.sampled_from([1, 20, 60, NO_LIMIT]),
        buffer_bytes=st.sampled_from([1, 40, NO_LIMIT]),
        records=st.integers(0, 6),
        late_batches=st.sampled_from([None, 0, 1, 2]),
        loses=st.booleans(),
    )
    def attach(
        self,
        limits: SinkLimits,
        buries: bool,  # noqa: FBT001 - hypothesis passes it by name
        partitions: int,
        room_bytes: int,
        buffer_bytes: int,
        records: int,
        late_batches: int | None,
        loses: bool,  # noqa: FBT001 - hypothesis passes it by name
    ) -> None:
        self.limits = limits
        self.loses = loses
        """Partitions may be lost, and what waited of them with the link's end."""
        self.late_batches = late_batches
        """How many are on their way to the link when it ends; None: it goes on until all is sent."""
        self.rig = SinkRig(
            SETTLED,
            limits=limits,
            partitions=partitions,
            records=records,
            room_bytes=room_bytes,
            buffer_bytes=buffer_bytes,
            dead_letters=buries,
        )
        self.partitions = range(partitions)
        self.seen = [[] for _ in self.partitions]
        self.first_letters: set[tuple[int, int]] = set()
        self.rig.peer.on_send = self.check_delivery
        self.rig.dead_letters.on_send = self.check_letter

    def check_delivery(self, delivery: Delivered) -> None:
        assert delivery.size_bytes <= (self.limits.message_max_bytes or NO_LIMIT)
        self.check_turn(delivery.partition, delivery.offset)

    def check_letter(self, burial: Burial) -> None:
        assert burial.letter.reason is Reason.MESSAGE_SIZE_EXCEEDED
        if burial.place not in self.first_letters:
            self.first_letters.add(burial.place)
            self.check_turn(*burial.place)

    def check_turn(self, partition: int, offset: int) -> None:
        assert self.rig.topic.committed[partition] > offset, "commit, then send"
        seen = self.seen[partition]
        assert not seen or offset > seen[-1], "at most once, in order"
        seen.append(offset)

    @rule(credit=st.integers(0, 12), drain=st.booleans())
    def flow(self, credit: int, drain: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        self.credit_max = max(self.credit_max, credit)
        self.rig.flow(credit, drain=drain)

    @rule(in_time=st.booleans())
    def tell_end(self, in_time: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        if self.rig.tell_end(in_time=in_time) and self.rig.peer.drain:
            assert self.rig.peer.link_credit == 0 or self.rig.peer.blocked

    @rule()
    def socket_writes(self) -> None:
        self.rig.socket_writes()

    @precondition(lambda self: self.rig.timers)
    @rule()
    def time_goes_on(self) -> None:
        self.rig.timers.fire()

    @precondition(lambda self: self.rig.dead_letters.pending)
    @rule(failure=st.sampled_from([None, None, TIMED_OUT, NOT_FOUND]))
    def answer_letter(self, failure: Failure | None) -> None:
        self.rig.dead_letters.answer(failure=failure)

    @rule(data=st.data(), value=values, gap=st.integers(0, 3))
    def append(self, data: st.DataObject, value: bytes, gap: int) -> None:
        self.rig.topic.append(data.draw(st.sampled_from(self.partitions)), value, gap=gap)

    @rule(most=st.integers(1, 10))
    def poll(self, most: int) -> None:
        self.rig.poll(most)

    @precondition(lambda self: self.rig.feed.positions)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        leaving = data.draw(st.sets(st.sampled_from(sorted(self.rig.feed.positions)), min_size=1))
        drained = self.rig.revoking(*leaving)
        assert self.rig.dead_letters.pending or self.rig.timers or drained, "there is nothing to wait for"
        self.rig.revoked(*leaving)

    @precondition(lambda self: self.loses and self.rig.feed.positions)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        lost = data.draw(st.sets(st.sampled_from(sorted(self.rig.feed.positions)), min_size=1))
        self.rig.lost(*lost)

    @precondition(lambda self: len(self.rig.feed.positions) < len(self.partitions))
    @rule()
    def assign(self) -> None:
        self.rig.assign(*(set(self.partitions) - set(self.rig.feed.positions)))

    @rule()
    def commit(self) -> None:
        self.rig.link.commit()
        assert self.rig.feed.to_commit == {}, "the consumer has committed everything already"

    @invariant()
    def the_link_lives(self) -> None:
        assert not self.rig.peer.detached

    @invariant()
    def no_more_is_committed_and_waits_than_twice_the_credit(self) -> None:
        feed = self.rig.feed
        committed = sum(
            record.content != EXPIRED
            for partition in self.partitions
            for record in self.rig.topic.logs[partition]
            if record.position < self.rig.topic.committed.get(partition, 0)
        )
        waiting = committed - sum(map(len, self.seen)) - len(self.rig.log.skips)
        assert waiting >= 0
        bound = 2 * min(self.credit_max, self.limits.buffer_records)
        assert waiting + max(0, feed.allowed - feed.handed) <= bound

    def teardown(self) -> None:
        if has_failed():
            return
        if self.late_batches is not None:
            self.end(self.late_batches)
            return
        self.assign()
        self.rig.flow(PLENTY)
        while self.moves():
            pass
        for partition in self.partitions:
            assert self.over(partition) == self.deliverable(partition)
        assert self.rig.feed.handed_bytes == self.rig.feed.taken_bytes

    def end(self, late_batches: int) -> None:
        """End the link, and look at what it leaves to others."""
        batches = [self.rig.feed.poll(2) for _ in range(late_batches)]
        self.rig.detach()
        for records in filter(None, batches):
            self.rig.link.consumed(records)
        self.rig.feed.commit_pending()
        for partition in self.partitions:
            over = self.over(partition)
            left = {record.position for record in self.rig.topic.uncommitted(partition)}
            assert not left & set(over), "at most once"
            assert self.loses or left.union(over).issuperset(self.deliverable(partition))

    def over(self, partition: int) -> list[int]:
        """Give the offsets of a partition that were sent, put away or skipped."""
        skipped = [offset for number, offset, _ in self.rig.log.skips if number == partition]
        return sorted(self.seen[partition] + skipped)

    def deliverable(self, partition: int) -> list[int]:
        """Give the offsets of a partition that are to be sent."""
        return [record.position for record in self.rig.topic.logs[partition] if record.content != EXPIRED]

    def moves(self) -> bool:
        """Let everything go on; tell whether anything happened."""
        rig, before = self.rig, self.progress()
        rig.poll()
        rig.socket_writes()
        rig.timers.fire_all()
        while rig.dead_letters.pending:
            rig.dead_letters.answer()
        return before != self.progress()

    def progress(self) -> tuple[int, ...]:
        rig, letters = self.rig, self.rig.dead_letters
        dead = len(letters.pending), len(letters.stored)
        return *dead, len(rig.peer.delivered), rig.feed.handed, rig.feed.taken_bytes


TestSettledSinkLink = SettledSinkLinkMachine.TestCase
TestSettledSinkLink.settings = machine_settings(examples=100, steps=40)
