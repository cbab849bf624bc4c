"""What is too large is refused with a line before it is listed, and long lists of problems end."""

from typing import Any

import pytest

from harness.experiment import arms, declaration
from harness.experiment.checks import size
from harness.experiment.declaration import from_data
from harness.experiment.messages import MAX_PROBLEMS
from harness.experiment.source import DeclarationError
from harness.plan.factory import make_plan
from harness.tasks.custom import MAX_TASKS

BASE: dict[str, Any] = {
    "name": "x",
    "question": "How much is too much?",
    "pretrain": {"size": "nano", "corpus": "microworld", "budget": {"tokens": 1_000_000}},
    "evaluate": {"tasks": ["micro-mrpc", "micro-rte"]},
}


def problems(**fields: Any) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        from_data({**BASE, **fields})
    return list(caught.value.problems)


@pytest.mark.parametrize(
    "fields",
    [
        {f"key{number}": 1 for number in range(5_000)},
        {"pretrain": {**BASE["pretrain"], **{f"key{number}": 1 for number in range(5_000)}}},
        {"expect": [f"a{number} > b{number}" for number in range(500)]},
        {"arms": {f"a{number}": {} for number in range(500)}},
        {"grid": {"pretrain.budget.tokens": [-number for number in range(1, 500)]}},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_problems_beyond_a_limit_are_not_listed(
    fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    resolve = arms.resolve_arm

    def counted(*given: Any) -> Any:
        tried.append(given)
        return resolve(*given)

    monkeypatch.setattr(declaration, "resolve_arm", counted)
    found = problems(**fields)
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1] == "experiment: there may be more problems; repair these first"
    assert len(tried) <= MAX_PROBLEMS


def test_a_large_grid_is_refused_before_its_arms_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("declaration", "checks.grid"):
        whole = f"harness.experiment.{module}.combinations"
        monkeypatch.setattr(whole, lambda grid: pytest.fail("listed") if grid else [({}, {})])
    axes = ("learning_rate", "weight_decay")
    rates = [number / 1e6 for number in range(1, 3_001)]
    found = problems(grid={f"pretrain.optimizer.{axis}": rates for axis in axes})
    assert found == [
        "experiment: the grid must have at most 10,000 arms, but has 3000 x 3000 = 9,000,000"
    ]


def test_more_runs_than_a_plan_may_have() -> None:
    (found,) = problems(seeds={"pretrain": 1_000, "finetune": 1_000})
    assert found.endswith(
        "at most 500,000 fine-tuning runs and trials, but has 2,000,000: 1 arms, 2 tasks, "
        "1,000 x 1,000 seeds, 0 trials"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"seeds": {"pretrain": 2, "finetune": 3}},
        {"sweep": {"trials": 5, "sampler": "random", "space": {"epochs": [1, 2]}}},
        {"sweep": {"trials": 12, "space": {"learning_rate": {"low": 1e-5, "high": 1e-3}}}},
        {"pretrain": {**BASE["pretrain"], "checkpoint_fractions": [0.25, 0.5]}},
        {"pretrain": {"recipe": "bag_of_words", "corpus": "microworld"}, "seeds": {"finetune": 4}},
    ],
)
def test_runs_are_counted_as_they_are_planned(fields: dict[str, Any]) -> None:
    declared = from_data({**BASE, **fields})
    counted = sum(size._num_runs(declared.experiment, arm) for arm in declared.arms)
    plan = make_plan(declared)
    trials = [stage for stage in plan.stages.values() if stage.kind == "trial"]
    assert counted == len(plan.finetune_runs) + len(trials)


def test_tasks_are_counted_before_their_data_are_read() -> None:
    tasks = {f"t{number}": {"data": "missing.csv"} for number in range(MAX_TASKS + 1)}
    assert problems(evaluate={"tasks": tasks}) == [
        "experiment: evaluate.tasks must have at most 1,000 tasks, but has 1,001"
    ]


def test_variants_and_trials_are_limited() -> None:
    variants = {f"v{number}": {"pretrain.size": "tiny"} for number in range(201)}
    assert "variants must have at most 200 entries" in problems(variants=variants)[0]
    assert "must be at most 10,000" in problems(sweep={"trials": 10**9, "space": "bert_grid"})[0]
    axes = ("learning_rate", "warmup_fraction", "weight_decay")
    space = {axis: [number / 1_000 for number in range(1, 101)] for axis in axes}
    found = problems(sweep={"trials": 5, "sampler": "grid", "space": space})
    assert "takes a space of at most 100,000 points, but this has 1,000,000" in found[0]
