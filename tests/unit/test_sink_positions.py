from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.sink_port import MemoryRecord
from support.sink_rig import SETTLED, UNSETTLED

from bridge.sink.lane import Lane
from bridge.sink.positions import Positions

if TYPE_CHECKING:
    from bridge.sink.policy import SinkPolicy


def lane(partition: int, *, sent: int, waiting: int) -> Lane:
    """Make a lane in generation 7 that has sent some records, all of them answered, from offset 0 on."""
    made = Lane(partition, 7, None)
    for offset in range(sent):
        made.tracker.sent(offset)
        made.tracker.done(offset)
    made.waiting.extend(MemoryRecord(partition, sent + number, b"x") for number in range(waiting))
    return made


def test_what_was_answered_is_committed() -> None:
    lanes = [lane(0, sent=3, waiting=2), lane(1, sent=0, waiting=2)]

    assert Positions(UNSETTLED).running(lanes) == {0: (7, 3)}
    assert Positions(UNSETTLED).leaving(lanes) == {0: (7, 3)}
    assert Positions(UNSETTLED).end(lanes) == {0: (7, 3)}


def test_what_was_not_sent_settled_is_given_back() -> None:
    lanes = [lane(0, sent=3, waiting=2), lane(1, sent=3, waiting=0)]

    assert Positions(SETTLED).running(lanes) == {}
    assert Positions(SETTLED).leaving(lanes) == {0: (7, 3)}


@pytest.mark.parametrize("policy", [UNSETTLED, SETTLED], ids=["unsettled", "settled"])
def test_who_commits_nothing_gives_nothing_back(policy: SinkPolicy) -> None:
    lanes = {0: lane(0, sent=3, waiting=2)}
    positions = Positions(replace(policy, commits=False))

    assert positions.running(lanes.values()) == positions.end(lanes.values()) == {}
    assert positions.after_end(lanes, [MemoryRecord(0, 5, b"x")]) == {}


def test_of_what_comes_after_the_end_the_first_of_a_partition_counts() -> None:
    lanes = {partition: lane(partition, sent=3, waiting=0) for partition in (0, 1)}
    lanes[1].waiting.append(MemoryRecord(1, 3, b"x"))
    positions = Positions(SETTLED)
    positions.end(lanes.values())

    late = [MemoryRecord(partition, offset, b"x") for partition in (0, 1, 2) for offset in (5, 6)]
    assert positions.after_end(lanes, late) == {0: (7, 5)}
    assert positions.after_end(lanes, [MemoryRecord(0, 7, b"x")]) == {}


def test_who_sends_unsettled_has_committed_nothing_that_comes_after_the_end() -> None:
    lanes = {0: lane(0, sent=0, waiting=0)}
    positions = Positions(UNSETTLED)
    positions.end(lanes.values())

    assert positions.after_end(lanes, [MemoryRecord(0, 5, b"x")]) == {}
