from __future__ import annotations

import pytest

from bench.figures import Spread, percentile, ratios, slope, worsening


def test_a_spread_has_the_median_and_the_quartiles() -> None:
    assert Spread.of([5, 1, 4, 2, 3]) == Spread(3, 2, 4, 5)


def test_quartiles_lie_between_values_where_none_is_in_their_place() -> None:
    assert Spread.of([1, 2, 3, 4]) == Spread(2.5, 1.75, 3.25, 4)


def test_a_single_value_has_no_spread() -> None:
    assert Spread.of([7]) == Spread(7, 7, 7, 1)


def test_one_wild_value_does_not_move_the_median() -> None:
    assert Spread.of([10, 10, 10, 10, 1000]).median == 10


def test_nothing_has_no_spread() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        Spread.of([])


def test_ratios_are_made_within_a_round() -> None:
    # The machine was at half of its speed in the second round.
    assert ratios({0: 80, 1: 40, 2: 81}, {0: 100, 1: 50, 2: 100}) == [0.8, 0.8, 0.81]


def test_a_round_without_its_partner_is_left_out() -> None:
    assert ratios({0: 80, 1: 40}, {1: 50, 2: 100}) == [0.8]


def test_nothing_is_divided_by_zero() -> None:
    assert ratios({0: 80}, {0: 0}) == []


def test_the_slope_of_a_line() -> None:
    assert slope([1, 2, 3, 4], [10, 12, 14, 16]) == 2


def test_one_outlier_does_not_move_the_slope() -> None:
    assert slope([1, 2, 3, 4, 5], [10, 10, 90, 10, 10]) == 0


def test_a_slope_takes_two_places() -> None:
    with pytest.raises(ValueError, match="two places"):
        slope([1, 1], [10, 12])


def test_worsening_is_a_part_of_what_was_recorded() -> None:
    assert worsening(1.5, 1.2) == pytest.approx(0.25)
    assert worsening(0.9, 1.2) == pytest.approx(-0.25)


def test_a_percentile_is_one_of_the_values() -> None:
    values = list(range(1, 201))

    assert percentile(values, 99) == 198
    assert percentile(values, 50) == 100
    assert percentile(values, 100) == 200


def test_the_99th_percentile_of_few_values_is_the_largest() -> None:
    assert percentile([3, 1, 2], 99) == 3


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        percentile([], 99)
