"""The ingestion in this process: what it writes, what a second run adds, what it refuses."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from bridge.spark import read_ingested, schema
from bridge.spark.columns import COLUMNS
from bridge.spark.errors import SparkSideError
from bridge.spark.ingest import run
from bridge.spark.job import Job
from bridge.spark.pairing import NOTE

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from support.kafka import RealKafka

# pyspark leaves it to the garbage collector to close the socket of a `collect`.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

MIDNIGHT = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


def job(kafka: RealKafka, folder: Path, *topics: str) -> Job:
    return Job(kafka.bootstrap_servers, topics, str(folder / "out"), str(folder / "checkpoint"))


def test_topics_become_files_and_a_second_run_adds_what_is_new(
    spark: SparkSession, kafka: RealKafka, tmp_path: Path
) -> None:
    # To Spark, a folder topic=<digits> looks like a number.
    year = kafka.create_topic(str(uuid.uuid4().int)[:12], partitions=2)
    other = kafka.create_topic()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    millis = round(MIDNIGHT.timestamp() * 1000)
    headers: list[tuple[str, str | bytes | None]] = [("subject", b"s"), ("k", b"v")]
    producer.produce(year, b"a", b"key", partition=0, headers=headers, timestamp=millis - 1)
    producer.produce(year, b"b", partition=1, timestamp=millis)
    producer.produce(other, None, b"key", timestamp=millis)
    assert producer.flush(30) == 0

    first = run(spark, job(kafka, tmp_path, year, other))
    assert (dict(first.rows), first.files) == ({year: 2, other: 1}, 3)
    ingested = read_ingested(spark, str(tmp_path / "out"))
    assert ingested.columns == [*(column.name for column in COLUMNS), "date"]
    types = dict(ingested.dtypes)
    assert types.pop("date") == "date"
    assert types == {field.name: field.dataType.simpleString() for field in schema()}
    a, b, deleted = ingested.orderBy("topic", "partition").collect()
    assert (a["topic"], a["date"], b["date"]) == (year, dt.date(2026, 2, 28), dt.date(2026, 3, 1))
    assert (a["key_text"], a["value_text"], a["subject"]) == ("key", "a", "s")
    assert a["application_properties"] == {"k": "v"}
    assert (deleted["topic"], deleted["tombstone"], deleted["value"]) == (other, True, None)

    kafka.produce(other, [b"later"])
    assert dict(run(spark, job(kafka, tmp_path, year, other)).rows) == {other: 1}
    nothing = run(spark, job(kafka, tmp_path, year, other))
    assert (dict(nothing.rows), nothing.files) == ({}, 0)
    assert ingested.sparkSession.read.parquet(str(tmp_path / "out")).count() == 4


def test_topics_may_be_added(spark: SparkSession, kafka: RealKafka, tmp_path: Path) -> None:
    first, second = kafka.create_topic(), kafka.create_topic()
    kafka.produce(first, [b"1", b"2"])
    kafka.produce(second, [b"3"])
    assert dict(run(spark, job(kafka, tmp_path, first)).rows) == {first: 2}
    assert dict(run(spark, job(kafka, tmp_path, first, second)).rows) == {second: 1}
    with pytest.raises(SparkSideError, match=f"has read {second} too"):
        run(spark, job(kafka, tmp_path, first))


def test_folders_that_do_not_belong_together_are_refused(
    spark: SparkSession, kafka: RealKafka, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"1"])
    whole = job(kafka, tmp_path, topic)
    assert dict(run(spark, whole).rows) == {topic: 1}
    with pytest.raises(SparkSideError, match=r"belongs to the output folder .*/out, not to .*/new"):
        run(spark, replace(whole, output=str(tmp_path / "new")))
    with pytest.raises(SparkSideError, match=r"is new, but .* holds files already"):
        run(spark, replace(whole, checkpoint=str(tmp_path / "new")))
    with pytest.raises(SparkSideError, match="holds something else"):
        run(spark, replace(whole, output=str(tmp_path / "new"), checkpoint=whole.output))
    (tmp_path / "checkpoint" / NOTE).write_text("{")
    (tmp_path / "checkpoint" / f".{NOTE}.crc").unlink()
    with pytest.raises(SparkSideError, match=f"holds a damaged {NOTE}"):
        run(spark, whole)


def test_unknown_topics_are_named_and_leave_nothing_behind(
    spark: SparkSession, kafka: RealKafka, tmp_path: Path
) -> None:
    known = kafka.create_topic()
    with pytest.raises(SparkSideError, match=r"has no topic no\.such\.topic, "):
        run(spark, job(kafka, tmp_path, known, "no.such.topic"))
    assert list(tmp_path.iterdir()) == []


def test_a_bad_client_setting_is_told(spark: SparkSession, kafka: RealKafka, tmp_path: Path) -> None:
    bad = replace(job(kafka, tmp_path, "any"), options={"kafka.security.protocol": "PIGEON"})
    with pytest.raises(SparkSideError, match="PIGEON"):
        run(spark, bad)


def test_a_record_that_retention_took_is_no_silent_loss(
    spark: SparkSession, kafka: RealKafka, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"1", b"2", b"3"])
    whole = job(kafka, tmp_path, topic)
    assert dict(run(spark, whole).rows) == {topic: 3}
    kafka.produce(topic, [b"4", b"5"])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    partition = TopicPartition(topic, 0, 4)
    admin.delete_records([partition])[partition].result(30)
    with pytest.raises(SparkSideError, match="Kafka no longer has records"):
        run(spark, whole)
    on = replace(whole, options={"failOnDataLoss": "false"})
    assert dict(run(spark, on).rows) == {topic: 1}
