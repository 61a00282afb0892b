"""A real Apache Kafka for tests and the demo, without Docker: `DevKafka` and `bridge devkafka`.

It is the genuine broker (KRaft, one or three nodes) as a child process, not an imitation. It needs
a Java runtime (`java`) and fetches Kafka's pinned jars on first use (`jars`). Not for production:
it listens on the loopback address only, and anyone there is its administrator.
"""

from __future__ import annotations

from bridge.devkafka.cluster import DevKafka
from bridge.devkafka.errors import DevKafkaError

__all__ = ["DevKafka", "DevKafkaError"]
