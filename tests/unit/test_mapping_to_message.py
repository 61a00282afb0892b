from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import proton
import pytest

from bridge.codec import (
    Described,
    Int,
    Long,
    Map,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    decode,
    encode,
)
from bridge.mapping.options import MappingOptions
from bridge.mapping.to_message import RecordToMessage, record_to_message

if TYPE_CHECKING:
    from collections.abc import Sequence

Headers: TypeAlias = "Sequence[tuple[str, bytes | None]]"

HEADER, DELIVERY, ANNOTATIONS, PROPERTIES, APPLICATION = 0x70, 0x71, 0x72, 0x73, 0x74
DATA, SEQUENCE, VALUE, FOOTER = 0x75, 0x76, 0x77, 0x78
TIME_MS = 1_700_000_000_123
ADDRESS = "orders/group.id/billing"


def converter(options: MappingOptions | None = None) -> RecordToMessage:
    return record_to_message("orders", ADDRESS, options or MappingOptions())


def sections(message: bytes) -> list[tuple[int, object]]:
    read = []
    at = 0
    while at < len(message):
        section, at = decode(message, at)
        assert isinstance(section, Described)
        assert isinstance(section.descriptor, ULong)
        read.append((int(section.descriptor), section.value))
    return read


def message(
    value: bytes | None = b"body",
    headers: Headers | None = None,
    *,
    key: bytes | None = None,
    options: MappingOptions | None = None,
    timestamp_type: int = 1,
    delivery_count: int = 0,
) -> dict[int, object]:
    encoded = converter(options)(3, 17, timestamp_type, TIME_MS, key, value, headers, delivery_count)
    return dict(sections(encoded))


def annotation(read: dict[int, object], name: str) -> object:
    annotations = read[ANNOTATIONS]
    assert isinstance(annotations, Map)
    return annotations.get(Symbol(name), "absent")


def test_a_plain_record_byte_by_byte() -> None:
    encoded = record_to_message("t", "a", MappingOptions())(3, 17, 1, 5, None, b"body", None, 0)
    by_hand = [
        "005370c0050441404041",
        "005372d1000000ce" + "0000000e",
        "a30c" + b"x-opt-offset".hex() + "a1023137",
        "a312" + b"x-opt-bridge.topic".hex() + "a10174",
        "a316" + b"x-opt-bridge.partition".hex() + "7100000003",
        "a313" + b"x-opt-bridge.offset".hex() + "810000000000000011",
        "a315" + b"x-opt-sequence-number".hex() + "810000000000000011",
        "a313" + b"x-opt-enqueued-time".hex() + "830000000000000005",
        "a31a" + b"x-opt-kafka-timestamp-type".hex() + "a10a" + b"CreateTime".hex(),
        "005373c0150a" + "4040" + "a10161" + "404040404040" + "830000000000000005",
        "005375a004" + b"body".hex(),
    ]
    assert encoded.hex() == "".join(by_hand)


def test_a_plain_record_as_proton_reads_it() -> None:
    encoded = converter()(3, 17, 1, TIME_MS, b"k", b"body", None, 0)
    read = proton.Message()
    read.decode(encoded)
    assert (read.durable, read.first_acquirer, read.delivery_count) == (True, True, 0)
    assert read.address == ADDRESS
    assert read.creation_time == TIME_MS / 1000
    assert read.body == b"body"
    annotations = dict(read.annotations or ())
    assert annotations["x-opt-bridge.topic"] == "orders"
    assert annotations["x-opt-bridge.partition"] == 3
    assert annotations["x-opt-bridge.offset"] == 17
    assert annotations["x-opt-offset"] == "17"
    assert annotations["x-opt-bridge.key"] == "k"


@pytest.mark.parametrize("key", [None, b"k", b"\xff"])
def test_a_record_with_headers_is_annotated_like_one_without(key: bytes | None) -> None:
    plain = message(key=key)[ANNOTATIONS]
    described = message(key=key, headers=[("a", b"b")])[ANNOTATIONS]
    assert isinstance(plain, Map)
    assert isinstance(described, Map)
    assert sorted(plain, key=repr) == sorted(described, key=repr)


