"""A message that comes back: it was delivered by a bridge, and its receiver sent it to one again.

On its way out the bridge filled in what the record did not have: durable, first-acquirer and
delivery-count (they describe the delivery), `to`, creation-time, a partition key, a ttl shortened
by the record's age. Stored as they stand they would make another record. The annotations of that
passage tell what the record had: `x-opt-bridge.offset` that the message came this way,
`x-opt-bridge.key` its key, `x-opt-bridge.stored` which of those fields were its own, and
`x-opt-kafka-headers`, where it is there, all of its headers as they were.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bridge.codec import Map, Symbol, Timestamp
from bridge.mapping import message as message_sections
from bridge.mapping import names
from bridge.mapping.errors import MappingError
from bridge.model import conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.mapping.annotations import Hop
    from bridge.mapping.message import Message
    from bridge.mapping.record import Headers
    from bridge.mapping.sections import Hints

_PRIORITY: Final = "amqp.priority"
_FILLED: Final = frozenset((*names.HEADER_FIELDS, "to", names.PARTITION_KEY)) - {_PRIORITY}
"""The headers that are the record's own only when `x-opt-bridge.stored` says so."""

_PAIR: Final = 2


def record_key(hop: Hop) -> bytes | None:
    """Give the key that the record had."""
    key = hop.get(names.KEY)
    return key.encode() if isinstance(key, str) else key if isinstance(key, bytes) else None


def own_fields(hop: Hop) -> dict[str, object]:
    """Read `x-opt-bridge.stored`: the fields that the record itself had, by the names of headers."""
    stored = hop.get(names.STORED)
    return {str(name): value for name, value in stored} if isinstance(stored, Map) else {}


def filled_creation_time(hop: Hop) -> int | None:
    """Give the creation-time that the bridge filled in if there was none; None if it did not."""
    time = hop.get(names.ENQUEUED_TIME)
    return int(time) if isinstance(time, Timestamp) and "creation-time" not in own_fields(hop) else None


def header_text(value: object) -> bytes:
    """Write a field of the section header as text."""
    return b"true" if value is True else str(value).encode()


def restore(
    headers: Headers,
    hints: Hints,
    key: bytes | None,
    hop: Hop,
    write: Callable[[object], bytes] = header_text,
) -> tuple[Headers, Hints, bytes | None]:
    """Undo what the bridge filled in: gives headers, hints and key of the record.

    `write` makes a header's value from a field of the section header.
    """
    if names.OFFSET not in hop:
        return headers, hints, key
    own = own_fields(hop)
    time = filled_creation_time(hop)
    filled_time = None if time is None else ("creation-time", b"%d" % time)
    restored: Headers = []
    dropped: set[bytes] = set()
    present = dict(headers)
    for name in names.HEADER_FIELDS:
        if name == _PRIORITY and name in present:
            restored.append((name, present[name]))
        elif name in own and name != _PRIORITY:
            restored.append((name, write(own[name])))
    for header in headers:
        name = header[0]
        if name in names.HEADER_FIELDS:
            continue
        if (name in _FILLED and name not in own) or header == filled_time:
            dropped.add(name.encode() + b"=")
        else:
            restored.append(header)
    if dropped:
        hints = [hint for hint in hints if not hint.startswith(tuple(dropped))]
    return restored, hints, record_key(hop)


def part_dead_letter(headers: Headers, hop: Hop) -> tuple[Headers, Headers]:
    """Part what became of a dead letter from the record's other headers, where the record was one."""
    if names.DEAD_LETTER not in own_fields(hop):
        return headers, []
    others = [header for header in headers if not names.is_escaped_dead_letter(header[0])]
    letter = [
        (names.dead_letter_header(name), value)
        for name, value in headers
        if names.is_escaped_dead_letter(name)
    ]
    return others, letter


def sent_message(message: Message, hop: Hop) -> Message:
    """Undo what the bridge filled in, in a decoded message, and drop what describes the hop."""
    came_by = names.OFFSET in hop
    own = own_fields(hop) if came_by else {}
    header = dict(message.header)
    properties = dict(message.properties)
    if came_by:
        stored = {name: own[f"amqp.{name}"] for name in message_sections.HEADER if f"amqp.{name}" in own}
        header = {name: value for name, value in header.items() if name == "priority"} | stored
        if "to" not in own:
            properties.pop("to", None)
        time = filled_creation_time(hop)
        if time is not None and properties.get("creation-time") == time:
            del properties["creation-time"]
    return replace(
        message,
        header=header,
        properties=properties,
        message_annotations=Map(
            (key, value)
            for key, value in message.message_annotations
            if not names.is_hop(str(key))
            and (key != names.PARTITION_KEY or not came_by or names.PARTITION_KEY in own)
        ),
    )


def verbatim(hop: Hop) -> Headers | None:
    """Read `x-opt-kafka-headers`: a list of [string, binary or null]; None where it is absent.

    Raises MappingError (invalid-field) where it is anything else.
    """
    listed = hop.get(names.KAFKA_HEADERS)
    if listed is None:
        return None
    headers: Headers = []
    for pair in listed if isinstance(listed, list) else [None]:
        if not (isinstance(pair, list) and len(pair) == _PAIR):
            raise _malformed()
        name, value = pair
        if not isinstance(name, str) or isinstance(name, Symbol):
            raise _malformed()
        if value is not None and type(value) is not bytes:
            raise _malformed()
        headers.append((names.check(name), value))
    return headers


def _malformed() -> MappingError:
    return MappingError(
        conditions.INVALID_FIELD,
        f"{names.KAFKA_HEADERS} must be a list of lists, each a string and a binary or null",
    )
