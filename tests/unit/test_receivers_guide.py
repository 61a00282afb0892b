"""docs/receivers.md says of addresses, starts, selectors and options what the code does."""

from __future__ import annotations

import ast
import re
from typing import Final

import pytest
from support.filtering import view
from support.repository import read

from bridge.addressing import AddressError, parse_sink
from bridge.codec import Described, Int, Map, Symbol, Timestamp, UByte, ULong
from bridge.endpoints.receiving import PROPERTIES
from bridge.filters import reading
from bridge.filters.grammar import LONGEST
from bridge.filters.predicates import predicate
from bridge.filters.selector import DEEPEST, selector, sql_filter
from bridge.filters.starts import event_hubs_start, parse_start
from bridge.mapping import names, topic_info
from bridge.mapping.dead_letter import Origin, dead_letter_headers
from bridge.model.conditions import Condition
from bridge.model.receiving import EARLIEST, LATEST, Position, Start
from bridge.model.topic_info import PartitionInfo, TopicInfo
from bridge.sink.ports import Reason

GUIDE: Final = read("docs/receivers.md")


def section(title: str) -> str:
    """Return what stands under a heading, up to the next one of its level or above."""
    level, _, _ = title.partition(" ")
    _, _, rest = GUIDE.partition(f"\n{title}\n")
    assert rest, title
    return re.split(rf"\n#{{2,{len(level)}}} ", rest)[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the tables' rows, heads included."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# ---------------------------------------------------------------------- addresses


def test_the_addresses_of_the_guide_are_understood() -> None:
    table = section("## Addresses").partition("Link properties")[0]
    addresses = [address for cells in rows(table)[1:] for address in quoted(cells[0])]
    assert len(addresses) == 10
    assert {str(parse_sink(address)) for address in addresses} == {
        "orders/group.id/kitchen",
        "europe.orders/group.id/kitchen",
        "orders/Partitions/3",
        "orders",
        "hub/ConsumerGroups/$Default/Partitions/0",
        "hub/ConsumerGroups/$Default",
        "orders/share/workers",
        "orders/$info",
        "orders/group.id/kitchen/$info",
    }


def test_addresses_in_the_text_are_understood() -> None:
    for address in re.findall(r"[\"'`]([a-z.]+/(?:group\.id|Partitions|share|\$info)[^\"'`]*)[\"'`]", GUIDE):
        assert parse_sink(address).topic


def test_what_the_guide_does_not_offer_is_refused() -> None:
    for address in ("orders/share/workers/$info", "orders/Partitions/0/group.id/kitchen"):
        with pytest.raises(AddressError):
            parse_sink(address)


def test_the_properties_of_a_link_are_those_that_are_read() -> None:
    table = section("## Addresses").partition("Link properties")[2]
    assert {name for cells in rows(table)[1:] for name in quoted(cells[0])} == set(PROPERTIES)


# ---------------------------------------------------------------------- starts


def test_each_start_of_the_guide_is_one() -> None:
    table = section("## Where reading begins").partition("What the filters")[0]
    cells = {quoted(each[0])[0]: quoted(each[0])[1:] for each in rows(table)[1:]}
    assert {text: parse_start(text) for text in cells} == {
        "earliest": EARLIEST,
        "latest": LATEST,
        "10m": Start(Position.AGE, 600_000),
        "2026-01-31T12:00:00Z": Start(Position.TIME, 1_769_860_800_000),
    }
    for unit in cells["10m"]:
        assert parse_start(f"10{unit}").position is Position.AGE


def test_the_filters_that_tell_a_place_are_read() -> None:
    table = section("## Where reading begins").partition("What the filters")[2]
    named = {name for cells in rows(table)[1:] for name in quoted(cells[0])}
    assert named == {reading.START, reading.PARTITION, reading.FORMER_PARTITION, reading.FORMER_OFFSET}
    asked = {
        reading.PARTITION: Described(Symbol(reading.PARTITION), "3"),
        reading.FORMER_PARTITION: Described(Symbol(reading.FORMER_PARTITION), Int(3)),
        reading.START: Described(Symbol(reading.START), Int(42)),
        reading.FORMER_OFFSET: Described(Symbol(reading.FORMER_OFFSET), Int(42)),
        "selector": Described(Symbol(reading.SELECTOR), "amqp.annotation.x-opt-offset > '41'"),
        "acme:other": Described(Symbol("acme:other"), "is left out"),
    }
    found = reading.read(asked)
    assert (found.partition, found.start) == (3, Start(Position.OFFSET, 42))
    assert found.applied == asked.keys() - {"acme:other"}
    time = reading.read({reading.START: Timestamp(5)})
    assert time.start == Start(Position.TIME, 5)


def test_the_positions_of_event_hubs_are_understood() -> None:
    selectors = re.findall(
        r"`(amqp\.annotation\.x-opt-[a-z-]+ >=? '[^']+')`", section("## Where reading begins")
    )
    assert [event_hubs_start(each) for each in selectors] == [
        Start(Position.OFFSET, 42),
        Start(Position.OFFSET, 42),
        Start(Position.TIME, 1_767_225_600_001),
    ]
    assert event_hubs_start("amqp.annotation.x-opt-offset > '-1'") == EARLIEST
    assert event_hubs_start("amqp.annotation.x-opt-offset > '@latest'") == LATEST


# ---------------------------------------------------------------------- filters

SEEN: Final = view(
    {"country": "UK", "city": "London", "weight": Int(5), "order-status": "open"},
    header={"priority": UByte(7)},
    annotations={names.KEY: "table-7", names.PARTITION: Int(0)},
    properties={"message-id": "id-1", "subject": "orders.created"},
)
SELECTORS: Final = [
    (quoted(wanted)[0], quoted(unwanted)[0])
    for wanted, unwanted in (cells for cells in rows(section("## Selectors and filters")) if len(cells) == 2)
    if "`" in wanted
]
"""The table's pairs: what wants the message, and what does not."""


def test_the_table_of_selectors_is_there() -> None:
    assert len(SELECTORS) == 12


@pytest.mark.parametrize(("wanted", "unwanted"), SELECTORS)
def test_a_selector_of_the_guide_does_what_its_column_says(wanted: str, unwanted: str) -> None:
    assert selector(wanted)(SEEN)
    assert not selector(unwanted)(SEEN)


def test_the_filters_of_the_guide_are_known_by_name_and_number() -> None:
    values: dict[str, object] = {
        "apache.org:selector-filter:string": "country = 'UK'",
        "apache.org:legacy-amqp-direct-binding:string": "orders.created",
        "apache.org:legacy-amqp-topic-binding:string": "orders.#",
        "amqp:properties-filter": Map([("subject", "&p:orders.")]),
        "amqp:application-properties-filter": Map([("city", "&s:don")]),
        "amqp:sql-filter": "p.subject = 'orders.created' AND h.priority = 7",
    }
    found = re.findall(
        r"^\| `([a-z.]+:[a-z:-]+)` \(0x([0-9A-F]+)\)", section("## Selectors and filters"), re.MULTILINE
    )
    assert {name for name, _ in found} == values.keys()
    for name, code in found:
        for descriptor in (Symbol(name), ULong(int(code, 16))):
            wants = predicate("any key", Described(descriptor, values[name]))
            assert wants is not None
            assert wants(SEEN)


def test_the_sections_of_sql_filters_are_known() -> None:
    text = "`properties.subject`, `a.country`, `h.priority`"
    assert text in GUIDE
    for name in quoted(text):
        assert sql_filter(f"{name} IS NOT NULL")(SEEN)


def test_the_bounds_of_selectors_are_those_of_the_code() -> None:
    assert f"up to {LONGEST:,} characters and {DEEPEST} nested operations" in GUIDE


# ---------------------------------------------------------------------- what is delivered


def test_the_headers_of_dead_letters_are_those_that_are_written() -> None:
    named = {name for cells in rows(section("### Dead letters"))[1:] for name in quoted(cells[0])}
    written = dead_letter_headers(
        None,
        Origin("orders", 0, 1, 2, "kitchen"),
        reason="rejected",
        attempts=1,
        condition=Condition("acme:no", "no"),
        annotations=b"\xc1\x06\x02\xa3\x01k\xa1\x00",
    )
    assert named == {name for name, _ in written}
    [reasons] = [cells[1] for cells in rows(section("### Dead letters")) if "`amqp.dlt.reason`" in cells[0]]
    assert set(quoted(reasons)) == {reason.value for reason in Reason}


def test_the_annotations_of_the_passage_exist() -> None:
    named = set(re.findall(r"`(x-opt-[a-z.-]+)`", section("## What a message looks like")))
    constants = {value for value in vars(names).values() if isinstance(value, str)}
    assert len(named) == 12
    assert named <= constants


def test_the_keys_of_info_are_those_that_are_sent() -> None:
    table = rows(section("## What Kafka knows of a topic: `$info`"))[1:]
    named = {name for cells in table for name in quoted(cells[0])}
    partition = PartitionInfo(0, 1, (1,), (1,), earliest=0, latest=9, committed=4)
    (message,) = topic_info.messages(TopicInfo("orders", (partition,), "kitchen"), "orders/$info", 0)
    assert named == {key for key in named if b"\xa1" + bytes([len(key)]) + key.encode() in message}
    assert len(named) == 11


# ---------------------------------------------------------------------- the rest


def test_the_options_that_are_named_exist_and_have_the_defaults_that_are_told() -> None:
    named = set(re.findall(r"`((?:amqp\.max|sink|mapping)\.[a-z.]+)(?:=[^`]+)?`", GUIDE))
    defaults = dict(re.findall(r"^#?([a-z.]+)=(.*)$", read("bridge.properties"), re.MULTILINE))
    assert len(named) > 10
    assert named <= defaults.keys()
    told = dict(re.findall(r"`(sink\.[a-z.]+)` \(([\d.,]+ ?(?:ms|s|MiB)?)\)", GUIDE))
    assert len(told) > 5
    units = {"": 1, "ms": 1, "s": 1000, "MiB": 1 << 20}
    for option, text in told.items():
        number, _, unit = text.partition(" ")
        assert int(number.replace(",", "")) * units[unit] == int(defaults[option]), option


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL))
def test_the_snippets_are_python(code: str) -> None:
    ast.parse(code)
