"""Addresses of links, parsed: the topic, and the partition or the group.

`parse_source` is for the target of an AMQP sender, whose messages go to Kafka; `parse_sink` for the
source of an AMQP receiver. Both raise nothing but AddressError, for any text. They do not know
whether the topic exists.
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
    """Where a receiver's messages come from: a topic, read as a member of a consumer group."""

    topic: str
    group: str

    def __str__(self) -> str:
        return f"{self.topic}{GROUP}{self.group}"


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
    """Parse a receiver's source: `topic/group.id/<group>`, with `a/b` for the topic `a.b`.

    The group is all that follows, slashes included. The address is split at the first `/group.id/`.
    """
    _refuse_url(address)
    path, found, group = _split(address, GROUP)
    if found:
        return SinkAddress(names.topic(path), names.group(group))
    raise _no_group(address)


def _no_group(address: str) -> AddressError:
    """Return what is wrong with a receiver's address that has no `/group.id/` in it."""
    for marker, form in (
        (EVENT_HUBS_GROUP, "hub/ConsumerGroups/<group>/Partitions/<n>"),
        (PARTITION, "topic/Partitions/<n>"),
        (SHARE, "topic/share/<group>"),
    ):
        if marker in address:
            return AddressError(
                NOT_IMPLEMENTED,
                f"addresses of the form {form} are not offered yet; read as a member of a consumer"
                " group, as in: orders/group.id/billing",
            )
    topic = names.topic(address)  # raises the error of a wrong topic, which comes first
    return AddressError(
        INVALID_FIELD,
        "a receiver's address names its consumer group; write"
        f" {topic}{GROUP}<group>, as in: orders/group.id/billing",
        NO_GROUP,
    )


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
