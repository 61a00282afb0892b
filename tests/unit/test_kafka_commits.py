from __future__ import annotations

from bridge.kafka.commits import PendingCommits


def test_an_offset_of_the_assignment_is_taken_once() -> None:
    pending = PendingCommits()
    generation = pending.assign([0, 1])
    pending.add({0: (generation, 5), 1: (generation, 6)})

    assert pending.take() == {0: (generation, 5), 1: (generation, 6)}
    assert pending.take() == {}


def test_generations_count_upwards_and_each_partition_has_its_own() -> None:
    pending = PendingCommits()
    first = pending.assign([0])
    second = pending.assign([1])
    assert second > first
    assert pending.partitions == {0, 1}
    pending.add({0: (first, 5), 1: (first, 6)})

    assert pending.take() == {0: (first, 5)}


def test_what_belongs_to_an_assignment_that_has_ended_is_dropped() -> None:
    pending = PendingCommits()
    before = pending.assign([0, 1])
    pending.add({0: (before, 5), 1: (before, 5)})
    pending.end([0])
    pending.add({0: (before, 6)})
    assert pending.partitions == {1}
    assert pending.take() == {1: (before, 5)}

    pending.add({0: (before, 7)})
    now = pending.assign([0])
    assert pending.take() == {}
    pending.add({0: (now, 1)})
    pending.add({0: (before, 9)})
    assert pending.take() == {0: (now, 1)}


def test_within_an_assignment_an_offset_does_not_go_back() -> None:
    pending = PendingCommits()
    generation = pending.assign([0])
    pending.add({0: (generation, 9)})
    pending.add({0: (generation, 7)})  # a commit that failed is wanted again

    assert pending.take() == {0: (generation, 9)}


def test_the_offsets_of_some_partitions_leave_those_of_others() -> None:
    pending = PendingCommits()
    generation = pending.assign([0, 1])
    pending.add({0: (generation, 5), 1: (generation, 6)})

    assert pending.take([0, 7]) == {0: (generation, 5)}
    assert pending.take() == {1: (generation, 6)}


def test_where_nothing_is_committed_nothing_is_kept() -> None:
    pending = PendingCommits(enabled=False)
    generation = pending.assign([0])
    pending.add({0: (generation, 5)})

    assert pending.take() == {}