def test_a_bridged_record_is_the_message_that_was_sent() -> None:
    read = message(
        b"5",
        [
            ("amqp.priority", b"7"),
            ("x-opt-a", b"1"),
            ("amqp.ma.b", b"x"),
            ("message-id", b"7"),
            ("creation-time", b"42"),
            ("app.subject", b"true"),
            ("amqp.body", b"value;int"),
            ("amqp.ft.crc", b"\x52\x01"),
            ("amqp-types", b"v1;x-opt-a=long;message-id=ulong;app.subject=boolean"),
        ],
    )
    assert read[HEADER] == [True, UByte(7), None, True]
    assert (annotation(read, "x-opt-a"), annotation(read, "b")) == (Long(1), "x")
    assert annotation(read, "x-opt-bridge.stored") == Map([(Symbol("creation-time"), True)])
    assert annotation(read, "x-opt-kafka-headers") == "absent"
    assert read[PROPERTIES] == [ULong(7), None, ADDRESS, *[None] * 6, Timestamp(42)]
    assert read[APPLICATION] == Map([("subject", True)])
    assert read[VALUE] == Int(5)
    assert read[FOOTER] == Map([(Symbol("crc"), UInt(1))])


def test_headers_of_others_are_strings_where_they_can_be() -> None:
    headers: Headers = [("subject", b"s"), ("a", "é".encode()), ("b", b"\xff"), ("c", None)]
    read = message(headers=headers)
    assert read[APPLICATION] == Map([("a", "é"), ("b", b"\xff"), ("c", None)])
    assert read[PROPERTIES] == [None, None, ADDRESS, "s", *[None] * 5, Timestamp(TIME_MS)]
    assert annotation(read, "x-opt-kafka-headers") == [["subject", b"s"], *([n, v] for n, v in headers[1:])]


def test_headers_of_others_as_binary_or_as_strings() -> None:
    headers: Headers = [("a", b"x"), ("b", b"\xff"), ("c", None)]
    binary = message(headers=headers, options=MappingOptions(foreign_headers="binary"))
    assert binary[APPLICATION] == Map([("a", b"x"), ("b", b"\xff"), ("c", None)])
    strings = message(headers=headers, options=MappingOptions(foreign_headers="string"))
    assert strings[APPLICATION] == Map([("a", "x"), ("b", "\ufffd"), ("c", None)])


def test_the_last_of_two_headers_counts_and_all_go_along() -> None:
    read = message(headers=[("a", b"1"), ("b", b"2"), ("a", b"3")])
    assert read[APPLICATION] == Map([("b", "2"), ("a", "3")])
    assert annotation(read, "x-opt-kafka-headers") == [["a", b"1"], ["b", b"2"], ["a", b"3"]]


def test_a_header_that_is_no_property_is_an_application_property() -> None:
    read = message(headers=[("creation-time", b"yesterday"), ("a", b"b")])
    assert read[APPLICATION] == Map([("a", "b"), ("creation-time", "yesterday")])
    assert read[PROPERTIES] == [None, None, ADDRESS, *[None] * 7]


def test_an_event_hubs_record_carries_its_types_in_its_values() -> None:
    headers: Headers = [
        *[("subject", b"\xa1\x01s"), ("group-id", b"text"), ("content-type", b"text/plain")],
        *[("x-opt-a", b"\x54\x05"), ("count", b"\x54\x05"), ("bad", b"x"), ("AMQPheaders", b"\x54\x00")],
    ]
    read = message(headers=headers)
    application = [("count", Int(5)), ("bad", "x"), ("AMQPheaders", Int(0)), ("group-id", "text")]
    assert read[APPLICATION] == Map(application)
    symbol = Symbol("text/plain")
    time = Timestamp(TIME_MS)
    assert read[PROPERTIES] == [None, None, ADDRESS, "s", None, None, symbol, None, None, time, None]
    assert annotation(read, "x-opt-a") == Int(5)
    assert annotation(read, "x-opt-kafka-headers") == [[name, value] for name, value in headers]


