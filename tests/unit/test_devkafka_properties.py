from __future__ import annotations

from pathlib import Path

import javaproperties

from bridge.devkafka.properties import Node, jvm_options, render, server_properties

_FOLDER = Path("/data/broker-1")


def _nodes(count: int, **ports: int) -> list[Node]:
    return [Node(n, 30_000 + n, {"PLAINTEXT": 20_000 + n} | ports) for n in range(1, count + 1)]


def test_a_single_node_listens_on_the_loopback_address_only() -> None:
    (node,) = nodes = _nodes(1)

    properties = server_properties(node, nodes, _FOLDER, listeners={}, extra={})

    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:20001,CONTROLLER://127.0.0.1:30001"
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:20001"
    assert properties["controller.quorum.voters"] == "1@127.0.0.1:30001"
    assert properties["log.dirs"] == str(_FOLDER)


def test_a_single_node_needs_no_other_for_its_internal_topics() -> None:
    (node,) = nodes = _nodes(1)

    properties = server_properties(node, nodes, _FOLDER, listeners={}, extra={})

    replication = {key: v for key, v in properties.items() if key.endswith("replication.factor")}
    in_sync = {key: v for key, v in properties.items() if key.endswith((".isr", "insync.replicas"))}
    assert len(replication) == 4
    assert set(replication.values()) == {"1"}
    assert len(in_sync) == 3
    assert set(in_sync.values()) == {"1"}


def test_three_nodes_replicate_and_survive_the_loss_of_one() -> None:
    nodes = _nodes(3)

    properties = server_properties(nodes[1], nodes, _FOLDER, listeners={}, extra={})

    voters = "1@127.0.0.1:30001,2@127.0.0.1:30002,3@127.0.0.1:30003"
    assert properties["node.id"] == "2"
    assert properties["controller.quorum.voters"] == voters
    assert properties["default.replication.factor"] == "3"
    assert properties["min.insync.replicas"] == "2"
    assert properties["transaction.state.log.min.isr"] == "2"


def test_additional_listeners_have_a_port_and_a_protocol() -> None:
    (node,) = nodes = _nodes(1, SECURE=20_500)

    properties = server_properties(node, nodes, _FOLDER, listeners={"SECURE": "SASL_SSL"}, extra={})

    assert properties["advertised.listeners"] == ("PLAINTEXT://127.0.0.1:20001,SECURE://127.0.0.1:20500")
    assert properties["listener.security.protocol.map"] == (
        "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT"
    )


def test_extra_properties_have_the_last_word() -> None:
    (node,) = nodes = _nodes(1)
    extra = {"auto.create.topics.enable": "true", "message.max.bytes": "10"}

    properties = server_properties(node, nodes, _FOLDER, listeners={}, extra=extra)

    assert extra.items() <= properties.items()


def test_rendered_properties_are_read_back_as_they_were() -> None:
    properties = {"log.dirs": "/data/a b\\c=d", "sasl.jaas.config": 'x required user="ä: #";'}

    text = render(properties)

    assert javaproperties.loads(text) == properties
    assert not text.startswith("#")


def test_a_broker_of_three_gets_half_the_heap() -> None:
    assert "-Xmx512m" in jvm_options(1, _FOLDER)
    assert "-Xmx256m" in jvm_options(3, _FOLDER)


def test_a_broker_keeps_its_temporary_files_in_its_folder() -> None:
    assert f"-Djava.io.tmpdir={_FOLDER / 'tmp'}" in jvm_options(1, _FOLDER)
