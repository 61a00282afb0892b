"""Counts of links and their messages: read from the links that live, kept from those that have ended.

A link counts for itself, in whole batches where there are many. So this costs nothing while messages flow:
a scrape adds up what the links have, and the end of a link adds its counts to those of its kind. What is
rare, an outcome other than accepted, is counted here as it is reported.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from bridge.model.outcomes import DeliveryState
from bridge.observability.metrics import Family, counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ACCEPTED: Final = "accepted"
RELEASED: Final = "released"
SETTLED: Final = "settled"
UNANSWERED: Final = "unanswered"
REFUSED: Final = {
    DeliveryState.REJECTED: "rejected",
    DeliveryState.RELEASED: RELEASED,
    DeliveryState.MODIFIED: "modified",
}
SOURCE_OUTCOMES: Final = (ACCEPTED, *REFUSED.values(), SETTLED, UNANSWERED)
SKIPPED: Final = "skipped"
DEAD_LETTERED: Final = "dead_lettered"
SINK_OUTCOMES: Final = (ACCEPTED, RELEASED, "modified", SKIPPED, DEAD_LETTERED, SETTLED, UNANSWERED)


class Window(Protocol):
    """The credit of a source link."""

    granted: int
    in_flight: int


class CountingSource(Protocol):
    """What a source link counts."""

    accepted: int
    arrived_count: int
    """All messages that arrived."""

    @property
    def window(self) -> Window:
        """Its credit."""


class CountingSink(Protocol):
    """What a sink link counts."""

    accepted_count: int

    @property
    def settled_count(self) -> int:
        """How many messages were sent settled: all of a link's, or none."""


class Refusals(Protocol):
    """Who counts the messages of one source link that had another outcome than accepted."""

    refusals: int


class SourceTotals:
    """What all source links of a process have done."""

    def __init__(self) -> None:
        self.refused: Counter[DeliveryState] = Counter()
        """Outcomes other than accepted, of all links."""
        self.dropped = 0
        """Of the messages that came settled, those that were lost."""
        self._opened = 0
        self._live: dict[CountingSource, Refusals] = {}
        self._ended: Counter[str] = Counter()

    def watch(self, link: CountingSource, refusals: Refusals) -> None:
        """Count a link that begins."""
        self._opened += 1
        self._live[link] = refusals

    def ended(self, link: CountingSource, unanswered: int) -> None:
        """Keep what a link has counted that is over, and how many unsettled messages have no outcome."""
        refusals = self._live.pop(link, None)
        if refusals is not None:
            self._ended[ACCEPTED] += link.accepted
            self._ended[SETTLED] += _settled(link, refusals, unanswered)
            self._ended[UNANSWERED] += unanswered

    def families(self) -> list[Family]:
        """Read the metrics."""
        outcomes = self._ended.copy()
        accepted = settled = in_flight = credit = 0
        for link, refusals in self._live.items():
            accepted += link.accepted
            # Some of what is in flight came settled. It counts when it is through.
            settled += _settled(link, refusals, link.window.in_flight)
            in_flight += link.window.in_flight
            credit += link.window.granted
        outcomes[ACCEPTED] += accepted
        outcomes[SETTLED] += settled
        for state, outcome in REFUSED.items():
            outcomes[outcome] = self.refused[state]
        return [
            *_families("source", self._opened, len(self._live), {of: outcomes[of] for of in SOURCE_OUTCOMES}),
            counter(
                "bridge_source_dropped_messages",
                "Messages that senders had settled and that were lost, as that allows.",
                ({}, self.dropped),
            ),
            gauge(
                "bridge_source_in_flight_messages",
                "Messages that arrived and wait for Kafka's acknowledgement.",
                ({}, in_flight),
            ),
            gauge("bridge_source_credit_messages", "Messages that senders may send now.", ({}, credit)),
        ]


class SinkTotals:
    """What all sink links of a process have done."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        """Outcomes other than accepted, of all links."""
        self._opened = 0
        self._live: set[CountingSink] = set()

    def watch(self, link: CountingSink) -> None:
        """Count a link that begins."""
        self._opened += 1
        self._live.add(link)

    def ended(self, link: CountingSink, unanswered: int) -> None:
        """Keep what a link has counted that is over, and how many of its messages have no outcome."""
        if link in self._live:
            self._live.discard(link)
            _count(self.outcomes, link)
            self.outcomes[UNANSWERED] += unanswered

    def families(self) -> list[Family]:
        """Read the metrics."""
        outcomes = self.outcomes.copy()
        for link in self._live:
            _count(outcomes, link)
        return list(
            _families("sink", self._opened, len(self._live), {of: outcomes[of] for of in SINK_OUTCOMES})
        )


def _settled(link: CountingSource, refusals: Refusals, waiting: int) -> int:
    """Give how many messages of a link came settled: those that have no outcome and wait for none."""
    return link.arrived_count - link.accepted - refusals.refusals - waiting


def _families(direction: str, opened: int, live: int, outcomes: Mapping[str, int]) -> Iterable[Family]:
    """Give what both directions have: families of one name, which are put together when they are merged."""
    where = {"direction": direction}
    yield gauge("bridge_links", "Links that are attached: source into Kafka, sink out of it.", (where, live))
    yield counter("bridge_links_opened", "Links that were attached since the start.", (where, opened))
    yield counter(
        "bridge_messages",
        "What became of messages. Settled: sent without waiting for an outcome. Unanswered: the link ended"
        " before the outcome.",
        *(({**where, "outcome": outcome}, count) for outcome, count in outcomes.items()),
    )


def _count(outcomes: Counter[str], link: CountingSink) -> None:
    """Add what a sink link has counted."""
    settled = link.settled_count
    if settled:
        outcomes[SETTLED] += settled
    else:
        outcomes[ACCEPTED] += link.accepted_count
