"""Joins links to their endpoints: where the edges, the journeys and the mapping meet.

A source link gets its AMQP port and the shared producers, a sink link its AMQP port and a consumer, both
the mapping of their route. What they then do is theirs.
"""

from __future__ import annotations

from bridge.endpoints.attaching import Endpoints
from bridge.endpoints.contract import KafkaClients

__all__ = ["Endpoints", "KafkaClients"]
