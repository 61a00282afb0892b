"""Turns the place where a receiver wants to begin into offsets. Reads no record, and commits nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from bridge.kafka.asking import BEGINNING, END
from bridge.model.failures import Failure
from bridge.model.receiving import Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridge.kafka.asking import OffsetAsker
    from bridge.model.receiving import Start


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """An offset was wanted that is not there; these are the first that is, and the end."""

    partition: int
    earliest: int
    latest: int


Positions: TypeAlias = "dict[int, int] | OutOfRange | Failure"


async def positions(
    asker: OffsetAsker, topic: str, partitions: Sequence[int], start: Start, *, now_ms: int
) -> Positions:
    """Give the offset to begin at in each partition, or why there is none.

    `now_ms` is the time of the attach in milliseconds since the epoch, from which an age is counted. An
    offset has to be between the first that is there and the end, which it may be.
    """
    match start.position:
        case Position.EARLIEST:
            return await asker.ask(topic, partitions, BEGINNING)
        case Position.LATEST:
            return await asker.ask(topic, partitions, END)
        case Position.TIME:
            return await _since(asker, topic, partitions, start.value)
        case Position.AGE:
            return await _since(asker, topic, partitions, now_ms - start.value)
        case Position.OFFSET:
            return await _checked(asker, topic, partitions, start.value)


async def _since(asker: OffsetAsker, topic: str, partitions: Sequence[int], time_ms: int) -> Positions:
    # Kafka has no time before the epoch: below it are the names of other questions.
    found = await asker.ask(topic, partitions, max(0, time_ms))
    if isinstance(found, Failure):
        return found
    without = [partition for partition, offset in found.items() if offset < 0]
    if not without:
        return found
    ends = await asker.ask(topic, without, END)
    return ends if isinstance(ends, Failure) else {**found, **ends}


async def _checked(asker: OffsetAsker, topic: str, partitions: Sequence[int], offset: int) -> Positions:
    earliest = await asker.ask(topic, partitions, BEGINNING)
    if isinstance(earliest, Failure):
        return earliest
    latest = await asker.ask(topic, partitions, END)
    if isinstance(latest, Failure):
        return latest
    for partition in partitions:
        if not earliest[partition] <= offset <= latest[partition]:
            return OutOfRange(partition, earliest[partition], latest[partition])
    return dict.fromkeys(partitions, offset)
