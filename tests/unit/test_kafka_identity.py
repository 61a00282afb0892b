from __future__ import annotations

import re

import pytest

from bridge.kafka.identity import instance_id

ALLOWED = re.compile(r"[a-zA-Z0-9._-]{1,249}")
NAMES = [
    "",
    "a",
    "billing",
    "receiver-1",
    "Ünïcode ✓",
    "with/slash:and space",
    "x" * 5000,
    "\ud800",
    ".",
    "..",
]


@pytest.mark.parametrize("container_id", NAMES)
@pytest.mark.parametrize("link_name", NAMES)
def test_any_names_give_one_that_kafka_takes(container_id: str, link_name: str) -> None:
    name = instance_id(container_id, link_name)

    assert ALLOWED.fullmatch(name)
    assert name not in {".", ".."}
    assert name == instance_id(container_id, link_name)


def test_it_can_be_read() -> None:
    assert instance_id("billing", "receiver/1").startswith("billing.receiver_1-")


def test_the_same_link_has_it_in_every_process() -> None:
    assert instance_id("billing", "orders") == "billing.orders-c1b0c008f0c748638e64bbee9d3cbfa6"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a.b", "c"), ("a", "b.c")),
        (("a/b", "c"), ("a_b", "c")),
        (("a", "1b"), ("a1", "b")),
        (("x" * 100 + "1", "l"), ("x" * 100 + "2", "l")),
    ],
)
def test_links_that_look_alike_have_different_ones(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert instance_id(*one) != instance_id(*other)
