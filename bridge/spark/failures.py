"""Turns what Spark and Kafka say about a failure into what the person at the terminal needs."""

from __future__ import annotations

import re
from typing import Final

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped] # py4j has no types

# Between these stands the message of a failed query, which may have several lines.
_CAUSE: Final = re.compile(
    r"terminated with exception: (.*?)(?: SQLSTATE: \w+)?\s*(?:=== Streaming Query|\Z)", re.DOTALL
)

_CALL: Final = re.compile(r"^An error occurred while calling \S+\n: ")  # what py4j says first

# What to add, by a word in Spark's text. The first match counts.
_ADVICE: Final = {
    "UnknownTopicOrPartition": "A topic of this job does not exist any more.",
    "failOnDataLoss": (
        "Kafka no longer has records that this job was to read next: they were too old, or "
        "the topic was made anew. `--option failOnDataLoss=false` goes on with what there is."
    ),
    "CONCURRENT_STREAM_LOG_UPDATE": "Another job is using the same checkpoint folder.",
    "Authorization": "Kafka does not let this client read the topics or use the group.",
}


def explain(error: Exception) -> str:
    """Return advice, if there is any for this error, and Spark's own words without its stack."""
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return "Spark's Java process has ended: it was killed, or it ran out of memory."
    text = str(error)
    found = _CAUSE.search(text)
    cause = found[1] if found else _CALL.sub("", text.partition("\n\tat ")[0])
    for word, advice in _ADVICE.items():
        if word in text:
            return f"{advice} ({cause})"
    return cause
