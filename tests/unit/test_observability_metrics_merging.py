from __future__ import annotations

from bridge.observability.metrics import Family, Scope, counter, gauge
from bridge.observability.metrics_merging import FormerTotals, merged


def messages(accepted: int, rejected: int = 0) -> Family:
    return counter("messages", "", ({"outcome": "accepted"}, accepted), ({"outcome": "rejected"}, rejected))


def values(families: list[Family]) -> dict[tuple[object, ...], float]:
    return {
        (family.name + suffix, *(value for _, value in labels)): value
        for family in families
        for suffix, labels, value in family.samples
    }


def test_counts_of_workers_are_added_up_by_their_labels() -> None:
    by_worker = {
        "0": [messages(5, 1), gauge("links", "", ({}, 2))],
        "1": [messages(7), gauge("links", "", ({}, 3))],
    }
    assert values(merged(by_worker, FormerTotals())) == {
        ("messages_total", "accepted"): 12,
        ("messages_total", "rejected"): 1,
        ("links",): 5,
    }


def test_what_each_worker_has_for_itself_carries_its_number() -> None:
    memory = [
        Family("memory_bytes", "gauge", "", (("", (("kind", "rss"),), size),), Scope.WORKER)
        for size in (1, 2)
    ]
    [family] = merged({"0": memory[:1], "1": memory[1:]}, FormerTotals())
    assert family.samples == (
        ("", (("kind", "rss"), ("worker", "0")), 1),
        ("", (("kind", "rss"), ("worker", "1")), 2),
    )


def test_a_total_stays_when_its_worker_ends_and_others_begin() -> None:
    former = FormerTotals()
    former.add([messages(5, 1), gauge("links", "", ({}, 2))])
    assert values(merged({}, former)) == {
        ("messages_total", "accepted"): 5,
        ("messages_total", "rejected"): 1,
    }
    former.add([messages(10)])
    assert values(merged({"1": [messages(1), gauge("links", "", ({}, 4))]}, former)) == {
        ("messages_total", "accepted"): 16,
        ("messages_total", "rejected"): 1,
        ("links",): 4,
    }


def test_what_was_a_process_s_own_goes_with_it() -> None:
    former = FormerTotals()
    former.add([Family("cpu_seconds", "counter", "", (("_total", (), 9),), Scope.WORKER)])
    assert merged({}, former) == []


def test_one_family_that_came_in_parts_is_one() -> None:
    parts = [gauge("links", "", ({"direction": name}, 1)) for name in ("sink", "source")]
    [family] = merged({"0": parts}, FormerTotals())
    assert len(family.samples) == 2


def test_histograms_are_added_up_bucket_by_bucket() -> None:
    def sizes(small: int, all_: int, total: float) -> Family:
        buckets = (("_bucket", (("le", "1"),), small), ("_bucket", (("le", "+Inf"),), all_))
        return Family("sizes", "histogram", "", (*buckets, ("_count", (), all_), ("_sum", (), total)))

    former = FormerTotals()
    former.add([sizes(1, 1, 0.5)])
    assert merged({"0": [sizes(1, 2, 3)], "1": [sizes(0, 4, 20)]}, former) == [sizes(2, 7, 23.5)]
