from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bridge.observability.metrics import Family, counter, gauge
from bridge.observability.metrics_merging import FormerTotals, merged

WORKERS = 3
STEPS = st.lists(
    st.tuples(st.integers(0, WORKERS - 1), st.sampled_from(["counts", "tells", "dies"]), st.integers(1, 9)),
    max_size=60,
)


def told(count: int) -> list[Family]:
    return [counter("messages", "", ({"outcome": "accepted"}, count)), gauge("links", "", ({}, 1))]


def value(families: list[Family], name: str) -> float:
    return sum(value for family in families if family.name == name for _, _, value in family.samples)


@given(STEPS)
def test_a_total_never_falls_and_never_says_more_than_there_was(steps: list[tuple[int, str, int]]) -> None:
    former = FormerTotals()
    counted = [0] * WORKERS
    last_told: dict[int, list[Family]] = {}
    counted_in_all = before = 0.0
    for worker, what, count in steps:
        if what == "counts":
            counted[worker] += count
            counted_in_all += count
        elif what == "tells":
            last_told[worker] = told(counted[worker])
        else:
            former.add(last_told.pop(worker, []))
            counted[worker] = 0
        families = merged({str(number): families for number, families in last_told.items()}, former)
        total = value(families, "messages")
        assert before <= total <= counted_in_all
        assert value(families, "links") == len(last_told)
        before = total
