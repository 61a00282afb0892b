"""The command `bridge ingest`: topics into Parquet files, until all is read or a signal comes.

Progress goes to standard error, the table of rows written to standard output. Imports pyspark only
when the command runs, so that `bridge --help` needs neither it nor the time to load it.
"""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING, Final

import click

from bridge.spark.errors import SparkSideError
from bridge.spark.job import Job
from bridge.spark.signals import Signals, StopError

if TYPE_CHECKING:
    from bridge.spark.sessions import LogLevel

_SIGNAL_EXIT: Final = 128  # exit codes above it tell the signal, as those of shells do
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _topics(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    """Read `--topics`."""
    topics = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    if not topics:
        raise click.BadParameter("names no topic")
    return topics


def _seconds(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """Read `--interval`: a number and its unit."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *(ms|s|m|h)", value)
    if found is None or float(found[1]) == 0:
        raise click.BadParameter(f"{value!r} is not a time such as 500ms, 10s, 5m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def _pairs(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Read options of the form KEY=VALUE."""
    pairs = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{value!r} is not KEY=VALUE")
        pairs[key] = text
    return pairs


@click.command("ingest")
@click.option(
    "--bootstrap-servers",
    required=True,
    envvar="BRIDGE_KAFKA_BOOTSTRAP_SERVERS",
    show_envvar=True,
    metavar="HOST:PORT,...",
    help="Where Kafka is.",
)
@click.option("--topics", required=True, callback=_topics, metavar="NAME,...", help="Topics to read.")
@click.option("--output", required=True, metavar="FOLDER", help="Where the Parquet files go.")
@click.option(
    "--checkpoint",
    required=True,
    metavar="FOLDER",
    help="Where Spark keeps how far it is. It belongs to one output folder.",
)
@click.option("--once", is_flag=True, help="End when what is there now has been read. The default.")
@click.option(
    "--interval",
    "interval_seconds",
    callback=_seconds,
    metavar="TIME",
    help="Go on until a signal, with a batch at most this often: 500ms, 10s, 5m.",
)
@click.option(
    "--starting-offsets",
    default="earliest",
    show_default=True,
    metavar="OFFSETS",
    help="Where the first run begins: earliest, latest, or JSON as Spark's Kafka source takes it.",
)
@click.option(
    "--batch-records",
    type=click.IntRange(min=1),
    default=500_000,
    show_default=True,
    help="The most records that one batch reads.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    callback=_pairs,
    metavar="KEY=VALUE",
    help="An option of Spark's Kafka source, as kafka.security.protocol; may be repeated.",
)
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option(
    "--spark-option",
    "spark_options",
    multiple=True,
    callback=_pairs,
    metavar="KEY=VALUE",
    help="A setting of Spark, as spark.driver.memory=4g; may be repeated.",
)
@click.option(
    "--spark-log-level",
    type=click.Choice(["off", "error", "warn", "info", "debug"]),
    default="off",
    show_default=True,
    help="What Spark itself writes to standard error.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the result as one line of JSON, for programs.")
@click.pass_context
def ingest(  # noqa: PLR0913 - one for each option
    context: click.Context,
    *,
    bootstrap_servers: str,
    topics: tuple[str, ...],
    output: str,
    checkpoint: str,
    once: bool,
    interval_seconds: float | None,
    starting_offsets: str,
    batch_records: int,
    options: dict[str, str],
    master: str,
    spark_options: dict[str, str],
    spark_log_level: LogLevel,
    as_json: bool,
) -> None:
    """Write Kafka topics to Parquet files with Spark, each record exactly once.

    The files are partitioned by topic and date. A run with the same two folders goes on where the
    last one ended, however that ended. Read the output folder through Spark: its log tells which
    files count, and a crash may leave others beside them.

    Ctrl-C or SIGTERM ends the job after the batch in progress, a second one at once. The exit code
    is 0 when all is read or a job with --interval was stopped, 128 plus the signal's number when
    another job was stopped before its end, 1 on failure.

    \b
    Examples:
      bridge ingest --bootstrap-servers localhost:9092 --topics orders,alerts \\
        --output lake/orders --checkpoint lake/.checkpoints/orders
      bridge ingest ... --interval 10s --option kafka.security.protocol=SSL
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if once and interval_seconds is not None:
        raise click.UsageError("--once and --interval exclude each other.")
    if importlib.util.find_spec("pyspark") is None:
        raise click.ClickException("This needs Spark: `pip install 'amqp-kafka-bridge[spark]'` brings it.")
    job = Job(
        bootstrap_servers=bootstrap_servers,
        topics=topics,
        output=output,
        checkpoint=checkpoint,
        interval_seconds=interval_seconds,
        batch_records=batch_records,
        starting_offsets=starting_offsets,
        options=options,
    )
    from bridge.spark.runner import run_job  # noqa: PLC0415 - see the module's first words

    signals = Signals()
    try:
        with signals.taken():
            result = run_job(job, signals, master, spark_options, spark_log_level)
    except SparkSideError as error:
        raise click.ClickException(str(error)) from None
    except StopError:
        context.exit(_SIGNAL_EXIT + signals.received)
    click.echo(result.to_json() if as_json else result.table(output))
    if signals.is_stop_requested() and interval_seconds is None:
        context.exit(_SIGNAL_EXIT + signals.received)


if __name__ == "__main__":
    ingest()
