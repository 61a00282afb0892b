from __future__ import annotations

import pytest

from bench import drain, end_to_end, latency, scale
from bench.cases import BARE, BRIDGE, KAFKA
from bench.measurements import MEASUREMENTS
from bench.numbered import Arrival
from bench.programs import BenchError


def row(bridge: float, kafka: float) -> dict[str, dict[str, float]]:
    """Make a round of latencies in milliseconds: p99 is twice p50."""
    return {
        name: {"p50": p50, "p99": 2 * p50, "p999": 3 * p50, "max": 4 * p50}
        for name, p50 in ((BRIDGE, bridge), (BARE, kafka), (KAFKA, kafka))
    }


def judgements(*rounds: dict[str, dict[str, float]]) -> dict[str, bool | None]:
    findings = latency.found(list(rounds))
    return {finding.what: finding.met for finding in findings if finding.limit is not None}


def test_latency_may_be_so_many_times_kafkas_and_two_milliseconds() -> None:
    assert judgements(row(bridge=3.4, kafka=1.0)) == {
        "p50 beyond 1.5 x Kafka's": True,
        "p99 beyond 2 x Kafka's": False,
    }
    assert judgements(row(bridge=3.6, kafka=1.0))["p50 beyond 1.5 x Kafka's"] is False


def test_latencies_are_compared_within_a_round() -> None:
    # In the second round everything was slow.
    assert judgements(row(2, 1), row(16, 10), row(2, 1)) == {
        "p50 beyond 1.5 x Kafka's": True,
        "p99 beyond 2 x Kafka's": True,
    }


def test_memory_that_has_come_to_rest_is_flat() -> None:
    findings = {each.what: each for each in scale.grown([60, 80, 80.1, 79.9, 80.2, 80], peak=95)}

    assert findings["growth for a million"].met is True
    assert findings["most of all"].met is True
    assert findings["resident after the last million"].figure.median == 80


def test_memory_that_grows_is_not() -> None:
    findings = {each.what: each for each in scale.grown([60, 61, 62, 63, 64, 65], peak=151)}

    assert findings["growth for a million"].figure.median == 1
    assert findings["growth for a million"].met is False
    assert findings["most of all"].met is False


def test_the_wait_ends_with_the_last_message_that_was_deleted() -> None:
    arrivals = [
        Arrival(at=10.010, first=100, last=149),
        Arrival(at=10.030, first=150, last=199),
        Arrival(at=10.040, first=900, last=950),
    ]

    assert round(drain.wait_ms(arrivals, asked_at=10.0, gap_end=900), 6) == 30


def test_a_batch_that_reaches_over_the_gap_counts() -> None:
    arrivals = [Arrival(at=10.020, first=199, last=901)]

    assert round(drain.wait_ms(arrivals, asked_at=10.0, gap_end=900), 6) == 20


def test_nothing_waited_if_nothing_came_of_it() -> None:
    assert drain.wait_ms([Arrival(at=10.020, first=900, last=901)], asked_at=10.0, gap_end=900) == 0


def test_the_worst_of_the_waits_is_what_counts() -> None:
    findings = list(drain.waited(BRIDGE, [10.0, 12.0, 51.0]))

    assert [finding.met for finding in findings] == [None, False]
    assert findings[0].figure.median == 12


def test_no_two_measurements_have_one_name() -> None:
    assert len({each.name for each in MEASUREMENTS}) == len(MEASUREMENTS)


def test_latency_from_end_to_end_counts_from_when_a_message_was_due() -> None:
    # Due at 10.000, 10.001 and 10.002; the receiver heard of the last two at once.
    arrivals = [
        Arrival(at=9.900, first=0, last=end_to_end.WARM_UP - 2),
        Arrival(at=10.003, first=end_to_end.WARM_UP - 1, last=end_to_end.WARM_UP),
        Arrival(at=10.004, first=end_to_end.WARM_UP + 1, last=end_to_end.WARM_UP + 2),
    ]

    found = end_to_end.latencies(arrivals, started=10.0, count=3)

    assert [round(each, 6) for each in found] == [3, 3, 2]


def test_a_message_that_did_not_come_is_no_latency() -> None:
    arrivals = [Arrival(at=10.003, first=0, last=end_to_end.WARM_UP)]

    with pytest.raises(BenchError, match="1 of 2 messages came"):
        end_to_end.latencies(arrivals, started=10.0, count=2)
