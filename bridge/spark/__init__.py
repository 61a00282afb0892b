"""Bridged topics as Spark DataFrames with typed columns, and the job that writes them to files.

Needs the extra `amqp-kafka-bridge[spark]`. Importing this package does not import pyspark: that is
left to the first use, so that `bridge --help` stays fast and the service runs without Spark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.spark.reader import decode, read_batch, read_ingested, read_stream
    from bridge.spark.schemas import schema
    from bridge.spark.sessions import session

__all__ = ["decode", "read_batch", "read_ingested", "read_stream", "schema", "session"]

_HOMES = {
    "decode": "bridge.spark.reader",
    "read_batch": "bridge.spark.reader",
    "read_ingested": "bridge.spark.reader",
    "read_stream": "bridge.spark.reader",
    "schema": "bridge.spark.schemas",
    "session": "bridge.spark.sessions",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module's attribute has no one type
    """Import a public name when it is first used (PEP 562)."""
    if home := _HOMES.get(name):
        return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
