"""Addresses of links, parsed: the topic, and the partition, the group or the share group.

`parse_source` is for the target of an AMQP sender, whose messages go to Kafka; `parse_sink` for the
source of an AMQP receiver. Both raise nothing but AddressError, for any text. They do not know
whether the topic exists, nor what else the link asks for: whether a receiver needs a group is decided
where its filters are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from bridge.addressing import names
from bridge.addressing.errors import AddressError
from bridge.model.conditions import INVALID_FIELD, NOT_IMPLEMENTED
from bridge.model.dialect import NO_GROUP

GROUP: Final = "/group.id/"
PARTITION: Final = "/Partitions/"
EVENT_HUBS_GROUP: Final = "/ConsumerGroups/"
SHARE: Final = "/share/"
INFO: Final = "/$info"

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class SourceAddress:
    """Where a sender's messages go: a topic, and a partition unless Kafka's partitioner chooses."""

    topic: str
    partition: int | None = None

    def __str__(self) -> str:
        return self.topic if self.partition is None else f"{self.topic}{PARTITION}{self.partition}"


@dataclass(frozen=True, slots=True)
class SinkAddress:
    """Where a receiver's messages come from.

    `group`: read as a member of a consumer group, or for it. `partition`: this one alone. `share`: read
    as a member of a share group. `info`: not the records are asked for but what Kafka knows of the topic,
    and of `group` if it is given. With none of these the whole topic is read, for nobody.
    `event_hubs`: it was written as Event Hubs has it, whose groups keep no offsets.

    As text it is the address again. Only Event Hubs' form has a place for both group and partition.
    """

    topic: str
    group: str | None = None
    partition: int | None = None
    share: str | None = None
    info: bool = False
    event_hubs: bool = False

    def __str__(self) -> str:
        text = self.topic
        if self.group is not None:
            text += f"{EVENT_HUBS_GROUP if self.event_hubs else GROUP}{self.group}"
        if self.partition is not None and (self.event_hubs or self.group is None):
            text += f"{PARTITION}{self.partition}"
        if self.share is not None:
            text += f"{SHARE}{self.share}"
        return text + INFO if self.info else text


def parse_source(address: str) -> SourceAddress:
    """Parse a sender's target: `topic`, `a/b` for the topic `a.b`, `topic/Partitions/<n>`."""
    _refuse_url(address)
    for marker in (GROUP, EVENT_HUBS_GROUP):
        if marker in f"{address}/":
            raise names.invalid(
                f"{names.quoted(address)} names a consumer group, which only receivers have; a"
                " sender's address is a topic, as in: orders"
            )
    path, found, number = _split(address, PARTITION)
    if not found:
        return SourceAddress(names.topic(path))
    return SourceAddress(names.topic(path), names.partition(number))


def parse_sink(address: str) -> SinkAddress:
    """Parse a receiver's source; `a/b` is the topic `a.b` in all forms.

    - `topic/group.id/<group>`: the group is all that follows the first `/group.id/`, slashes included
    - `topic`, `topic/Partitions/<n>`
    - `hub/ConsumerGroups/<group>/Partitions/<n>`, and without the partition
    - `topic/share/<group>`: the group is all that follows the first `/share/`. Where another of these
      words is in the address, `share` is a part of the topic's name
    - `topic/$info`, `topic/group.id/<group>/$info`: a last `/$info` is never part of the group
    """
    _refuse_url(address)
    wanted = address.removesuffix(INFO)
    info = wanted != address
    path, found, group = _split(wanted, GROUP)
    if found:
        return SinkAddress(_topic(path, address), names.group(group), info=info)
    if info:
        return SinkAddress(_whole_topic(wanted, address), info=True)
    path, found, rest = _split(address, EVENT_HUBS_GROUP)
    if found:
        return _event_hubs(_topic(path, address), rest)
    path, found, number = _split(address, PARTITION)
    if found:
        return SinkAddress(names.topic(path), partition=names.partition(number))
    path, found, group = _split(address, SHARE)
    if found:
        return SinkAddress(names.topic(path), share=names.share_group(group))
    return SinkAddress(names.topic(address))


def no_group(address: SinkAddress) -> AddressError:
    """Return the error for a receiver that asks for a topic and for nothing that needs no group."""
    topic = address.topic
    return AddressError(
        INVALID_FIELD,
        f"a receiver's address names its consumer group; write {topic}{GROUP}<group>, as in:"
        " orders/group.id/billing, or orders/share/<group> for a share group. Without a group a receiver"
        " reads that says where (orders/Partitions/0, or a filter for the partition), from where (a filter"
        " x-opt-bridge.start), or that it browses (distribution-mode copy)",
        NO_GROUP,
    )


def _event_hubs(topic: str, rest: str) -> SinkAddress:
    """Read what follows `/ConsumerGroups/`. A slash in it is more likely a slip than a group's name."""
    group, found, number = _split(rest, PARTITION)
    if not group or "/" in group:
        raise names.invalid(
            f"{names.quoted(rest)} is not a group, perhaps with a partition; write"
            " hub/ConsumerGroups/<group>/Partitions/<n>, as in: orders/ConsumerGroups/$Default/Partitions/0"
        )
    partition = names.partition(number) if found else None
    return SinkAddress(topic, names.group(group), partition, event_hubs=True)


def _whole_topic(path: str, address: str) -> str:
    """Return the topic that `$info` is asked of; raise AddressError if it is asked of less or more."""
    for marker in (EVENT_HUBS_GROUP, PARTITION, SHARE):
        if marker in f"{path}/":
            raise names.invalid(
                f"{names.quoted(address)}: {INFO} follows a topic or its consumer group, as in:"
                " orders/$info or orders/group.id/billing/$info"
            )
    return names.topic(path)


def _topic(path: str, address: str) -> str:
    """Return the topic before a group; raise AddressError if a partition or group is named before it."""
    for marker in (EVENT_HUBS_GROUP, PARTITION):
        if marker in f"{path}/":
            raise names.invalid(
                f"{names.quoted(address)} has {marker} before its group; a group is written as in:"
                " orders/group.id/billing, and a single partition is asked of it by the filter"
                " x-opt-bridge.partition"
            )
    return names.topic(path)


def _split(address: str, marker: str) -> tuple[str, bool, str]:
    """Split at the first marker, also where nothing follows it, not even its last slash."""
    path, found, rest = address.partition(marker)
    bare = marker.removesuffix("/")
    if not found and address.endswith(bare):
        return address.removesuffix(bare), True, ""
    return path, bool(found), rest


def _refuse_url(address: str) -> None:
    if _URL.match(address):
        raise AddressError(
            NOT_IMPLEMENTED,
            "addresses in the form of a URL are not offered yet; give the path alone, as in: orders"
            " for a sender, orders/group.id/billing for a receiver",
        )
