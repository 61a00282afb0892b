from __future__ import annotations

from uuid import UUID

import pytest
from support.filtering import view

from bridge.codec import Int, Long, Timestamp, UByte, UInt, ULong
from bridge.filters.errors import FilterError
from bridge.filters.identifiers import application_property, in_selector, in_sql_filter

SEEN = view(
    {"color": "blue", "p.color": "red", "JMSType": "trap", "raw": b"text", "id": UUID(int=1)},
    header={"durable": True, "priority": UByte(7), "delivery-count": UInt(2)},
    annotations={"x-opt-sequence-number": Long(12), "plain": "a"},
    properties={
        "message-id": "ID:1",
        "user-id": b"bob",
        "to": "orders",
        "subject": "created",
        "reply-to": "answers",
        "correlation-id": ULong(9),
        "creation-time": Timestamp(1000),
        "absolute-expiry-time": Timestamp(2000),
        "group-id": "g",
        "group-sequence": UInt(4),
    },
)


@pytest.mark.parametrize(
    ("name", "value", "absent"),
    [
        ("JMSMessageID", "ID:1", None),
        ("JMSCorrelationID", "ID:AMQP_ULONG:9", None),
        ("JMSType", "created", None),
        ("JMSPriority", 7, 4),
        ("JMSTimestamp", 1000, 0),
        ("JMSExpiration", 2000, 0),
        ("JMSDeliveryMode", "PERSISTENT", "NON_PERSISTENT"),
        ("JMSRedelivered", True, False),
        ("JMSDestination", "orders", None),
        ("JMSReplyTo", "answers", None),
        ("JMSXGroupID", "g", None),
        ("JMSXGroupSeq", 4, None),
        ("JMSXDeliveryCount", 3, 1),
        ("JMSXUserID", "bob", None),
        ("JMSXProducerTXID", None, None),
        ("color", "blue", None),
        ("p.color", "red", None),
        ("raw", "text", None),
        ("id", "00000000-0000-0000-0000-000000000001", None),
        ("amqp.annotation.x-opt-sequence-number", 12, None),
        ("amqp.annotation.plain", "a", None),
        ("amqp.properties.group-sequence", 4, None),
        ("amqp.properties.group_sequence", 4, None),
        ("amqp.correlation_id", 9, None),
        ("amqp.priority", 7, 4),
        ("amqp.durable", True, False),
        ("amqp.delivery_count", 2, 0),
        ("amqp.delivery_mode", "PERSISTENT", "NON_PERSISTENT"),
        ("amqp.redelivered", True, False),
    ],
)
def test_names_in_selectors(name: str, value: object, absent: object) -> None:
    get = in_selector(name)
    assert get(SEEN) == value
    assert get(view()) == absent


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("header.priority", 7),
        ("h.delivery_count", 2),
        ("properties.message_id", "ID:1"),
        ("p.creation_time", 1000),
        ("p.color", LookupError),
        ("application_properties.color", "blue"),
        ("a.color", "blue"),
        ("color", "blue"),
        ("JMSType", "trap"),
        ("message_annotations.plain", "a"),
        ("m.plain", "a"),
        ("footer.a", LookupError),
        ("h.color", LookupError),
    ],
)
def test_names_in_sql_filters(name: str, value: object) -> None:
    if value is LookupError:
        with pytest.raises(FilterError):
            in_sql_filter(name)
    else:
        assert in_sql_filter(name)(SEEN) == value


@pytest.mark.parametrize("name", ["amqp.nonsense", "amqp.properties.nonsense"])
def test_a_name_for_no_field_is_refused(name: str) -> None:
    with pytest.raises(FilterError, match="they have message-id"):
        in_selector(name)


def test_what_is_quoted_is_an_application_property() -> None:
    assert application_property("JMSType")(SEEN) == "trap"


@pytest.mark.parametrize(
    ("identifier", "message_id", "correlation_id"),
    [
        ("ID:1", "ID:1", "ID:1"),
        ("1", "ID:AMQP_NO_PREFIX:1", "1"),
        (UUID(int=1), "ID:AMQP_UUID:00000000-0000-0000-0000-000000000001", None),
        (ULong(1), "ID:AMQP_ULONG:1", None),
        (b"\xab\x01", "ID:AMQP_BINARY:AB01", None),
        ("ID:AMQP_UUID:x", "ID:AMQP_STRING:ID:AMQP_UUID:x", None),
    ],
)
def test_ids_are_written_as_qpid_jms_shows_them(
    identifier: object, message_id: str, correlation_id: str | None
) -> None:
    seen = view(properties={"message-id": identifier, "correlation-id": identifier})
    assert in_selector("JMSMessageID")(seen) == message_id
    assert in_selector("JMSCorrelationID")(seen) == (correlation_id or message_id)


def test_fields_of_a_wrong_type_do_no_harm() -> None:
    seen = view(header={"delivery-count": "x", "durable": Int(1)}, properties={"message-id": [Int(1)]})
    assert in_selector("JMSXDeliveryCount")(seen) == 1
    assert in_selector("JMSDeliveryMode")(seen) == "NON_PERSISTENT"
    assert in_selector("JMSMessageID")(seen) == [1]
