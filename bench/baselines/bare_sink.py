"""The bare pump from Kafka to AMQP receivers: consume, `pn_link_send`, settle.

A message has three annotations (topic, partition, offset) and the value as its data section. Nothing is
committed. Unsettled deliveries are settled when the peer answers, whatever it answers; proton alone keeps
them. The address of a link's source is TOPIC/group.id/GROUP, from the earliest record.

usage: python -m bench.baselines.bare_sink --bootstrap HOST:PORT --port PORT
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer

from bench.baselines import kafka_options, serving
from bench.baselines.pump import PumpConnection, address
from cproton_ffi import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from confluent_kafka import Message

    from bench.baselines.pump import CData

BATCH_RECORDS: Final = 500
POLL_SECONDS: Final = 0.1
AHEAD_RECORDS: Final = 1000
"""`sink.buffer.records`."""
AHEAD_BYTES: Final = kafka_options.READ_AHEAD_BYTES
BURST_BYTES: Final = 1 << 18
"""How much is given to proton before the socket is looked at."""
LARGE_BYTES: Final = 4096
"""A value as large as this is given to proton by itself, rather than copied behind its annotations."""
SHORT_BYTES: Final = 255
OFFSET_BYTES: Final = 8
COUNT_BYTES: Final = 4

_advance: Final = lib.pn_link_advance
_delivery: Final = lib.pn_delivery
_send: Final = lib.pn_link_send
_settle: Final = lib.pn_delivery_settle
_updated: Final = lib.pn_delivery_updated

_int_bytes: Final = Struct(">i").pack
_long_bytes: Final = Struct(">q").pack
_uint_bytes: Final = Struct(">I").pack

_TAG_FORM: Final = Struct(">iq")
_write_tag: Final = _TAG_FORM.pack_into
_tag_space: Final = ffi.new("char[]", _TAG_FORM.size)
_tag_view: Final = ffi.buffer(_tag_space)
_tag_pointer: Final = ffi.new("pn_bytes_t *", {"size": _TAG_FORM.size, "start": _tag_space})
_tag: Final = _tag_pointer[0]
"""A delivery's tag, partition and offset: always the same place, since proton copies it."""


SHORT_DATA: Final = [b"\x00Su\xa0%c" % size for size in range(256)]
"""What stands before a data section's bytes, by their number."""
LONG_DATA: Final = b"\x00Su\xb0"
"""What stands before their number, where there are more."""


class Feed:
    """A consumer in a thread of its own, as far ahead of its link as the bridge's."""

    def __init__(self, options: dict[str, Any], topic: str, take: Callable[[list[Message]], None]) -> None:
        self._consumer = Consumer(options)
        self._consumer.subscribe([topic])
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._room = threading.Event()
        self._room.set()
        self._stopping = False
        threading.Thread(target=self._run, daemon=True).start()

    def pause(self) -> None:
        """Read no more for now."""
        self._room.clear()

    def resume(self) -> None:
        """Read on."""
        self._room.set()

    def stop(self) -> None:
        """Leave the group, soon."""
        self._stopping = True
        self._room.set()

    def _run(self) -> None:
        consumer = self._consumer
        while not self._stopping:
            self._room.wait()
            first = consumer.poll(POLL_SECONDS)
            if first is not None:
                messages = [first, *consumer.consume(BATCH_RECORDS - 1, 0)]
                records = [message for message in messages if message.error() is None]
                try:
                    self._loop.call_soon_threadsafe(self._take, records)
                except RuntimeError:
                    return  # the loop has ended, and the process does
        consumer.close()


