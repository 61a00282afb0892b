"""What the profiles have in common that store a message in the value of a record, without headers.

These are the Java bridge's: `bridge.mapping.strimzi` and `bridge.mapping.strimzi_json`. Key and
partition come from the annotations that name them, as there: neither a partition key nor group-id
makes a key. Headers that others gave to a record, which the Java bridge passed over, are delivered
as `x-opt-kafka-headers`, and stored again with the message that carries them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bridge.codec import Symbol
from bridge.codec.names import TYPE_NAMES
from bridge.mapping import hop, names
from bridge.mapping.errors import MappingError
from bridge.mapping.message import Data, Message, Sequences, Value, parse
from bridge.mapping.record import ARRIVAL_TIME, Headers, Record
from bridge.mapping.routing import Router
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.options import MappingOptions

NULL: Final = Value(b"\x40")

_TOMBSTONE: Final = Symbol(names.KAFKA_TOMBSTONE)


def message_to_record(
    options: MappingOptions, value_of: Callable[[Message], bytes | None]
) -> Callable[[bytes], Record]:
    """Make the function that maps a whole encoded message to a record; `value_of` gives the value.

    `value_of` is given the message as its sender made it, without what a bridge filled in that
    delivered it before. It is not asked for one that says of itself that it is a tombstone.
    """
    router = Router(replace(options, key_from_partition_key=False, key_from_group_id=False))

    def to_record(encoded: bytes) -> Record:
        message = parse(encoded)
        key, partition, passage = router.route(message)
        is_tombstone = message.body == NULL and message.message_annotations.get(_TOMBSTONE) is True
        headers: Headers | None = None
        if passage is not None:
            headers = hop.verbatim(passage)
            _check_limits(headers or [], options)
            message = hop.sent_message(message, passage)
        if is_tombstone:
            check_tombstone(options)
        value = None if is_tombstone else value_of(message)
        return value, key, headers or None, partition, ARRIVAL_TIME

    return to_record


def check_tombstone(options: MappingOptions) -> None:
    """Raise MappingError where the route denies tombstones."""
    if not options.tombstones:
        raise MappingError(
            conditions.NOT_ALLOWED, "a null body would be a tombstone, which this topic denies"
        )


def unsupported(profile: str, what: str) -> MappingError:
    """Make the refusal of a message that the Java bridge would have lost, in whole or in part."""
    return MappingError(conditions.NOT_IMPLEMENTED, f"the mapping {profile} has no form for {what}")


def kind(message: Message) -> str:
    """Name the kind of a message's body, for people."""
    match message.body:
        case None:
            return "a message without a body"
        case Data():
            return "a body of data sections"
        case Sequences():
            return "a body of amqp-sequence sections"
        case Value(encoded):
            return f"a body of the type {TYPE_NAMES.get(encoded[0], 'described')}"


def _check_limits(headers: Headers, options: MappingOptions) -> None:
    size = sum(len(name.encode()) + len(value or b"") for name, value in headers)
    if len(headers) > options.headers_max or size > options.header_bytes_max:
        raise MappingError(
            conditions.RESOURCE_LIMIT_EXCEEDED,
            f"the message makes {len(headers)} headers of {size} bytes,"
            f" {options.headers_max} of {options.header_bytes_max} bytes are allowed",
        )
