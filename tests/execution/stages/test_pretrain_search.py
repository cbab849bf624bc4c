"""The loss by which trials of pretraining settings are selected."""

import math

import pytest

from harness.execution.stages.pretrain_search import selection_loss
from harness.pretraining.recipes import RECIPES

FIGURES = {
    "validation_loss": 3.0,
    "validation_generator_loss": 2.0,
    "validation_replaced_loss": 0.25,
    "validation_corrected_loss": 1.5,
    "validation_pair_loss": 0.7,
    "validation_previous_loss": 0.9,
    "validation_backward_loss": 4.0,
}


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("bert", 3.0),
        ("gpt2", 3.0),
        ("electra", 2.0 + 50 * 0.25),  # Clark et al. 2020, appendix A
        ("elmo", 3.0 + 4.0),  # Peters et al. 2018, section 3.1
        ("skip_thought", 3.0 + 0.9),  # Kiros et al. 2015, section 2.1
        ("coco_lm", 2.0 + 50 * 0.25 + 1.5),  # Meng et al. 2021, section 3.2
    ],
)
def test_it_is_the_sum_that_is_trained(recipe: str, expected: float) -> None:
    assert selection_loss(FIGURES, RECIPES[recipe]) == pytest.approx(expected)


@pytest.mark.parametrize("recipe", ["bert", "electra", "coco_lm", "elmo"])
def test_a_loss_that_is_absent_or_not_finite_is_null(recipe: str) -> None:
    assert selection_loss({}, RECIPES[recipe]) is None
    infinite = dict.fromkeys(FIGURES, math.inf)
    assert selection_loss(infinite, RECIPES[recipe]) is None
