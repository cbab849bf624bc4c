"""Schedules against those of transformers, and the published forms by hand."""

import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import nn
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_linear_schedule_with_warmup,
    get_wsd_schedule,
)

from harness.pretraining.recipes import RECIPES
from harness.pretraining.schedule import (
    Schedule,
    checkpoint_steps,
    learning_rate_factor,
    warmup_updates,
)


@pytest.mark.parametrize(
    ("decay", "reference"),
    [
        ("linear", lambda o, w, n: get_linear_schedule_with_warmup(o, w, n)),
        ("cosine", lambda o, w, n: get_cosine_schedule_with_warmup(o, w, n)),
        ("constant", lambda o, w, n: get_constant_schedule_with_warmup(o, w)),
    ],
)
@pytest.mark.parametrize(("warmup", "steps"), [(0, 10), (3, 10), (10, 10), (1, 1)])
def test_schedules_equal_those_of_transformers(
    decay: Any, reference: Any, warmup: int, steps: int
) -> None:
    assert_equal(Schedule(warmup_steps=warmup, decay=decay), reference, warmup, steps)


@pytest.mark.parametrize(("warmup", "steps", "last"), [(0, 10, 3), (3, 50, 5), (1, 2, 1)])
def test_wsd_equals_that_of_transformers(warmup: int, steps: int, last: int) -> None:
    schedule = Schedule(warmup_steps=warmup, decay="wsd", decay_fraction=last / steps)
    assert_equal(
        schedule,
        lambda o, w, n: get_wsd_schedule(
            o, w, last, num_training_steps=n, decay_type="1-sqrt", min_lr_ratio=0.0
        ),
        warmup,
        steps,
    )


def assert_equal(schedule: Schedule, reference: Any, warmup: int, steps: int) -> None:
    """At every update up to the last."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = reference(optimizer, warmup, steps)
    for step in range(steps + 1):
        expected = scheduler.get_last_lr()[0]
        assert learning_rate_factor(schedule, step, steps) == pytest.approx(expected, abs=1e-12)
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize(("warmup", "steps"), [(0, 10), (4, 100), (10_000, 2**19)])
def test_t5_rate(warmup: int, steps: int) -> None:
    """Raffel et al. 2020, section 3.1.2: 1/sqrt(max(n, k)) at the n-th update."""
    schedule = Schedule(warmup_steps=warmup, decay="inverse_sqrt")
    k = max(1, warmup)
    for n in {0, 1, k - 1, k, k + 1, 4 * k, steps}:
        expected = 1 / math.sqrt(max(n, k)) / (1 / math.sqrt(k))
        assert learning_rate_factor(schedule, n, steps) == pytest.approx(expected)
    assert learning_rate_factor(schedule, 4 * k, steps) == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["t5", "t5_v1_1", "mt5", "ul2"])
def test_rates_of_the_recipes_are_those_of_t5(name: str) -> None:
    recipe = RECIPES[name]
    steps = recipe.budget.steps
    assert steps
    for n in (0, 9_999, 10_000, 100_000):
        rate = recipe.optimizer.learning_rate * learning_rate_factor(recipe.schedule, n, steps)
        assert rate == pytest.approx(1 / math.sqrt(max(n, 10_000)))


def test_warmup_by_share_and_its_bound() -> None:
    assert warmup_updates(Schedule(warmup_fraction=0.06), 100) == 6
    with pytest.raises(ValueError, match="at most the number of updates, here 10"):
        warmup_updates(Schedule(warmup_steps=11), 10)
    at_peak = Schedule(warmup_steps=11, decay="inverse_sqrt")
    assert [learning_rate_factor(at_peak, step, 10) for step in range(10)] == [1.0] * 10


def test_wsd_s_is_wsd_until_each_checkpoint() -> None:
    """Up to a checkpoint, a run is one of WSD of that many updates; then the rate is the peak."""
    steps, fractions = 1_000, (0.1, 0.3, 1.0)
    ends = checkpoint_steps(fractions, steps)
    assert ends == [100, 300, 1_000]
    schedule = Schedule(warmup_steps=20, decay="wsd_s")
    whole = [learning_rate_factor(schedule, step, steps, ends) for step in range(steps)]
    wsd = Schedule(warmup_steps=20, decay="wsd")
    for before, end in pairwise([0, *ends]):
        alone = [learning_rate_factor(wsd, step, end) for step in range(end)]
        assert whole[before:end] == alone[before:end]
        if end < steps:
            assert whole[end] == 1.0 > whole[end - 1]


@pytest.mark.parametrize("decay", ["wsd", "wsd_s"])
def test_a_decay_of_less_than_an_update_takes_one(decay: Any) -> None:
    """As of a checkpoint after the first two updates, when an experiment is tried at toy size."""
    schedule = Schedule(warmup_fraction=0.0, decay=decay, decay_fraction=0.2)
    for steps in (1, 2):
        rates = [learning_rate_factor(schedule, step, 9, [steps]) for step in range(9)]
        assert all(0 < rate <= 1 for rate in rates)
        alone = [learning_rate_factor(schedule, step, steps) for step in range(steps + 1)]
        assert alone == [1.0] * steps + [0.0]


def test_decays_that_meet_do_not_overlap() -> None:
    schedule = Schedule(warmup_steps=0, decay="wsd_s", decay_fraction=0.5)
    rates = [learning_rate_factor(schedule, step, 10, [8]) for step in range(10)]
    assert rates[:5] == [1.0] * 5 and rates[8] == 1.0
    assert all(0 < rate <= 1 for rate in rates)


def test_a_decay_fraction_belongs_to_wsd() -> None:
    with pytest.raises(ValidationError, match="decay_fraction must be null unless decay is wsd"):
        Schedule(decay_fraction=0.2)


def test_warmup_and_decay_leave_room_for_each_other() -> None:
    """Else the rate would fall from 1 to less in one update, or never reach 1."""
    with pytest.raises(ValidationError, match=r"at most 1 with decay: wsd, but are 0\.6 and 0\.5"):
        Schedule(warmup_fraction=0.6, decay="wsd", decay_fraction=0.5)
    Schedule(warmup_fraction=0.5, decay="wsd_s", decay_fraction=0.5)
    Schedule(warmup_fraction=1.0, decay="linear")
