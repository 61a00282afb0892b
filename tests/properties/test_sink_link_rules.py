"""The rules of the sink link, under any order of what receivers, consumers, sockets and groups may do.

Each record that is sent is checked as it is sent, against a model of what may be sent then. Rules that
hold always are invariants, and `teardown` shows that nothing has stalled: with credit given once, and
answers only when nothing else moves, everything that Kafka has is delivered, answered and committed.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.machines import has_failed, machine_settings
from support.sink_port import (
    EXPIRED,
    NO_LIMIT,
    REJECTED,
    SETTLED_WITHOUT_STATE,
    UNDELIVERABLE_HERE,
    Delivered,
    MemoryRecord,
)
from support.sink_rig import SinkRig

from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, Outcome
from bridge.sink.policy import SinkPolicy

TERMINAL: Final = (ACCEPTED, REJECTED, UNDELIVERABLE_HERE)
OUTCOMES: Final = (*TERMINAL, ACCEPTED, ACCEPTED, RELEASED, MODIFIED_FAILED, SETTLED_WITHOUT_STATE)
PLENTY: Final = 100_000

values = st.one_of(st.integers(0, 30).map(lambda size: b"x" * size), st.just(EXPIRED))


class SinkLinkMachine(RuleBasedStateMachine):
    """An unsettled receiver that answers as it likes, in a group that is rebalanced all the time."""

    def __init__(self) -> None:
        super().__init__()
        self.owned: set[int] = set()
        self.leaving: set[int] = set()
        self.drained: list[bool] = []
        self.begin: dict[int, int] = {}
        """Where each partition was read from when it was assigned."""
        self.end: dict[int, int] = {}
        """The offset after the last that was sent since then."""
        self.open: dict[int, set[int]] = {}
        """Offsets that were sent since then and have no terminal outcome."""
        self.answered: set[tuple[int, int]] = set()
        """Records that the group is done with."""
        self.given_back: dict[tuple[int, int], int] = {}
        """Records that are to be sent again, with their failed attempts."""
        self.back_off_over: set[tuple[int, int]] = set()
        self.unanswered: dict[Delivered, None] = {}
        self.late: dict[Delivered, None] = {}
        """Deliveries without an outcome whose partition was taken away."""
        self.accepted = 0
        self.skipped = 0
        self.late_outcomes = 0
        self.credit_max = 0

    @initialize(
        partitions=st.integers(1, 3),
        buffer_records=st.integers(1, 8),
        commit_count=st.sampled_from([1, 3, NO_LIMIT]),
        room_bytes=st.sampled_from([1, 20, 60, NO_LIMIT]),
        buffer_bytes=st.sampled_from([1, 40, NO_LIMIT]),
        records=st.integers(0, 8),
        credit=st.integers(0, 12),
    )
    def attach(
        self,
        partitions: int,
        buffer_records: int,
        commit_count: int,
        room_bytes: int,
        buffer_bytes: int,
        records: int,
        credit: int,
    ) -> None:
        self.buffer_records = buffer_records
        self.rig = SinkRig(
            SinkPolicy(sends_settled=False, rejected="skip"),
            partitions=partitions,
            records=records,
            buffer_records=buffer_records,
            commit_count=commit_count,
            room_bytes=room_bytes,
            buffer_bytes=buffer_bytes,
        )
        self.peer, self.topic = self.rig.peer, self.rig.topic
        self.partitions = range(partitions)
        self.peer.on_send = self.check
        self.took(set(self.partitions))
        self.flow(credit, drain=False)
        self.rig.run()

    def attached(self) -> bool:
        return not self.peer.detached

    def stable(self) -> bool:
        """Tell whether no rebalance is under way: while one is, the consumer waits."""
        return not self.peer.detached and not self.leaving

    # ------------------------------------------------------------------ what may be sent

    def check(self, delivery: Delivered) -> None:
        """Check that it is the turn of the delivery that is being sent."""
        partition, offset = record = delivery.partition, delivery.offset
        assert partition in self.owned - self.leaving
        if record in self.given_back:
            assert record in self.back_off_over, "it waits"
            assert record == min(other for other in self.back_off_over if other[0] == partition)
            assert delivery.attempts == self.given_back.pop(record)
            self.back_off_over.remove(record)
        else:
            assert not self.given_back, "what was given back goes first"
            assert delivery.attempts == 0
            assert offset == self.next_to_send(partition)
            self.end[partition] = offset + 1
            self.open[partition].add(offset)
        self.unanswered[delivery] = None

    def next_to_send(self, partition: int) -> int:
        """Give the offset of the next record, or the one after the last."""
        for record in self.topic.logs[partition]:
            if record.position >= self.end[partition] and record.content != EXPIRED:
                return record.position
        return self.log_end(partition)

    def waiting(self) -> list[MemoryRecord]:
        """Give the records that were handed over and never sent."""
        return [
            record
            for partition in self.owned - self.leaving
            for record in self.topic.logs[partition]
            if self.end[partition] <= record.position < self.rig.feed.positions.get(partition, 0)
            and record.content != EXPIRED
        ]

    def log_end(self, partition: int) -> int:
        log = self.topic.logs[partition]
        return log[-1].position + 1 if log else 0

    def first_open(self, partition: int) -> int:
        """Give the first offset that must not be committed over."""
        for record in self.topic.logs[partition]:
            if (partition, record.position) not in self.answered and record.content != EXPIRED:
                return record.position
        return self.log_end(partition)

    # ------------------------------------------------------------------ the receiver

    @precondition(attached)
    @rule(credit=st.integers(0, 12), drain=st.booleans())
    def flow(self, credit: int, drain: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        self.credit_max = max(self.credit_max, credit)
        returned = self.peer.returned
        self.rig.flow(credit, drain=drain)
        if drain:
            assert self.peer.link_credit == 0 or self.peer.blocked, "it is used, or goes back at once"
        if self.peer.returned > returned:
            assert not self.waiting() or self.rig.timers, "what waits goes first"

    @precondition(lambda self: self.attached() and (self.unanswered or self.late))
    @rule(data=st.data(), outcomes=st.lists(st.sampled_from(OUTCOMES), min_size=8, max_size=8))
    def dispose(self, data: st.DataObject, outcomes: list[Outcome]) -> None:
        """Answer some deliveries, in any order, as one batch; some of them too late."""
        candidates = [*self.unanswered, *self.late]
        chosen = data.draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=8, unique=True))
        answers = list(zip(chosen, outcomes, strict=False))
        for delivery, outcome in answers:
            self.note(delivery, outcome)
        self.rig.dispose(answers)

    def note(self, delivery: Delivered, outcome: Outcome) -> None:
        record = delivery.partition, delivery.offset
        if delivery in self.late:
            del self.late[delivery]
            self.late_outcomes += 1
            return
        del self.unanswered[delivery]
        if outcome in TERMINAL:
            self.answered.add(record)
            self.open[delivery.partition].remove(delivery.offset)
            self.accepted += outcome == ACCEPTED
            self.skipped += outcome != ACCEPTED
        elif delivery.partition not in self.leaving:
            self.given_back[record] = delivery.attempts + (outcome == MODIFIED_FAILED)

    @precondition(attached)
    @rule()
    def socket_writes(self) -> None:
        self.rig.socket_writes()

    @precondition(lambda self: self.rig.timers)
    @rule()
    def fire_timers(self) -> None:
        assert len(self.rig.timers) <= 1, "one back-off at a time"
        self.back_off_over = set(self.given_back)
        self.rig.fire_timers()

    @precondition(lambda self: self.attached() and len(self.peer.delivered) > 10)
    @rule()
    def detach(self) -> None:
        unanswered = len(self.unanswered) + len(self.late) + len(self.given_back)
        self.rig.detach()
        assert self.rig.log.ends == [(self.accepted, unanswered)]
        assert not self.leaving or self.drained == [True]
        for partition in self.owned:
            self.is_committed(partition)

    # ------------------------------------------------------------------ Kafka

    @rule(partition=st.integers(0, 2), records=st.lists(st.tuples(values, st.integers(0, 3)), min_size=1))
    def append(self, partition: int, records: list[tuple[bytes, int]]) -> None:
        for value, gap in records:
            self.topic.append(partition % len(self.partitions), value, gap=gap)

    @precondition(stable)
    @rule(most=st.sampled_from([1, 3, NO_LIMIT]))
    def poll(self, most: int) -> None:
        self.rig.poll(most)

    @precondition(stable)
    @rule()
    def commit(self) -> None:
        self.rig.commit()
        for partition in self.owned:
            self.is_committed(partition)

    @precondition(attached)
    @rule()
    def commit_that_fails(self) -> None:
        self.rig.link.commit()
        self.rig.feed.to_commit.clear()

    @precondition(stable)
    @rule()
    def confirm(self) -> None:
        """Commit what was asked for by count."""
        self.rig.confirm()

    def is_committed(self, partition: int) -> None:
        """Assert that all that may be committed is committed."""
        committed = self.topic.committed.get(partition, 0)
        if self.open[partition]:
            assert committed == min(self.open[partition])
        elif self.end[partition] > self.begin[partition]:
            assert self.end[partition] <= committed <= self.next_to_send(partition)

    # ------------------------------------------------------------------ the group

    def took(self, partitions: set[int]) -> None:
        self.owned |= partitions
        for partition in partitions:
            self.begin[partition] = self.end[partition] = self.topic.committed.get(partition, 0)
            self.open[partition] = set()

    def gave(self, partitions: set[int]) -> None:
        self.owned -= partitions
        for delivery in [d for d in self.unanswered if d.partition in partitions]:
            del self.unanswered[delivery]
            self.late[delivery] = None

    def forget_given_back(self, partitions: set[int]) -> None:
        for record in [record for record in self.given_back if record[0] in partitions]:
            del self.given_back[record]
            self.back_off_over.discard(record)

    @precondition(lambda self: self.stable() and self.owned)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        self.leaving = data.draw(st.sets(st.sampled_from(sorted(self.owned)), min_size=1))
        self.forget_given_back(self.leaving)
        self.drained = self.rig.revoking(*self.leaving)

    @precondition(lambda self: self.attached() and self.leaving)
    @rule()
    def end_revoke(self) -> None:
        """End the wait, whether everything was answered or not."""
        leaving, self.leaving = self.leaving, set()
        self.rig.revoked(*leaving)
        for partition in leaving:
            self.is_committed(partition)
        self.gave(leaving)

    @precondition(lambda self: self.stable() and self.owned)
    @rule(data=st.data(), count=st.integers(0, 3))
    def lose(self, data: st.DataObject, count: int) -> None:
        """Somebody else has the partition before the link hears of it."""
        partition = data.draw(st.sampled_from(sorted(self.owned)))
        self.work_elsewhere(partition, count)
        self.forget_given_back({partition})
        self.rig.lost(partition)
        self.gave({partition})

    @precondition(lambda self: self.attached() and set(self.partitions) - self.owned)
    @rule(data=st.data(), count=st.integers(0, 3))
    def assign(self, data: st.DataObject, count: int) -> None:
        partition = data.draw(st.sampled_from(sorted(set(self.partitions) - self.owned)))
        self.work_elsewhere(partition, count)
        self.rig.assign(partition)
        self.took({partition})
        self.rig.run()

    def work_elsewhere(self, partition: int, count: int) -> None:
        """Let another member do some records."""
        for record in self.topic.uncommitted(partition)[:count]:
            self.answered.add((partition, record.position))
            self.topic.commit({partition: record.position + 1})

    # ------------------------------------------------------------------ what holds always

    @invariant()
    def nothing_is_committed_over_a_record_without_an_answer(self) -> None:
        for partition in self.partitions:
            assert self.topic.committed.get(partition, 0) <= self.first_open(partition)

    @invariant()
    def what_has_its_outcome_is_settled(self) -> None:
        if self.attached():
            assert self.peer.unsettled.keys() == self.unanswered.keys() | self.late.keys()

    @invariant()
    def outcomes_are_counted_once(self) -> None:
        assert self.rig.link.late_count == self.late_outcomes
        assert self.rig.link.accepted_count == self.accepted
        assert len(self.rig.log.skips) == self.skipped

    @invariant()
    def a_revoke_waits_as_long_as_something_is_in_flight_and_no_longer(self) -> None:
        if self.attached() and self.leaving:
            in_flight = any(delivery.partition in self.leaving for delivery in self.unanswered)
            assert self.drained == ([] if in_flight else [True])

    @invariant()
    def no_more_waits_than_was_bounded(self) -> None:
        feed, waiting = self.rig.feed, self.waiting()
        ahead = min(self.credit_max, self.buffer_records)
        assert len(waiting) + max(0, feed.allowed - feed.handed) <= 2 * ahead
        assert sum(map(len, waiting)) <= feed.handed_bytes - feed.taken_bytes

    # ------------------------------------------------------------------ how it ends

    def teardown(self) -> None:
        if has_failed() or self.peer.detached:
            return
        if self.leaving:
            self.end_revoke()
        absent = set(self.partitions) - self.owned
        self.rig.assign(*absent)
        self.took(absent)
        self.flow(PLENTY, drain=False)
        while self.moves() or self.answers():
            pass
        self.rig.commit()
        for partition in self.partitions:
            assert self.first_open(partition) == self.log_end(partition), "everything is answered"
            assert self.topic.committed.get(partition, 0) == self.log_end(partition)
        assert self.rig.feed.handed_bytes == self.rig.feed.taken_bytes
        self.detach()

    def moves(self) -> bool:
        """Let happen what happens without the receiver; tell whether anything did."""
        before = len(self.peer.delivered), self.rig.feed.handed, self.rig.feed.taken_bytes
        self.fire_timers()
        self.rig.poll()
        self.rig.socket_writes()
        return before != (len(self.peer.delivered), self.rig.feed.handed, self.rig.feed.taken_bytes)

    def answers(self) -> bool:
        """Let the receiver accept everything; tell whether there was anything."""
        answers = [(delivery, ACCEPTED) for delivery in [*self.unanswered, *self.late]]
        for delivery, outcome in answers:
            self.note(delivery, outcome)
        self.rig.dispose(answers)
        return bool(answers)


TestSinkLink = SinkLinkMachine.TestCase
TestSinkLink.settings = machine_settings(examples=400, steps=40)


class SettledSinkLinkMachine(RuleBasedStateMachine):
    """A settled receiver: at most once, and nothing is lost while its link lives."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[list[int]] = []
        self.credit_max = 0

    @initialize(
        partitions=st.integers(1, 3),
        buffer_records=st.integers(1, 8),
        room_bytes=st.sampled_from([1, 20, 60, NO_LIMIT]),
        buffer_bytes=st.sampled_from([1, 40, NO_LIMIT]),
        records=st.integers(0, 6),
    )
    def attach(
        self, partitions: int, buffer_records: int, room_bytes: int, buffer_bytes: int, records: int
    ) -> None:
        self.buffer_records = buffer_records
        self.rig = SinkRig(
            SinkPolicy(sends_settled=True, rejected="skip"),
            partitions=partitions,
            records=records,
            buffer_records=buffer_records,
            room_bytes=room_bytes,
            buffer_bytes=buffer_bytes,
        )
        self.partitions = range(partitions)
        self.seen = [[] for _ in self.partitions]
        self.rig.peer.on_send = self.check

    def check(self, delivery: Delivered) -> None:
        assert self.rig.topic.committed[delivery.partition] > delivery.offset, "commit, then send"
        seen = self.seen[delivery.partition]
        assert not seen or delivery.offset > seen[-1], "at most once, in order"
        seen.append(delivery.offset)

    @rule(credit=st.integers(0, 12), drain=st.booleans())
    def flow(self, credit: int, drain: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        self.credit_max = max(self.credit_max, credit)
        self.rig.flow(credit, drain=drain)
        assert not drain or self.rig.peer.link_credit == 0 or self.rig.peer.blocked

    @rule()
    def socket_writes(self) -> None:
        self.rig.socket_writes()

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
        assert self.rig.revoking(*leaving) == [True], "there is nothing to wait for"
        self.rig.revoked(*leaving)

    @precondition(lambda self: len(self.rig.feed.positions) < len(self.partitions))
    @rule()
    def assign(self) -> None:
        self.rig.assign(*(set(self.partitions) - set(self.rig.feed.positions)))

    @rule()
    def commit(self) -> None:
        self.rig.link.commit()
        assert self.rig.feed.to_commit == {}, "the consumer has committed everything already"

    @invariant()
    def no_more_is_committed_and_waits_than_there_was_credit_for(self) -> None:
        feed = self.rig.feed
        waiting = sum(
            record.content != EXPIRED
            for partition in self.partitions
            for record in self.rig.topic.logs[partition]
            if record.position < self.rig.topic.committed.get(partition, 0)
        ) - len(self.rig.peer.delivered)
        assert waiting >= 0
        assert waiting + max(0, feed.allowed - feed.handed) <= min(self.credit_max, self.buffer_records)

    def teardown(self) -> None:
        if has_failed():
            return
        self.assign()
        self.rig.flow(PLENTY)
        moved = True
        while moved:
            before = len(self.rig.peer.delivered), self.rig.feed.handed, self.rig.feed.taken_bytes
            self.rig.poll()
            self.rig.socket_writes()
            moved = before != (len(self.rig.peer.delivered), self.rig.feed.handed, self.rig.feed.taken_bytes)
        for partition in self.partitions:
            log = self.rig.topic.logs[partition]
            assert self.seen[partition] == [record.position for record in log if record.content != EXPIRED]
        assert self.rig.feed.handed_bytes == self.rig.feed.taken_bytes


TestSettledSinkLink = SettledSinkLinkMachine.TestCase
TestSettledSinkLink.settings = machine_settings(examples=100, steps=40)
