from __future__ import annotations

import pytest

from bridge.addressing import AddressError, SinkAddress, SourceAddress, no_group, parse_sink, parse_source
from bridge.model.conditions import INVALID_FIELD, NOT_IMPLEMENTED
from bridge.model.dialect import NO_GROUP


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
        ("orders/group.id/Partitions/0", SinkAddress("orders", "Partitions/0")),
        ("orders/group.id/a/share/b", SinkAddress("orders", "a/share/b")),
        ("orders", SinkAddress("orders")),
        ("/europe/orders", SinkAddress("europe.orders")),
        ("group.id/billing", SinkAddress("group.id.billing")),
        ("orders/partitions/0", SinkAddress("orders.partitions.0")),
        ("orders/Partitions/0", SinkAddress("orders", partition=0)),
        ("europe/orders/Partitions/12", SinkAddress("europe.orders", partition=12)),
        ("market/share/Partitions/1", SinkAddress("market.share", partition=1)),
        (
            "hub/ConsumerGroups/$Default/Partitions/0",
            SinkAddress("hub", "$Default", partition=0, event_hubs=True),
        ),
        ("/hub/ConsumerGroups/g/Partitions/31", SinkAddress("hub", "g", partition=31, event_hubs=True)),
        ("hub/ConsumerGroups/g", SinkAddress("hub", "g", event_hubs=True)),
        ("a/b/ConsumerGroups/g", SinkAddress("a.b", "g", event_hubs=True)),
        ("orders/share/workers", SinkAddress("orders", share="workers")),
        ("europe/orders/share/a/share/b", SinkAddress("europe.orders", share="a/share/b")),
        ("orders/$info", SinkAddress("orders", info=True)),
        ("a/b/$info", SinkAddress("a.b", info=True)),
        ("orders/group.id/billing/$info", SinkAddress("orders", "billing", info=True)),
        ("orders/group.id/a/$info/$info", SinkAddress("orders", "a/$info", info=True)),
        ("orders/group.id/$info/b", SinkAddress("orders", "$info/b")),
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
        ("a b", INVALID_FIELD, "is not a topic"),
        ("/group.id/billing", INVALID_FIELD, "names no topic"),
        ("orders/group.id", INVALID_FIELD, "the group is empty; it follows group.id"),
        ("orders/group.id/", INVALID_FIELD, "the group is empty"),
        ("orders/group.id/$info", INVALID_FIELD, "the group is empty"),
        ("a//b/group.id/g", INVALID_FIELD, "empty part"),
        ("orders/Partitions/0/group.id/g", INVALID_FIELD, "has /Partitions/ before its group"),
        ("hub/ConsumerGroups/g/group.id/g", INVALID_FIELD, "has /ConsumerGroups/ before its group"),
        ("orders/Partitions", INVALID_FIELD, "orders/Partitions/0"),
        ("orders/Partitions/", INVALID_FIELD, "orders/Partitions/0"),
        ("orders/Partitions/x", INVALID_FIELD, "'x' is not the number"),
        ("orders/Partitions/0/", INVALID_FIELD, "'0/' is not the number"),
        ("/Partitions/1", INVALID_FIELD, "names no topic"),
        ("hub/ConsumerGroups", INVALID_FIELD, "hub/ConsumerGroups/<group>/Partitions/<n>"),
        ("hub/ConsumerGroups/", INVALID_FIELD, "hub/ConsumerGroups/<group>/Partitions/<n>"),
        ("hub/ConsumerGroups/Partitions/0", INVALID_FIELD, "'Partitions/0' is not a group"),
        ("hub/ConsumerGroups/g/", INVALID_FIELD, "'g/' is not a group"),
        ("hub/ConsumerGroups/g/partitions/0", INVALID_FIELD, "'g/partitions/0' is not a group"),
        ("hub/ConsumerGroups/g/Partitions", INVALID_FIELD, "'' is not the number"),
        ("hub/ConsumerGroups/g/Partitions/", INVALID_FIELD, "'' is not the number"),
        ("hub/ConsumerGroups/g/Partitions/all", INVALID_FIELD, "'all' is not the number"),
        ("hub/ConsumerGroups/g\n/Partitions/0", INVALID_FIELD, "cannot be printed"),
        ("hub/Partitions/0/ConsumerGroups/g", INVALID_FIELD, "has /Partitions/ before its group"),
        ("/ConsumerGroups/g/Partitions/0", INVALID_FIELD, "names no topic"),
        ("orders/share", INVALID_FIELD, "the group is empty; it follows share"),
        ("orders/share/", INVALID_FIELD, "the group is empty; it follows share"),
        ("/share/workers", INVALID_FIELD, "names no topic"),
        ("/$info", INVALID_FIELD, "names no topic"),
        ("$info", INVALID_FIELD, "'$info' is not a topic"),
        ("orders/$info/", INVALID_FIELD, "empty part"),
        ("orders/Partitions/0/$info", INVALID_FIELD, "/$info follows a topic or its consumer group"),
        ("orders/share/workers/$info", INVALID_FIELD, "/$info follows a topic or its consumer group"),
        ("hub/ConsumerGroups/g/$info", INVALID_FIELD, "/$info follows a topic or its consumer group"),
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
    for address in (
        "orders",
        "orders/group.id/billing",
        "orders/Partitions/0",
        "hub/ConsumerGroups/$Default/Partitions/3",
        "hub/ConsumerGroups/$Default",
        "orders/share/workers",
        "orders/$info",
        "orders/group.id/billing/$info",
    ):
        assert str(parse_sink(address)) == address
    assert str(AddressError("amqp:invalid-field", "text")) == "amqp:invalid-field: text"


def test_a_receiver_that_needs_a_group_is_told_all_forms() -> None:
    error = no_group(parse_sink("europe/orders"))
    assert (error.condition, error.former) == (INVALID_FIELD, NO_GROUP)
    for part in (
        "write europe.orders/group.id/<group>, as in: orders/group.id/billing",
        "orders/share/<group>",
        "orders/Partitions/0",
        "x-opt-bridge.start",
        "distribution-mode copy",
    ):
        assert part in error.description