class SinkLink:
    """What is known of a link: its consumer, and the records that are ahead of its credit."""

    def __init__(self, connection: SinkConnection, pointer: CData, bootstrap: str) -> None:
        self.pointer = pointer
        self._connection = connection
        self._settled = lib.pn_link_remote_snd_settle_mode(pointer) == lib.PN_SND_SETTLED
        topic, _, group = address(lib.pn_link_remote_source(pointer)).partition("/group.id/")
        self._topic = topic
        self._starts: dict[int, bytes] = {}
        """How messages begin, by partition."""
        self._records: deque[Message] = deque()
        self._bytes = 0
        self._paused = False
        self.feed = Feed(kafka_options.consumer(bootstrap, group), topic, self._consumed)

    def _consumed(self, records: Iterable[Message]) -> None:
        self._records.extend(records)
        self._bytes += sum(map(len, records))
        self._connection.send()
        if len(self._records) >= AHEAD_RECORDS or self._bytes >= AHEAD_BYTES:
            self._paused = True
            self.feed.pause()

    def _start(self, partition: int) -> bytes:
        """Encode the annotations of a partition's messages, all but the offset's bytes, which end them."""
        topic = self._topic.encode()
        content = b"".join(
            (
                b"\xa3\x12x-opt-bridge.topic\xb1" + _uint_bytes(len(topic)) + topic,
                b"\xa3\x16x-opt-bridge.partition\x71" + _int_bytes(partition),
                b"\xa3\x13x-opt-bridge.offset\x81",
            )
        )
        size = _uint_bytes(len(content) + OFFSET_BYTES + COUNT_BYTES)
        start = self._starts[partition] = b"\x00Sr\xd1" + size + _uint_bytes(6) + content
        return start

    def send(self) -> bool:
        """Send what the credit allows, and no more than the socket should be given at once.

        Gives False if there may be more to send.
        """
        pointer, records, starts, settled = self.pointer, self._records, self._starts, self._settled
        burst = 0
        for _ in range(min(lib.pn_link_credit(pointer), len(records))):
            record = records.popleft()
            partition, offset = record.partition() or 0, record.offset()
            value = record.value() or b""
            size = len(value)
            _write_tag(_tag_view, 0, partition, offset)
            delivery = _delivery(pointer, _tag)
            start = starts.get(partition) or self._start(partition)
            head = SHORT_DATA[size] if size <= SHORT_BYTES else LONG_DATA + _uint_bytes(size)
            if size < LARGE_BYTES:
                message = b"".join((start, _long_bytes(offset), head, value))
                _send(pointer, message, len(message))
            else:
                message = b"".join((start, _long_bytes(offset), head))
                _send(pointer, message, len(message))
                _send(pointer, value, size)
            if settled:
                _settle(delivery)  # which advances the link, too
            else:
                _advance(pointer)
            burst += size
            if burst >= BURST_BYTES:
                break
        self._bytes -= burst
        if self._paused and len(records) * 2 < AHEAD_RECORDS and self._bytes * 2 < AHEAD_BYTES:
            self._paused = False
            self.feed.resume()
        return burst < BURST_BYTES


class SinkConnection(PumpConnection):
    """A connection whose peer receives."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self._bootstrap = bootstrap
        self._links: dict[CData, SinkLink] = {}

    def attached(self, link: CData) -> None:
        """Begin to consume for a new link."""
        self._links[link] = SinkLink(self, link, self._bootstrap)

    def detached(self, link: CData) -> None:
        """Consume no more for a link."""
        ended = self._links.pop(link, None)
        if ended is not None:
            ended.feed.stop()

    def connection_lost(self, error: Exception | None) -> None:
        """End the consumers."""
        for link in list(self._links):
            self.detached(link)
        super().connection_lost(error)

    def delivered(self, delivery: CData) -> None:
        """Settle what the peer has answered."""
        if _updated(delivery):
            _settle(delivery)

    def batch_ended(self) -> None:
        """Use the credit that came."""
        self.send()

    def send(self) -> None:
        """Send what there is, as far as credit and the socket allow it."""
        for link in list(self._links.values()):
            while not self.congested and not link.send():
                self.flush()
        self.flush()


def main() -> None:
    """Serve until SIGTERM."""
    given = serving.arguments("A bare pump from Kafka to AMQP.").parse_args()
    serving.serve(given.port, lambda: SinkConnection(given.bootstrap))


if __name__ == "__main__":
    main()
