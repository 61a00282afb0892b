"""Kafka in a container where a Docker engine answers: version and settings are devkafka's."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bridge.devkafka.jars import KAFKA_VERSION
from bridge.devkafka.ports import LOOPBACK, free_ports
from bridge.devkafka.properties import CLIENT_LISTENER, Node, server_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

_IMAGE: Final = f"apache/kafka:{KAFKA_VERSION}"
_START_SECONDS: Final = 120.0
_ANSWER_SECONDS: Final = 15.0


def docker_answers() -> bool:
    """Tell whether a Docker engine answers; its client program alone is of no use."""
    docker = shutil.which("docker")
    if docker is None:
        return False
    command = [docker, "version", "--format", "{{.Server.Version}}"]
    try:
        answer = subprocess.run(  # noqa: S603 - a constant command
            command, capture_output=True, check=False, timeout=_ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return answer.returncode == 0


@contextmanager
def kafka_container() -> Iterator[str]:
    """Run a single broker in a container and give its bootstrap servers.

    testcontainers' own KafkaContainer knows Confluent's images only, whose versions lag. Here
    the port is chosen before the start instead, so that the broker can be told what to advertise.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other packages deprecate is not our failure
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415 - slow
        from testcontainers.core.wait_strategies import (  # noqa: PLC0415 - as above
            LogMessageWaitStrategy,
        )

        port, controller_port = free_ports(2)
        container = DockerContainer(_IMAGE, env=container_environment(port, controller_port))
        container.ports = {str(port): (LOOPBACK, port)}  # type: ignore[dict-item] # docker's own form
        ready = LogMessageWaitStrategy("Kafka Server started")
        container.waiting_for(ready.with_startup_timeout(round(_START_SECONDS)))
        with container:
            yield f"{LOOPBACK}:{port}"


def container_environment(port: int, controller_port: int) -> dict[str, str]:
    """Return the variables from which Kafka's image makes its `server.properties`.

    The broker listens on every address of the container, else the engine could not forward to it.
    """
    node = Node(1, controller_port, {CLIENT_LISTENER: port})
    folder = Path("/tmp/kafka-logs")  # noqa: S108 - inside the container
    properties = server_properties(node, [node], folder, listeners={}, extra={})
    anywhere = "0.0.0.0"  # noqa: S104 - as said
    properties["listeners"] = properties["listeners"].replace(LOOPBACK, anywhere)
    return {f"KAFKA_{key.upper().replace('.', '_')}": value for key, value in properties.items()}
