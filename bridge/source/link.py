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
from functools import partial
from typing import TYPE_CHECKING

from bridge.mapping.errors import MappingError
from bridge.mapping.record import ANY_PARTITION, Headers
from bridge.model.failures import Failure, Reach
from bridge.source import outcomes
from bridge.source.answers import AnsweringLink
from bridge.source.budget import message_bytes
from bridge.source.outcomes import Place
from bridge.source.pending import Failed, Parked
from bridge.source.ports import QUEUE_FULL, Delivery, Destination, Produced
from bridge.source.resending import Resending

if TYPE_CHECKING:
    from bridge.mapping.large import LargeRecord
    from bridge.model.payloads import LargePayload
    from bridge.source.policy import SourcePolicy
    from bridge.source.ports import Peer, Produce, SourceDoors, SourceEvents, SourcePort


class SourceLink(AnsweringLink):
    """The state machine of one attached sender."""

    __slots__ = (
        "_failed",
        "_is_plain",
        "_is_ready",
        "_large_to_record",
        "_length",
        "_parked",
        "_partition",
        "_produce",
        "_produce_alone",
        "_produce_unacknowledged",
        "_ready",
        "_report",
        "_resending",
        "_settled_directly",
        "_settles_first",
        "_size",
        "_stored",
        "_stored_presettled",
        "_to_record",
        "accepted",
    )

    def __init__(
        self,
        port: SourcePort,
        policy: SourcePolicy,
        destination: Destination,
        doors: SourceDoors,
        peer: Peer,
        events: SourceEvents,
    ) -> None:
        super().__init__(port, policy, doors, peer, events)
        self._goes_to(destination)
        self._ready = doors.ready
        self._settled_directly = policy.settled_unacknowledged
        self._settles_first = policy.settles_first
        self._is_plain = policy.settles_first and destination.partition == ANY_PARTITION
        """What arrives unsettled is sent on as it is mapped."""
        self.accepted = 0
        self._is_ready = False
        self._stored: list[Delivery] = []
        self._stored_presettled = 0
        self._failed: list[Failed] = []
        self._parked: deque[Parked] | None = None
        self._resending: Resending | None = None
        """Made when they are needed, as there are thousands of links; an empty deque takes most of a KiB."""
        self._length = self._size = -1
        """The last message's: those of one link are often alike."""
        self._report = self._reported

    def _goes_to(self, destination: Destination) -> None:
        """Take what a destination says into the fields that each message needs."""
        self._topic = destination.topic
        self._partition = destination.partition
        self._produce = destination.produce
        self._produce_unacknowledged = destination.produce_unacknowledged
        self._produce_alone = destination.produce_alone
        self._partitions = destination.partitions
        self._room = destination.room
        self._to_record = destination.to_record
        self._large_to_record = destination.large_to_record

    # ------------------------------------------------------------------ from the engine

    def opened(self) -> None:
        """Grant the first credit; the engine has answered the attach."""
        self._gives_credit = not self._stopped
        self._grant()

    def transferred(self, delivery: Delivery, payload: bytes, settled: bool) -> None:  # noqa: FBT001 - positional: the hot path
        """Take one whole message. A delivery that arrived `settled` is never answered."""
        window = self.window
        window.granted -= 1
        window.in_flight += 1
        length = len(payload)
        if length == self._length:
            size = self._size
        else:
            self._length = length
            size = self._size = message_bytes(length)
        self._arrived += 1
        self._arrived_bytes += size
        if not self._is_plain or self._parked:
            if not self._settles_first and not settled:
                self._settlement.arrived(delivery)
            self._take(delivery, payload, settled, size)
            return
        # What `_take` and `_send` do, in the usual case without their calls, which cost a sixth of it all.
        try:
            value, key, headers, partition, timestamp_ms = record = self._to_record(payload)
        except MappingError as error:
            self._refuse(delivery, size, settled, outcomes.for_error(error, self._place()))
            return
        except Exception:
            self._freed_bytes += size
            raise
        if settled:
            self._place_and_send(delivery, record, settled, size)
            return
        report = partial(self._report, delivery, size, headers, timestamp_ms)
        failure = self._produce(self._topic, value, key, headers, partition, timestamp_ms, report)
        if failure is not None:
            self._not_taken(delivery, size, record, failure)

    def transferred_large(self, delivery: Delivery, payload: LargePayload, settled: bool) -> None:  # noqa: FBT001 - positional
        """Take one whole message of several frames, whose bytes are there for as long as the call lasts."""
        if self._large_to_record is None:
            self.transferred(delivery, bytes(payload.view()), settled)
            return
        try:
            record = self._large_to_record(payload)
        except MappingError:
            # Told in the ordinary way.
            self.transferred(delivery, bytes(payload.view()), settled)
            return
        self.window.arrived()
        size = message_bytes(len(payload))
        self._arrived += 1
        self._arrived_bytes += size
        if not self._settles_first and not settled:
            self._settlement.arrived(delivery)
        self._place_and_send(delivery, record, settled, size)

    def arriving(self, change_bytes: int) -> None:
        """Count bytes of a message that has not arrived whole; negative when it has, or was given up."""
        self._share.arriving(change_bytes)

    def aborted(self) -> None:
        """Take notice of a transfer that its sender gave up: the credit it used comes back."""
        self.window.granted -= 1

    def settled(self, delivery: Delivery) -> None:
        """Take notice that the sender settled a delivery: what was in doubt is forgotten."""
        self._settlement.settled(delivery)

    def batch_ended(self) -> None:
        """Take notice that what the engine had was handed over: the time to give credit."""
        if self._arrived:
            self._share.learn(self._arrived, self._arrived_bytes)
        self._count_bytes()
        self._grant()

    def close(self) -> None:
        """End the link: nothing is answered from now on."""
        if self.closed:
            return
        self.closed = True
        for parked in self._parked or ():
            self._abandon(parked.delivery, parked.size_bytes, "the link ended while the queue was full")
        refused = self._resending.close() if self._resending else ()
        for failed in (*self._failed, *refused):
            self._abandon(failed.delivery, failed.size_bytes, self._doors.classify(failed.error).description)
        self._count_bytes()
        self._share.close()
        # Both know the link: Python frees it at once if they part.
        self._parked = self._resending = None
        del self._report
        self._stored.clear()
        self._failed.clear()
        in_doubt = self._settlement.close()
        self._events.ended(self.accepted, self.window.in_flight - self._presettled, in_doubt)

    # ------------------------------------------------------------------ from the producer

    def flush(self) -> None:
        """Answer what was reported since the last flush, send what was parked, and give credit back."""
        self._is_ready = False
        if self.closed:
            return
        if self._parked:
            self._unpark()
        window = self.window
        if self._stored_presettled:
            window.answered(self._stored_presettled)
            self._presettled -= self._stored_presettled
            self._stored_presettled = 0
        if self._stored:
            stored, self._stored = self._stored, []
            self._doors.stored()
            self.accepted += len(stored)
            self._settlement.accept(stored)
        if self._failed:
            all_failed, self._failed = self._failed, []
            for failed in all_failed:
                failure = self._doors.classify(failed.error)
                if failure.reach is Reach.BATCH and not failed.was_alone and not self.closed:
                    if self._resending is None:
                        self._resending = Resending(self, self._doors.classify, self._doors.retry)
                    self._resending.refused.append(failed)
                else:
                    self.failed(failed.delivery, failed.size_bytes, failure, self._place(failed.produced))
        if self._resending is not None:
            self._resending.send(self._place)
        self._count_bytes()
        self._grant()

    def _reported(
        self,
        delivery: Delivery | None,
        size: int,
        headers: Headers | None,
        timestamp_ms: int,
        error: object,
        produced: Produced | None,
    ) -> None:
        if self.closed:
            self._share.hold(-size)
            if delivery is None and error is not None:
                self._events.dropped(self._doors.classify(error).description)
            return
        if not self._is_ready:
            self._is_ready = True
            self._ready(self)
        if error is not None:
            self._failed.append(Failed(delivery, size, error, produced, headers, timestamp_ms))
            return
        self._freed_bytes += size
        if delivery is not None:
            self._stored.append(delivery)
        else:
            self._stored_presettled += 1

    def _unacknowledged_reported(self, error: object, _produced: Produced | None) -> None:
        if error is not None:
            self._events.dropped(self._doors.classify(error).description)

    # ------------------------------------------------------------------ inside

    def _take(self, delivery: Delivery, payload: bytes, settled: bool, size: int) -> None:  # noqa: FBT001 - positional: the hot path
        try:
            record = self._to_record(payload)
        except MappingError as error:
            self._refuse(delivery, size, settled, outcomes.for_error(error, self._place()))
            return
        except Exception:
            self._freed_bytes += size
            raise
        self._place_and_send(delivery, record, settled, size)

    def _place_and_send(self, delivery: Delivery, record: LargeRecord, settled: bool, size: int) -> None:  # noqa: FBT001 - as above
        if self._partition != ANY_PARTITION:
            if record[3] not in {ANY_PARTITION, self._partition}:
                outcome = outcomes.misdirected(record[3], self._partition, self._place())
                self._refuse(delivery, size, settled, outcome)
                return
            record = (*record[:3], self._partition, record[4])
        if not settled:
            self._send(delivery, size, record)
        elif self._settled_directly:
            self._send_unacknowledged(size, record)
        else:
            self._presettled += 1
            self._send(None, size, record)

    def _send(self, delivery: Delivery | None, size: int, record: LargeRecord) -> None:
        if self._parked:
            self._park(delivery, size, record)
            return
        failure = self._produce(
            self._topic, *record, partial(self._report, delivery, size, record[2], record[4])
        )
        if failure is not None:
            self._not_taken(delivery, size, record, failure)

    def _not_taken(self, delivery: Delivery | None, size: int, record: LargeRecord, failure: Failure) -> None:
        """Keep a record that a full queue did not take, or answer it."""
        if failure.kafka_error == QUEUE_FULL:
            # The record was surely not stored, and its sender waits for an outcome: it is kept, and so is
            # the order of those behind it. The window bounds how many there can be.
            self._park(delivery, size, record)
            self._doors.retry(self)
        else:
            self.failed(delivery, size, failure, Place.of(self._topic, self._peer.reference, record[3]))

    def _park(self, delivery: Delivery | None, size: int, record: LargeRecord) -> None:
        if self._parked is None:
            self._parked = deque()
        value, key, headers, partition, timestamp_ms = record
        # A large message's body is only lent; what is bytes already is not copied.
        kept = None if value is None else bytes(value)
        self._parked.append(
            Parked(delivery, size, self._produce, self._topic, (kept, key, headers, partition, timestamp_ms))
        )

    def _unpark(self) -> None:
        parked = self._parked
        while parked:
            delivery, size, produce, topic, record = parked[0]
            failure = produce(topic, *record, partial(self._report, delivery, size, record[2], record[4]))
            if failure is not None and failure.kafka_error == QUEUE_FULL:
                self._doors.retry(self)
                return
            parked.popleft()
            if failure is not None:
                self.failed(delivery, size, failure, Place.of(topic, self._peer.reference, record[3]))
                if self.closed:
                    return

    def alone(self, _topic: str) -> Produce | None:
        """Give what sends a topic's record in a batch of its own."""
        return self._produce_alone

    def reported_alone(self, failed: Failed, error: object, produced: Produced | None) -> None:
        """Take the report of a record that was sent alone."""
        self._reported(
            failed.delivery, failed.size_bytes, failed.headers, failed.timestamp_ms, error, produced
        )
        if error is not None and not self.closed:
            self._failed[-1] = self._failed[-1]._replace(was_alone=True)

    def _send_unacknowledged(self, size: int, record: LargeRecord) -> None:
        self.window.in_flight -= 1
        self._freed_bytes += size
        failure = self._produce_unacknowledged(self._topic, *record, self._unacknowledged_reported)
        if failure is not None:
            self._events.dropped(failure.description)
