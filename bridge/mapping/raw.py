"""Profile raw: the value of the record is the whole encoded message, byte for byte.

For archives, and for readers with an AMQP decoder of their own. Key and partition are found as in
profile `native`, so that Kafka keeps the order of a key. The header `amqp.raw` marks the record;
its value is the message-format (core 2.8.11), 0 for the only one that there is. There are no other
headers, so that no limit on headers and no `tombstones: deny` applies.

Such a record is delivered as it is stored and with nothing more: no annotations of the passage, no
delivery-count, no ttl that gets shorter. Where the record is, its receiver learns from the delivery
tag alone. Every other record is read as profile `native` reads it; and `native` reads a raw one as
the bytes that it is.

The two laws of `bridge.mapping.native`, for this profile:

1. A message that is stored and read back has the same bytes, without an exception. It is checked
   all through, and refused with `amqp:decode-error` if it is no AMQP message, or empty.
2. A record that is read and stored again has the same value. It has the same key if it was stored
   with the same options; headers that others have added to a raw record are lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bridge.mapping import to_message, to_record
from bridge.mapping.errors import MappingError
from bridge.mapping.message import parse
from bridge.mapping.names import RAW_HEADER
from bridge.mapping.record import ARRIVAL_TIME, Record
from bridge.mapping.routing import Router
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bridge.mapping.options import MappingOptions

MESSAGE_FORMAT: Final = b"0"

_NO_LIMIT: Final = 2**62


def message_to_record(options: MappingOptions) -> Callable[[bytes], Record]:
    """Make the function that maps a whole encoded message to a record, for any number of links.

    The function raises MappingError: `amqp:decode-error` for bytes that are no AMQP message,
    `amqp:invalid-field` for a key or partition of the wrong type.
    """
    locate = _locator(options)

    def to_raw_record(message: bytes) -> Record:
        if not message:
            raise MappingError(conditions.DECODE_ERROR, "the message has no sections")
        key, partition = locate(message)
        return message, key, [(RAW_HEADER, MESSAGE_FORMAT)], partition, ARRIVAL_TIME

    return to_raw_record


def _locator(options: MappingOptions) -> Callable[[bytes], tuple[bytes | None, int]]:
    """Make the function that checks a message and gives its key and partition."""
    unlimited = replace(
        options,
        tombstones=True,
        value_as_json=False,
        keep_delivery_annotations=False,
        headers_max=_NO_LIMIT,
        header_bytes_max=_NO_LIMIT,
    )
    # The reader of `native` checks every value, and is several times as fast as decoding them.
    read = to_record.message_to_record(unlimited)
    router = Router(unlimited)

    def locate(message: bytes) -> tuple[bytes | None, int]:
        try:
            _, key, _, partition, _ = read(message)
        except MappingError as error:
            if error.condition == conditions.DECODE_ERROR:
                raise
            # Perhaps it was refused for what matters only where headers are made of it.
            routed = router.route(parse(message))
            return routed.key, routed.partition
        return key, partition

    return locate


class RawRecordToMessage:
    """Maps records to whole encoded messages.

    `damaged` counts the records that are marked as raw and are no AMQP message, and those of other
    kinds that `native` counts. It gives the bytes of the former as a data section.
    """

    def __init__(self, topic: str, address: str, options: MappingOptions) -> None:
        self._others = to_message.record_to_message(topic, address, options)
        self._to_record = message_to_record(options)
        self._damaged = 0
        self.plain = self._others.plain
        """Raw records are marked by a header."""

    @property
    def damaged(self) -> int:
        """Count the damaged records."""
        return self._damaged + self._others.damaged

    def __call__(  # noqa: PLR0913, PLR0917 - the call of every profile: see RecordToMessage
        self,
        partition: int,
        offset: int,
        timestamp_type: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] | None,
        delivery_count: int,
        again: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> bytes:
        """Give the message of a raw record; encode that of another one, for one delivery."""
        if headers and value is not None and (RAW_HEADER, MESSAGE_FORMAT) in headers:
            if self._is_message(value):
                return value
            self._damaged += 1
        return self._others(
            partition, offset, timestamp_type, timestamp_ms, key, value, headers, delivery_count, again
        )

    def _is_message(self, value: bytes) -> bool:
        try:
            self._to_record(value)
        except MappingError as error:
            return error.condition != conditions.DECODE_ERROR
        return True


def record_to_message(topic: str, address: str, options: MappingOptions) -> RawRecordToMessage:
    """Make the function that maps records of `topic` to messages of a link with this address."""
    return RawRecordToMessage(topic, address, options)
