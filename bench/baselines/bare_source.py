"""The bare pump from AMQP senders to Kafka: transport bytes in, `pn_link_recv`, produce, disposition.

The value of a record is the body of its message's data section; nothing else is looked at. Unsettled
messages are accepted when Kafka has acknowledged them (acks=all), settled ones are produced with acks=0.
The address of a link's target is the topic.

usage: python -m bench.baselines.bare_source --bootstrap HOST:PORT --port PORT
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from confluent_kafka import Producer

from bench.baselines import kafka_options, serving
from bench.baselines.pump import PumpConnection, address
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.baselines.pump import CData

WINDOW: Final = 1000
"""Credit of a link: `amqp.manual.credit` and `amqp.prefetch.credit`."""
POLL_SECONDS: Final = 0.001
IDLE_POLL_SECONDS: Final = 0.1
FULL_WAIT_SECONDS: Final = 0.001
SCRATCH_BYTES: Final = 1 << 20
HEAD_BYTES: Final = 4096
"""In so many bytes of a message its body must begin."""
DATA: Final = 0x75
BINARY_8: Final = 0xA0
SHORT_COMPOUNDS: Final = (0xC0, 0xC1)
"""The constructors of lists and maps whose size takes one byte."""
LONG_COMPOUNDS: Final = (0xD0, 0xD1)
"""Those whose size takes four."""
BARE: Final = {b"\x00Su\xa0": 5, b"\x00Su\xb0": 8}
"""How messages begin that are nothing but a data section, and how long that is."""

_scratch: Final = ffi.new("char[]", SCRATCH_BYTES)
_view: Final = ffi.buffer(_scratch)

_advance: Final = lib.pn_link_advance
_delivery_link: Final = lib.pn_delivery_link
_partial: Final = lib.pn_delivery_partial
_pending: Final = lib.pn_delivery_pending
_readable: Final = lib.pn_delivery_readable
_recv: Final = lib.pn_link_recv
_settle: Final = lib.pn_delivery_settle
_settled: Final = lib.pn_delivery_settled
_update: Final = lib.pn_delivery_update
_ACCEPTED: Final = lib.PN_ACCEPTED
_REJECTED: Final = lib.PN_REJECTED

Report: TypeAlias = "tuple[CData, object]"
"""A delivery, and the error that its record met, or None."""


class SourceLink:
    """What is known of a link: where it goes, what has arrived in part, and what is to be answered."""

    __slots__ = (
        "arrived",
        "busy",
        "connection",
        "pointer",
        "presettled",
        "reports",
        "room",
        "space",
        "topic",
    )

    def __init__(self, connection: SourceConnection, pointer: CData) -> None:
        self.connection = connection
        self.pointer = pointer
        self.topic = address(lib.pn_link_remote_target(pointer))
        self.presettled = 0
        """How many settled messages came for which no credit was given back."""
        self.reports: list[Report] = []
        self.busy = False
        """Reports may come for it."""
        self.arrived = 0
        """How many bytes are there of a message that comes in several frames."""
        self.room = 0
        self.space: CData = None
        """Where they are."""

    def take_part(self, count: int) -> None:
        """Take what proton has of a message that comes in several frames."""
        size = self.arrived + count
        if size > self.room:
            self.room = max(SCRATCH_BYTES, 2 * size)
            space = ffi.new("char[]", self.room)
            if self.arrived:
                ffi.memmove(space, self.space, self.arrived)
            self.space = space
        _recv(self.pointer, self.space + self.arrived, count)
        self.arrived = size

    def take_whole(self) -> CData:
        """Give the body of the message that `take_part` has taken."""
        space, size = self.space, self.arrived
        self.arrived = 0
        at = _body_at(ffi.unpack(space, min(size, HEAD_BYTES)))
        return ffi.buffer(space + at, size - at)

    def answer(self) -> None:
        """Tell the outcomes of what was reported, and give credit back."""
        reports = self.reports
        if reports:
            if not self.connection.lost:
                for delivery, error in reports:
                    _update(delivery, _ACCEPTED if error is None else _REJECTED)
                    _settle(delivery)
                lib.pn_link_flow(self.pointer, len(reports))
            reports.clear()


class SourceConnection(PumpConnection):
    """A connection whose peer sends."""

    def __init__(self, producers: Producers) -> None:
        super().__init__()
        self._producers = producers
        self._acknowledged = producers.acknowledged.produce
        self._unacknowledged = producers.unacknowledged.produce
        self._links: dict[CData, SourceLink] = {}

    def attached(self, link: CData) -> None:
        """Give a new link its credit."""
        self._links[link] = SourceLink(self, link)
        lib.pn_link_flow(link, WINDOW)

    def delivered(self, delivery: CData) -> None:
        """Produce the record of a message that has arrived, or keep what has arrived of one."""
        count = _pending(delivery)
        if count <= 0 and not _readable(delivery):
            return
        link = self._links[_delivery_link(delivery)]
        if link.arrived or count > SCRATCH_BYTES or _partial(delivery):
            link.take_part(count)
            if _partial(delivery):
                return
            value = link.take_whole()
        else:
            _recv(link.pointer, _scratch, count)
            at = BARE.get(_view[:4])
            value = _view[at:count] if at else _view[_body_at(_view[:count]) : count]
        if _settled(delivery):
            try:
                self._unacknowledged(link.topic, value)
            except BufferError:
                self._producers.insist(self._unacknowledged, link.topic, value)
            _settle(delivery)
            link.presettled += 1
            if link.presettled * 2 >= WINDOW:
                lib.pn_link_flow(link.pointer, link.presettled)
                link.presettled = 0
        else:
            _advance(link.pointer)
            reports = link.reports

            def report(error: object, _message: object) -> None:
                reports.append((delivery, error))

            try:
                self._acknowledged(link.topic, value, None, -1, report)
            except BufferError:
                self._producers.insist(self._acknowledged, link.topic, value, None, -1, report)
            if not link.busy:
                self._producers.wake(link)


def _body_at(message: bytes) -> int:
    """Find where the body begins, which is a data section: those before it are passed over."""
    at = 0
    while message[at + 2] != DATA:
        constructor = message[at + 3]
        if constructor in SHORT_COMPOUNDS:
            at += 5 + message[at + 4]
        elif constructor in LONG_COMPOUNDS:
            at += 8 + int.from_bytes(message[at + 4 : at + 8])
        else:  # the empty list
            at += 4
    return at + (5 if message[at + 3] == BINARY_8 else 8)


class Producers:
    """Two producers, and what serves their reports: every millisecond while any are to come."""

    def __init__(self, bootstrap: str) -> None:
        self.acknowledged = Producer(kafka_options.producer(bootstrap, "all"))
        self.unacknowledged = Producer(kafka_options.producer(bootstrap, "0"))
        self._busy: list[SourceLink] = []

    def wake(self, link: SourceLink) -> None:
        """Serve reports; some will be for this link."""
        if not self._busy:
            asyncio.get_running_loop().call_later(POLL_SECONDS, self._poll)
        link.busy = True
        self._busy.append(link)

    def insist(self, produce: Callable[..., None], *record: Any) -> None:  # noqa: ANN401 - produce's own
        """Produce when the queue is full: nothing else is done until it has room."""
        while True:
            self.acknowledged.poll(FULL_WAIT_SECONDS)
            # Records that failed are in the queue until that was told.
            self.unacknowledged.poll(0)
            try:
                produce(*record)
            except BufferError:
                continue
            return

    def poll_now_and_then(self) -> None:
        """Serve what else librdkafka has to say: nothing is reported of unacknowledged records but errors."""
        self.acknowledged.poll(0)
        self.unacknowledged.poll(0)
        asyncio.get_running_loop().call_later(IDLE_POLL_SECONDS, self.poll_now_and_then)

    def _poll(self) -> None:
        self.acknowledged.poll(0)
        connections = set()
        for link in self._busy:
            if link.reports:
                link.answer()
                connections.add(link.connection)
        for connection in connections:
            connection.flush()
        if len(self.acknowledged):
            asyncio.get_running_loop().call_later(POLL_SECONDS, self._poll)
            return
        for link in self._busy:
            link.busy = False
        self._busy.clear()


def main() -> None:
    """Serve until SIGTERM."""
    given = serving.arguments("A bare pump from AMQP to Kafka.").parse_args()
    producers = Producers(given.bootstrap)
    serving.serve(given.port, lambda: SourceConnection(producers), producers.poll_now_and_then)


if __name__ == "__main__":
    main()