def test_a_tombstone() -> None:
    read = message(None, key=b"k")
    assert read[VALUE] is None
    assert annotation(read, "x-opt-kafka-tombstone") is True
    assert annotation(read, "x-opt-kafka-headers") == []
    sent = message(None, [("amqp.body", b"value;null")], key=b"k")
    assert annotation(sent, "x-opt-kafka-headers") == "absent"


def test_an_empty_value_is_not_a_tombstone() -> None:
    read = message(b"")
    assert read[DATA] == b""
    assert annotation(read, "x-opt-kafka-tombstone") == "absent"


def test_a_later_attempt_says_so() -> None:
    assert message(delivery_count=2)[HEADER] == [True, None, None, False, UInt(2)]
    assert message(headers=[("a", b"b")], delivery_count=1)[HEADER] == [True, None, None, False, UInt(1)]


@pytest.mark.parametrize("timestamp_type", [0, 2])
def test_only_a_create_time_is_a_creation_time(timestamp_type: int) -> None:
    assert message(timestamp_type=timestamp_type)[PROPERTIES] == [None, None, ADDRESS]


def test_a_creation_time_is_filled_in_only_where_it_is_wanted() -> None:
    plain = message(options=MappingOptions(creation_time_from_record=False))
    assert plain[PROPERTIES] == [None, None, ADDRESS]


def test_a_link_without_address_fills_in_no_to() -> None:
    encoded = record_to_message("orders", "", MappingOptions())(3, 17, 0, 0, None, b"x", None, 0)
    assert [code for code, _ in sections(encoded)] == [HEADER, ANNOTATIONS, DATA]


def test_a_ttl_is_shortened_by_the_age_of_the_record() -> None:
    headers: Headers = [("amqp.ttl", b"1000")]
    young = MappingOptions(now_ms=lambda: TIME_MS + 400)
    assert message(headers=headers, options=young)[HEADER] == [True, None, UInt(600), True]
    early = MappingOptions(now_ms=lambda: TIME_MS - 400)
    assert message(headers=headers, options=early)[HEADER] == [True, None, UInt(1000), True]
    assert message(headers=headers)[HEADER] == [True, None, UInt(1000), True]


def test_an_expired_record_is_delivered_or_skipped() -> None:
    headers: Headers = [("amqp.ttl", b"1000")]
    old = MappingOptions(now_ms=lambda: TIME_MS + 1000)
    assert message(headers=headers, options=old)[HEADER] == [True, None, UInt(0), True]
    skipping = MappingOptions(now_ms=lambda: TIME_MS + 1000, expired="skip")
    assert converter(skipping)(3, 17, 1, TIME_MS, None, b"x", headers, 0) == b""
    assert converter(skipping)(3, 17, 1, TIME_MS, None, b"x", [("amqp.ttl", b"1001")], 0) != b""
    assert converter(skipping)(3, 17, 1, TIME_MS, None, b"x", None, 1) != b""


def test_event_streams_annotate_the_delivery() -> None:
    read = message(options=MappingOptions(event_streams=True), headers=[("amqp.da.a", b"\x54\x05")])
    assert read[DELIVERY] == Map(
        [
            (Symbol("a"), Int(5)),
            (Symbol("event-streams-offset"), Symbol("00000000000000000017")),
            (Symbol("event-streams-source-partition"), Symbol("3")),
            (Symbol("event-streams-timestamp"), Timestamp(TIME_MS)),
        ]
    )


