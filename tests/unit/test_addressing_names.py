from __future__ import annotations

import pytest

from bridge.addressing import AddressError, names
from bridge.model.conditions import INVALID_FIELD


@pytest.mark.parametrize(
    ("path", "topic"),
    [
        ("orders", "orders"),
        ("/orders", "orders"),
        ("europe/orders", "europe.orders"),
        ("europe.orders", "europe.orders"),
        ("a/b/c", "a.b.c"),
        ("__internal-topic_1", "__internal-topic_1"),
        ("...", "..."),
        ("./.", "..."),
        ("a" * 249, "a" * 249),
    ],
)
def test_paths_of_topics(path: str, topic: str) -> None:
    assert names.topic(path) == topic


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("", "names no topic"),
        ("/", "names no topic"),
        ("//", "empty part"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        ("//a", "empty part"),
        (".", "no topic named '.'"),
        ("/..", "no topic named '..'"),
        ("a b", "'a b' is not a topic"),
        ("a;{create:always}", "is not a topic"),
        ("grüße", "is not a topic"),
        ("orders\n", "'orders\\n' is not a topic"),
        ("a" * 250, "250 characters; Kafka allows 249"),
        ("a/" * 124 + "ab", "250 characters"),
    ],
)
def test_paths_of_no_topic(path: str, part: str) -> None:
    with pytest.raises(AddressError) as caught:
        names.topic(path)
    assert caught.value.condition == INVALID_FIELD
    assert part in caught.value.description


def test_what_a_peer_sent_is_not_repeated_at_length() -> None:
    with pytest.raises(AddressError) as caught:
        names.topic("\u0000" * 100_000)
    assert len(caught.value.description) < 600


def test_groups() -> None:
    for group in ("billing", "a/b", "with blank", "grüße", "g" * 255):
        assert names.group(group) == group
    for group, part in (
        ("", "orders/group.id/billing"),
        ("g" * 256, "256 characters"),
        ("a\nb", "cannot be printed"),
        ("\ud800", "cannot be printed"),
    ):
        with pytest.raises(AddressError, match=part):
            names.group(group)


def test_partitions() -> None:
    for text, number in (("0", 0), ("07", 7), ("2147483647", 2**31 - 1)):
        assert names.partition(text) == number
    for text in ("", "-1", "+1", "1.0", "x", "2147483648", "9" * 5000, "1/2", "²"):
        with pytest.raises(AddressError, match="orders/Partitions/0"):
            names.partition(text)
