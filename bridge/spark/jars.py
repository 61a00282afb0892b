"""The jars by which Spark reads Kafka: which ones fit the installed pyspark, and where they are.

They are no part of pyspark. Each release line has its pinned table beside this module; the resolver
that also gets the development broker's jars fetches them once and checks each by its SHA-256. Never
imports pyspark.
"""

from __future__ import annotations

import hashlib
import re
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bridge.devkafka import DevKafkaError
from bridge.devkafka import jars as resolver
from bridge.devkafka.cache import cache_root
from bridge.spark.errors import SparkSideError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLES: Final = {(4, 0): "jars-4.0.sha256", (4, 1): "jars-4.1.sha256", (4, 2): "jars-4.2.sha256"}
_MAJOR: Final = 4


def table_name(pyspark_version: str) -> str:
    """Return the name of the table for a pyspark release: of its line, else of the newest before.

    Raises SparkSideError for a version that the bridge does not support.
    """
    found = re.match(r"(\d+)\.(\d+)", pyspark_version)
    line = (int(found[1]), int(found[2])) if found else (0, 0)
    if line[0] != _MAJOR:
        raise SparkSideError(f"pyspark {pyspark_version} is not supported; `pip install 'pyspark>=4.0,<5'`")
    return _TABLES[max(known for known in _TABLES if known <= line)]


def connector_jars(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Return the verified jars for the installed pyspark; fetch them (10 MB) on the first use.

    They are kept in a folder of the bridge's cache, one for each table. `environment` is read
    instead of `os.environ` when given.

    Raises SparkSideError when pyspark is missing or not supported, or the jars cannot be fetched or
    kept, or differ from the pinned ones.
    """
    try:
        version = metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        raise SparkSideError("pyspark is not installed: `pip install 'amqp-kafka-bridge[spark]'`") from None
    name = table_name(version)
    table = resources.files(__package__).joinpath(name).read_text("utf-8")
    digest = hashlib.sha256(table.encode()).hexdigest()[:8]  # other pins, another folder
    folder = cache_root(environment) / f"{Path(name).stem.replace('jars', 'spark')}-{digest}"
    jars = resolver.parse_table(table)
    try:
        resolver.ensure(folder, jars, "Spark's Kafka connector")
    except (DevKafkaError, OSError) as error:  # not to be fetched, or not to be kept
        raise SparkSideError(str(error)) from None
    return [folder / jar.file_name for jar in jars]