@pytest.mark.parametrize(
    "headers",
    [
        [("a", b"x"), ("amqp-types", b"v2;a=int")],
        [("a", b"x"), ("amqp-types", b"v1;a=int")],
        [("a", b"x"), ("amqp-types", b"v1;a=nonsense")],
        [("a", b"\xff"), ("b", b"5"), ("amqp-types", b"v1;b=int")],
        [("amqp.body", b"value;uuid")],
        [("amqp.durable", b"maybe")],
        [("message-id", b"x"), ("amqp-types", b"v1;message-id=uuid")],
        [("amqp.ft.a", b"\xff")],
    ],
)
def test_damaged_hints_are_counted_and_kept(headers: Headers) -> None:
    to_message = converter()
    read = dict(sections(to_message(3, 17, 1, TIME_MS, None, b"body", headers, 0)))
    assert to_message.damaged == 1
    assert read[DATA] == b"body"
    assert annotation(read, "x-opt-kafka-headers") == [[name, value] for name, value in headers]


def test_a_value_of_a_damaged_type_is_binary() -> None:
    read = message(headers=[("a", b"x"), ("b", b"5"), ("amqp-types", b"v1;a=int;b=int")])
    assert read[APPLICATION] == Map([("a", b"x"), ("b", Int(5))])


def test_headers_of_others_are_never_damaged() -> None:
    to_message = converter()
    for headers in ([("a", b"\xff")], [("message-id", b"\xff")], [("a", None), ("a", b"")], []):
        to_message(3, 17, 1, TIME_MS, None, None, headers, 0)
    assert to_message.damaged == 0


@pytest.mark.parametrize("size", [255, 256, 70_000])
def test_large_values(size: int) -> None:
    assert message(b"x" * size)[DATA] == b"x" * size
    assert message(b"x" * size, [("a", b"b")])[DATA] == b"x" * size


def test_many_and_large_headers_take_the_wide_forms() -> None:
    headers = [(f"name-{number}", b"x" * number) for number in range(300)]
    assert message(headers=headers)[APPLICATION] == Map([(name, value.decode()) for name, value in headers])
    read = message(headers=[("subject", b"s" * 300)])
    assert read[PROPERTIES] == [None, None, ADDRESS, "s" * 300, *[None] * 5, Timestamp(TIME_MS)]


def test_plans_are_bounded() -> None:
    to_message = converter()
    for number in range(1000):
        to_message(3, 17, 1, TIME_MS, None, b"x", [(f"name-{number}", b"x")], 0)
    to_message(3, 17, 1, TIME_MS, None, b"x", [("x" * 5000, b"x")], 0)
    assert len(to_message._plans) <= 256  # noqa: SLF001 - memory is what matters here
    assert ("x" * 5000,) not in to_message._plans  # noqa: SLF001 - the same


def test_a_dead_letter_says_what_became_of_it() -> None:
    headers: Headers = [("a", b"\xff"), ("amqp.dlt.reason", b"rejected"), ("amqp.dlt.offset", b"5")]
    to_message = converter(MappingOptions(foreign_headers="binary"))
    read = dict(sections(to_message(3, 17, 1, TIME_MS, None, b"body", headers, 0)))
    assert read[APPLICATION] == Map(
        [("a", b"\xff"), ("amqp.dlt.reason", "rejected"), ("amqp.dlt.offset", "5")]
    )
    properties = read[PROPERTIES]
    assert isinstance(properties, list)
    assert properties[-1] == Timestamp(TIME_MS)  # the bridge did not write the record itself
    assert to_message.damaged == 0


def test_what_receivers_annotated_is_merged_into_the_annotations() -> None:
    annotated = encode(Map([(Symbol("x-opt-a"), Int(5)), (Symbol("x-opt-bridge.offset"), Long(1))]))
    read = message(headers=[("x-opt-a", b"text"), ("amqp.dlt.annotations", annotated)])
    annotations = read[ANNOTATIONS]
    assert isinstance(annotations, Map)
    assert annotations.get(Symbol("x-opt-a")) == Int(5)
    assert annotations.get(Symbol("x-opt-bridge.offset")) == Long(17)
    assert APPLICATION not in read
