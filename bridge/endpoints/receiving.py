"""What a receiver asks for: its address, filters, link properties and route, read into one value.

A receiver reads in one of three ways. As a member of a consumer group, which shares the partitions out; for
a group, but a partition that it names itself; or for nobody, from where it says, and nothing is committed.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from bridge import addressing
from bridge.addressing import AddressError
from bridge.endpoints.destinations import MAPPING_PROPERTY, PARTITION_PROPERTIES, bound_partition
from bridge.filters import reading as filter_set
from bridge.filters.starts import parse_start
from bridge.kafka.contract import BEGINNING
from bridge.kafka.positions import OutOfRange, positions
from bridge.model import conditions
from bridge.model.conditions import Condition
from bridge.model.receiving import Position
from bridge.sink.policy import choose
from bridge.sink.redelivery import Redelivery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bridge.addressing import SinkAddress
    from bridge.config import Settings
    from bridge.config.routes import Route
    from bridge.config.settings import SinkSettings
    from bridge.filters.contract import Filters
    from bridge.kafka.asking import OffsetAsker
    from bridge.kafka.catalog import Topic
    from bridge.model.failures import Failure
    from bridge.model.links import AttachRequest
    from bridge.model.receiving import Start
    from bridge.sink.policy import SinkPolicy

START_PROPERTY: Final = "x-opt-bridge.start"
MODE_PROPERTY: Final = "x-opt-bridge.mode"
_OWN_PREFIX: Final = "x-opt-bridge."
PROPERTIES: Final = (
    START_PROPERTY,
    MODE_PROPERTY,
    MAPPING_PROPERTY,
    *(name for name in PARTITION_PROPERTIES if name.startswith(_OWN_PREFIX)),
)
_MODES: Final = {"browse": True, "consume": False}

NO_GROUP: Final = "amqp-kafka-bridge"
"""The group of consumers that join none and commit nothing; librdkafka wants one of each."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a receiver's link reads its topic.

    `group`: the consumer group that it reads as a member of or, with `partition`, for. None: for nobody.
    `partition`: the only one that is read. `start`: where to begin; `is_asked` tells that the receiver said
    so, rather than the route or the settings. `browses`: it looks at copies.
    """

    group: str | None
    partition: int | None
    start: Start
    is_asked: bool
    browses: bool
    filters: Filters

    @property
    def resumes(self) -> bool:
        """Tell whether a partition that the receiver names is read on from what its group has committed."""
        return self.group is not None and self.partition is not None and not self.is_asked

    @property
    def is_member(self) -> bool:
        """Tell whether the link is a member of its group."""
        return self.group is not None and self.partition is None


def read(address: SinkAddress, request: AttachRequest, route: Route, settings: Settings) -> Reading:
    """Read what a receiver asks for. Raises AddressError, or FilterError."""
    _refuse_unknown(request.properties)
    found = filter_set.read(request.filters, partition=bound_partition(address, request.properties))
    browses = request.browses or _mode(request.properties)
    asked = _one(found.start, _start(request.properties))
    partition = found.partition
    # Event Hubs keeps no offsets for its groups: its clients say where to begin.
    group = None if browses or address.event_hubs else address.group
    says_where = browses or asked is not None or partition is not None or address.event_hubs
    if group is None and not says_where and not address.info and address.share is None:
        raise addressing.no_group(address)
    return Reading(
        group,
        partition,
        asked or parse_start(route.start or settings.sink.start),
        asked is not None,
        browses,
        found,
    )


def _refuse_unknown(properties: Mapping[str, str | int | bool]) -> None:
    """Refuse link properties of the bridge's own that it does not know: somebody relies on what they say."""
    for name in properties:
        if name.startswith(_OWN_PREFIX) and name not in PROPERTIES:
            nearest = get_close_matches(name, PROPERTIES, n=1)
            meant = f"did you mean {nearest[0]}?" if nearest else f"there are: {', '.join(PROPERTIES)}"
            raise AddressError(
                conditions.INVALID_FIELD, f"the link property {name[:60]!r} is none of the bridge's; {meant}"
            )


def _one(by_filter: Start | None, by_property: Start | None) -> Start | None:
    """Choose between two ways to say where to begin, which must not contradict each other."""
    if by_filter is not None and by_property is not None and by_filter != by_property:
        raise AddressError(
            conditions.INVALID_FIELD,
            f"a filter and the link property {START_PROPERTY} say different places to begin at",
        )
    return by_filter or by_property


def _mode(properties: Mapping[str, str | int | bool]) -> bool:
    """Tell whether a link property asks for browsing."""
    mode = properties.get(MODE_PROPERTY, "consume")
    browses = _MODES.get(str(mode))
    if browses is None:
        raise AddressError(
            conditions.INVALID_FIELD,
            f"the link property {MODE_PROPERTY} is {str(mode)[:20]!r}; it is one of {', '.join(_MODES)}",
        )
    return browses


def _start(properties: Mapping[str, str | int | bool]) -> Start | None:
    """Read where to begin from a link property."""
    text = properties.get(START_PROPERTY)
    if text is None:
        return None
    try:
        return parse_start(str(text))
    except ValueError as error:
        raise AddressError(
            conditions.INVALID_FIELD, f"the link property {START_PROPERTY}: {error}"
        ) from error


def policy_of(reading: Reading, request: AttachRequest, route: Route, sink: SinkSettings) -> SinkPolicy:
    """Choose how the link is served."""
    order = route.order or sink.order
    return choose(
        request.snd_settle_mode,
        rejected=route.rejected or sink.rejected,
        redelivery=Redelivery(
            backoff_seconds=sink.redelivery_backoff_ms / 1000,
            backoff_max_seconds=sink.redelivery_backoff_max_ms / 1000,
            attempts_max=route.max_attempts or sink.max_attempts,
            releases_max=sink.max_releases,
            ahead_records=sink.skip_ahead_records if order == "skip-ahead" else None,
        ),
        browses=reading.browses,
        commits=reading.group is not None,
    )


async def starting_offsets(
    reading: Reading, topic: Topic, asker: OffsetAsker, now_ms: int
) -> Mapping[int, int] | Condition | Failure:
    """Find the offsets to begin at, by partition.

    "latest" is the end at this moment, also for partitions that the link gets later.
    """
    start, partition = reading.start, reading.partition
    numbers = range(topic.partitions) if partition is None else [partition]
    if start.position is Position.EARLIEST:
        return dict.fromkeys(numbers, BEGINNING)
    found = await positions(asker, topic.name, numbers, start, now_ms=now_ms)
    if isinstance(found, OutOfRange):
        return Condition(
            conditions.PRECONDITION_FAILED,
            f"offset {start.value} is not in partition {found.partition} of topic {topic.name!r}, which has"
            f" those from {found.earliest} to {found.latest}",
            {"topic": topic.name, "earliest": found.earliest, "latest": found.latest, "retriable": False},
        )
    return found
