"""`bridge ingest` as a process: killed, interrupted, run again; each record is there exactly once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import pytest
from support.processes import await_end, children

from bridge.spark import read_ingested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from support.kafka import RealKafka

# pyspark leaves it to the garbage collector to close the socket of a `collect`.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

LIMIT_SECONDS: Final = 120.0
QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for short runs on few cores


class Ingestion:
    """One run of the command. Its output and errors are in files beside the output folder."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.output = folder / "out"
        command = [sys.executable, "-m", "bridge", "ingest", "--output", "out", *arguments]
        command += ["--checkpoint", "checkpoint"]
        command += ["--spark-option", f"spark.driver.extraJavaOptions={QUICK_JAVA}"]
        with (folder / "stdout").open("w") as out, (folder / "stderr").open("w") as err:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                command, cwd=folder, stdout=out, stderr=err, start_new_session=True
            )

    def batches(self) -> int:
        """Return how many batches the output folder's log has."""
        return len([name for name in self.output.glob("_spark_metadata/*") if name.name.isdigit()])

    def await_batches(self, count: int) -> None:
        """Wait until so many batches are written, in this run and those before."""
        self._await(lambda: self.batches() >= count)

    def await_java(self) -> None:
        """Wait until the Java process has begun."""
        self._await(lambda: len(children(self.process.pid)) == 1)

    def java(self) -> int:
        """Return the id of the Java process."""
        (java,) = children(self.process.pid)
        return java

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        return self.process.wait(LIMIT_SECONDS)

    def _await(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not is_so():
            assert self.process.poll() is None, self.errors()
            assert time.monotonic() < deadline, self.errors()
            time.sleep(0.02)

    def printed(self) -> str:
        return (self.folder / "stdout").read_text()

    def errors(self) -> str:
        return (self.folder / "stderr").read_text()


@pytest.fixture
def ingest(kafka: RealKafka, tmp_path: Path) -> Iterator[Callable[..., Ingestion]]:
    """Give a function that runs the command; what still runs after the test is killed."""
    runs = []

    def start(topic: str, *arguments: str) -> Ingestion:
        servers = ("--bootstrap-servers", kafka.bootstrap_servers)
        runs.append(Ingestion(tmp_path, *servers, "--topics", topic, *arguments))
        return runs[-1]

    yield start
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
            run.process.wait()


def test_exactly_once_however_a_run_ends(
    spark: SparkSession, kafka: RealKafka, ingest: Callable[..., Ingestion], tmp_path: Path
) -> None:
    topic = kafka.create_topic(partitions=2)
    for partition in (0, 1):
        kafka.produce(topic, [b"%d" % n for n in range(3000)], partition=partition)
    small = ("--batch-records", "1000")  # of six batches, some remain for the last run

    crashed = ingest(topic, *small)
    crashed.await_batches(1)
    java = crashed.java()
    os.kill(java, signal.SIGKILL)
    crashed.process.kill()
    assert crashed.end() == -signal.SIGKILL
    await_end(java)

    driverless = ingest(topic, *small)
    driverless.await_batches(crashed.batches() + 1)
    os.kill(driverless.java(), signal.SIGKILL)
    assert driverless.end() == 1
    assert "Java process" in driverless.errors()

    before = driverless.batches()
    assert before < 6
    last = ingest(topic, "--json")
    assert last.end() == 0, last.errors()
    assert last.batches() > before
    assert json.loads(last.printed())["rows"].keys() == {topic}
    rows = read_ingested(spark, str(tmp_path / "out"))
    assert rows.count() == 6000
    assert rows.select("partition", "offset", "value_text").distinct().count() == 6000
    assert rows.where("value_text <> CAST(offset AS STRING)").count() == 0


def test_ctrl_c_ends_a_long_run_well(
    kafka: RealKafka, ingest: Callable[..., Ingestion], tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"1", b"2"])
    run = ingest(topic, "--interval", "200ms")
    run.await_batches(1)
    kafka.produce(topic, [b"3"])
    run.await_batches(2)
    java = run.java()
    os.killpg(run.process.pid, signal.SIGINT)  # as a terminal does
    assert run.end() == 0, run.errors()
    await_end(java)
    assert "3 rows written to out in 2 files" in run.printed()
    # Nothing else is dropped where it ran.
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["checkpoint", "out", "stderr", "stdout"]


def test_sigterm_before_the_end_of_the_topics_is_told_by_the_exit_code(
    kafka: RealKafka, ingest: Callable[..., Ingestion]
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"1"])
    run = ingest(topic)
    run.await_java()
    java = run.java()
    run.process.terminate()
    assert run.end() == 128 + signal.SIGTERM, run.errors()
    await_end(java)
    assert "0 rows written to out" in run.printed()


def test_no_java_is_left_when_the_command_is_killed(
    kafka: RealKafka, ingest: Callable[..., Ingestion]
) -> None:
    run = ingest(kafka.create_topic())
    run.await_java()
    java = run.java()
    run.process.kill()
    await_end(java)
