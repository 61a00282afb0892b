"""Who settles a delivery, and when: outcomes on their way to the sender, and what waits for its settlement.

With rcv-settle-mode first the bridge settles as it answers. With second it answers, and remembers the
delivery until the sender has settled: then both know, and the bridge forgets. A sender may settle before it
has an answer; such a delivery is forgotten with its outcome.

Source: AMQP 1.0 core, sections 2.6.12 and 2.8.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.model.outcomes import Outcome
    from bridge.source.credit import CreditWindow
    from bridge.source.ports import Delivery, SourcePort


class Settlement:
    """The unsettled deliveries of one link. Sends their outcomes and counts them in the link's window."""

    __slots__ = ("_in_doubt", "_port", "_settled_early", "_settles_first", "_unanswered", "_window")

    def __init__(self, port: SourcePort, window: CreditWindow, *, settles_first: bool) -> None:
        self._port = port
        self._window = window
        self._settles_first = settles_first
        if not settles_first:  # else nothing is remembered, and there are thousands of links
            self._unanswered: set[Delivery] = set()
            self._in_doubt: set[Delivery] = set()
            self._settled_early: set[Delivery] = set()

    def arrived(self, delivery: Delivery) -> None:
        """Remember a delivery; for rcv-settle-mode second alone."""
        self._unanswered.add(delivery)

    def settled(self, delivery: Delivery) -> None:
        """Take notice that the sender settled a delivery: what was in doubt is forgotten."""
        if self._settles_first:
            return
        if delivery in self._in_doubt:
            self._in_doubt.remove(delivery)
            self._window.settled()
            self._port.settle(delivery)
        elif delivery in self._unanswered:
            self._settled_early.add(delivery)

    def accept(self, stored: list[Delivery]) -> None:
        """Send the outcome accepted for each."""
        if self._settles_first:
            self._window.in_flight -= len(stored)
            self._port.accept(stored, settle=True)
            return
        self._unanswered.difference_update(stored)
        if self._settled_early:
            early = [delivery for delivery in stored if delivery in self._settled_early]
            stored = [delivery for delivery in stored if delivery not in self._settled_early]
            self._settled_early.difference_update(early)
            self._window.answered(len(early))
            self._port.accept(early, settle=True)
        self._window.answered(len(stored), in_doubt=True)
        self._in_doubt.update(stored)
        self._port.accept(stored, settle=False)

    def answer(self, delivery: Delivery, outcome: Outcome) -> None:
        """Send another outcome."""
        if self._settles_first:
            self._window.answered()
            self._port.answer(delivery, outcome, settle=True)
            return
        self._unanswered.discard(delivery)
        if delivery in self._settled_early:
            self._settled_early.remove(delivery)
            self._window.answered()
            self._port.answer(delivery, outcome, settle=True)
        else:
            self._window.answered(in_doubt=True)
            self._in_doubt.add(delivery)
            self._port.answer(delivery, outcome, settle=False)

    def close(self) -> int:
        """Forget everything; gives how many deliveries were in doubt."""
        if self._settles_first:
            return 0
        in_doubt = len(self._in_doubt)
        self._unanswered.clear()
        self._in_doubt.clear()
        self._settled_early.clear()
        return in_doubt
