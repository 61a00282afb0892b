"""One Spark session for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.spark import session
from bridge.spark.sessions import stop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Give a running Spark; a test that changes a setting changes it back."""
    options = {
        "spark.sql.shuffle.partitions": "2",
        # Quicker for short work on few cores.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    spark = session("tests", master="local[2]", options=options)
    yield spark
    stop(spark)
