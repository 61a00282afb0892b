"""The source link: one attached AMQP sender, from its transfers to their outcomes.

It maps each message to a record, hands it to a producer, and turns the producer's report into the
delivery's outcome and into credit. It decides only: bytes, sockets, clocks, threads and log lines are
elsewhere, behind the callables and ports that it is built with. Everything happens on the event loop's
thread.

The hot path is `transferred` and `_reported`. Reports are collected there and answered in batches by
`flush`, which is called once for many reports.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from bridge.mapping.errors import MappingError
from bridge.mapping.record import ANY_PARTITION, Headers, Record
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.source import outcomes
from bridge.source.credit import CreditWindow

if TYPE_CHECKING:
    from bridge.model.failures import Failure
    from bridge.model.outcomes import DeliveryState, Outcome
    from bridge.source.policy import SourcePolicy

Delivery: TypeAlias = object
"""An opaque handle of the engine; hashable, valid until the link is closed or the delivery is settled."""

Report: TypeAlias = Callable[[object, object], None]
"""Called with the producer's error (None: stored) and the message."""

QUEUE_FULL: Final = "_QUEUE_FULL"


class SourcePort(Protocol):
    """What a source link asks of the engine. Nothing is sent to a link that is closed."""

    def accept(self, deliveries: Sequence[Delivery], *, settle: bool) -> None:
        """Send the outcome accepted for each."""

    def answer(self, delivery: Delivery, outcome: Outcome, *, settle: bool) -> None:
        """Send an outcome."""

    def settle(self, delivery: Delivery) -> None:
        """Settle, and forget the delivery."""

    def grant(self, credit: int) -> None:
        """Give the peer so many credits more."""

    def detach(self, condition: Condition) -> None:
        """End the link for a reason."""


class Produce(Protocol):
    """Hands a record to a producer.

    Gives None when it was taken (a report follows), or the failure when it was refused (none follows).
    """

    def __call__(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Headers | None,
        partition: int,
        timestamp_ms: int,
        report: Report,
        /,
    ) -> Failure | None:
        """Produce one record."""


class SourceEvents(Protocol):
    """What a source link tells operators."""

    def refused(self, outcome: Outcome) -> None:
        """Report an unsettled message that was answered with another outcome than accepted."""

    def dropped(self, reason: str) -> None:
        """Report a pre-settled message that was lost, as its sender allowed; perhaps after the link's end."""

    def broke(self, error: Exception) -> None:
        """Report a defect that ended the link."""

    def ended(self, accepted: int, unanswered: int) -> None:
        """Report the link's end: how many messages were accepted, how many have no outcome."""


@dataclass(frozen=True, slots=True)
class SourceRoute:
    """Where a link's messages go: a topic, and a partition where the address names one."""

    topic: str
    partition: int = ANY_PARTITION


@dataclass(frozen=True, slots=True)
class SourceDoors:
    """The producers of a link, the reading of their errors, and the call that asks for a `flush` soon."""

    produce: Produce
    produce_unacknowledged: Produce
    classify: Callable[[object], Failure]
    ready: Callable[[SourceLink], None]


