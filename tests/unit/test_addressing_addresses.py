from __future__ import annotations

import pytest

from bridge.addressing import AddressError, SinkAddress, SourceAddress, parse_sink, parse_source
from bridge.model.conditions import INVALID_FIELD, NOT_IMPLEMENTED


@pytest.mark.parametrize(
    ("address", "parsed"),
    [
        ("orders", SourceAddress("orders")),
        ("/orders", SourceAddress("orders")),
        ("europe/orders", SourceAddress("europe.orders")),
        ("orders/Partitions/3", SourceAddress("orders", 3)),
        ("europe/orders/Partitions/0", SourceAddress("europe.orders", 0)),
        ("market/share", SourceAddress("market.share")),
        ("orders/partitions/3", SourceAddress("orders.partitions.3")),
    ],
)
def test_addresses_of_senders(address: str, parsed: SourceAddress) -> None:
    assert parse_source(address) == parsed


@pytest.mark.parametrize(
    ("address", "parsed"),
    [
        ("orders/group.id/billing", SinkAddress("orders", "billing")),
        ("/orders/group.id/billing", SinkAddress("orders", "billing")),
        ("europe/orders/group.id/g", SinkAddress("europe.orders", "g")),
        ("orders/group.id/a/b", SinkAddress("orders", "a/b")),
        ("orders/group.id/a/group.id", SinkAddress("orders", "a/group.id")),
        ("orders/group.id/a/group.id/b", SinkAddress("orders", "a/group.id/b")),
        ("market/share/x/group.id/g", SinkAddress("market.share.x", "g")),
    ],
)
def test_addresses_of_receivers(address: str, parsed: SinkAddress) -> None:
    assert parse_sink(address) == parsed


@pytest.mark.parametrize(
    ("address", "condition", "part"),
    [
        ("", INVALID_FIELD, "names no topic"),
        ("orders/Partitions", INVALID_FIELD, "orders/Partitions/0"),
        ("orders/Partitions/", INVALID_FIELD, "orders/Partitions/0"),
        ("orders/Partitions/x", INVALID_FIELD, "'x' is not the number"),
        ("orders/Partitions/1/2", INVALID_FIELD, "'1/2' is not the number"),
        ("/Partitions/1", INVALID_FIELD, "names no topic"),
        ("orders/group.id/billing", INVALID_FIELD, "which only receivers have"),
        ("orders/group.id", INVALID_FIELD, "which only receivers have"),
        ("hub/ConsumerGroups/g/Partitions/0", INVALID_FIELD, "which only receivers have"),
        ("amqps://host/orders", NOT_IMPLEMENTED, "give the path alone"),
        ("amqp://host:5672/orders", NOT_IMPLEMENTED, "give the path alone"),
    ],
)
def test_addresses_that_senders_cannot_have(address: str, condition: str, part: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_source(address)
    assert caught.value.condition == condition
    assert part in caught.value.description


@pytest.mark.parametrize(
    ("address", "condition", "part"),
    [
        ("", INVALID_FIELD, "names no topic"),
        ("orders", INVALID_FIELD, "write orders/group.id/<group>"),
        ("europe/orders", INVALID_FIELD, "write europe.orders/group.id/<group>"),
        ("a b", INVALID_FIELD, "is not a topic"),
        ("/group.id/billing", INVALID_FIELD, "names no topic"),
        ("group.id/billing", INVALID_FIELD, "write group.id.billing/group.id/<group>"),
        ("orders/group.id", INVALID_FIELD, "the group is empty"),
        ("orders/group.id/", INVALID_FIELD, "the group is empty"),
        ("a//b/group.id/g", INVALID_FIELD, "empty part"),
        ("orders/share/workers", NOT_IMPLEMENTED, "topic/share/<group> are not offered yet"),
        ("orders/Partitions/0", NOT_IMPLEMENTED, "topic/Partitions/<n> are not offered yet"),
        (
            "hub/ConsumerGroups/$Default/Partitions/0",
            NOT_IMPLEMENTED,
            "hub/ConsumerGroups/<group>/Partitions/<n> are not offered yet",
        ),
        ("amqps://host/hub/ConsumerGroups/g/Partitions/0", NOT_IMPLEMENTED, "a URL"),
    ],
)
def test_addresses_that_receivers_cannot_have(address: str, condition: str, part: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_sink(address)
    assert caught.value.condition == condition
    assert part in caught.value.description


def test_addresses_are_printed_as_they_are_written() -> None:
    assert str(SourceAddress("europe.orders")) == "europe.orders"
    assert str(SourceAddress("orders", 0)) == "orders/Partitions/0"
    assert str(SinkAddress("orders", "billing")) == "orders/group.id/billing"
    assert str(AddressError("amqp:invalid-field", "text")) == "amqp:invalid-field: text"
