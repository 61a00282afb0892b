"""A Kafka record as the source endpoint hands it to a producer."""

from __future__ import annotations

from typing import Final, TypeAlias

Headers: TypeAlias = list[tuple[str, bytes | None]]

Record: TypeAlias = tuple[bytes | None, bytes | None, Headers | None, int, int]
"""Value, key, headers, partition, timestamp in milliseconds since the epoch.

The list of headers is not to be modified. It is a plain tuple because one is made for each message.
"""

ANY_PARTITION: Final = -1
"""The partitioner chooses."""

ARRIVAL_TIME: Final = 0
"""Kafka's client stamps the record when it takes it."""