class SourceLink:
    """The state machine of one attached sender."""

    def __init__(
        self,
        port: SourcePort,
        policy: SourcePolicy,
        route: SourceRoute,
        doors: SourceDoors,
        *,
        to_record: Callable[[bytes], Record],
        understood_outcomes: frozenset[DeliveryState],
        events: SourceEvents,
    ) -> None:
        self._port = port
        self._policy = policy
        self._topic = route.topic
        self._partition = route.partition
        self._produce = doors.produce
        self._produce_unacknowledged = doors.produce_unacknowledged
        self._classify = doors.classify
        self._ready = doors.ready
        self._to_record = to_record
        self._understood = understood_outcomes
        self._events = events
        self._settled_directly = policy.settled_unacknowledged
        self._settles_first = policy.settles_first
        self.window = CreditWindow(policy.window)
        self.closed = False
        self.accepted = 0
        self._stopping = False
        self._is_ready = False
        self._stored: list[Delivery] = []
        self._stored_presettled = 0
        self._failed: list[tuple[Delivery | None, object]] = []
        self._parked: deque[tuple[Delivery | None, Record]] = deque()
        self._unanswered: set[Delivery] = set()
        """Only with rcv-settle-mode second, as the two that follow."""
        self._in_doubt: set[Delivery] = set()
        self._settled_early: set[Delivery] = set()

    # ------------------------------------------------------------------ from the engine

    def opened(self) -> None:
        """Grant the first credit; the engine has answered the attach."""
        self._grant()

    def transferred(self, delivery: Delivery, payload: bytes, settled: bool) -> None:  # noqa: FBT001 - positional: the hot path
        """Take one whole message. A delivery that arrived `settled` is never answered."""
        window = self.window
        window.granted -= 1
        window.in_flight += 1
        if not self._settles_first and not settled:
            self._unanswered.add(delivery)
        try:
            record = self._to_record(payload)
        except MappingError as error:
            self._refuse(delivery, settled, Condition(error.condition, error.description))
            return
        if self._partition != ANY_PARTITION:
            if record[3] not in {ANY_PARTITION, self._partition}:
                self._refuse(delivery, settled, self._other_partition(record[3]))
                return
            record = (*record[:3], self._partition, record[4])
        if settled:
            if self._settled_directly:
                self._send_unacknowledged(record)
            else:
                self._send(None, record)
        else:
            self._send(delivery, record)

    def aborted(self) -> None:
        """Take notice of a transfer that its sender gave up: the credit it used comes back."""
        self.window.granted -= 1

    def settled(self, delivery: Delivery) -> None:
        """Take notice that the sender settled a delivery: what was in doubt is forgotten."""
        if delivery in self._in_doubt:
            self._in_doubt.remove(delivery)
            self.window.settled()
            self._port.settle(delivery)
        elif delivery in self._unanswered:
            self._settled_early.add(delivery)

    def batch_ended(self) -> None:
        """Take notice that what the engine had was handed over: the time to give credit."""
        self._grant()

    def close(self) -> None:
        """End the link: nothing is answered from now on."""
        if self.closed:
            return
        self.closed = True
        for delivery, _ in self._parked:
            if delivery is None:
                self.window.answered()
                self._events.dropped("the link ended while the producer's queue was full")
        self._parked.clear()
        self._stored.clear()
        self._failed.clear()
        self._unanswered.clear()
        self._in_doubt.clear()
        self._settled_early.clear()
        self._events.ended(self.accepted, self.window.in_flight)

    def stop_credit(self) -> None:
        """Give no more credit: the process is about to end."""
        self._stopping = True

    # ------------------------------------------------------------------ from the producer

    def flush(self) -> None:
        """Answer what was reported since the last flush, send what was parked, and give credit back."""
        self._is_ready = False
        if self.closed:
            return
        self._unpark()
        window = self.window
        if self._stored_presettled:
            window.answered(self._stored_presettled)
            self._stored_presettled = 0
        if self._stored:
            stored, self._stored = self._stored, []
            self.accepted += len(stored)
            if self._settles_first:
                window.in_flight -= len(stored)
                self._port.accept(stored, settle=True)
            else:
                self._accept_in_doubt(stored)
        if self._failed:
            failed, self._failed = self._failed, []
            for delivery, error in failed:
                self._fail(delivery, self._classify(error))
        self._grant()

    def broke(self, error: Exception) -> None:
        """End the link: the bridge failed on it."""
        self._events.broke(error)
        self._port.detach(
            Condition(conditions.INTERNAL_ERROR, "the bridge failed on this link; its log says why")
        )

    def _reported(self, delivery: Delivery | None, error: object, _message: object) -> None:
        if self.closed:
            if delivery is None and error is not None:
                self._events.dropped(self._classify(error).description)
            return
        if not self._is_ready:
            self._is_ready = True
            self._ready(self)
        if error is not None:
            self._failed.append((delivery, error))
        elif delivery is not None:
            self._stored.append(delivery)
        else:
            self._stored_presettled += 1

    def _unacknowledged_reported(self, error: object, _message: object) -> None:
        if error is not None:
            self._events.dropped(self._classify(error).description)

    # ------------------------------------------------------------------ inside

    def _send(self, delivery: Delivery | None, record: Record) -> None:
        if self._parked:
            self._parked.append((delivery, record))
            return
        failure = self._produce(self._topic, *record, partial(self._reported, delivery))
        if failure is not None:
            self._not_taken(delivery, record, failure)

    def _not_taken(self, delivery: Delivery | None, record: Record, failure: Failure) -> None:
        if failure.kafka_error == QUEUE_FULL:
            # The record was surely not stored, and its sender waits for an outcome: it is kept, and so is
            # the order of those behind it. The window bounds how many there can be.
            self._parked.append((delivery, record))
            if not self._is_ready:
                self._is_ready = True
                self._ready(self)
        else:
            self._fail(delivery, failure)

    def _unpark(self) -> None:
        parked = self._parked
        while parked:
            delivery, record = parked[0]
            failure = self._produce(self._topic, *record, partial(self._reported, delivery))
            if failure is not None and failure.kafka_error == QUEUE_FULL:
                if not self._is_ready:
                    self._is_ready = True
                    self._ready(self)
                return
            parked.popleft()
            if failure is not None:
                self._fail(delivery, failure)

    def _send_unacknowledged(self, record: Record) -> None:
        self.window.in_flight -= 1
        failure = self._produce_unacknowledged(self._topic, *record, self._unacknowledged_reported)
        if failure is not None:
            self._events.dropped(failure.description)

    def _fail(self, delivery: Delivery | None, failure: Failure) -> None:
        if delivery is None:
            self.window.answered()
            self._events.dropped(failure.description)
        else:
            self._answer(delivery, outcomes.for_failure(failure, self._understood, topic=self._topic))

    def _refuse(self, delivery: Delivery, settled: bool, condition: Condition) -> None:  # noqa: FBT001 - positional: the hot path
        if settled:
            self.window.answered()
            self._events.dropped(condition.description)
        else:
            self._answer(delivery, outcomes.rejected(condition))

    def _answer(self, delivery: Delivery, outcome: Outcome) -> None:
        self._events.refused(outcome)
        self._unanswered.discard(delivery)
        if self._settles_first or delivery in self._settled_early:
            self._settled_early.discard(delivery)
            self.window.answered()
            self._port.answer(delivery, outcome, settle=True)
        else:
            self.window.answered(in_doubt=True)
            self._in_doubt.add(delivery)
            self._port.answer(delivery, outcome, settle=False)

    def _accept_in_doubt(self, stored: list[Delivery]) -> None:
        self._unanswered.difference_update(stored)
        if self._settled_early:
            early = [delivery for delivery in stored if delivery in self._settled_early]
            stored = [delivery for delivery in stored if delivery not in self._settled_early]
            self._settled_early.difference_update(early)
            self.window.answered(len(early))
            self._port.accept(early, settle=True)
        self.window.answered(len(stored), in_doubt=True)
        self._in_doubt.update(stored)
        self._port.accept(stored, settle=False)

    def _grant(self) -> None:
        if not self._stopping and not self.closed:
            credit = self.window.grant()
            if credit:
                self._port.grant(credit)

    def _other_partition(self, partition: int) -> Condition:
        return Condition(
            conditions.INVALID_FIELD,
            f"the message names partition {partition}, its link is bound to partition"
            f" {self._partition} of {self._topic}: send it on another link",
        )
