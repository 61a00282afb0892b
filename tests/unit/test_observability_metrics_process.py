from __future__ import annotations

import os

from bridge.observability.metrics import Scope
from bridge.observability.metrics_process import process_families


def test_a_process_tells_its_time_memory_and_descriptors_under_the_usual_names() -> None:
    families = {family.name: family for family in process_families()}
    assert all(family.scope is Scope.WORKER for family in families.values())
    values = {
        f"{name}{suffix}": value
        for name, family in families.items()
        for suffix, _labels, value in family.samples
    }
    assert 0 < values["process_cpu_seconds_total"] <= sum(os.times()[:2]) + 1
    assert values["process_resident_memory_bytes"] > 1 << 20
    assert values["process_open_fds"] > 2
