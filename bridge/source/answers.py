"""What the outcome of a sender's message does: to the sender, to its credit, and to the process's budget.

The half of a source link that knows nothing of records. It decides only, as `link.py` does, which sends them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.source import outcomes
from bridge.source.credit import CreditWindow
from bridge.source.outcomes import Place
from bridge.source.settlement import Settlement

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.model.failures import Failure
    from bridge.model.outcomes import Outcome
    from bridge.source.policy import SourcePolicy
    from bridge.source.ports import Delivery, Peer, Produced, SourceDoors, SourceEvents, SourcePort


BROKEN: Final = Condition(conditions.INTERNAL_ERROR, "the bridge failed on this link; its log says why")


class AnsweringLink:
    """A link that answers the messages of one attached sender, and gives it credit."""

    __slots__ = (
        "_arrived",
        "_arrived_bytes",
        "_doors",
        "_events",
        "_freed_bytes",
        "_gives_credit",
        "_partitions",
        "_peer",
        "_port",
        "_prefetches",
        "_presettled",
        "_room",
        "_settlement",
        "_share",
        "_stopped",
        "_topic",
        "arrived_count",
        "closed",
        "window",
    )

    _topic: str
    _partitions: int
    _room: Callable[[], int]

    def __init__(
        self,
        port: SourcePort,
        policy: SourcePolicy,
        doors: SourceDoors,
        peer: Peer,
        events: SourceEvents,
    ) -> None:
        self._port = port
        self._doors = doors
        self._peer = peer
        self._events = events
        self._prefetches = policy.prefetch
        self.window = CreditWindow(policy.window)
        self.closed = False
        self.arrived_count = 0
        self._stopped = False
        self._gives_credit = False
        """The link is open, and the process is not about to end."""
        self._presettled = 0
        """Of those in flight, the ones that wait for no outcome."""
        self._share = doors.budget.share()
        self._arrived = self._arrived_bytes = self._freed_bytes = 0
        """What came since the last batch, what was answered since the last flush; overheads included."""
        self._settlement = Settlement(port, self.window, settles_first=policy.settles_first)

    # ------------------------------------------------------------------ from its owner

    def stop_credit(self) -> None:
        """Give no more credit: the process is about to end."""
        self._stopped = True
        self._gives_credit = False

    def credit_may_flow(self) -> None:
        """Give credit that was held back: Kafka is there again."""
        self._grant()

    def detach(self, condition: Condition) -> None:
        """End the link for a reason that its owner has."""
        if not self.closed:
            self._port.detach(condition)

    def broke(self, error: Exception) -> None:
        """End the link: the bridge failed on it."""
        self._events.broke(error)
        self._port.detach(BROKEN)

    # ------------------------------------------------------------------ inside

    def failed(self, delivery: Delivery | None, size: int, failure: Failure, place: Place) -> None:
        """Answer a record that is not stored."""
        if self.closed:
            self._share.hold(-size)
            if delivery is None:
                self._events.dropped(failure.description)
            return
        self._freed_bytes += size
        if delivery is None:
            self.window.answered()
            self._presettled -= 1
            self._events.dropped(failure.description)
        elif not self._ends_link(failure, place):
            self._answer(delivery, outcomes.for_failure(failure, self._peer.understood, place))

    def _ends_link(self, failure: Failure, place: Place) -> bool:
        """Detach where a failure is not the message's but the link's: nothing it sends can be stored."""
        condition = outcomes.for_link(failure, place, self._partitions)
        if condition is not None:
            self._port.detach(condition)
        return condition is not None

    def _refuse(self, delivery: Delivery, size: int, settled: bool, outcome: Outcome) -> None:  # noqa: FBT001 - positional: the hot path
        self._freed_bytes += size
        if settled:
            self.window.answered()
            self._events.dropped(outcome.condition.description if outcome.condition else "")
        else:
            self._answer(delivery, outcome)

    def _answer(self, delivery: Delivery, outcome: Outcome) -> None:
        self._events.refused(outcome)
        self._settlement.answer(delivery, outcome)

    def _grant(self) -> None:
        window = self.window
        if not self._gives_credit or self.closed or not window.is_low():
            return
        if self._prefetches:
            # What is settled is handed on or dropped, and waits for nobody.
            credit = window.grant()
        elif not self._doors.kafka_takes():
            return
        else:
            window.limit = self._share.fit(window.window)
            credit = window.grant(self._room())
        if credit:
            self._port.grant(credit)

    def _place(self, produced: Produced | None = None) -> Place:
        reference = self._peer.reference
        if produced is None:
            return Place(self._topic, reference)
        return Place.of(produced.topic() or self._topic, reference, produced.partition())

    def _abandon(self, delivery: Delivery | None, size: int, reason: str) -> None:
        """Forget a message that its link's end left behind."""
        self._freed_bytes += size
        if delivery is None:
            self.window.answered()
            self._presettled -= 1
            self._events.dropped(reason)

    def _count_bytes(self) -> None:
        self.arrived_count += self._arrived
        change = self._arrived_bytes - self._freed_bytes
        self._arrived = self._arrived_bytes = self._freed_bytes = 0
        if change:
            self._share.hold(change)
