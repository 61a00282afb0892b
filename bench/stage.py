"""Sets the stage for measurements: a real Kafka, a folder for logs, and the end of all of it."""

from __future__ import annotations

import os
import resource
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.programs import BenchError, Servers, run
from bench.runner import KAFKA_ALONE, Stage
from bench.topics import Topics
from bridge.devkafka import DevKafka, DevKafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BROKER_PROPERTIES: Final = {
    # Topics are deleted as soon as they were read: Kafka would keep the files of each for a minute.
    "log.segment.delete.delay.ms": "500",
}
WARM_UP_MESSAGES: Final = 200_000
WARM_UP_TURNS: Final = 2


def given_kafka() -> str | None:
    """Give the bootstrap servers of the cluster that is to be used instead of an own one, if any."""
    return os.environ.get("KAFKA_BOOTSTRAP_SERVERS") or None


@contextmanager
def open_stage(told: Callable[[str], None], data_folder: Path | None = None) -> Iterator[Stage]:
    """Bring up Kafka, unless one is given, and warm it up. Raises BenchError.

    `data_folder` is where an own Kafka keeps its data, else a temporary folder.
    """
    _allow_many_files()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        bootstrap_servers = given_kafka()
        if bootstrap_servers is None:
            told("starting Kafka")
            kafka = DevKafka(extra_properties=BROKER_PROPERTIES, data_folder=data_folder)
            try:
                bootstrap_servers = stack.enter_context(kafka).bootstrap_servers
            except DevKafkaError as error:
                raise BenchError(str(error)) from error
        # They end before Kafka does, which they need for that.
        servers = stack.enter_context(Servers(folder))
        stage = Stage(bootstrap_servers, servers, Topics(bootstrap_servers), told)
        told("warming Kafka up")
        _warm_up(stage)
        yield stage


def _warm_up(stage: Stage) -> None:
    """Let a new broker compile its code: its first seconds are no measure of anything."""
    for _ in range(WARM_UP_TURNS):
        with stage.topics.temporary() as topic:
            common = (
                "--bootstrap",
                stage.bootstrap_servers,
                "--topic",
                topic,
                "--messages",
                WARM_UP_MESSAGES,
            )
            run(KAFKA_ALONE, "produce", *common, "--size", 100, "--acks", "all", "--shape", "bare")
            run(KAFKA_ALONE, "consume", *common)


def _allow_many_files() -> None:
    """Raise the limit of open files as far as the system lets us: each connection is one, on both sides."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
