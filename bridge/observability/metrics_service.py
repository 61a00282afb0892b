"""The metrics of a bridge: of one process that serves clients, and of the service that operators see."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bridge import __version__
from bridge.observability.metrics import Family, Scope, counter, gauge
from bridge.observability.metrics_process import process_families

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge.observability.connections import ConnectionReporter
    from bridge.observability.metrics_links import SinkTotals, SourceTotals
    from bridge.source.budget import ByteBudget

STARTED_SECONDS: Final = time.time()
"""When this module was read: at the start of the process."""


def serving_families(
    connections: ConnectionReporter,
    sources: SourceTotals,
    sinks: SinkTotals,
    budget: ByteBudget,
    *,
    kafka_available: bool,
) -> list[Family]:
    """Read the metrics of a process that serves clients."""
    return [
        gauge("bridge_connections", "AMQP connections that are open.", ({}, connections.open_count)),
        counter(
            "bridge_connections_accepted",
            "AMQP connections that were accepted since the start.",
            ({}, connections.accepted_count),
        ),
        *sources.families(),
        *sinks.families(),
        gauge(
            "bridge_source_budget_bytes",
            "How much the messages that wait for Kafka may take (three quarters of source.budget.bytes; the"
            " rest is for those that came settled).",
            ({}, budget.total_bytes),
        ),
        gauge("bridge_source_held_bytes", "How much of it they take now.", ({}, budget.held_bytes)),
        gauge(
            "bridge_source_reserved_bytes",
            "How much of it the credit may take that senders have.",
            ({}, budget.reserved_bytes),
        ),
        Family(
            "bridge_kafka_available",
            "gauge",
            "Whether Kafka answers: 1 or 0.",
            (("", (), float(kafka_available)),),
            Scope.WORKER,
        ),
        *process_families(),
    ]


def service_families(workers: int, running: int, restarts: Mapping[str, int]) -> Sequence[Family]:
    """Read the metrics of the service as a whole: `workers` there are to be, `running` serve clients.

    `restarts` is how often each was started again.
    """
    return [
        gauge("bridge_build_info", "The version that runs.", ({"version": __version__}, 1)),
        gauge(
            "bridge_start_time_seconds",
            "When the service was started, since the epoch.",
            ({}, STARTED_SECONDS),
        ),
        gauge("bridge_workers", "Processes that are to serve clients.", ({}, workers)),
        gauge("bridge_workers_running", "Processes that serve clients.", ({}, running)),
        counter(
            "bridge_worker_restarts",
            "How often a worker was started again after it had ended.",
            *(({"worker": worker}, count) for worker, count in restarts.items()),
        ),
    ]
