"""What a development broker runs with: its properties, log configuration and JVM options.

Pure: values in, text out. It starts nothing and touches no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import javaproperties

from bridge.devkafka.ports import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CLIENT_LISTENER = "PLAINTEXT"
CONTROLLER_LISTENER = "CONTROLLER"

_INTERNAL_PARTITIONS = 4  # of each internal topic; the default of 50 costs start time and memory

# Only the line that tells that the broker is ready, and what went wrong. Kafka's own default prints
# every setting of every component.
LOG4J2_PROPERTIES = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
logger.ready.name = kafka.server.KafkaRaftServer
logger.ready.level = info
"""


@dataclass(frozen=True, slots=True)
class Node:
    """One KRaft node, broker and controller in one, and its ports on the loopback address."""

    node_id: int
    controller_port: int
    ports: Mapping[str, int]
    """Ports for clients by listener name, CLIENT_LISTENER among them."""


def server_properties(
    node: Node,
    nodes: Sequence[Node],
    log_folder: Path,
    *,
    listeners: Mapping[str, str],
    extra: Mapping[str, str],
) -> dict[str, str]:
    """Return the `server.properties` of one node of a cluster of `nodes`.

    `listeners` gives the security protocol of each additional listener by its name; `extra` has the
    last word on every key. Everything else is chosen for tests: nothing waits longer than it must,
    and nothing takes memory that a handful of partitions does not need.
    """
    replicas = len(nodes)
    in_sync = replicas // 2 + 1
    protocols = {CLIENT_LISTENER: "PLAINTEXT", **listeners, CONTROLLER_LISTENER: "PLAINTEXT"}
    advertised = ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in node.ports.items())
    voters = ",".join(f"{n.node_id}@{LOOPBACK}:{n.controller_port}" for n in nodes)
    properties: dict[str, str | int] = {
        "process.roles": "broker,controller",
        "node.id": node.node_id,
        "controller.quorum.voters": voters,
        "controller.listener.names": CONTROLLER_LISTENER,
        "listeners": f"{advertised},{CONTROLLER_LISTENER}://{LOOPBACK}:{node.controller_port}",
        "advertised.listeners": advertised,
        "inter.broker.listener.name": CLIENT_LISTENER,
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in protocols.items()
        ),
        "log.dirs": str(log_folder),
        # A topic exists because someone created it, as in a well-kept production cluster.
        "auto.create.topics.enable": "false",
        "num.partitions": 1,
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        # A restart after kill -9 waits until the old session is over (9 s by default).
        "broker.session.timeout.ms": 3_000,
        "broker.heartbeat.interval.ms": 500,
        "group.initial.rebalance.delay.ms": 0,
        # The cleaner's default buffer of 128 MiB is half of the heap.
        "log.cleaner.dedupe.buffer.size": 4 * 1024 * 1024,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "background.threads": 2,
    }
    for prefix, partitions in (
        ("offsets.topic", "offsets.topic.num.partitions"),
        ("transaction.state.log", "transaction.state.log.num.partitions"),
        ("share.coordinator.state.topic", "share.coordinator.state.topic.num.partitions"),
    ):
        properties[partitions] = _INTERNAL_PARTITIONS
        properties[f"{prefix}.replication.factor"] = replicas
        if prefix != "offsets.topic":  # which has none of its own
            properties[f"{prefix}.min.isr"] = in_sync
    return {key: str(value) for key, value in properties.items()} | dict(extra)


def render(properties: Mapping[str, str]) -> str:
    """Return the text of a Java properties file, without the customary time stamp."""
    return javaproperties.dumps(properties, timestamp=False)


def jvm_options(brokers: int, folder: Path) -> list[str]:
    """Return the options of each broker's JVM in a cluster of `brokers`, which runs in `folder`.

    `folder` holds `log4j2.properties`, the log configuration, and `tmp`, for temporary files.
    """
    heap_mib = 512 if brokers == 1 else 256
    return [
        f"-Xmx{heap_mib}m",
        "-XX:TieredStopAtLevel=1",  # the second compiler is not repaid in a test's short life
        "-XX:+UseSerialGC",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",  # a file in /tmp that outlives kill -9
        "-Djava.awt.headless=true",
        f"-Djava.io.tmpdir={folder / 'tmp'}",  # native libraries are unpacked there
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
    ]
