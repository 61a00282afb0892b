from __future__ import annotations

import re
from importlib import resources

import pytest

from bridge.devkafka.jars import parse_table
from bridge.spark.errors import SparkSideError
from bridge.spark.jars import table_name

TABLES = ["jars-4.0.sha256", "jars-4.1.sha256", "jars-4.2.sha256"]


@pytest.mark.parametrize(
    ("version", "table"),
    [
        *[("4.0.0", TABLES[0]), ("4.0.7", TABLES[0]), ("4.1.0.dev1", TABLES[1])],
        *[("4.2.0", TABLES[2]), ("4.3.0", TABLES[2]), ("4.10.1", TABLES[2])],
    ],
)
def test_a_release_gets_the_table_of_its_line_or_the_newest_before(version: str, table: str) -> None:
    assert table_name(version) == table


@pytest.mark.parametrize("version", ["3.5.6", "5.0.0", "unknown"])
def test_other_major_versions_are_refused(version: str) -> None:
    with pytest.raises(SparkSideError, match=f"pyspark {version} is not supported"):
        table_name(version)


@pytest.mark.parametrize("name", TABLES)
def test_each_table_pins_what_reading_kafka_needs(name: str) -> None:
    jars = parse_table(resources.files("bridge.spark").joinpath(name).read_text("utf-8"))
    assert [jar.artifact for jar in jars] == [
        "spark-sql-kafka-0-10_2.13",
        "spark-token-provider-kafka-0-10_2.13",
        "kafka-clients",
        "commons-pool2",
    ]
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) for jar in jars)
