from __future__ import annotations

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped] # py4j has no types

from bridge.spark.failures import explain

FAILED = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: {cause} SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 1, runId = 2]
Current State: INITIALIZING"""


def test_the_cause_is_cut_out() -> None:
    assert explain(RuntimeError(FAILED.format(cause="no space left\non device"))) == (
        "no space left\non device"
    )


@pytest.mark.parametrize(
    ("cause", "advice"),
    [
        ("org.apache.kafka.UnknownTopicOrPartitionException: gone", "does not exist any more"),
        ('set the source option "failOnDataLoss" to "false"', "--option failOnDataLoss=false"),
        ("[CONCURRENT_STREAM_LOG_UPDATE] both", "Another job is using the same checkpoint"),
        ("org.apache.kafka.TopicAuthorizationException: t", "does not let this client read"),
    ],
)
def test_advice_comes_before_spark_s_words(cause: str, advice: str) -> None:
    told = explain(RuntimeError(FAILED.format(cause=cause)))
    assert advice in told
    assert told.endswith(f"({cause})")


def test_other_errors_keep_their_words_without_the_stack() -> None:
    assert explain(RuntimeError("o1.start failed\n\tat a.B.c(B.java:1)\n\tat d")) == "o1.start failed"
    called = "An error occurred while calling o65.create.\n: java.io.IOException: full\n\tat a.B"
    assert explain(RuntimeError(called)) == "java.io.IOException: full"
    assert explain(RuntimeError("[PATH_NOT_FOUND] x")) == "[PATH_NOT_FOUND] x"


@pytest.mark.parametrize("error", [Py4JNetworkError("empty"), ConnectionRefusedError(111, "refused")])
def test_the_end_of_java_is_named(error: Exception) -> None:
    assert "Java process has ended" in explain(error)
