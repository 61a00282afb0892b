"""The ingestion: topics into Parquet files, each record exactly once across restarts and crashes.

Spark's checkpoint knows what was read, the log in the output folder what was written; a batch that
a crash interrupted is written again, and what it left behind is in no log. Therefore the folder is
read through Spark (`bridge.spark.read_ingested`), which goes by the log. Never prints, and decides
nothing about signals: that is the command's.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # py4j has no types
from pyspark.errors import PySparkException

from bridge.spark import brokers
from bridge.spark.columns import COLUMNS
from bridge.spark.errors import SparkSideError
from bridge.spark.failures import explain
from bridge.spark.hadoop import Folder
from bridge.spark.job import Result
from bridge.spark.pairing import NOTE, Note, conflict
from bridge.spark.progress import Figures
from bridge.spark.reader import read_stream
from bridge.spark.schemas import stored_schema
from bridge.spark.sessions import SQL_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from bridge.spark.job import Job

_POLL_SECONDS: Final = 1
_GRACE_SECONDS: Final = 20.0
_LOG: Final = "_spark_metadata"
_PARTITION_COLUMNS: Final = ("topic", "date")

_SETTINGS: Final = {
    **SQL_SETTINGS,  # among them UTC, by which the date of a record is found
    # A task reads one partition, so it writes to few folders: no need to sort by folder first.
    "spark.sql.maxConcurrentOutputFileWriters": "8",
}


def run(
    spark: SparkSession,
    job: Job,
    *,
    stop_requested: Callable[[], bool] = lambda: False,
    on_progress: Callable[[Figures], None] = lambda _figures: None,
) -> Result:
    """Ingest until the job is done or `stop_requested` says so, and count what was written.

    A request to stop lets the batch in progress finish, for up to 20 seconds; then it is dropped
    and will be read again by the next run. `on_progress` is called after batches.

    Raises SparkSideError when the job cannot start or fails; a run with the same folders goes on
    where it ended.
    """
    started = time.monotonic()
    try:
        brokers.check_topics(spark, job.bootstrap_servers, job.topics, job.options)
        output = Folder(spark, job.output)
        _pair(job, output, Folder(spark, job.checkpoint))
        before = _files(spark, output)
        if not stop_requested():
            _follow(_start(spark, job), stop_requested, on_progress)
        written = _files(spark, output) - before
        rows = _count(spark, output, written)
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise SparkSideError(explain(error)) from error
    return Result(rows, len(written), time.monotonic() - started)


def _pair(job: Job, output: Folder, checkpoint: Folder) -> None:
    """Refuse folders that do not belong together; else note in the checkpoint that they do."""
    note = Note(output.uri, job.topics)
    noted = checkpoint.read(NOTE)
    reason = conflict(
        note,
        noted,
        checkpoint_is_empty=checkpoint.is_empty(),
        output_is_empty=output.is_empty(),
    )
    if reason is not None:
        raise SparkSideError(f"The checkpoint folder {job.checkpoint} {reason}.")
    if noted != note.to_text():
        checkpoint.write(NOTE, note.to_text())


def _start(spark: SparkSession, job: Job) -> StreamingQuery:
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    options = {"maxOffsetsPerTrigger": str(job.batch_records), **job.options}
    records = read_stream(
        spark,
        job.bootstrap_servers,
        job.topics,
        starting_offsets=job.starting_offsets,
        options=options,
    )
    stored = [f"`{column.name}`" for column in COLUMNS if not column.derived]
    writer = (
        records.selectExpr(*stored, "CAST(timestamp AS DATE) AS date")
        .writeStream.format("parquet")
        .outputMode("append")
        .partitionBy(*_PARTITION_COLUMNS)
        .option("path", job.output)
        .option("checkpointLocation", job.checkpoint)
    )
    if job.interval_seconds is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{round(job.interval_seconds * 1000)} milliseconds")
    return writer.start()


def _follow(
    query: StreamingQuery,
    stop_requested: Callable[[], bool],
    on_progress: Callable[[Figures], None],
) -> None:
    """Wait until the query ends, or until it may be stopped after a request."""
    figures = Figures()
    deadline: float | None = None
    ended = False
    while not ended:
        ended = query.awaitTermination(_POLL_SECONDS) is True
        grew = figures.add(_reports(query, figures.last_batch))
        if grew:
            on_progress(figures)
        if not stop_requested():
            continue
        if deadline is None:  # what has grown till now had grown before the request
            deadline = time.monotonic() + _GRACE_SECONDS
            grew = False
        if grew or not query.status["isTriggerActive"] or time.monotonic() >= deadline:
            query.stop()
            ended = True


def _reports(query: StreamingQuery, last_batch: int) -> list[dict[str, Any]]:
    """Return Spark's reports on the batches after `last_batch`, oldest first."""
    reports: list[dict[str, Any]] = []
    # The public `recentProgress` asks Java for each field of a hundred reports.
    for report in reversed(query._jsq.recentProgress()):  # noqa: SLF001 - as said
        fields = json.loads(report.json())
        if fields["batchId"] <= last_batch:
            break
        reports.insert(0, fields)
    return reports


def _files(spark: SparkSession, output: Folder) -> frozenset[str]:
    """Return the files that the output folder's log names."""
    if not output.has(_LOG):
        return frozenset()
    return frozenset(spark.read.schema(stored_schema()).parquet(output.uri).inputFiles())


def _count(spark: SparkSession, output: Folder, files: frozenset[str]) -> dict[str, int]:
    """Count the rows of files by topic, in the order of the topics' names."""
    if not files:
        return {}
    rows = spark.read.schema(stored_schema()).option("basePath", output.uri).parquet(*files)
    counts = rows.groupBy("topic").count().collect()
    return {row["topic"]: row["count"] for row in sorted(counts)}
