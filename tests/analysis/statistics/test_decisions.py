"""Decision accuracy between two scales."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from harness.analysis.statistics.decisions import Decisions, decisions

SMALL = {"a": [1.0, 3.0], "b": [2.0, 5.0], "c": [9.0, 9.0]}
LARGE = {"a": [50.0, 51.0], "b": [40.0, 41.0], "c": [60.0, 61.0]}


def of(small: dict[str, list[float]], large: dict[str, list[float]]) -> Decisions | None:
    return decisions(
        *({arm: np.array(values) for arm, values in scores.items()} for scores in (small, large))
    )


def test_pairs_by_hand() -> None:
    found = of(SMALL, LARGE)
    assert found is not None
    assert (found.pairs, found.alike) == (3, 2)  # a < b becomes a > b
    assert (found.settled, found.settled_alike) == (3, 2)
    assert found.one_seed == pytest.approx(4 / 6)  # a < b in both seeds
    assert found.accuracy == pytest.approx(2 / 3)
    low, high = found.interval
    assert low == pytest.approx(0.0943, abs=1e-4)  # Clopper and Pearson's for 2 of 3
    assert high == pytest.approx(0.9916, abs=1e-4)


def test_equal_scores_in_another_order_are_a_tie() -> None:
    scores = [0.1, 0.2, 0.3]
    assert sum(scores) != sum(scores[::-1])
    found = of({"a": scores, "b": scores[::-1]}, {"a": scores, "b": scores})
    assert found is not None and found.alike == 1


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_it_is_kendalls_tau_of_the_means(small: list[int], large: list[int]) -> None:
    arms = "abcdef"
    found = of(
        *({arm: [float(x)] for arm, x in zip(arms, one, strict=True)} for one in (small, large))
    )
    assert found is not None and found.pairs == len(list(combinations(arms, 2)))
    assert 2 * found.accuracy - 1 == pytest.approx(kendalltau(small, large).statistic)


def test_a_pair_within_noise_is_not_settled() -> None:
    found = of({"a": [1.0, 2.0], "b": [2.0, 3.0]}, {"a": [1.0, 9.0], "b": [2.0, 9.5]})
    assert found is not None and (found.alike, found.settled) == (1, 0)


def test_a_tie_at_one_scale_is_not_alike() -> None:
    found = of({"a": [1.0, 1.0], "b": [1.0, 1.0]}, {"a": [1.0, 1.5], "b": [2.0, 2.5]})
    assert found is not None and found.alike == 0


def test_a_single_seed_is_compared_with_the_others_of_the_large_scale() -> None:
    """Without its first seed, a is below b at the large scale."""
    small = {"a": [2.0, 2.0, 2.0], "b": [1.0, 1.0, 3.0]}
    found = of(small, {"a": [10.0, 0.0, 0.0], "b": [1.0, 1.0, 1.0]})
    # a > b, a > b, a < b beside a < b, a > b, a > b without the seed
    assert found is not None and found.alike == 1
    assert found.one_seed == pytest.approx(1 / 3)


def test_a_pair_with_one_seed_of_an_arm_is_not_settled() -> None:
    found = of({"a": [1.0], "b": [2.0]}, {"a": [1.0], "b": [2.0, 2.1, 2.2]})
    assert found is not None and (found.alike, found.settled) == (1, 0)


def test_single_seeds_and_arms_of_one_scale() -> None:
    found = of({"a": [1.0], "b": [2.0], "x": [3.0]}, {"a": [1.0], "b": [2.0], "y": [3.0]})
    assert found is not None and (found.pairs, found.settled) == (1, 0)
    assert np.isnan(found.one_seed)
    assert of({"a": [1.0]}, {"a": [1.0], "b": [2.0]}) is None
