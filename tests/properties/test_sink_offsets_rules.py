"""The contiguous tracker: what is committed, under any order of answers and with any gaps in the offsets."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.machines import machine_settings

from bridge.sink.offsets import PartitionTracker

gapped_offsets = st.lists(st.integers(0, 1 << 40), min_size=1, max_size=30, unique=True).map(sorted)


class TrackerMachine(RuleBasedStateMachine):
    """Records are sent and answered, commits are asked for and confirmed, or not."""

    def __init__(self) -> None:
        super().__init__()
        self.tracker = PartitionTracker()
        self.sent: list[int] = []
        self.unanswered: set[int] = set()
        self.next = 0
        self.asked: list[int] = []
        self.confirmed = -1

    @rule(gap=st.integers(0, 1000))
    def send(self, gap: int) -> None:
        offset = self.next + gap
        self.tracker.sent(offset)
        self.sent.append(offset)
        self.unanswered.add(offset)
        self.next = offset + 1

    @precondition(lambda self: self.unanswered)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from(sorted(self.unanswered)))
        assert self.tracker.done(offset)
        self.unanswered.remove(offset)

    @precondition(lambda self: set(self.sent) - self.unanswered)
    @rule(data=st.data())
    def answer_again(self, data: st.DataObject) -> None:
        assert not self.tracker.done(data.draw(st.sampled_from(sorted(set(self.sent) - self.unanswered))))

    @rule()
    def commit(self) -> None:
        position = self.tracker.to_commit()
        if position is None:
            assert self.confirmed == self.position() or not self.sent
        else:
            assert not self.asked or position >= self.asked[-1], "it never goes back"
            self.asked.append(position)

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def confirm(self, data: st.DataObject) -> None:
        """Confirm any commit that was asked for: an old one may be heard of late, or not at all."""
        offset = data.draw(st.sampled_from(self.asked))
        self.tracker.committed(offset)
        self.confirmed = max(self.confirmed, offset)

    def position(self) -> int:
        return min(self.unanswered, default=self.next)

    @invariant()
    def the_position_is_the_first_offset_without_an_answer_or_the_one_after_the_last(self) -> None:
        assert self.tracker.position() == (self.position() if self.sent else None)
        assert self.tracker.outstanding == len(self.unanswered)

    @invariant()
    def the_span_is_as_wide_as_what_is_not_committable(self) -> None:
        assert self.tracker.span() == self.next - self.position()


TestTracker = TrackerMachine.TestCase
TestTracker.settings = machine_settings(examples=100, steps=40)


@given(offsets=gapped_offsets, data=st.data())
@settings(deadline=None)
def test_the_position_never_passes_a_gap_in_the_answers_and_never_stalls(
    offsets: list[int], data: st.DataObject
) -> None:
    tracker = PartitionTracker()
    for offset in offsets:
        tracker.sent(offset)

    unanswered = set(offsets)
    for offset in data.draw(st.permutations(offsets)):
        assert tracker.to_commit() == min(unanswered)
        tracker.done(offset)
        unanswered.remove(offset)

    assert tracker.to_commit() == offsets[-1] + 1


@given(offsets=gapped_offsets, data=st.data())
@settings(deadline=None)
def test_what_comes_after_the_partition_is_gone_changes_nothing(
    offsets: list[int], data: st.DataObject
) -> None:
    tracker = PartitionTracker()
    for offset in offsets:
        tracker.sent(offset)
    tracker.close()

    for offset in data.draw(st.permutations(offsets)):
        assert not tracker.done(offset)
        assert tracker.to_commit() is None
