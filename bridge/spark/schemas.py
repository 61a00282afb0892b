"""The table of columns as a Spark schema. Needs pyspark's classes, but no session and no Java."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from bridge.spark.columns import COLUMNS

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_TYPES: Final[dict[str, DataType]] = {
    "ARRAY<STRUCT<key: STRING, value: BINARY>>": ArrayType(_HEADER),
    "BIGINT": LongType(),
    "BINARY": BinaryType(),
    "BOOLEAN": BooleanType(),
    "INT": IntegerType(),
    "MAP<STRING, STRING>": MapType(StringType(), StringType()),
    "STRING": StringType(),
    "TIMESTAMP": TimestampType(),
}


def schema() -> StructType:
    """Return the schema of what `read_stream`, `read_batch` and `decode` give."""
    return StructType([StructField(c.name, _TYPES[c.type], c.nullable) for c in COLUMNS])


def stored_schema() -> StructType:
    """Return the schema of the ingestion's files: all but derived columns, and `date`.

    `date` is the day of `timestamp` in UTC, by which the files are partitioned within `topic`.
    """
    stored = [StructField(c.name, _TYPES[c.type]) for c in COLUMNS if not c.derived]
    return StructType([*stored, StructField("date", DateType())])
