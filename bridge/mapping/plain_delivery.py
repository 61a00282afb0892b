"""A record to a message, for the profiles that work with decoded messages.

Such a profile says what message the record is; this module adds what every delivery has, as
`native` does: the section header, the annotations of the passage, and the properties that are
filled in. It never fails: what the record is, it is told by a `Read` that has its own ways to read
any record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from bridge.codec import Map, Symbol, Timestamp, UInt, encode
from bridge.mapping import delivery_header, names
from bridge.mapping.delivery_header import StoredHeader
from bridge.mapping.encoding import NULL, TRUE, as_map, name
from bridge.mapping.message import Message, write
from bridge.mapping.passage import (
    CREATE_TIME,
    TOMBSTONE,
    Passage,
    event_stream_annotations,
    key_annotations,
    listed_headers,
)

if TYPE_CHECKING:
    from bridge.mapping.options import MappingOptions

RecordHeaders: TypeAlias = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class Stored:
    """What a record says by its value and headers.

    `message` has the sections as they were sent. `exact` tells whether the profile would store it
    as these headers again; where it would not, they go along as `x-opt-kafka-headers`. `foreign`:
    the bridge did not write the record, so that its CreateTime may stand for a creation-time.
    `damaged`: the record was not all that its headers promised.
    """

    message: Message
    exact: bool = True
    foreign: bool = False
    damaged: bool = False


Read: TypeAlias = Callable[[bytes | None, bytes | None, RecordHeaders], Stored]
"""Key, value (None: a tombstone) and headers to what they say. Never raises."""


class PlainRecordToMessage:
    """Maps the records of a topic to whole encoded messages of a link with this address.

    `damaged` counts the records that were not all that their headers promised.
    """

    plain: None = None
    """There is no faster way for any of them."""

    def __init__(self, topic: str, address: str, options: MappingOptions, read: Read) -> None:
        self.damaged = 0
        self._address = address
        self._options = options
        self._begin = Passage(topic).begin
        self._read = read

    def __call__(  # noqa: PLR0913, PLR0917 - the call of every profile: see RecordToMessage
        self,
        partition: int,
        offset: int,
        timestamp_type: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: RecordHeaders | None,
        delivery_count: int,
        again: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> bytes:
        """Encode the message for one delivery of a record.

        `timestamp_type` is 0 (none), 1 (CreateTime) or 2 (LogAppendTime), `delivery_count` the
        number of attempts before this one that failed, `again` whether there was any attempt. Gives
        b"" for a record whose ttl has passed, where the options say that such are skipped.
        """
        stored = self._read(key, value, headers or ())
        self.damaged += stored.damaged
        message = stored.message
        start = self._header(message, timestamp_ms, delivery_count, again=again or delivery_count > 0)
        if start is None:
            return b""
        start += self._delivery_annotations(message, (partition, offset, timestamp_type, timestamp_ms))
        own, count = _own_annotations(message, key)
        if not stored.exact:
            own += listed_headers(headers)
            count += 2
        if value is None:
            own += TOMBSTONE
            count += 2
        annotations = self._begin(partition, offset, timestamp_type, timestamp_ms, (len(own), count))
        time = timestamp_ms if stored.foreign and timestamp_type == CREATE_TIME else None
        return b"".join((start, annotations, own, write(self._rest(message, time))))

    def _header(
        self, message: Message, timestamp_ms: int, delivery_count: int, *, again: bool
    ) -> bytes | None:
        """Encode the section header; None for a message that has expired and is to be skipped."""
        ttl, priority = message.header.get("ttl"), message.header.get("priority")
        ttl_ms = int(ttl) if isinstance(ttl, UInt) else None
        left_ms = delivery_header.left_ms(ttl_ms, timestamp_ms, self._options.now_ms)
        if left_ms == 0 and self._options.expired == "skip":
            return None
        head = StoredHeader(priority=NULL if priority is None else encode(priority))
        return head.section(delivery_count, left_ms, again=again)

    def _delivery_annotations(self, message: Message, where: tuple[int, int, int, int]) -> bytes:
        content = b"".join([encode(part) for pair in message.delivery_annotations for part in pair])
        count = 2 * len(message.delivery_annotations)
        if self._options.event_streams:
            events, events_count = event_stream_annotations(*where)
            content += events
            count += events_count
        return b"\x00Sq" + as_map(content, count) if content else b""

    def _rest(self, message: Message, creation_time_ms: int | None) -> Message:
        """Give what stands behind the annotations, with the properties that are filled in."""
        properties = dict(message.properties)
        if self._address:
            properties.setdefault("to", self._address)
        if creation_time_ms is not None and self._options.creation_time_from_record:
            properties.setdefault("creation-time", Timestamp(creation_time_ms))
        return replace(
            message,
            header={},
            delivery_annotations=Map(),
            message_annotations=Map(),
            properties=properties,
        )


def _own_annotations(message: Message, key: bytes | None) -> tuple[bytes, int]:
    """Encode the annotations that a record has beside those of its passage, and their count."""
    pairs = [pair for pair in message.message_annotations if not names.is_hop(str(pair[0]))]
    own_partition_key = any(annotation == Symbol(names.PARTITION_KEY) for annotation, _ in pairs)
    own, count = b"", 2 * len(pairs)
    if key is not None:
        own, key_count = key_annotations(key, own_partition_key=own_partition_key)
        count += key_count
    own += b"".join([encode(part) for pair in pairs for part in pair])
    entries = [
        name(f"amqp.{field}") + encode(value)
        for field, value in message.header.items()
        if field != "priority"
    ]
    entries += [name(field) + TRUE for field in ("to", "creation-time") if field in message.properties]
    if own_partition_key:
        entries.append(name(names.PARTITION_KEY) + TRUE)
    if entries:
        own += name(names.STORED) + as_map(b"".join(entries), 2 * len(entries))
        count += 2
    return own, count
