from __future__ import annotations

import json

from prometheus_client.parser import text_string_to_metric_families

from bridge.observability.metrics import Family, Scope, counter, exposition, gauge, packed, unpacked

FAMILIES = [
    gauge("bridge_links", "Links.", ({"direction": "source"}, 2), ({"direction": "sink"}, 3)),
    counter("bridge_messages", "Messages.", ({"outcome": "accepted", "direction": "sink"}, 12_345_678_901)),
    Family(
        "bridge_batch_records",
        "histogram",
        "Records.",
        (
            ("_bucket", (("le", "1.0"),), 1),
            ("_bucket", (("le", "+Inf"),), 4),
            ("_count", (), 4),
            ("_sum", (), 9.5),
        ),
    ),
    Family("process_cpu_seconds", "counter", "Time.", (("_total", (), 0.25),), Scope.WORKER),
]


def test_what_prometheus_reads_is_what_was_given() -> None:
    text, content_type = exposition(FAMILIES, "")
    assert content_type.startswith("text/plain; version=0.0.4")
    read = {metric.name: metric for metric in text_string_to_metric_families(text.decode())}
    assert {name: (metric.type, metric.documentation) for name, metric in read.items()} == {
        family.name: (family.kind, family.meaning) for family in FAMILIES
    }
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for metric in read.values()
        for sample in metric.samples
    }
    assert samples == {
        (family.name + suffix, *labels): value
        for family in FAMILIES
        for suffix, labels, value in family.samples
    }


def test_whoever_asks_for_openmetrics_gets_it() -> None:
    text, content_type = exposition(FAMILIES, "application/openmetrics-text; version=1.0.0, text/plain;q=0.5")
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith(b"# EOF\n")


def test_families_come_through_a_channel_as_they_were() -> None:
    assert unpacked(json.loads(json.dumps(packed(FAMILIES)))) == FAMILIES


def test_values_that_come_and_go_are_no_totals() -> None:
    assert [family.only_grows for family in FAMILIES] == [False, True, True, True]
