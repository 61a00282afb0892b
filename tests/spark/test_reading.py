"""What AMQP clients sent, as the bridge stores it in a real Kafka, read by Spark."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import TYPE_CHECKING, Any, Final

import proton
import pytest
from confluent_kafka import Producer

from bridge.mapping.native import MappingOptions, message_to_record
from bridge.spark import read_batch, read_stream, schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Row, SparkSession
    from support.kafka import RealKafka

    from bridge.mapping.native import Record

# pyspark leaves it to the garbage collector to close the socket of a `collect`.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

SECONDS: Final = 30.0
UUID: Final = uuid.UUID("12345678-1234-5678-1234-567812345678")
MOMENT: Final = 1_700_000_000_123

# What an AMQP client sends, the type that Spark is told, the text that Spark reads.
VALUES: Final[dict[str, tuple[Any, str | None, str | None]]] = {
    "string": ("Grüße", None, "Grüße"),
    "symbol": (proton.symbol("sym"), "symbol", "sym"),
    "boolean": (True, "boolean", "true"),
    "ubyte": (proton.ubyte(255), "ubyte", "255"),
    "ushort": (proton.ushort(65_535), "ushort", "65535"),
    "uint": (proton.uint(4_294_967_295), "uint", "4294967295"),
    "ulong": (proton.ulong(2**64 - 1), "ulong", "18446744073709551615"),
    "byte": (proton.byte(-128), "byte", "-128"),
    "short": (proton.short(-32_768), "short", "-32768"),
    "int": (proton.int32(-2_147_483_648), "int", "-2147483648"),
    "long": (-(2**63), "long", "-9223372036854775808"),
    "float": (proton.float32(1.5), "float", "1.5"),
    "double": (0.1, "double", "0.1"),
    "decimal32": (proton.decimal32(0x22500001), "decimal32", "22500001"),
    "decimal64": (proton.decimal64(0x2238000000000001), "decimal64", "2238000000000001"),
    "char": (proton.char("€"), "char", "€"),
    "timestamp": (proton.timestamp(MOMENT), "timestamp", str(MOMENT)),
    "uuid": (UUID, "uuid", str(UUID)),
    "binary": (b"\x00\xff", "binary", None),
    "null": (None, "null", None),
}


NULL_BODY: Final = b"\x00Sw\x40"  # amqp-value null, which Proton does not send


def stored(*messages: proton.Message | bytes) -> list[Record]:
    """Map messages, encoded or not, as the bridge does."""
    to_record = message_to_record(MappingOptions())
    return [
        to_record(message if isinstance(message, bytes) else bytes(message.encode())) for message in messages
    ]


def produce(kafka: RealKafka, topic: str, records: Iterable[Record], **config: str) -> Producer:
    """Append records to a topic's first partition; with a transactional id, in an open one."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0, **config})
    if "transactional.id" in config:
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
    for value, key, headers, _, _ in records:
        producer.produce(topic, value, key, partition=0, headers=[*(headers or ())])
    assert producer.flush(SECONDS) == 0
    return producer


def read(spark: SparkSession, kafka: RealKafka, topic: str) -> list[Row]:
    rows = read_batch(spark, kafka.bootstrap_servers, topic).collect()
    assert [row["offset"] for row in rows] == sorted(row["offset"] for row in rows)
    return rows


