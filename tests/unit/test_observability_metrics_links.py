from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bridge.model.outcomes import DeliveryState
from bridge.observability.metrics_links import SinkTotals, SourceTotals
from bridge.source.credit import CreditWindow

if TYPE_CHECKING:
    from bridge.observability.metrics import Family


@dataclass(eq=False)
class Source:
    """The counts of a source link."""

    accepted: int = 0
    arrived_count: int = 0
    refusals: int = 0
    window: CreditWindow = field(default_factory=lambda: CreditWindow(100))


@dataclass(eq=False)
class Sink:
    """The counts of a sink link."""

    accepted_count: int = 0
    settled_count: int = 0


def values(families: list[Family]) -> dict[str, float]:
    return {
        ".".join([family.name, *(value for name, value in labels if name != "direction")]): value
        for family in families
        for _suffix, labels, value in family.samples
    }


def test_source_links_are_read_while_they_live_and_kept_when_they_end() -> None:
    totals = SourceTotals()
    one, other = Source(), Source()
    totals.watch(one, one)
    totals.watch(other, other)
    # Twenty came: ten were accepted, two rejected, five settled ones are through, one more of three waits.
    one.arrived_count, one.accepted, one.refusals = 20, 10, 2
    one.window.in_flight, one.window.granted = 3, 70
    totals.refused[DeliveryState.REJECTED] += 2
    other.arrived_count = other.accepted = 7

    before = values(totals.families())
    assert before["bridge_links"] == before["bridge_links_opened"] == 2
    assert before["bridge_messages.accepted"] == 17
    assert before["bridge_messages.rejected"] == 2
    assert before["bridge_messages.settled"] == 5
    assert before["bridge_messages.unanswered"] == 0
    assert before["bridge_source_in_flight_messages"] == 3
    assert before["bridge_source_credit_messages"] == 70

    totals.ended(one, unanswered=2)
    totals.ended(one, unanswered=2)
    assert values(totals.families()) == before | {
        "bridge_links": 1,
        "bridge_messages.settled": 6,
        "bridge_messages.unanswered": 2,
        "bridge_source_in_flight_messages": 0,
        "bridge_source_credit_messages": 0,
    }


def test_lost_messages_count_also_when_their_link_is_over() -> None:
    totals = SourceTotals()
    totals.dropped += 4
    assert values(totals.families())["bridge_source_dropped_messages"] == 4


def test_sink_links_are_read_while_they_live_and_kept_when_they_end() -> None:
    totals = SinkTotals()
    unsettled, settled = Sink(accepted_count=10), Sink(settled_count=4)
    totals.watch(unsettled)
    totals.watch(settled)
    totals.outcomes["released"] += 1

    before = values(totals.families())
    assert before["bridge_links"] == before["bridge_links_opened"] == 2
    assert (before["bridge_messages.accepted"], before["bridge_messages.settled"]) == (10, 4)
    assert before["bridge_messages.released"] == 1

    for _ in range(2):
        totals.ended(unsettled, unanswered=6)
        totals.ended(settled, unanswered=0)
    after = before | {"bridge_links": 0, "bridge_messages.unanswered": 6}
    assert values(totals.families()) == after


def test_records_that_were_accepted_to_be_sent_settled_count_once() -> None:
    totals = SinkTotals()
    totals.watch(Sink(accepted_count=3, settled_count=3))
    found = values(totals.families())
    assert (found["bridge_messages.accepted"], found["bridge_messages.settled"]) == (0, 3)


def test_every_outcome_is_there_from_the_beginning() -> None:
    # Prometheus sees the first one of a kind as an increase only if there was a zero before.
    for totals in (SourceTotals(), SinkTotals()):
        found = values(totals.families())
        assert set(found.values()) == {0}
        assert {
            "bridge_messages.accepted",
            "bridge_messages.settled",
            "bridge_messages.released",
        } <= found.keys()
