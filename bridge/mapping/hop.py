"""A message that comes back: it was delivered by a bridge, and its receiver sent it to one again.

On its way out the bridge filled in what the record did not have: durable, first-acquirer and
delivery-count (they describe the delivery), `to`, creation-time, a partition key, a ttl shortened
by the record's age. Stored as they stand they would make another record. The annotations of that
passage tell what the record had: `x-opt-bridge.offset` that the message came this way,
`x-opt-bridge.key` its key, `x-opt-bridge.stored` which of those fields were its own, and
`x-opt-kafka-headers`, where it is there, all of its headers as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.codec import Map, Symbol, Timestamp
from bridge.mapping import names
from bridge.mapping.errors import MappingError
from bridge.model import conditions

if TYPE_CHECKING:
    from bridge.mapping.annotations import Hop
    from bridge.mapping.record import Headers
    from bridge.mapping.sections import Hints

_PRIORITY: Final = "amqp.priority"
_FILLED: Final = frozenset((*names.HEADER_FIELDS, "to", names.PARTITION_KEY)) - {_PRIORITY}
"""The headers that are the record's own only when `x-opt-bridge.stored` says so."""

_PAIR: Final = 2


def restore(
    headers: Headers, hints: Hints, key: bytes | None, hop: Hop
) -> tuple[Headers, Hints, bytes | None]:
    """Undo what the bridge filled in: gives headers, hints and key of the record."""
    if names.OFFSET not in hop:
        return headers, hints, key
    named = hop.get(names.KEY)
    key = named.encode() if isinstance(named, str) else named if isinstance(named, bytes) else None
    stored = hop.get(names.STORED)
    own = {str(name): value for name, value in stored} if isinstance(stored, Map) else {}
    time = hop.get(names.ENQUEUED_TIME)
    filled_time = (
        ("creation-time", b"%d" % time)
        if isinstance(time, Timestamp) and "creation-time" not in own
        else None
    )
    restored: Headers = []
    dropped: set[bytes] = set()
    present = dict(headers)
    for name in names.HEADER_FIELDS:
        if name == _PRIORITY and name in present:
            restored.append((name, present[name]))
        elif name in own and name != _PRIORITY:
            value = own[name]
            restored.append((name, b"true" if value is True else str(value).encode()))
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
    return restored, hints, key


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
