"""The columns' expressions, run by Spark on records as its Kafka source gives them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from bridge.mapping import names, type_hints
from bridge.spark import decode, schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Row, SparkSession

# pyspark leaves it to the garbage collector to close the socket of a `collect`.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

NOON: Final = dt.datetime(2026, 5, 4, 12, 0, tzinfo=dt.UTC)

# Schema of Spark's Kafka source (KafkaRecordToRowConverter).
SOURCE: Final = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField(
            "headers",
            ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
        ),
    ]
)


def by_offset(row: Row) -> int:
    return int(row["offset"])


@pytest.fixture
def decoded(spark: SparkSession) -> Callable[..., list[Row]]:
    """Give a function from records to rows, in order; what a record leaves out has a default."""

    def run(*records: dict[str, Any]) -> list[Row]:
        rows = [
            (
                record.get("key"),
                record.get("value", b"body"),
                "telemetry",
                3,
                offset,
                NOON,
                record.get("timestampType", 0),
                record.get("headers"),
            )
            for offset, record in enumerate(records)
        ]
        # Sorted here, since Spark would compute every row twice for that.
        return sorted(decode(spark.createDataFrame(rows, SOURCE)).collect(), key=by_offset)

    return run


def test_the_schema_is_the_documented_one(spark: SparkSession) -> None:
    assert decode(spark.createDataFrame([], SOURCE)).schema == schema()


def test_a_record_without_headers(decoded: Callable[..., list[Row]]) -> None:
    for row in decoded({"headers": None}, {"headers": []}):
        assert row["topic"] == "telemetry"
        assert row["partition"] == 3
        assert row["value_text"] == "body"
        assert row["body_kind"] == "data"
        assert row["application_properties"] == {}
        present = {name for name, value in row.asDict().items() if value is not None}
        assert present - {"headers"} == {
            *("topic", "partition", "offset", "timestamp", "timestamp_type", "value"),
            *("value_text", "tombstone", "body_kind", "application_properties"),
        }


def test_every_property_has_its_column_and_type(decoded: Callable[..., list[Row]]) -> None:
    headers = [
        ("message-id", b"m-1"),
        ("user-id", b"\xffuser"),
        ("to", b"telemetry"),
        ("subject", "Grüße".encode()),
        ("reply-to", b"answers"),
        ("correlation-id", b"c-1"),
        ("content-type", b"application/json"),
        ("content-encoding", b"gzip"),
        ("absolute-expiry-time", b"1700000060000"),
        ("creation-time", b"1700000000123"),
        ("group-id", b"g"),
        ("group-sequence", b"4294967295"),
        ("reply-to-group-id", b"rg"),
    ]
    assert [name for name, _ in headers] == list(names.PROPERTIES)
    (row,) = decoded({"headers": headers})
    assert row["message_id"] == "m-1"
    assert row["user_id"] == b"\xffuser"
    assert row["to"] == "telemetry"
    assert row["subject"] == "Grüße"
    assert row["reply_to"] == "answers"
    assert row["correlation_id"] == "c-1"
    assert row["content_type"] == "application/json"
    assert row["content_encoding"] == "gzip"
    assert row["absolute_expiry_time"].timestamp() == 1_700_000_060
    assert row["creation_time"].timestamp() == 1_700_000_000.123
    assert row["group_id"] == "g"
    assert row["group_sequence"] == 4_294_967_295
    assert row["reply_to_group_id"] == "rg"
    assert row["application_properties"] == {}
    assert [tuple(header) for header in row["headers"]] == headers


def test_of_several_headers_the_last_counts(decoded: Callable[..., list[Row]]) -> None:
    headers = [
        *[("subject", b"one"), ("subject", b"two")],
        *[("k", b"1"), ("other", b"x"), ("k", b"2")],
        *[("amqp-types", b"v1;k=long"), ("amqp-types", b"v1;k=int;k=uint")],
        *[("amqp.body", b"value;int"), ("amqp.body", b"value;string")],
    ]
    (row,) = decoded({"headers": headers})
    assert row["subject"] == "two"
    assert row["application_properties"] == {"other": "x", "k": "2"}
    assert row["amqp_types"] == {"k": "uint"}
    assert row["body_type"] == "string"


@pytest.mark.parametrize("policy", ["EXCEPTION", "LAST_WIN"])
def test_a_repeated_name_fails_under_no_policy(
    spark: SparkSession, decoded: Callable[..., list[Row]], policy: str
) -> None:
    before = spark.conf.get("spark.sql.mapKeyDedupPolicy")
    spark.conf.set("spark.sql.mapKeyDedupPolicy", policy)
    try:
        # By their names in AMQP the last two are one property.
        headers = [("k", b"1"), ("k", b"2"), ("app.version", b"3"), ("app.app.version", b"4")]
        (row,) = decoded({"headers": headers})
    finally:
        spark.conf.set("spark.sql.mapKeyDedupPolicy", before or "EXCEPTION")
    assert row["application_properties"] == {"k": "2", "app.version": "4"}


def test_null_headers_are_null(decoded: Callable[..., list[Row]]) -> None:
    headers: list[tuple[str, bytes | None]] = [(name, None) for name in names.PROPERTIES]
    headers += [("amqp.body", None), ("amqp-types", None), ("k", None)]
    (row,) = decoded({"headers": headers})
    assert row["application_properties"] == {"k": None}
    assert {name: row[name.replace("-", "_")] for name in names.PROPERTIES} == dict.fromkeys(names.PROPERTIES)
    assert row["amqp_types"] is None
    assert row["body_kind"] == "data"


def test_bad_numbers_are_null(decoded: Callable[..., list[Row]]) -> None:
    numeric = ("creation-time", "absolute-expiry-time", "group-sequence")
    texts = [b"", b"soon", b"1.5", b"1e3", b"0x10", b"\xff", b"9223372036854775808", b"1" * 400]
    texts.append("\N{ARABIC-INDIC DIGIT ONE}".encode())
    for row in decoded(*({"headers": [(name, text) for name in numeric]} for text in texts)):
        found = (row["creation_time"], row["absolute_expiry_time"], row["group_sequence"])
        assert found == (None, None, None)


def test_numbers_beyond_their_type_are_null(decoded: Callable[..., list[Row]]) -> None:
    times = [b"-62135596800001", b"253402300800000", b"9223372036854775807", b"-9223372036854775808"]
    sequences = [b"-1", b"4294967296", b"9223372036854775807", b"-9223372036854775808"]
    for row in decoded(
        *(
            {"headers": [("creation-time", time), ("group-sequence", sequence)]}
            for time, sequence in zip(times, sequences, strict=True)
        )
    ):
        assert (row["creation_time"], row["group_sequence"]) == (None, None)


def test_the_calendar_s_ends_are_times(spark: SparkSession) -> None:
    ends = [b"-62135596800000", b"253402300799999"]
    records = [(None, None, "t", 0, i, NOON, 0, [("creation-time", end)]) for i, end in enumerate(ends)]
    rows = (
        decode(spark.createDataFrame(records, SOURCE))
        .selectExpr("unix_millis(creation_time) AS millis")
        .collect()
    )
    assert {row["millis"] for row in rows} == {-62_135_596_800_000, 253_402_300_799_999}


def test_identifiers_of_every_type(decoded: Callable[..., list[Row]]) -> None:
    cases = {
        b"v1;message-id=ulong": (b"18446744073709551615", "18446744073709551615"),
        b"v1;message-id=uuid": (
            b"12345678-1234-5678-1234-567812345678",
            "12345678-1234-5678-1234-567812345678",
        ),
        b"v1;message-id=binary": (b"\x01\xff", "01ff"),
        b"v1;a=int;message-id=binary;b=int": (b"text", "74657874"),
        b"v1;correlation-id=binary": (b"text", "text"),
        b"v2;message-id=binary": (b"text", "text"),
        b"": (b"\xff", None),
    }
    rows = decoded(
        *({"headers": [("message-id", value), ("amqp-types", hints)]} for hints, (value, _) in cases.items())
    )
    assert [row["message_id"] for row in rows] == [text for _, text in cases.values()]


BODIES: Final = {
    # amqp.body, value: body_kind, body_type, value_text
    (None, b"text"): ("data", None, "text"),
    (None, b"\xff"): ("data", None, None),
    (None, b""): ("data", None, ""),
    (None, None): ("value", "null", None),
    (b"data;2,2", b"text"): ("data", None, "text"),
    (b"value;string", "grün".encode()): ("value", "string", "grün"),
    (b"value;int", b"-7"): ("value", "int", "-7"),
    (b"value;boolean", b"true"): ("value", "boolean", "true"),
    (b"value;binary", b"\xff"): ("value", "binary", None),
    (b"value;null", None): ("value", "null", None),
    (b"value;amqp", b"\x45"): ("value", "amqp", None),
    (b"sequence;1", b"E"): ("sequence", None, None),
    (b"none", b""): ("none", None, ""),
    (b"value", b"text"): (None, None, None),
    (b"parcel;9", b"text"): (None, None, None),
    (b"\xff", b"text"): ("data", None, "text"),
}


def test_bodies_of_every_kind(decoded: Callable[..., list[Row]]) -> None:
    rows = decoded(*({"value": value, "headers": [("amqp.body", body)]} for body, value in BODIES))
    found = [(row["body_kind"], row["body_type"], row["value_text"]) for row in rows]
    assert found == list(BODIES.values())
    assert [row["tombstone"] for row in rows] == [value is None for _, value in BODIES]


def test_application_properties_keep_the_mapping_s_names(
    decoded: Callable[..., list[Row]],
) -> None:
    keys = [
        *("k", "", "Subject", "a b", "größe", "a;b=c%", "'", "app", "amqp", "traceparent"),
        *("app.x", "app.app.x", "app.subject", "amqp.x", "amqp.ma.x", "x-opt-x", "app.x-opt-x"),
        *(*names.PROPERTIES, "amqp-types", "AMQPheaders"),
    ]
    headers = [(names.application_header(key), str(i).encode()) for i, key in enumerate(keys)]
    sections = [(name, b"-") for name in ("amqp.durable", "amqp.ma.x", "x-opt-x", "AMQPheaders")]
    (row,) = decoded({"headers": headers + sections})
    assert row["application_properties"] == {key: str(i) for i, key in enumerate(keys)}


def test_application_properties_of_every_type(decoded: Callable[..., list[Row]]) -> None:
    values: dict[str, tuple[str, bytes | None, str | None]] = {
        "string": ("", "Grüße".encode(), "Grüße"),
        "symbol": ("symbol", b"sym", "sym"),
        "boolean": ("boolean", b"true", "true"),
        "ulong": ("ulong", b"18446744073709551615", "18446744073709551615"),
        "long": ("long", b"-9223372036854775808", "-9223372036854775808"),
        "double": ("double", b"-Infinity", "-Infinity"),
        "decimal128": ("decimal128", b"2208" + b"0" * 28, "2208" + "0" * 28),
        "char": ("char", "😀".encode(), "😀"),
        "timestamp": ("timestamp", b"1700000000000", "1700000000000"),
        "uuid": (
            "uuid",
            b"12345678-1234-5678-1234-567812345678",
            "12345678-1234-5678-1234-567812345678",
        ),
        "null": ("null", None, None),
        "binary": ("binary", b"\x00\xff", None),
        "a;b=c +%": ("int", b"1", "1"),
    }
    hints = [type_hints.entry(key, code) for key, (code, _, _) in values.items() if code]
    headers = [(key, value) for key, (_, value, _) in values.items()]
    (row,) = decoded({"headers": [*headers, ("amqp-types", type_hints.write(hints))]})
    assert row["application_properties"] == {key: text for key, (_, _, text) in values.items()}
    assert row["amqp_types"] == {key: code for key, (code, _, _) in values.items() if code}


def test_damaged_types_are_left_out(decoded: Callable[..., list[Row]]) -> None:
    cases = {
        b"v2;a=int": None,
        b"\xff": None,
        b"v1": {},
        b"v1;": {},
        b"v1;a;=int;b=;c=int=long;%=int;%zz=int;d=INT;ok=int": {"ok": "int"},
    }
    rows = decoded(*({"headers": [("amqp-types", hints)]} for hints in cases))
    assert [row["amqp_types"] for row in rows] == list(cases.values())


def test_keys_and_timestamp_types(decoded: Callable[..., list[Row]]) -> None:
    rows = decoded(
        {"key": b"k", "timestampType": 0},
        {"key": b"\xff", "timestampType": 1},
        {"key": None, "timestampType": -1},
    )
    assert [row["key"] for row in rows] == [b"k", b"\xff", None]
    assert [row["key_text"] for row in rows] == ["k", None, None]
    assert [row["timestamp_type"] for row in rows] == ["CreateTime", "LogAppendTime", None]


def test_no_selection_fails_without_ansi_either(spark: SparkSession) -> None:
    headers = [("creation-time", b"x"), ("message-id", b"\xff"), ("amqp-types", b"v1;%zz=int")]
    records = spark.createDataFrame([(None, None, "t", 0, 0, NOON, 0, headers)], SOURCE)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        (row,) = decode(records).collect()
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert (row["creation_time"], row["message_id"], row["amqp_types"]) == (None, None, {})
