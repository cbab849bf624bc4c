"""The search of pretraining settings: its space, its trials, and what it selects."""

import operator
from functools import reduce
from typing import Any

import pytest
from pydantic import ValidationError

from harness.experiment.recipe_defaults import expand_names, resolve_pretrain
from harness.finetuning.search.optuna_search import point
from harness.finetuning.search.pretrain_search import (
    SEARCHED,
    PretrainSearch,
    PretrainTrial,
    best,
    is_searched,
    problems,
    trial_run,
    with_settings,
)
from harness.finetuning.search.space import Choice
from harness.pretraining.recipes.pretrain import Pretrain

RATES = {"low": 1e-4, "high": 1e-2, "log": True}


def run(**fields: Any) -> Pretrain:
    declared = {"recipe": "bert", "size": "nano", "budget": {"tokens": 1_000}}
    return resolve_pretrain(expand_names({**declared, **fields}))


def search(**fields: Any) -> PretrainSearch:
    return PretrainSearch.read({"trials": 4, "space": {"optimizer.learning_rate": RATES}, **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"space": {"objective.transform.mask_rate": [0.1, 0.2]}},
            "objective.transform.mask_rate cannot be searched, but can be an axis of the grid",
        ),
        ({"space": {"lr": [0.1, 0.2]}}, "the pretraining setting 'lr' is not known; known: batch"),
        ({"space": {"optimizer.learning_rat": [0.1, 0.2]}}, "optimizer.learning_rate"),
        ({"space": {"optimizer.kind": ["adamw", "lamb"]}}, "optimizer.kind"),
        ({"space": {"batch_size": {"low": 8, "high": 64}}}, "whole number: list its values"),
        ({"space": {"batch_size": [8, 8]}}, "two choices or more"),
        ({"space": {"batch_size": [8]}}, "two choices or more"),
        ({"space": {}}, "space names the fields to search, but is empty"),
        (
            {"space": {}, "optimizers": {"lamb": {"beta1": [0.8, 0.9]}, "adafactor": {}}},
            "optimizers.adafactor names the fields to search, but it and space are empty",
        ),
        ({"optimizers": {"adam": {"beta1": [0.8, 0.9]}}}, "the kind of optimizer 'adam'"),
        ({"optimizers": {"adamw": {"rate": [0.1, 0.2]}}}, "the field of adamw 'rate'"),
        ({"optimizers": {"adamw": {"kind": ["adamw", "lamb"]}}}, "the field of adamw 'kind'"),
        ({"optimizers": {"adamw": {"beta1": [0.9]}}}, "optimizer.beta1 needs two choices or more"),
        (
            {"space": {"optimizer.kind": ["adamw", "lamb"]}},
            "sweep.pretrain.optimizers gives each a space",
        ),
        (
            {"optimizers": {"lamb": {"learning_rate": [0.1, 0.2]}}},
            "optimizer.learning_rate is searched for all arms and for lamb",
        ),
        (
            {
                "sampler": "grid",
                "space": {},
                "optimizers": {"lamb": {"beta1": [0.8, 0.9]}, "sgd": {"momentum": [0, 0.8, 0.9]}},
            },
            "equally many points, but lamb has 2, sgd has 3",
        ),
        (
            {"sampler": "grid", "space": {}, "optimizers": {"lamb": {"learning_rate": RATES}}},
            "grid needs a list of choices for optimizer.learning_rate",
        ),
        ({"trials": 1}, "greater than or equal to 2"),
        ({"sampler": "grid"}, "grid needs a list of choices for optimizer.learning_rate"),
        ({"sampler": "tpe"}, "random"),
        (
            {
                "sampler": "grid",
                "space": {
                    f"optimizer.{name}": [k / 1000 for k in range(1, 500)]
                    for name in ("beta1", "beta2")
                },
            },
            "a space of at most 100,000 points, but this has 249,001; take the sampler random",
        ),
        ({"budget_fraction": 0}, "greater than 0"),
    ],
)
def test_wrong_searches(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        search(**fields)


def test_a_grid_is_taken_where_all_its_points_are_tried() -> None:
    space = {"batch_size": [8, 16], "schedule.decay": ["linear", "cosine"]}
    whole, part = search(space=space), search(space=space, trials=3)
    assert (whole.sampler, whole.size, part.sampler, part.size) == ("grid", 4, "random", 3)
    points = [point(whole, number) for number in range(4)]
    assert len({tuple(sorted(one.items())) for one in points}) == 4
    assert search(space=space, trials=9, sampler="grid").size == 4


def test_each_optimizer_has_a_space_of_its_own() -> None:
    rates = {"adamw": [1e-3, 2e-3], "adafactor": [1e-2, 3e-2]}
    spaces = {kind: {"learning_rate": found} for kind, found in rates.items()}
    declared = search(space={"batch_size": [8, 16]}, optimizers=spaces)
    assert (declared.sampler, declared.size) == ("grid", 4)
    assert declared.names == ["batch_size", "optimizer.learning_rate"]
    assert declared.text == (
        "adamw: batch_size 8 or 16, optimizer.learning_rate 0.001 or 0.002; "
        "adafactor: batch_size 8 or 16, optimizer.learning_rate 0.01 or 0.03"
    )
    for kind, tried in rates.items():
        own = declared.of(run(optimizer={"kind": kind}))
        alone = search(space={"batch_size": [8, 16], "optimizer.learning_rate": tried})
        assert own == alone and (own.sampler, own.size) == ("grid", 4)
        points = [point(own, number) for number in range(4)]
        assert {one["optimizer.learning_rate"] for one in points} == set(tried)
    assert search().of(run()) == search()
    assert search().text == "optimizer.learning_rate 0.0001 to 0.01 (log)"


def test_points_depend_on_space_and_number_alone() -> None:
    few, many = search(), search(trials=40, budget_fraction=0.5)
    points = [point(many, number) for number in range(40)]
    assert [point(few, number) for number in range(4)] == points[:4]
    rates = [float(one["optimizer.learning_rate"]) for one in points]
    assert all(1e-4 <= rate <= 1e-2 for rate in rates) and len(set(rates)) == 40
    assert 0.3 < sum(rate < 1e-3 for rate in rates) / 40 < 0.7  # on a logarithmic scale


@pytest.mark.parametrize("name", SEARCHED)
def test_every_searched_field_changes_a_run(name: str) -> None:
    special: dict[str, Choice] = {
        "batch_size": 4,
        "optimizer.bias_correction": False,
        "schedule.decay": "cosine",
        "schedule.warmup_steps": 1,
    }
    value = special.get(name, 0.125)
    before = run(schedule={"decay": "wsd"}) if name == "schedule.decay_fraction" else run()
    if name == "optimizer.bias_correction":
        before = run(recipe="roberta")
    after = with_settings(before, {name: value})
    path = name.split(".")
    old: Any
    old, new = (reduce(operator.getitem, path, one.model_dump()) for one in (before, after))
    assert (new == value, new == old) == (True, False)
    assert with_settings(after, {name: old}) == before


def test_a_setting_that_a_run_cannot_have() -> None:
    with pytest.raises(ValueError, match=r"decay_fraction 0\.5 cannot be tried: decay_fr"):
        with_settings(run(), {"schedule.decay_fraction": 0.5})
    wrong = search(space={"model.dropout": [0.1, 1.5], "batch_size": [4, 8]})
    ((name, why),) = problems(wrong, run())
    assert name == "model.dropout" and "1.5 cannot be tried" in why
    assert not [*problems(wrong, run(budget={"tokens": 0}))]
    joint = {"schedule.decay": ["wsd", "linear"], "schedule.decay_fraction": [0.1, 0.2]}
    ((name, why),) = problems(search(space=joint), run(schedule={"decay": "wsd"}))
    assert name == "schedule.decay_fraction" and "decay linear, schedule.decay_fraction 0.1" in why


@pytest.mark.parametrize(
    ("budget", "part"),
    [
        ({"tokens": 1_000}, {"tokens": 250}),
        ({"steps": 3}, {"steps": 1}),
        ({"flops": 1e9}, {"flops": 2.5e8}),
        ({"seconds": 60.0}, {"seconds": 15.0}),
    ],
)
def test_trials_have_a_share_of_the_budget(
    budget: dict[str, float], part: dict[str, float]
) -> None:
    whole = run(budget=budget, checkpoint_fractions=[0.5])
    short = trial_run(whole, 0.25)
    assert short.budget.model_dump(exclude_none=True) == part
    assert short.model_copy(
        update={"budget": whole.budget, "checkpoint_fractions": whole.checkpoint_fractions}
    ) == (whole)
    assert trial_run(whole, 1).budget == whole.budget


def test_what_is_searched() -> None:
    assert is_searched(run()) and is_searched(run(recipe="gpt2"))
    assert not is_searched(run(budget={"tokens": 0}))


def test_the_lowest_loss_is_best() -> None:
    def trial(number: int, loss: float | None) -> PretrainTrial:
        return PretrainTrial(number, loss, 1.0, {"batch_size": number})

    trials = [trial(0, None), trial(1, 5.0), trial(2, 4.0), trial(3, 4.0)]
    assert best(trials).number == best(trials[::-1]).number == 2
    with pytest.raises(ValueError, match=r"all trials diverged: \[\{\"batch_size\": 0\}\]"):
        best(trials[:1])
