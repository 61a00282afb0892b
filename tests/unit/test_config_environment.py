from __future__ import annotations

import pytest

from bridge.config.environment import OTHER_VARIABLES, is_service_link, read
from bridge.config.librdkafka_names import READ_BY
from bridge.config.problems import Problem, Variable


def _read(environment: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    problems: list[Problem] = []
    entries = read(environment, problems)
    assert all(isinstance(entry.place, Variable) for entry in entries)
    return {entry.key: entry.value for entry in entries}, [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("BRIDGE_AMQP_PORT", "amqp.port"),
        ("BRIDGE_AMQP_MAX_FRAME_SIZE_BYTES", "amqp.max.frame.size.bytes"),
        ("BRIDGE_KAFKA_BOOTSTRAP_SERVERS", "kafka.bootstrap.servers"),
        ("BRIDGE_KAFKA_ACKS", "kafka.acks"),
        ("BRIDGE_MANAGEMENT_PORT", "management.port"),
        ("BRIDGE_LOG_LEVEL", "log.level"),
        ("BRIDGE_KAFKA_SASL_PASSWORD", "kafka.sasl.password"),
        ("BRIDGE_KAFKA_PRODUCER_LINGER_MS", "kafka.producer.linger.ms"),
        ("BRIDGE_KAFKA_CONSUMER_AUTO_OFFSET_RESET", "kafka.consumer.auto.offset.reset"),
        ("BRIDGE_KAFKA_LOG_LEVEL", "kafka.log_level"),
        ("BRIDGE_KAFKA_SOME_NEW_PROPERTY", "kafka.some.new.property"),
        ("BRIDGE_AMQP_FLOWCREDIT", "amqp.flowCredit"),
        ("BRIDGE_KAFKA_BOOTSTRAPSERVERS", "kafka.bootstrapServers"),
        ("BRIDGE_KAFKA_PRODUCER_ACKS", "kafka.producer.acks"),
    ],
)
def test_a_variable_stands_for_a_key(variable: str, key: str) -> None:
    assert _read({variable: "value"}) == ({key: "value"}, [])


def test_each_of_librdkafkas_properties_has_a_variable_of_its_own() -> None:
    variables = {f"BRIDGE_KAFKA_PRODUCER_{name.replace('.', '_').upper()}" for name in READ_BY}
    assert len(variables) == len(READ_BY)
    keys, problems = _read(dict.fromkeys(variables, "x"))
    assert keys.keys() == {f"kafka.producer.{name}" for name in READ_BY}
    assert problems == []


def test_what_is_not_ours_is_not_read() -> None:
    others = dict.fromkeys(OTHER_VARIABLES, "x")
    assert _read({"PATH": "/bin", "AMQP_PORT": "1", "bridge_amqp_port": "1", **others}) == ({}, [])


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("BRIDGE_AMQP_PROT", "BRIDGE_AMQP_PORT"),
        ("BRIDGE_LOGLEVEL", "BRIDGE_LOG_LEVEL"),
        ("BRIDGE_CONFG", "BRIDGE_CONFIG"),
        ("BRIDGE_KAFKA", None),
        ("BRIDGE_KAFKA_", None),
        ("BRIDGE_ZZZZZZ", None),
        ("BRIDGE_amqp_port", None),
        ("BRIDGE_", None),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest_one(variable: str, nearest: str | None) -> None:
    keys, [problem] = _read({variable: "hunter2"})
    assert keys == {}
    assert problem.startswith(f"environment variable {variable}: no such variable")
    assert "hunter2" not in problem
    if nearest is not None:
        assert problem.endswith(f"did you mean {nearest}?")


@pytest.mark.parametrize("service", ["BRIDGE", "BRIDGE_AMQP", "BRIDGE_MANAGEMENT", "BRIDGE_KAFKA"])
def test_kubernetes_service_links_are_passed_over(service: str) -> None:
    """Source: Kubernetes documentation, "Discovering services"; the shapes are those of Docker."""
    links = {
        f"{service}_SERVICE_HOST": "10.0.0.11",
        f"{service}_SERVICE_PORT": "5672",
        f"{service}_SERVICE_PORT_AMQP": "5672",
        f"{service}_PORT": "tcp://10.0.0.11:5672",
        f"{service}_PORT_5672_TCP": "tcp://10.0.0.11:5672",
        f"{service}_PORT_5672_TCP_PROTO": "tcp",
        f"{service}_PORT_5672_TCP_PORT": "5672",
        f"{service}_PORT_5672_TCP_ADDR": "10.0.0.11",
    }
    assert _read(links) == ({}, [])
    assert is_service_link(f"{service}_PORT", "tcp://[2001:db8::1]:5672")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("BRIDGE_PORT", "5672"),
        ("BRIDGE_PORT", "http://10.0.0.11:5672"),
        ("BRIDGE_SERVICE", "10.0.0.11"),
        ("BRIDGE_PORT_5672", "tcp://10.0.0.11:5672"),
        ("BRIDGE_SERVICE_HOSTS", "10.0.0.11"),
    ],
)
def test_what_only_resembles_a_service_link_is_refused(variable: str, value: str) -> None:
    assert not is_service_link(variable, value)
    keys, problems = _read({variable: value})
    assert keys == {}
    assert len(problems) == 1


def test_an_options_variable_is_read_beside_service_links() -> None:
    assert _read({"BRIDGE_AMQP_PORT": "5673", "BRIDGE_AMQP_SERVICE_HOST": "10.0.0.11"}) == (
        {"amqp.port": "5673"},
        [],
    )