def test_every_amqp_type_of_properties_and_bodies(spark: SparkSession, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    properties = {key: value for key, (value, _, _) in VALUES.items()}
    bodies = [NULL_BODY if value is None else proton.Message(body=value) for value, _, _ in VALUES.values()]
    produce(kafka, topic, stored(proton.Message(properties=properties), *bodies))
    first, *others = read(spark, kafka, topic)
    assert first["application_properties"] == {key: text for key, (_, _, text) in VALUES.items()}
    assert first["amqp_types"] == {key: code for key, (_, code, _) in VALUES.items() if code}
    found = [(row["body_kind"], row["body_type"], row["value_text"]) for row in others]
    expected = [("value", code or "string", text) for _, code, text in VALUES.values()]
    assert found == expected
    assert [row["offset"] for row in others if row["tombstone"]] == [len(VALUES)]


def test_every_property_and_structured_bodies(spark: SparkSession, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    whole = proton.Message(
        body=b"\x00\xff",
        inferred=True,
        id=UUID,
        user_id=b"\xffuser",
        address="telemetry",
        subject="Betreff",
        reply_to="answers",
        correlation_id=proton.ulong(2**64 - 1),
        content_type="application/json",
        content_encoding="gzip",
        expiry_time=(MOMENT + 1000) / 1000,
        creation_time=MOMENT / 1000,
        group_id="group",
        group_sequence=4_294_967_295,
        reply_to_group_id="replies",
        properties={"subject": "own", "to": proton.int32(1)},
        annotations={proton.symbol("x-opt-bridge.key"): "key-1"},
        durable=True,
    )
    binary_id = proton.Message(id=b"\x01\xff", body=[1, 2])
    listed = proton.Message(body={"a": 1})
    produce(kafka, topic, stored(whole, binary_id, listed))
    row, second, third = read(spark, kafka, topic)
    assert (row["topic"], row["partition"], row["offset"]) == (topic, 0, 0)
    assert (row["key"], row["key_text"]) == (b"key-1", "key-1")
    assert (row["value"], row["value_text"]) == (b"\x00\xff", None)
    assert row["message_id"] == str(UUID)
    assert row["user_id"] == b"\xffuser"
    assert row["to"] == "telemetry"
    assert row["subject"] == "Betreff"
    assert row["reply_to"] == "answers"
    assert row["correlation_id"] == "18446744073709551615"
    assert row["content_type"] == "application/json"
    assert row["content_encoding"] == "gzip"
    assert row["absolute_expiry_time"].timestamp() == (MOMENT + 1000) / 1000
    assert row["creation_time"].timestamp() == MOMENT / 1000
    assert row["group_id"] == "group"
    assert row["group_sequence"] == 4_294_967_295
    assert row["reply_to_group_id"] == "replies"
    assert row["application_properties"] == {"subject": "own", "to": "1"}
    assert row["amqp_types"]["app.to"] == "int"
    assert second["message_id"] == "01ff"
    for other in (second, third):
        assert (other["body_kind"], other["body_type"]) == ("value", "amqp")
        assert other["value"] is not None
        assert other["value_text"] is None


def test_records_that_never_passed_the_bridge(spark: SparkSession, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    twice: list[tuple[str, bytes | None]] = [("k", b"1"), ("k", b"2"), ("app.version", b"3"), ("n", None)]
    records: list[Record] = [
        (b"plain", None, None, 0, 0),
        (b"\xff", b"\xff", twice, 0, 0),
        (None, b"k", [], 0, 0),
    ]
    produce(kafka, topic, records)
    plain, headed, deleted = read(spark, kafka, topic)
    assert (plain["value_text"], plain["body_kind"], plain["tombstone"]) == ("plain", "data", False)
    assert (plain["headers"], plain["application_properties"]) == (None, {})
    assert (headed["value_text"], headed["key_text"]) == (None, None)
    assert headed["application_properties"] == {"k": "2", "app.version": "3", "n": None}
    assert [tuple(header) for header in headed["headers"]] == twice
    assert (deleted["tombstone"], deleted["body_type"]) == (True, "null")
    age = dt.datetime.now(tz=dt.UTC).timestamp() - plain["timestamp"].timestamp()
    assert 0 <= age < 600
    assert plain["timestamp_type"] == "CreateTime"


def test_aborted_transactions_are_left_out(spark: SparkSession, kafka: RealKafka) -> None:
    topic = kafka.create_topic()
    aborted = [(b"aborted", None, None, 0, 0)]
    committed = [(b"committed", None, None, 0, 0)]
    produce(kafka, topic, aborted, **{"transactional.id": f"{topic}-1"}).abort_transaction(SECONDS)
    produce(kafka, topic, committed, **{"transactional.id": f"{topic}-2"}).commit_transaction(SECONDS)
    assert [row["value_text"] for row in read(spark, kafka, topic)] == ["committed"]


def test_a_stream_has_the_columns_of_a_batch(spark: SparkSession, kafka: RealKafka) -> None:
    first, second = kafka.create_topic(), kafka.create_topic(partitions=2)
    produce(kafka, first, stored(proton.Message(body="a", subject="s1")))
    produce(kafka, second, stored(proton.Message(body="b", subject="s2")))
    stream = read_stream(spark, kafka.bootstrap_servers, [first, second])
    assert stream.schema == schema()
    query = stream.writeStream.format("memory").queryName("streamed").trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(120)
        streamed = spark.table("streamed").orderBy("subject").collect()
    finally:
        query.stop()
        spark.catalog.dropTempView("streamed")
    batch = read_batch(spark, kafka.bootstrap_servers, f"{first},{second}").orderBy("subject")
    assert streamed == batch.collect()
    assert [(row["topic"], row["subject"], row["value_text"]) for row in streamed] == [
        (first, "s1", "a"),
        (second, "s2", "b"),
    ]
