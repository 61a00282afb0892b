"""The rules of a share link, through any interleaving of credit, outcomes, lapses, failures and detaches."""

from __future__ import annotations

from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.share_rig import (
    EXPIRED,
    REJECTED,
    SETTLED_WITHOUT_STATE,
    UNDELIVERABLE_HERE,
    ShareDelivery,
    ShareRig,
    policy,
)

from bridge.model import conditions
from bridge.model.failures import Failure, Stored
from bridge.model.links import SenderSettleMode
from bridge.model.outcomes import ACCEPTED, MODIFIED_FAILED, RELEASED, Outcome
from bridge.sink.share_ports import State

OUTCOMES: Final = [
    ACCEPTED,
    RELEASED,
    MODIFIED_FAILED,
    REJECTED,
    UNDELIVERABLE_HERE,
    SETTLED_WITHOUT_STATE,
]
AWAY: Final = Failure("_TRANSPORT", -195, "away", conditions.INTERNAL_ERROR, retriable=True, stored=Stored.NO)


class ShareLinkRules(RuleBasedStateMachine):
    """A share group of some records, and receivers that come and go, one at a time."""

    rig: ShareRig

    @initialize(
        values=st.lists(st.sampled_from([b"x", b"x", b"x", EXPIRED]), min_size=1, max_size=8),
        settle_mode=st.sampled_from([SenderSettleMode.UNSETTLED, SenderSettleMode.SETTLED]),
        attempts_max=st.integers(1, 4),
        bridge_attempts_max=st.integers(1, 4),
        with_dead_letters=st.booleans(),
    )
    def begin(
        self,
        values: list[bytes],
        settle_mode: SenderSettleMode,
        attempts_max: int,
        bridge_attempts_max: int,
        *,
        with_dead_letters: bool,
    ) -> None:
        self.is_settled = settle_mode is SenderSettleMode.SETTLED
        self.records = len(values)
        self.rig = ShareRig(
            policy(settle_mode, attempts_max=bridge_attempts_max),
            values,
            attempts_max=attempts_max,
            with_dead_letters=with_dead_letters,
        )
        self.answered: set[ShareDelivery] = set()
        self.recorded_at: dict[int, int] = {}
        """By record, how many deliveries there were when Kafka recorded that it is accepted."""
        self.unreliable: set[int] = set()
        """Records of which Kafka did not take the answer: nothing more is promised of them."""
        self.earlier: list[ShareDelivery] = []

    # ------------------------------------------------------------------ what may happen

    @rule(credit=st.integers(0, 6), drain=st.booleans())
    def flow(self, credit: int, *, drain: bool) -> None:
        if not self.rig.peer.detached:
            self.rig.flow(credit, drain=drain)

    @rule(most=st.integers(1, 6))
    def poll(self, most: int) -> None:
        self.rig.poll(most)

    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        open_deliveries = [each for each in self.rig.peer.unsettled if each not in self.answered]
        if self.rig.peer.detached or not open_deliveries:
            return
        chosen = data.draw(st.lists(st.sampled_from(open_deliveries), min_size=1, unique=True))
        outcomes: list[tuple[ShareDelivery, Outcome]] = [
            (each, data.draw(st.sampled_from(OUTCOMES))) for each in chosen
        ]
        self.answered.update(chosen)
        self.rig.dispose(outcomes)

    @rule()
    def confirm(self) -> None:
        self.rig.confirm()

    @rule()
    def kafka_takes_nothing(self) -> None:
        self.unreliable.update(offset for _, told in self.rig.feed.pending for offset, _ in told)
        self.rig.fail()

    @rule()
    def lapse(self) -> None:
        self.rig.lapsing()

    @rule()
    def others_want_it(self) -> None:
        self.rig.unwanted()

    @rule()
    def time_passes(self) -> None:
        self.rig.fire_timers()

    @rule(works=st.booleans())
    def dead_letter_topic_answers(self, *, works: bool) -> None:
        self.rig.letters.answer(None if works else AWAY)

    @precondition(lambda self: not self.rig.peer.detached)
    @rule()
    def detach(self) -> None:
        self.rig.detach()

    @precondition(lambda self: self.rig.peer.detached and self.rig.feed.stopped)
    @rule()
    def attach(self) -> None:
        self.rig.confirm()
        self.earlier += self.rig.peer.delivered
        self.rig.attach()

    # ------------------------------------------------------------------ what holds

    @invariant()
    def no_record_is_dropped_without_a_word(self) -> None:
        rig = self.rig
        told = {offset for offset, _ in rig.log.skips}
        on_its_way = {record.offset() for record, _, _ in rig.letters.asked} | self._burying()
        for offset in [*rig.group.dropped, *rig.group.rejected]:
            assert offset in self.unreliable or offset in told | {*rig.letters.taken} | on_its_way

    @invariant()
    def nothing_is_accepted_twice(self) -> None:
        accepted = self.rig.group.accepted
        assert len(accepted) == len(set(accepted))

    @invariant()
    def what_is_recorded_as_accepted_is_delivered_no_more(self) -> None:
        delivered = self.earlier + self.rig.peer.delivered
        for offset in self.rig.group.accepted:
            times = sum(each.offset == offset for each in delivered)
            assert times <= self.recorded_at.setdefault(offset, max(times, self.is_settled))

    @invariant()
    def settled_deliveries_come_at_most_once(self) -> None:
        if self.is_settled:
            delivered = [each.offset for each in self.earlier + self.rig.peer.delivered]
            assert len(delivered) == len(set(delivered))

    @invariant()
    def each_record_is_somewhere(self) -> None:
        group = self.rig.group
        everywhere = [*group.available, *group.locked, *group.accepted, *group.rejected, *group.dropped]
        assert sorted(everywhere) == list(range(self.records))

    @invariant()
    def what_is_settled_was_answered_or_given_back(self) -> None:
        if not self.rig.peer.detached:
            assert {*self.rig.peer.settled} <= self.answered

    def _burying(self) -> set[int]:
        batches = self.rig.link._batches.values()  # noqa: SLF001 - the only place that knows
        return {each.offset for batch in batches for each in batch.held if each.state is State.BURYING}

    def teardown(self) -> None:
        """Let a last receiver accept all that is left: no record stays behind, and nothing is stuck."""
        if not hasattr(self, "rig"):
            return
        rig = self.rig
        for _ in range(8 * (self.records + 1)):
            if not rig.peer.detached:
                unanswered = [each for each in rig.peer.unsettled if each not in self.answered]
                self.answered.update(unanswered)
                rig.dispose((each, ACCEPTED) for each in unanswered)
                rig.flow(self.records)
            elif rig.feed.stopped:
                rig.confirm()
                rig.attach()
            rig.fire_timers()
            rig.letters.answer()
            rig.confirm()
            rig.poll()
        assert not rig.group.available
        assert not rig.group.locked
        self.no_record_is_dropped_without_a_word()
        assert not rig.log.defects


TestShareLinkRules = ShareLinkRules.TestCase
TestShareLinkRules.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
