"""What Kafka takes as the name of a topic or group, and the way from an address to it.

Source: org.apache.kafka.common.internals.Topic for topics. Groups may have any name; the bridge
keeps to what can be printed, so that logs and tools show it.
"""

from __future__ import annotations

import re
from typing import Final

from bridge.addressing.errors import AddressError
from bridge.model.conditions import INVALID_FIELD

LONGEST_TOPIC: Final = 249
LONGEST_GROUP: Final = 255
LAST_PARTITION: Final = 2**31 - 1

_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]+")
_PARTITION: Final = re.compile(r"[0-9]{1,10}")
_LONGEST_QUOTE: Final = 80


def topic(path: str) -> str:
    """Return the topic of a path: `a/b` is the topic `a.b`, and `/a/b` is too.

    Raises AddressError when Kafka could have no topic of that name.
    """
    segments = path.removeprefix("/").split("/")
    name = ".".join(segments)
    if not name:
        raise invalid("the address names no topic; it begins with one, as in: orders")
    if "" in segments:
        raise invalid(
            f"{quoted(path)} has an empty part; a topic is written as in: orders, or"
            " europe/orders for the topic europe.orders"
        )
    if not _TOPIC.fullmatch(name):
        raise invalid(
            f"{quoted(path)} is not a topic: letters A-Z and a-z, digits, '.', '_' and '-' are"
            " allowed, and '/' in place of '.', as in: europe/orders"
        )
    if len(name) > LONGEST_TOPIC:
        raise invalid(f"the topic has {len(name)} characters; Kafka allows {LONGEST_TOPIC}")
    if name in {".", ".."}:
        raise invalid(f"Kafka allows no topic named {quoted(name)}; give a name as in: orders")
    return name


def group(text: str) -> str:
    """Return the name of a consumer group; raise AddressError if it is none."""
    return _group(text, "group.id, as in: orders/group.id/billing")


def share_group(text: str) -> str:
    """Return the name of a share group; raise AddressError if it is none."""
    return _group(text, "share, as in: orders/share/workers (market.share is a topic of that name)")


def _group(text: str, form: str) -> str:
    if not text:
        raise invalid(f"the group is empty; it follows {form}")
    if len(text) > LONGEST_GROUP:
        raise invalid(f"the group has {len(text)} characters; {LONGEST_GROUP} are allowed")
    if not text.isprintable():
        raise invalid("the group has a character that cannot be printed")
    return text


def partition(text: str) -> int:
    """Return the number of a partition; raise AddressError if it is none."""
    if not _PARTITION.fullmatch(text) or int(text) > LAST_PARTITION:
        raise invalid(
            f"{quoted(text)} is not the number of a partition; it is written as in: orders/Partitions/0"
        )
    return int(text)


def invalid(description: str) -> AddressError:
    """Return the error for an address that is wrong."""
    return AddressError(INVALID_FIELD, description)


def quoted(text: str) -> str:
    """Return text from a peer for a message: on one line, and not long."""
    return repr(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "...")
