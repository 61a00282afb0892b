from __future__ import annotations

import pytest

from bridge.devkafka import DevKafka, DevKafkaError


def test_a_cluster_has_one_broker_or_three() -> None:
    with pytest.raises(ValueError, match="1 or 3 brokers, not 2"):
        DevKafka(brokers=2)


def test_before_the_start_nothing_is_known_and_nothing_runs() -> None:
    cluster = DevKafka()

    with pytest.raises(DevKafkaError, match="not started yet"):
        _ = cluster.bootstrap_servers
    with pytest.raises(DevKafkaError, match="No broker 1 was started"):
        cluster.kill(1)
    assert cluster.process_ids == {}


def test_what_was_not_started_may_be_stopped() -> None:
    cluster = DevKafka()

    cluster.stop()
    cluster.stop()

    assert cluster.process_ids == {}
