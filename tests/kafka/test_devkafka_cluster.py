from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from support.processes import await_end, is_running

from bridge.devkafka import DevKafka, DevKafkaError
from bridge.devkafka.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.kafka import OwnKafka, RealKafka

    StartKafka = Callable[..., OwnKafka]

_SECONDS = 60.0


def _values(kafka: RealKafka, topic: str) -> list[bytes | None]:
    return [record.value() for record in kafka.records(topic)]


def test_what_is_produced_is_read_back_in_order(kafka: RealKafka) -> None:
    topic = kafka.create_topic(partitions=2)

    kafka.produce(topic, [b"a", b"b"], partition=1)
    kafka.produce(topic, [b"c"], partition=0)

    assert _values(kafka, topic) == [b"c", b"a", b"b"]


def test_a_topic_has_the_configuration_it_was_given(kafka: RealKafka) -> None:
    topic = kafka.create_topic(config={"max.message.bytes": "100"})

    with pytest.raises(KafkaException, match="MSG_SIZE_TOO_LARGE"):
        kafka.produce(topic, [b"x" * 200])

    assert _values(kafka, topic) == []


def test_an_acknowledged_record_survives_kill_9(own_kafka: StartKafka) -> None:
    kafka = own_kafka()
    before = kafka.bootstrap_servers
    topic = kafka.create_topic()
    kafka.produce(topic, [b"before"])

    kafka.cluster.kill()
    assert kafka.cluster.process_ids == {}
    kafka.cluster.restart()
    kafka.produce(topic, [b"after"])

    assert _values(kafka, topic) == [b"before", b"after"]
    assert kafka.cluster.bootstrap_servers == before


def test_a_data_folder_is_found_again_on_other_ports(own_kafka: StartKafka, tmp_path: Path) -> None:
    first = own_kafka(data_folder=tmp_path)
    topic = first.create_topic()
    first.produce(topic, [b"kept"])
    first.cluster.stop()
    meta = (tmp_path / "broker-1" / "data" / "meta.properties").read_text()

    second = own_kafka(data_folder=tmp_path)

    assert second.bootstrap_servers != first.bootstrap_servers
    assert _values(second, topic) == [b"kept"]
    assert (tmp_path / "broker-1" / "data" / "meta.properties").read_text() == meta


def test_a_data_folder_belongs_to_its_number_of_brokers(tmp_path: Path) -> None:
    (tmp_path / "broker-1").mkdir()

    with pytest.raises(DevKafkaError, match=r"holds 1 broker\(s\), not 3"):
        DevKafka(brokers=3, data_folder=tmp_path).start()


def test_three_brokers_survive_the_loss_of_one(own_kafka: StartKafka) -> None:
    kafka = own_kafka(brokers=3)
    topic = kafka.create_topic(partitions=3)
    assert _topic_setting(kafka, topic, "min.insync.replicas") == "2"
    for partition in range(3):
        kafka.produce(topic, [b"before"], partition=partition)

    kafka.cluster.kill(2)
    assert sorted(kafka.cluster.process_ids) == [1, 3]
    for partition in range(3):
        kafka.produce(topic, [b"without"], partition=partition)
    kafka.cluster.restart(2)
    kafka.produce(topic, [b"after"])

    assert sorted(kafka.cluster.process_ids) == [1, 2, 3]
    assert _values(kafka, topic) == [b"before", b"without", b"after", *[b"before", b"without"] * 2]


def test_a_listener_may_ask_for_a_password(own_kafka: StartKafka) -> None:
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    kafka = own_kafka(
        listeners={"SECURE": "SASL_PLAINTEXT"},
        extra_properties={
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secure.plain.sasl.jaas.config": f'{jaas} user_alice="secret";',
        },
    )
    topic = kafka.create_topic()
    client = AdminClient(
        {
            "bootstrap.servers": kafka.cluster.addresses("SECURE"),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "secret",
        }
    )

    assert topic in client.list_topics(timeout=_SECONDS).topics


def test_a_port_may_be_chosen_and_is_held_against_others(own_kafka: StartKafka) -> None:
    (port,) = free_ports(1)

    kafka = own_kafka(port=port)

    assert kafka.bootstrap_servers == f"127.0.0.1:{port}"
    assert kafka.create_topic("reached") == "reached"
    with pytest.raises(DevKafkaError, match=rf"Port {port} of 127\.0\.0\.1 is taken"):
        own_kafka(port=port)


def test_a_broker_that_cannot_start_tells_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cluster = DevKafka(extra_properties={"num.io.threads": "none"})

    with pytest.raises(DevKafkaError, match=r"(?s)Kafka broker 1.*server\.log.*num\.io\.threads"):
        cluster.start()

    assert cluster.process_ids == {}
    assert list(tmp_path.iterdir()) == []


_FORGETFUL = """
import os, sys
from bridge.devkafka import DevKafka

cluster = DevKafka()
cluster.start()
if os.fork() == 0:
    sys.exit()  # runs the atexit functions of its parent
os.wait()
print(*cluster.process_ids.values())
"""


def test_the_end_of_the_interpreter_is_the_end_of_the_brokers_but_a_forks_is_not(
    tmp_path: Path,
) -> None:
    ended = subprocess.run(  # noqa: S603 - a constant program
        [sys.executable, "-W", "ignore", "-c", _FORGETFUL],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        check=True,
        text=True,
        timeout=_SECONDS,
    )

    broker = int(ended.stdout)  # it ran after the fork's end
    await_end(broker)
    assert not is_running(broker)
    assert list(tmp_path.iterdir()) == []


def _topic_setting(kafka: RealKafka, topic: str, name: str) -> str | None:
    """Return the value of a topic's setting that is in force."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    value: str | None = client.describe_configs([resource])[resource].result(_SECONDS)[name].value
    return value
