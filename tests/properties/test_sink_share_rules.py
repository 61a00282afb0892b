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
        settle_mode=st.sampled_from([SenderSettleMode.UNSETTLED] * 3 + [SenderSettleMode.SETTLED]),
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
        self.accepting: set[ShareDelivery] = set()
        """Deliveries that the receiver said it accepts."""
        self.recorded_at: dict[int, int] = {}
        """By record, how many deliveries there were when Kafka recorded that it is accepted."""
        self.unreliable: set[int] = set()
        """Records of which Kafka did not take the answer: nothing more is promised of them."""
        self.earlier: list[ShareDelivery] = []
        self.ended = 0
        """How many ends of links were reported."""

    # ------------------------------------------------------------------ what may happen

    @precondition(lambda self: not self.rig.peer.detached)
    @rule(credit=st.integers(0, 6), drain=st.booleans())
    def flow(self, credit: int, *, drain: bool) -> None:
        self.rig.flow(credit, drain=drain)

    @rule(most=st.integers(1, 6))
    def poll(self, most: int) -> None:
        self.rig.poll(most)

    @precondition(lambda self: self.open_deliveries())
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        chosen = data.draw(st.lists(st.sampled_from(self.open_deliveries()), min_size=1, unique=True))
        outcomes: list[tuple[ShareDelivery, Outcome]] = [
            (each, data.draw(st.sampled_from(OUTCOMES))) for each in chosen
        ]
        self._answer(outcomes)

    @precondition(lambda self: self.rig.feed.pending)
    @rule()
    def confirm(self) -> None:
        self.rig.confirm()

    @precondition(lambda self: self.rig.feed.pending)
    @rule()
    def kafka_takes_nothing(self) -> None:
        self.unreliable.update(offset for _, told in self.rig.feed.pending for offset, _ in told)
        self.rig.fail()

    @precondition(lambda self: self.rig.feed.batch)
    @rule()
    def lapse(self) -> None:
        self.rig.lapsing()

    @precondition(lambda self: self.rig.feed.batch)
    @rule()
    def others_want_it(self) -> None:
        self.rig.unwanted()

    @precondition(lambda self: self.rig.timers)
    @rule()
    def time_passes(self) -> None:
        self.rig.fire_timers()

    @precondition(lambda self: self.rig.letters.asked)
    @rule(works=st.booleans())
    def dead_letter_topic_answers(self, *, works: bool) -> None:
        self.rig.letters.answer(None if works else AWAY)

    @precondition(lambda self: not self.rig.peer.detached and self.rig.peer.delivered)
    @rule()
    def detach(self) -> None:
        self.rig.detach()

    @precondition(lambda self: self.rig.peer.detached and self.rig.feed.stopped)
    @rule()
    def attach(self) -> None:
        self._attach()

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

    @invariant()
    def what_is_accepted_and_settled_without_another_word_is_recorded(self) -> None:
        peer = self.rig.peer
        said_so = [each for each in peer.settled if each in self.accepting and each not in peer.overruled]
        assert {each.offset for each in said_so} <= {*self.rig.group.accepted}
        assert all(peer.overruled[each] == RELEASED for each in peer.overruled)

    def open_deliveries(self) -> list[ShareDelivery]:
        """List what the receiver may answer."""
        peer = self.rig.peer
        return [] if peer.detached else [each for each in peer.unsettled if each not in self.answered]

    def _answer(self, outcomes: list[tuple[ShareDelivery, Outcome]]) -> None:
        self.answered.update(each for each, _ in outcomes)
        self.accepting.update(each for each, outcome in outcomes if outcome == ACCEPTED)
        self.rig.dispose(outcomes)

    def _attach(self) -> None:
        """Attach the next receiver; the end of the one before is told by then, with what Kafka recorded."""
        rig = self.rig
        rig.confirm()
        [(accepted, _)] = rig.log.ends[self.ended :]
        self.ended += 1
        if not self.is_settled:
            offsets = {each.offset for each in rig.peer.delivered if each in self.accepting}
            assert accepted == len(offsets & {*rig.group.accepted})
        self.earlier += rig.peer.delivered
        rig.attach()

    def _burying(self) -> set[int]:
        held = self.rig.link._answers.held()  # noqa: SLF001 - the only place that knows
        return {each.offset for each in held if each.state is State.BURYING}

    def teardown(self) -> None:
        """Let a last receiver accept all that is left: no record stays behind, and nothing is stuck."""
        if not hasattr(self, "rig"):
            return
        rig = self.rig
        for _ in range(8 * (self.records + 1)):
            if not rig.peer.detached:
                unanswered = [each for each in rig.peer.unsettled if each not in self.answered]
                self._answer([(each, ACCEPTED) for each in unanswered])
                rig.flow(self.records)
            elif rig.feed.stopped:
                self._attach()
            rig.fire_timers()
            rig.letters.answer()
            rig.confirm()
            rig.poll()
        assert not rig.group.available
        assert not rig.group.locked
        self.no_record_is_dropped_without_a_word()
        assert not rig.log.defects


TestShareLinkRules = ShareLinkRules.TestCase
TestShareLinkRules.settings = settings(max_examples=300, stateful_step_count=30, deadline=None)
