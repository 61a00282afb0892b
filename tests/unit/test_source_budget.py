from __future__ import annotations

import pytest

from bridge.source.budget import (
    BUFFER_BYTES_MAX,
    FIRST_SHARE_BYTES,
    MESSAGE_OVERHEAD_BYTES,
    ByteBudget,
    Share,
    message_bytes,
)

MIB = 1 << 20
FIRST_MESSAGES = FIRST_SHARE_BYTES // MESSAGE_OVERHEAD_BYTES


def share_of(budget: ByteBudget) -> Share:
    """Open a share that knows how small its messages are."""
    share = budget.share()
    share.learn(1, MESSAGE_OVERHEAD_BYTES)
    return share


@pytest.mark.parametrize(
    ("payload_bytes", "buffer_bytes"),
    [(0, 1), (1, 2), (10_000, 16_384), (60_000, 65_536), (65_536, 65_536), (1 << 20, 65_536)],
)
def test_a_message_is_there_twice_once_in_a_buffer_of_a_power_of_two(
    payload_bytes: int, buffer_bytes: int
) -> None:
    assert message_bytes(payload_bytes) == payload_bytes + buffer_bytes + MESSAGE_OVERHEAD_BYTES


def test_the_more_links_there_are_the_fewer_messages_of_unknown_size_each_begins_with() -> None:
    budget = ByteBudget(64 * MIB)
    first, second, *others = [budget.share() for _ in range(500)]

    large = 64 * MIB // BUFFER_BYTES_MAX
    assert first.fit(1000) == large // 500
    for share in others:
        share.close()
        share.close()
    assert second.fit(1000) == 16, "what is over is over once"
    first.learn(2, 2 * MESSAGE_OVERHEAD_BYTES)
    assert first.fit(1000) == FIRST_MESSAGES, "its messages are small"
    assert ByteBudget(1).share().fit(1000) == 1


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one byte"):
        ByteBudget(0)


def test_a_share_begins_small_and_doubles_up_to_the_window() -> None:
    share = share_of(ByteBudget(64 * MIB))

    assert [share.fit(1000) for _ in range(5)] == [102, 204, 409, 819, 1000]


def test_a_window_that_is_small_is_there_at_once() -> None:
    share = share_of(ByteBudget(64 * MIB))

    assert share.fit(100) == 100
    assert share.reserved_bytes == 100 * MESSAGE_OVERHEAD_BYTES


def test_of_messages_of_unknown_size_there_may_be_a_mebibyte_each() -> None:
    share = ByteBudget(64 * MIB).share()

    assert share.fit(1000) == 16, "a quarter of the budget is what a link may have"
    share.learn(16, 16 * MESSAGE_OVERHEAD_BYTES)
    assert share.fit(1000) == FIRST_MESSAGES
    assert ByteBudget(1 << 40).share().fit(1000) == FIRST_MESSAGES


def test_larger_messages_narrow_the_window_at_once_and_smaller_ones_widen_it_slowly() -> None:
    share = share_of(ByteBudget(4 * MIB))
    share.fit(100)

    share.learn(2, 2 * 65_536)
    assert share.fit(100) == 3, "twice the 128,000 bytes of before, as they were used up"
    assert share.fit(100) == 7

    limits = []
    for _ in range(40):
        share.learn(10, 10 * MESSAGE_OVERHEAD_BYTES)
        limits.append(share.fit(100))
    assert limits == sorted(limits)
    assert limits[0] < 100
    assert limits[-1] == 100


def test_messages_that_turn_out_large_do_not_stop_a_link_that_holds_many() -> None:
    share = ByteBudget(64 * MIB).share()
    assert share.fit(1000) == 16

    share.learn(10, 10 * MIB)
    share.hold(10 * MIB)
    assert share.fit(1000) == 10

    share.hold(-10 * MIB)
    assert share.fit(1000) == 16, "the most that one link may have"


def test_no_link_has_more_than_a_quarter_of_the_budget() -> None:
    budget = ByteBudget(64 * MIB)
    shares = [budget.share() for _ in range(5)]
    for share in shares:
        share.learn(1, MIB)
        for _ in range(10):
            share.fit(1000)

    assert [share.fit(1000) for share in shares] == [16, 16, 16, 16, 1]
    assert budget.reserved_bytes == 64 * MIB


def test_the_reservations_of_all_links_stay_within_the_budget() -> None:
    budget = ByteBudget(MIB)
    shares = [share_of(budget) for _ in range(5000)]

    limits = [share.fit(1000) for share in shares]

    assert budget.reserved_bytes == MIB
    assert limits[:8] == [FIRST_MESSAGES] * 8
    assert set(limits[8:]) == {1}, "a link without a reservation does not starve"


def test_what_a_link_leaves_is_there_for_the_others() -> None:
    budget = ByteBudget(FIRST_SHARE_BYTES)
    first, second = share_of(budget), share_of(budget)
    assert (first.fit(1000), second.fit(1000)) == (FIRST_MESSAGES, 1)

    first.close()

    assert second.fit(1000) == FIRST_MESSAGES
    second.close()
    assert budget.reserved_bytes == 0


def test_a_share_whose_messages_become_small_gives_back_what_it_does_not_need() -> None:
    budget = ByteBudget(64 * MIB)
    share = budget.share()
    share.learn(1, MIB)
    while share.fit(10) < 10:
        pass
    assert share.reserved_bytes == 10 * MIB

    for _ in range(200):
        share.learn(1, MESSAGE_OVERHEAD_BYTES)
        share.fit(10)

    assert share.reserved_bytes == budget.reserved_bytes == 10 * MESSAGE_OVERHEAD_BYTES


def test_the_owner_is_told_when_more_is_held_and_when_a_quarter_is_free() -> None:
    told: list[str] = []
    budget = ByteBudget(1000)
    budget.watch(lambda: told.append("exceeded"), lambda: told.append("relieved"))

    budget.hold(1000)
    assert told == []
    budget.hold(1)
    budget.hold(500)
    assert told == ["exceeded"]
    budget.hold(-700)
    assert told == ["exceeded"], "801 bytes are more than three quarters"
    budget.hold(-51)
    assert told == ["exceeded", "relieved"]
    budget.hold(400)
    assert told == ["exceeded", "relieved", "exceeded"]


def test_a_message_that_is_arriving_is_held_and_forgotten_with_its_link() -> None:
    budget = ByteBudget(1000)
    one, other = budget.share(), budget.share()

    one.arriving(300)
    other.arriving(200)
    assert (budget.held_bytes, budget.arriving_bytes) == (500, 500)
    one.arriving(-300)
    one.hold(400)
    assert (budget.held_bytes, budget.arriving_bytes) == (600, 200)

    other.close()
    one.close()
    assert (budget.held_bytes, budget.arriving_bytes) == (400, 0), "what is whole waits for Kafka's answer"
