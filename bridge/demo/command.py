"""`bridge demo`: AMQP, Kafka and Spark together, with the numbers that show that nothing was lost.

Starts a real Kafka and the bridge as its own process, sends messages in every settlement mode with a
plain AMQP client, receives them back through a consumer group, lets Spark ingest the topics, and
compares all counts. It exits with 1 if any is not what it must be.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from bridge.demo import client
from bridge.demo.processes import DemoError, Processes, await_event
from bridge.devkafka import DevKafka, DevKafkaError
from bridge.devkafka.process import tail
from bridge.interrupts import signals_interrupt
from bridge.kafka import inspect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARTITIONS: Final = 3
COUNT_SECONDS: Final = 30.0
"""How long Kafka's count may lag behind a sender that waits for no answer."""
STEP_SECONDS: Final = 120.0
SPARK_SECONDS: Final = 600.0
"""How long the Spark job may take; its first run fetches what Spark needs for Kafka."""
MESSAGE_SECONDS: Final = 0.001
"""How much longer each may take for every message."""
_POLL_SECONDS: Final = 0.1


@dataclass(slots=True)
class Row:
    """One line of the result: counts of messages, and the seconds from the first to the last one sent."""

    mode: str
    topic: str
    sent: int = 0
    accepted: int | None = None
    in_kafka: int = 0
    received: int = 0
    in_spark: int | None = None
    seconds: float = 0.0

    def faults(self, count: int, *, with_spark: bool) -> Iterator[str]:
        """Say what is not as it must be."""
        expected = {"settled": None, "mixed": (count + 1) // 2}.get(self.mode, count)
        for name, value, wanted in (
            ("sent", self.sent, count),
            ("accepted", self.accepted, expected),
            ("in Kafka", self.in_kafka, count),
            ("received", self.received, count),
            ("rows in Spark", self.in_spark, count if with_spark else None),
        ):
            if value != wanted:
                yield f"{self.mode}: {name} is {value}, must be {wanted}"


@click.command("demo")
@click.option(
    "--messages",
    default=2000,
    show_default=True,
    type=click.IntRange(10, 1_000_000),
    help="How many messages are sent in each settlement mode.",
)
@click.option("--spark/--no-spark", default=True, help="Whether Spark reads the topics as well.")
def demo(messages: int, *, spark: bool) -> None:
    """Show AMQP messages going through the bridge into Kafka, back to AMQP, and into Spark.

    Everything runs on this machine and is gone afterwards: a real Kafka, the bridge, a Spark job.
    The first run fetches Kafka and Spark's connector (about 100 MB).

    Exit codes: 0 if every number is what it must be, 1 if not, 130 after Ctrl-C.
    """
    console = Console(stderr=False)
    try:
        with signals_interrupt():
            rows = _run(console, messages, with_spark=spark)
    except (DemoError, DevKafkaError, client.Failed, RuntimeError) as error:
        Console(stderr=True).print(f"[bold red]The demo failed:[/] {error}", highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted; everything was stopped.")
        sys.exit(130)
    console.print(_table(rows))
    faults = [fault for row in rows for fault in row.faults(messages, with_spark=spark)]
    for fault in faults:
        Console(stderr=True).print(f"[bold red]Wrong:[/] {fault}")
    if faults:
        sys.exit(1)
    console.print("Every message arrived everywhere it should, once.")


def _run(console: Console, count: int, *, with_spark: bool) -> list[Row]:
    rows = [Row(mode, f"demo.{mode}") for mode in client.MODES]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bridge-demo-")))
        kafka = DevKafka()
        stack.callback(kafka.stop)
        with _waiting(console, "Starting Kafka"):
            kafka.start()
        # They end before Kafka does, which they need for that.
        processes = stack.enter_context(Processes(folder))
        inspect.create_topics(kafka.bootstrap_servers, [row.topic for row in rows], PARTITIONS)
        with _waiting(console, "Starting the bridge"):
            configuration = folder / "bridge.properties"
            configuration.write_text(
                f"kafka.bootstrap.servers={kafka.bootstrap_servers}\namqp.port=0\nmanagement.port=0\n"
            )
            service, log = processes.start("bridge", ["run", "--config", str(configuration)])
            address = await_event(service, log, "service started")["amqp"]
        with _progress(console) as progress:
            for row in rows:
                _send(row, f"amqp://{address}", count, progress)
                _count(row, kafka.bootstrap_servers, count)
            for row in rows:
                _receive(row, f"amqp://{address}", count, progress)
        code = processes.stop(service)
        if code != 0:
            raise DemoError(f"the bridge ended with exit code {code}{tail(log)}")
        if with_spark:
            _ingest(console, processes, kafka.bootstrap_servers, rows, folder)
    return rows


def _send(row: Row, url: str, count: int, progress: Progress) -> None:
    task = progress.add_task(f"Sending {row.mode}", total=count)
    sending = client.Sending(
        url, row.topic, row.mode, count, lambda done: progress.update(task, completed=done)
    )
    began = time.monotonic()
    _in_thread(lambda: client.run(sending), f"sending {row.mode}", count)
    row.seconds = time.monotonic() - began
    row.sent = sending.sent
    row.accepted = None if row.mode == "settled" else sending.accepted


def _count(row: Row, bootstrap_servers: str, count: int) -> None:
    deadline = time.monotonic() + COUNT_SECONDS
    while True:
        row.in_kafka = inspect.count_records(bootstrap_servers, row.topic, PARTITIONS)
        if row.in_kafka >= count or time.monotonic() > deadline:
            return
        time.sleep(_POLL_SECONDS)


def _receive(row: Row, url: str, count: int, progress: Progress) -> None:
    # What is not in Kafka is not waited for: the count has told already.
    there = min(count, row.in_kafka)
    task = progress.add_task(f"Receiving {row.mode}", total=there)
    receiving = client.Receiving(
        url, f"{row.topic}/group.id/demo", there, lambda done: progress.update(task, completed=done)
    )
    _in_thread(lambda: client.run(receiving), f"receiving {row.mode}", there)
    row.received = len(receiving.numbers)


def _ingest(
    console: Console, processes: Processes, bootstrap_servers: str, rows: list[Row], folder: Path
) -> None:
    """Let `bridge ingest` write the topics to Parquet, and take the rows that it counted there."""
    with _waiting(console, "Reading the topics with Spark"):
        job, log = processes.start(
            "ingest",
            [
                "ingest",
                *("--bootstrap-servers", bootstrap_servers),
                *("--topics", ",".join(row.topic for row in rows)),
                *("--output", str(folder / "parquet")),
                *("--checkpoint", str(folder / "checkpoint")),
                "--once",
                "--json",
            ],
        )
        try:
            code = job.wait(SPARK_SECONDS + MESSAGE_SECONDS * len(rows) * rows[0].sent)
        except subprocess.TimeoutExpired:
            raise DemoError(f"the Spark job did not end in time{tail(log)}") from None
        if code != 0:
            raise DemoError(f"the Spark job ended with exit code {code}{tail(log)}")
    report: dict[str, Any] = json.loads(log.read_text().rstrip().rpartition("\n")[2])
    for row in rows:
        row.in_spark = report["rows"].get(row.topic, 0)


def _table(rows: list[Row]) -> Table:
    table = Table(title="AMQP → bridge → Kafka → AMQP and Spark")
    table.add_column("mode")
    for name in ("sent", "accepted", "in Kafka", "received", "rows in Spark", "seconds"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.mode,
            f"{row.sent:,}",
            "-" if row.accepted is None else f"{row.accepted:,}",
            f"{row.in_kafka:,}",
            f"{row.received:,}",
            "-" if row.in_spark is None else f"{row.in_spark:,}",
            f"{row.seconds:.2f}",
        )
    return table


# ---------------------------------------------------------------------- waiting


def _in_thread(work: Callable[[], None], name: str, count: int) -> None:
    """Run the AMQP client beside the main thread, which stays free for Ctrl-C. Raises what it raises."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            errors.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    seconds = STEP_SECONDS + MESSAGE_SECONDS * count
    deadline = time.monotonic() + seconds
    while thread.is_alive():
        thread.join(_POLL_SECONDS)
        if time.monotonic() > deadline:
            raise DemoError(f"{name} was not done after {seconds:.0f} s")
    if errors:
        raise errors[0]


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description:<22}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )


@contextmanager
def _waiting(console: Console, what: str) -> Iterator[None]:
    """Show that something goes on, and how long it took."""
    began = time.monotonic()
    if not console.is_terminal:
        console.print(f"{what} …")
    with console.status(f"{what} …"):
        yield
    console.print(f"{what}: {time.monotonic() - began:.1f} s")
