"""The rules of the source link, under any order of what senders, producers and Kafka may do.

Rules that hold always are invariants of the machine, rules about how things end are in `teardown`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.machines import has_failed, machine_settings
from support.source_port import NO_LEADER, TIMED_OUT, TOO_LARGE, UNDECODABLE, SourceRig

from bridge.mapping.record import ANY_PARTITION
from bridge.model.links import ReceiverSettleMode, SenderSettleMode
from bridge.model.outcomes import DeliveryState
from bridge.source.policy import SourcePolicy, choose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridge.model.failures import Failure

FAILURES: Final = (NO_LEADER, TIMED_OUT, TOO_LARGE)
PARTITION: Final = 3

policies = st.builds(
    choose,
    st.sampled_from(SenderSettleMode),
    st.sampled_from(ReceiverSettleMode),
    prefetch_credit=st.integers(1, 12),
    manual_credit=st.integers(1, 12),
    mixed_settled=st.sampled_from(["ordered", "acks0"]),
)


class SourceLinkMachine(RuleBasedStateMachine):
    """A sender that settles as it likes, a queue that fills up, reports that come in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[int, bytes] = {}
        """What each unsettled delivery carried."""
        self.early: set[int] = set()
        self.sent: list[bytes] = []
        """What the acknowledged producer is to get, in this order, unless it refuses."""
        self.sent_unacknowledged: list[bytes] = []
        self.presettled = 0
        self.refuses = False

    @initialize(
        policy=policies,
        capacity=st.integers(1, 4),
        bound=st.booleans(),
        understood=st.frozensets(st.sampled_from([DeliveryState.RELEASED, DeliveryState.MODIFIED])),
        budget_bytes=st.sampled_from([1, 3000, 1 << 30]),
    )
    def attach(
        self,
        policy: SourcePolicy,
        capacity: int,
        bound: bool,  # noqa: FBT001 - hypothesis passes it by name
        understood: frozenset[DeliveryState],
        budget_bytes: int,
    ) -> None:
        self.policy = policy
        self.bound = bound
        self.rig = SourceRig(
            policy,
            capacity=capacity,
            partition=PARTITION if bound else ANY_PARTITION,
            understood=understood,
            budget_bytes=budget_bytes,
        )
        self.rig.unacknowledged.capacity = 1 << 20
        self.peer = self.rig.peer
        self.window = self.rig.link.window

    def attached(self) -> bool:
        return not self.peer.detached

    def may_send(self) -> bool:
        return self.attached() and self.peer.credit > 0

    # ------------------------------------------------------------------ the sender

    @precondition(may_send)
    @rule(
        messages=st.lists(
            st.tuples(st.booleans(), st.sampled_from([None, None, PARTITION, PARTITION + 1])),
            min_size=1,
            max_size=6,
        ),
        ends_batch=st.booleans(),
    )
    def send(self, messages: list[tuple[bool, int | None]], ends_batch: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        for settled, partition in messages[: self.peer.credit]:
            self.send_one(partition, settled=settled)
        if ends_batch:
            self.end_batch()

    def send_one(self, partition: int | None, *, settled: bool) -> None:
        value = b"%d" % self.peer.sent
        misdirected = self.bound and partition not in {None, PARTITION}
        if not misdirected:
            unacknowledged = settled and self.policy.settled_unacknowledged
            (self.sent_unacknowledged if unacknowledged else self.sent).append(value)
        delivery = self.rig.send(
            value if partition is None else b"%b@%d" % (value, partition), settled=settled
        )
        if settled:
            self.presettled += 1
        else:
            self.values[delivery] = value
            assert (delivery in self.peer.outcomes) or not misdirected

    @precondition(may_send)
    @rule(settled=st.booleans())
    def send_what_cannot_be_decoded(self, settled: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        delivery = self.rig.send(UNDECODABLE, settled=settled)
        if settled:
            self.presettled += 1
        else:
            self.values[delivery] = UNDECODABLE
            assert self.peer.outcomes[delivery].state is DeliveryState.REJECTED

    @precondition(may_send)
    @rule()
    def abort(self) -> None:
        self.peer.transfer(settled=True)
        self.rig.link.aborted()

    @precondition(attached)
    @rule()
    def end_batch(self) -> None:
        given = len(self.peer.grants)
        self.rig.link.batch_ended()
        if not self.rig.kafka_takes and not self.policy.prefetch:
            assert len(self.peer.grants) == given, "Kafka is away: no credit"
        elif self.window.in_doubt <= self.policy.window:
            assert self.peer.credit > 0 or self.window.in_flight >= self.window.limit
        assert self.rig.budget.held_bytes >= 0

    @precondition(lambda self: self.attached() and self.peer.unsettled - self.early)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Settle deliveries, some of them before they have their outcome."""
        unsettled = sorted(self.peer.unsettled - self.early)
        chosen = data.draw(st.lists(st.sampled_from(unsettled), min_size=1, max_size=6, unique=True))
        early = self.peer.unanswered & set(chosen)
        self.rig.settle(*chosen)
        assert self.peer.unsettled & set(chosen) == early, "what is settled at both ends is forgotten"
        self.early |= early

    @precondition(lambda self: self.attached() and self.peer.sent > 25)
    @rule()
    def detach(self) -> None:
        self.rig.detach()
        accepted, unanswered = self.peer.count(DeliveryState.ACCEPTED), len(self.peer.unanswered)
        assert self.rig.log.ends == [(accepted, unanswered, len(self.peer.in_doubt))]

    # ------------------------------------------------------------------ Kafka

    @precondition(lambda self: self.rig.producer.queue)
    @rule(
        reports=st.lists(
            st.tuples(st.integers(0, 5), st.sampled_from([None, None, None, *FAILURES])),
            min_size=1,
            max_size=4,
        ),
        flushes=st.booleans(),
    )
    def report(self, reports: list[tuple[int, Failure | None]], flushes: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        """Report any records of the queue: partitions answer on their own."""
        queue = self.rig.producer.queue
        for index, failure in reports[: len(queue)]:
            if failure is None:
                queue.insert(0, queue.pop(index % len(queue)))
                self.rig.producer.store(1)
                queue = self.rig.producer.queue
            else:
                self.rig.producer.fail(failure, index % len(queue))
        if flushes:
            self.rig.flush()

    @rule(capacity=st.integers(0, 4))
    def resize_queue(self, capacity: int) -> None:
        self.rig.producer.capacity = capacity

    @rule(refusal=st.sampled_from(FAILURES), messages=st.integers(1, 3))
    def refuse(self, refusal: Failure, messages: int) -> None:
        """Let the producer refuse what was parked, and some messages."""
        self.rig.producer.refusal = refusal
        self.refuses = True
        if self.attached():
            self.rig.flush()
            for _ in range(min(messages, self.peer.credit)):
                self.send_one(None, settled=False)
        self.rig.producer.refusal = None

    @rule()
    def flush(self) -> None:
        self.rig.flush()

    @rule(takes=st.booleans())
    def kafka_comes_and_goes(self, takes: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        self.rig.kafka_takes = takes
        if takes:
            self.rig.link.credit_may_flow()

    # ------------------------------------------------------------------ what holds always

    @invariant()
    def granted_and_in_flight_stay_within_the_window(self) -> None:
        assert self.window.granted == self.peer.credit
        assert self.window.granted + self.window.in_flight <= self.policy.window
        assert 1 <= self.window.limit <= self.policy.window
        assert self.rig.budget.reserved_bytes <= self.rig.budget.total_bytes

    @invariant()
    def what_is_remembered_stays_within_two_windows(self) -> None:
        assert self.window.granted + self.window.in_flight + self.window.in_doubt <= 2 * self.policy.window

    @invariant()
    def what_has_no_outcome_is_in_flight(self) -> None:
        """In flight are unanswered deliveries, and pre-settled messages that Kafka does not have yet."""
        if self.attached():
            assert 0 <= self.window.in_flight - len(self.peer.unanswered) <= self.presettled
            assert self.window.in_doubt == len(self.peer.in_doubt)

    @invariant()
    def each_unsettled_delivery_has_an_outcome_or_waits(self) -> None:
        """Compare; the peer itself asserts that none has two, and no settled one has any."""
        assert self.peer.outcomes.keys() | self.peer.unanswered == self.values.keys()
        assert not self.peer.outcomes.keys() & self.peer.unanswered

    @invariant()
    def accepted_means_that_kafka_has_it(self) -> None:
        for delivery, outcome in self.peer.outcomes.items():
            if outcome.state is DeliveryState.ACCEPTED:
                assert self.values[delivery] in self.rig.producer.stored

    @invariant()
    def only_mode_second_leaves_anything_in_doubt(self) -> None:
        if self.policy.settles_first:
            assert not self.peer.in_doubt
        else:
            assert not self.peer.in_doubt & self.early, "what was settled early is never in doubt"

    @invariant()
    def order_in_the_producer_is_order_on_the_link(self) -> None:
        taken = self.rig.producer.taken
        if self.refuses:
            remaining: Iterator[bytes | None] = iter(self.sent)
            assert all(value in remaining for value in taken), "some are missing, none has moved"
        else:
            assert taken == self.sent[: len(taken)]
        if self.bound:
            assert {produced.partition() for produced in self.rig.producer.queue} <= {PARTITION}
        assert self.rig.unacknowledged.taken == self.sent_unacknowledged

    # ------------------------------------------------------------------ how it ends

    def teardown(self) -> None:
        if has_failed() or not self.attached():
            return
        rig, peer = self.rig, self.peer
        rig.producer.capacity, rig.producer.refusal = 3, None
        rig.kafka_takes = True
        rig.link.credit_may_flow()
        for _ in range(self.policy.window + 1):
            rig.store()
        assert self.refuses or rig.producer.taken == self.sent, "everything was sent"
        assert not peer.unanswered, "every unsettled delivery has its outcome"
        assert self.window.in_flight == 0
        rig.settle(*peer.in_doubt)
        assert not peer.unsettled, "what the sender settles is forgotten"
        assert self.window.in_doubt == 0
        while peer.credit:
            self.abort()
        self.end_batch()
        assert peer.credit == self.window.limit, "no credit has leaked"
        assert rig.budget.held_bytes == 0, "no byte is counted that is not there"
        rig.detach()
        assert rig.budget.reserved_bytes == 0
        accepted = peer.count(DeliveryState.ACCEPTED)
        assert accepted + len(rig.log.refusals) == len(self.values)
        assert rig.log.ends == [(accepted, 0, 0)]


TestSourceLink = SourceLinkMachine.TestCase
TestSourceLink.settings = machine_settings(examples=300, steps=40)


# ---------------------------------------------------------------------- many messages


@pytest.mark.parametrize("second", [False, True], ids=["first", "second"])
def test_an_unsettled_sender_never_stops(*, second: bool) -> None:
    """More than 65,536 transfers through a window of 100: no counter wraps, no credit leaks."""
    mode = ReceiverSettleMode.SECOND if second else ReceiverSettleMode.FIRST
    rig = SourceRig(manual(window=100, rcv_settle_mode=mode))
    messages = 70_000

    while rig.peer.sent < messages:
        assert rig.peer.credit > 0, f"the sender stopped after {rig.peer.sent} messages"
        rig.send_all(*[b"value"] * rig.peer.credit)
        rig.store()
        rig.settle(*rig.peer.in_doubt)

    assert rig.peer.count(DeliveryState.ACCEPTED) == rig.peer.sent
    assert rig.peer.unsettled == set()
    assert rig.peer.credit == 100


@given(
    window=st.integers(1, 20),
    burst=st.integers(1, 20),
    outcomes=st.lists(st.sampled_from([None, *FAILURES]), min_size=1, max_size=10),
)
@settings(deadline=None)
def test_more_than_three_windows_pass_whatever_their_outcome(
    window: int, burst: int, outcomes: list[Failure | None]
) -> None:
    rig = SourceRig(manual(window=window))

    while rig.peer.sent <= 3 * window:
        assert rig.peer.credit > 0, f"the sender stopped after {rig.peer.sent} messages"
        rig.send_all(*[b"value"] * min(burst, rig.peer.credit))
        while rig.producer.queue:
            outcome = outcomes[len(rig.producer.queue) % len(outcomes)]
            if outcome is None:
                rig.store(1)
            else:
                rig.fail(outcome)

    assert len(rig.peer.outcomes) == rig.peer.sent
    assert rig.link.window.in_flight == 0


@given(windows=st.integers(3, 6), window=st.integers(1, 30))
@settings(deadline=None)
def test_credit_is_given_back_in_batches(windows: int, window: int) -> None:
    """A sender that keeps some credit gets half a window at a time, not one by one."""
    rig = SourceRig(manual(window=window))

    for _ in range(windows * window):
        rig.send_all(b"value")
        rig.store()

    assert all(credit * 2 >= window for credit in rig.peer.grants)
    assert len(rig.peer.grants) <= 1 + 2 * windows


def manual(*, window: int, rcv_settle_mode: ReceiverSettleMode = ReceiverSettleMode.FIRST) -> SourcePolicy:
    return choose(
        SenderSettleMode.MIXED,
        rcv_settle_mode,
        prefetch_credit=window,
        manual_credit=window,
        mixed_settled="ordered",
    )
