"""Metrics of an operating system's process, under the names that Prometheus' clients have in common."""

from __future__ import annotations

from typing import Final

from prometheus_client import ProcessCollector

from bridge.observability.metrics import Family, Scope, labels

_COLLECTOR: Final = ProcessCollector(registry=None)


def process_families() -> list[Family]:
    """Read processor time, memory, descriptors and start of this process (proc_pid_stat(5)).

    Empty where the system does not tell.
    """
    return [
        Family(
            metric.name,
            metric.type,
            metric.documentation,
            tuple(
                (sample.name.removeprefix(metric.name), labels(sample.labels), sample.value)
                for sample in metric.samples
            ),
            Scope.WORKER,
        )
        for metric in _COLLECTOR.collect()
    ]
