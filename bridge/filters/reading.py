"""Reads a receiver's filter-set (AMQP core 3.5.8): which partition, from where, which messages.

A filter is known by the descriptor of its value or else by its key in the set. Those about places are
read here, those about messages by `bridge.filters.predicates`. What neither knows is left out, as
the specification has it, and what is null is not there. It does not know which partitions and offsets
a topic has.

| filter | value | asks for |
|---|---|---|
| `io.strimzi:partition-filter:int` | any integer | the partition |
| `io.strimzi:offset-filter:long` | any integer | the offset to begin at, of that partition |
| `x-opt-bridge.partition` | any integer, or its digits as text | the partition |
| `x-opt-bridge.start` | text for `parse_start` | earliest, latest, an age or a time |
| | a timestamp | the time to begin at |
| | any integer | the offset to begin at |
| a selector, where it is an Event Hubs position | text | the offset or time to begin at |

Sources: AmqpBridge and AmqpSinkBridgeEndpoint of the Strimzi Kafka bridge, for the first two, which took
an AMQP int and long alone; the AMQP client libraries of Azure Event Hubs; the Apache AMQP filters, for the
selector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from bridge.addressing import AddressError, names
from bridge.codec.types import Byte, Described, Int, Long, Short, Timestamp, UByte, UInt, ULong, UShort
from bridge.filters.contract import Filters
from bridge.filters.errors import FilterError, quoted
from bridge.filters.predicates import predicate
from bridge.filters.starts import FORMS, LAST_OFFSET, event_hubs_start, parse_start
from bridge.model.dialect import (
    NO_PARTITION_FILTER,
    WRONG_FILTER,
    WRONG_OFFSET_FILTER,
    WRONG_PARTITION_FILTER,
)
from bridge.model.receiving import EARLIEST, Position, Start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.filters.contract import Predicate

_T = TypeVar("_T", int, Start)

FORMER_PARTITION: Final = "io.strimzi:partition-filter:int"
FORMER_OFFSET: Final = "io.strimzi:offset-filter:long"
PARTITION: Final = "x-opt-bridge.partition"
START: Final = "x-opt-bridge.start"
SELECTOR: Final = "apache.org:selector-filter:string"
SELECTOR_CODE: Final = 0x0000_468C_0000_0004

_PARTITIONS: Final = frozenset({FORMER_PARTITION, PARTITION})
_STARTS: Final = frozenset({FORMER_OFFSET, START, SELECTOR})
_BY_DESCRIPTOR: Final[Mapping[str | int, str]] = {
    **{name: name for name in _PARTITIONS | _STARTS},
    SELECTOR_CODE: SELECTOR,
}
_BY_KEY: Final[Mapping[str, str]] = {
    **{name: name for name in _PARTITIONS | _STARTS},
    "jms-selector": SELECTOR,  # the keys that Qpid JMS and others have it under, described or not
    "string": SELECTOR,
}
_INTEGERS: Final = (UByte, UShort, UInt, ULong, Byte, Short, Int, Long)


def read(filters: Mapping[str, object], *, partition: int | None = None) -> Filters:
    """Read a filter-set as `bridge.codec` decodes it, for a link whose address may name a partition.

    Raises FilterError where a known filter is malformed, two disagree, one disagrees with the address, or
    an offset is asked for and no partition.
    """
    applied: set[str] = set()
    partitions = [] if partition is None else [("the address", partition)]
    starts: list[tuple[str, Start]] = []
    predicates: list[Predicate] = []
    for key, value in filters.items():
        name, plain = _known(key, value)
        if plain is None:
            continue
        start = _start(name, plain) if name in _STARTS else None
        if start is not None:
            starts.append((name, start))
        elif name in _PARTITIONS:
            partitions.append((name, _partition(name, plain)))
        else:
            wanted = predicate(key, value)
            if wanted is None:
                continue
            predicates.append(wanted)
        applied.add(key)
    found = _agreed(partitions)
    start = _agreed(starts)
    if start is not None and start.position is Position.OFFSET and found is None:
        raise FilterError(
            f"the filter {starts[0][0]} begins at an offset, which only one partition has; name it in the"
            f" address, as in: orders/Partitions/0, or by the filter {PARTITION}",
            NO_PARTITION_FILTER,
        )
    return Filters(frozenset(applied), found, start, tuple(predicates))


def _known(key: str, value: object) -> tuple[str, object]:
    """Give a filter's name here ("" if it has none) and its value without the descriptor."""
    by_key = _BY_KEY.get(key, "")
    if not isinstance(value, Described):
        return by_key, value
    descriptor = value.descriptor
    if not isinstance(descriptor, str | ULong):
        return by_key, value.value
    return _BY_DESCRIPTOR.get(descriptor, by_key), value.value


def _partition(name: str, value: object) -> int:
    if name == FORMER_PARTITION:
        number = _integer(name, value, names.LAST_PARTITION, former=WRONG_PARTITION_FILTER)
    elif isinstance(value, str):
        try:
            number = names.partition(value)
        except AddressError:
            raise FilterError(
                f"the filter {name} is the number of a partition, not {quoted(value)}"
            ) from None
    else:
        number = _integer(name, value, names.LAST_PARTITION)
    return number


def _start(name: str, value: object) -> Start | None:
    """Read where a filter begins; None if it is a selector that tells which messages are wanted."""
    if name == FORMER_OFFSET:
        return Start(Position.OFFSET, _integer(name, value, LAST_OFFSET, former=WRONG_OFFSET_FILTER))
    if isinstance(value, str):
        try:
            return event_hubs_start(value) if name == SELECTOR else parse_start(value)
        except ValueError as error:
            raise FilterError(f"the filter {name}: {error}") from None
    if name == SELECTOR:
        return None
    if isinstance(value, Timestamp):
        return EARLIEST if value < 0 else Start(Position.TIME, int(value))
    if isinstance(value, _INTEGERS):
        # Negative ones stay refused: -1 is the first record to Event Hubs and the end to Kafka.
        return Start(Position.OFFSET, _integer(name, value, LAST_OFFSET))
    raise FilterError(f"the filter {name} is {FORMS}, a timestamp or an offset, not {quoted(value)}")


def _integer(name: str, value: object, last: int, *, former: str = "") -> int:
    """Read an integer of any AMQP type; `former` is the ancestor's name for one of another type.

    It had a name of its own for negative ones; with none for the filter there is none for these either.
    """
    if not isinstance(value, _INTEGERS) or value > last:
        raise FilterError(f"the filter {name} is an integer from 0 to {last}, not {quoted(value)}", former)
    if value < 0:
        raise FilterError(
            f"the filter {name} is an integer from 0, not {quoted(value)}", WRONG_FILTER if former else ""
        )
    return int(value)


def _agreed(said: Sequence[tuple[str, _T]]) -> _T | None:
    """Give what all say, None if there are none."""
    if not said:
        return None
    (first, wanted), *others = said
    for name, other in others:
        if other != wanted:
            raise FilterError(f"{first} asks for {_told(wanted)}, and {name} for {_told(other)}")
    return wanted


def _told(asked: object) -> str:
    """Write a partition or a start for people."""
    if not isinstance(asked, Start):
        return f"partition {asked}"
    match asked.position:
        case Position.OFFSET:
            return f"offset {asked.value}"
        case Position.TIME:
            return f"the time {asked.value} ms after 1970"
        case Position.AGE:
            return f"an age of {asked.value} ms"
        case _:
            return str(asked.position.value)
