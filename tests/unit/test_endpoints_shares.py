from __future__ import annotations

from dataclasses import replace

import pytest

from bridge.endpoints.receiving import Reading
from bridge.endpoints.shares import refuse, start_of_group
from bridge.filters.contract import Filters
from bridge.model import conditions
from bridge.model.receiving import EARLIEST, LATEST, Position, Start

READING = Reading(None, None, EARLIEST, is_asked=False, browses=False, filters=Filters())


def test_a_plain_receiver_is_served_where_share_groups_are_enabled() -> None:
    assert refuse(READING, enabled=True) is None


@pytest.mark.parametrize(
    ("reading", "enabled", "word"),
    [
        (READING, False, "kafka.share.enabled"),
        (replace(READING, filters=Filters(predicates=(lambda _: True,))), True, "filter"),
        (replace(READING, is_asked=True), True, "begin"),
        (replace(READING, browses=True), True, "browse"),
        (replace(READING, partition=1), True, "partition"),
    ],
)
def test_what_a_share_group_does_not_do_is_refused_with_its_reason(
    reading: Reading,
    enabled: bool,  # noqa: FBT001 - a parameter of the test
    word: str,
) -> None:
    refusal = refuse(reading, enabled=enabled)
    assert refusal is not None
    assert refusal.name == conditions.NOT_IMPLEMENTED
    assert word in refusal.description


def test_a_group_begins_as_kafka_writes_it() -> None:
    assert start_of_group(EARLIEST, 0) == "earliest"
    assert start_of_group(LATEST, 0) == "latest"
    assert start_of_group(Start(Position.AGE, 600_000), 0) == "by_duration:PT600.000S"


def test_a_time_becomes_the_age_that_it_has_now() -> None:
    assert start_of_group(Start(Position.TIME, 1_000), 3_500) == "by_duration:PT2.500S"
    assert start_of_group(Start(Position.TIME, 4_000), 3_500) == "latest"
