from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from bridge.spark import read_batch, read_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Arguments are judged before Spark is asked, so none is needed.
NO_SPARK = cast("SparkSession", None)


@pytest.mark.parametrize("topics", ["", " , ", [], [" "]])
def test_no_topic_is_refused(topics: str | list[str]) -> None:
    with pytest.raises(ValueError, match="no topic to read"):
        read_stream(NO_SPARK, "localhost:9092", topics)


@pytest.mark.parametrize(
    "option", ["subscribe", "subscribePattern", "includeHeaders", "KAFKA.bootstrap.servers"]
)
def test_options_that_arguments_decide_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match=option):
        read_batch(NO_SPARK, "localhost:9092", "t", options={option: "x", "minPartitions": "4"})
