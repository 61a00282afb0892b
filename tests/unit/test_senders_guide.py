"""docs/senders.md says of credit, options and addresses what the code does."""

from __future__ import annotations

import ast
import re
from typing import Final

import pytest
from support.repository import read

from bridge.addressing import AddressError, parse_source
from bridge.endpoints.destinations import MAPPING_PROPERTY, PARTITION_PROPERTIES
from bridge.endpoints.sources import OUTCOMES_PROPERTY
from bridge.mapping.profiles import PROFILES
from bridge.source.budget import ByteBudget, message_bytes

GUIDE: Final = read("docs/senders.md")
BUDGET_BYTES: Final = 268_435_456 * 3 // 4
"""What unsettled messages have of the default of source.budget.bytes."""
WINDOW: Final = 1000
UNITS: Final = {"bytes": 1, "KB": 1_000, "MB": 1_000_000}


def section(title: str) -> str:
    _, _, rest = GUIDE.partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


@pytest.mark.parametrize(
    ("number", "unit", "credits_told"), re.findall(r"\| (\d+) (bytes|KB|MB) \| ([\d, ]+) \|", GUIDE)
)
def test_credit_grows_and_narrows_as_the_table_says(number: str, unit: str, credits_told: str) -> None:
    cost = message_bytes(int(number) * UNITS[unit])
    told = [int(each) for each in credits_told.split(", ")]
    share = ByteBudget(BUDGET_BYTES).share()
    given = [share.fit(WINDOW)]
    while len(given) < len(told):
        held_bytes = given[-1] * cost
        share.learn(given[-1], held_bytes)
        share.hold(held_bytes)
        given.append(share.fit(WINDOW))
        share.hold(-held_bytes)
    assert given == told


def test_the_table_of_credit_is_there() -> None:
    assert len(re.findall(r"\| \d+ (?:bytes|KB|MB) \| [\d, ]+ \|", GUIDE)) == 5


@pytest.mark.parametrize(("links", "first"), [(1, 48), (64, 48), (100, 30), (1000, 3), (3000, 1)])
def test_a_link_begins_with_the_less_the_more_there_are(links: int, first: int) -> None:
    budget = ByteBudget(BUDGET_BYTES)
    shares = [budget.share() for _ in range(links)]
    assert shares[-1].fit(WINDOW) == first


def test_the_addresses_of_the_guide_are_understood() -> None:
    cells = re.findall(r"^\| (`[^|]+) \|", section("Addresses"), re.MULTILINE)
    addresses = [each for cell in cells for each in re.findall(r"`([^`]+)`", cell) if "x-opt" not in each]
    understood = [parse_source(each) for each in addresses if not each.startswith("event-streams")]
    assert [str(each) for each in understood] == [
        "orders",
        "orders",
        "europe.orders",
        "europe.orders",
        "orders/Partitions/3",
    ]


def test_an_address_that_the_guide_does_not_offer_is_refused() -> None:
    with pytest.raises(AddressError):
        parse_source("orders/group.id/kitchen")


def test_the_properties_of_a_link_are_those_that_are_read() -> None:
    named = set(re.findall(r"`((?:event-streams|x-opt-bridge)[a-z.-]+)`", section("Addresses")))
    assert named == {*PARTITION_PROPERTIES, MAPPING_PROPERTY, OUTCOMES_PROPERTY}


def test_each_mapping_is_among_the_choices() -> None:
    cells = re.findall(r"^\| (`[^|]+) \|", section("Which mapping"), re.MULTILINE)
    assert {name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)} == PROFILES.keys()


def test_the_options_that_are_named_exist() -> None:
    named = set(re.findall(r"`((?:amqp|source|deduplication|mapping)\.[a-z.]+)(?:=\w+)?`", GUIDE))
    options = set(re.findall(r"^#?([a-z.]+)=", read("bridge.properties"), re.MULTILINE))
    assert len(named) > 5
    assert named <= options


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL))
def test_the_snippets_are_python(code: str) -> None:
    ast.parse(code)
