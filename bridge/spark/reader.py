"""Bridged topics, and what the ingestion made of them, as DataFrames with typed columns.

Only describes what to read: Spark reads when an action or a query runs. No Python runs for
a record, so the same DataFrames serve on a cluster that has no Python on its workers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bridge.spark.columns import COLUMNS, STEPS
from bridge.spark.schemas import stored_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

# Options of Spark's Kafka source that the arguments decide.
_OWNED: Final = frozenset(
    {
        "assign",
        "endingoffsets",
        "includeheaders",
        "kafka.bootstrap.servers",
        "startingoffsets",
        "subscribe",
        "subscribepattern",
    }
)


def read_stream(
    spark: SparkSession,
    bootstrap_servers: str,
    topics: str | Sequence[str],
    *,
    starting_offsets: str = "earliest",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the records of `topics` as a streaming DataFrame with the columns of `schema()`.

    `topics` is one name, several with commas between, or a sequence of names. `starting_offsets`
    counts when a query starts without a checkpoint: `earliest`, `latest`, or JSON in the form of
    Spark's Kafka source. `options` goes to that source, for example `maxOffsetsPerTrigger` or
    `kafka.security.protocol`.

    Records of aborted transactions are left out (`kafka.isolation.level`, which `options` may
    change). Raises ValueError when there is no topic, or `options` has what an argument decides.
    """
    settings = _settings(bootstrap_servers, topics, options)
    settings["startingOffsets"] = starting_offsets
    return decode(spark.readStream.format("kafka").options(**settings).load())


def read_batch(
    spark: SparkSession,
    bootstrap_servers: str,
    topics: str | Sequence[str],
    *,
    starting_offsets: str = "earliest",
    ending_offsets: str = "latest",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the records between two offsets as a DataFrame; otherwise as `read_stream`."""
    settings = _settings(bootstrap_servers, topics, options)
    settings["startingOffsets"] = starting_offsets
    settings["endingOffsets"] = ending_offsets
    return decode(spark.read.format("kafka").options(**settings).load())


def decode(records: DataFrame) -> DataFrame:
    """Return the columns of `schema()` for records as Spark's Kafka source gives them.

    For a source that was set up by hand, with `includeHeaders` on.
    """
    return _steps(records).selectExpr(*(f"{c.sql} AS `{c.name}`" for c in COLUMNS))


def read_ingested(spark: SparkSession, folder: str) -> DataFrame:
    """Return what `bridge ingest` wrote to `folder`: the columns of `schema()`, and `date`.

    The types are given, not guessed: Spark would take a topic that is called 2024 for a number.
    """
    stored = _steps(spark.read.schema(stored_schema()).parquet(folder))
    return stored.selectExpr(
        *(f"{c.sql} AS `{c.name}`" if c.derived else f"`{c.name}`" for c in COLUMNS), "date"
    )


def _steps(records: DataFrame) -> DataFrame:
    for step in STEPS:
        records = records.selectExpr("*", *(f"{sql} AS {name}" for name, sql in step.items()))
    return records


def _settings(
    bootstrap_servers: str, topics: str | Sequence[str], options: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the options that streams and batches share."""
    names = topics.split(",") if isinstance(topics, str) else list(topics)
    names = [name.strip() for name in names if name.strip()]
    if not names:
        raise ValueError("no topic to read")
    options = options or {}
    if owned := sorted(key for key in options if key.lower() in _OWNED):
        raise ValueError(f"an argument of its own decides {', '.join(owned)}")
    return {
        "kafka.isolation.level": "read_committed",
        **options,
        "kafka.bootstrap.servers": bootstrap_servers,
        "subscribe": ",".join(names),
        "includeHeaders": "true",
    }
