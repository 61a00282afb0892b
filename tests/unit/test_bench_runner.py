from __future__ import annotations

import pytest

from bench.cases import BARE, KAFKA, Case
from bench.figures import MIB
from bench.runner import SAMPLE_BYTES_MAX, expected_rate, filled_records, message_count


def test_every_link_gets_as_many_messages() -> None:
    assert message_count(1000, 100, links=1) == 1000
    assert message_count(1005.7, 100, links=100) == 1000


def test_every_link_gets_one_message_at_least() -> None:
    assert message_count(0.2, 100, links=1) == 1
    assert message_count(10, 100, links=1000) == 1000


@pytest.mark.parametrize("size", [64 * 1024, MIB])
def test_large_messages_are_no_more_than_disks_take(size: int) -> None:
    assert message_count(1e9, size, links=1) * size <= SAMPLE_BYTES_MAX


def test_less_is_expected_of_large_messages() -> None:
    assert expected_rate(BARE, 100) == 150_000
    assert expected_rate(BARE, MIB) == expected_rate(KAFKA, MIB) == 150


def test_a_topic_is_filled_for_the_length_of_a_sample() -> None:
    case = Case("sink", "settled", 100)

    assert filled_records(case, 2.0) == 2 * filled_records(case, 1.0) > 200_000
