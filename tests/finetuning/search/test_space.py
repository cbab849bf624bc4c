"""Spaces whose adaptations have spaces of their own."""

from pathlib import Path
from typing import Any

import pytest

import harness
from harness.execution.stages.search import with_settings
from harness.experiment.source import DeclarationError
from harness.finetuning.adaptation import Full
from harness.finetuning.projection_updates import Lora
from harness.finetuning.protocol import Finetune
from harness.finetuning.search import optuna_search
from harness.finetuning.search.space import num_points, parameters, points
from harness.finetuning.search.sweep import Sweep
from harness.finetuning.search.trials import Trial
from harness.finetuning.search.trials import best as best_trial
from harness.study import Study

LORA = {"rank": [4, 8, 16], "learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}}
SPACE: dict[str, Any] = {
    "batch_size": [16, 32],
    "adaptation": {"full": {"learning_rate": [1e-5, 5e-5]}, "lora": LORA},
}
NAMES = ["batch_size", "adaptation", "full.learning_rate", "lora.rank", "lora.learning_rate"]


def sweep(**fields: Any) -> Sweep:
    return Sweep.read({"trials": 20, "sampler": "random", "space": SPACE, **fields})


def test_a_trial_has_the_hyperparameters_of_its_adaptation_alone() -> None:
    one = sweep()
    assert list(parameters(one.space)) == NAMES
    tried = [optuna_search.point(one, number) for number in range(20)]
    assert tried == [optuna_search.point(one, number) for number in range(20)]
    assert {str(point["adaptation"]) for point in tried} == {"full", "lora"}
    for point in tried:
        own = {name for name in NAMES if name.startswith(f"{point['adaptation']}.")}
        assert set(point) == {"batch_size", "adaptation"} | own
        if point["adaptation"] == "lora":
            assert point["lora.rank"] in (4, 8, 16)
            assert 1e-4 <= float(point["lora.learning_rate"]) <= 1e-2


def test_a_grid_has_each_combination_within_its_adaptation() -> None:
    space = {
        **SPACE,
        "adaptation": {**SPACE["adaptation"], "lora": {"rank": [4, 8, 16]}, "ia3": {}},
    }
    one = sweep(sampler="grid", space=space)
    assert one.size == num_points(one.space) == len(points(one.space)) == 2 * (2 + 3 + 1) == 12
    assert len({tuple(optuna_search.point(one, n).items()) for n in range(12)}) == 12


def test_tpe_searches_adaptations(tmp_path: Path) -> None:
    """The best point of a made-up objective is LoRA of rank 8."""

    def objective(params: dict[str, Any], number: int, report: Any) -> Trial:
        value = {None: 0.0, 4: 0.4, 8: 0.9, 16: 0.5}[params.get("lora.rank")]
        return Trial(number, value, "complete", 0.0, 1, params)

    one = sweep(sampler="tpe", trials=24)
    file = tmp_path / "optuna.db"
    trials = optuna_search.search(one, objective, name="x", storage=file, max_epochs=3)
    best = best_trial(trials).params
    assert (best["adaptation"], best["lora.rank"]) == ("lora", 8)
    shares = optuna_search.importances(
        [trial.params for trial in trials], [trial.value for trial in trials], one.space
    )
    assert set(shares) == {"batch_size", "adaptation"}
    assert shares["adaptation"] > shares["batch_size"]


def test_settings_of_a_trial_replace_adaptation_and_fields() -> None:
    base = {"finetune": Finetune().model_dump(), "adaptation": "full"}
    lora = with_settings(base, {"adaptation": "lora", "lora.rank": 4, "lora.learning_rate": 1e-3})
    assert lora["adaptation"] == Lora(rank=4).model_dump()
    assert lora["finetune"] == Finetune(learning_rate=1e-3).model_dump()
    full = with_settings(base, {"adaptation": "full", "full.learning_rate": 1e-5, "epochs": 4})
    assert full["adaptation"] == Full().model_dump()
    assert full["finetune"] == Finetune(learning_rate=1e-5, epochs=4).model_dump()


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"adaptation": ["full", "lora"]}, "needs a space for each choice"),
        ({"adaptation": {"full": {}, "lorra": {}}}, "did you mean 'lora'"),
        ({"adaptation": {"lora": {"rang": [4]}}}, "did you mean 'rank'"),
        ({"adaptation": {"lora": {"rank": [0]}}}, "a rank of 0 cannot be tried"),
        ({"adaptation": {"lora": {"rank": [4, 4]}}}, "must differ"),
        ({"adaptation": {"full": {}, "prompt": {}}}, "prompt trains nothing"),
        ({"epochs": {"full": {"rank": [1]}}}, "only adaptation has choices"),
        ({"adaptation": {"full": {}}, "adaptation.rank": [4]}, "adaptation.rank goes into"),
        ({"epochs": [1], "adaptation": {"lora": {"epochs": [2]}}}, "for every adaptation and for"),
    ],
)
def test_what_is_no_space_is_refused(space: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sweep(space=space)


def declare(recipe: str, space: dict[str, Any], **more: Any) -> Study:
    return harness.declare(
        {
            "name": "x",
            "question": "?",
            "pretrain": {"recipe": recipe, "size": "nano", "budget": {"tokens": 1_000}},
            "evaluate": {"tasks": ["micro-cola"]},
            "sweep": {"trials": 2, "sampler": "random", "space": space},
            **more,
        }
    )


def test_the_plan_names_adaptations_that_an_arm_does_not_support() -> None:
    assert not declare("bert", SPACE).plan.unsupported
    (line,) = declare("elmo", SPACE).plan.unsupported_lines
    assert "has no query and value projections" in line


def test_an_axis_over_a_searched_setting_is_refused() -> None:
    for axis in ("evaluate.adaptation.rank", "evaluate.finetune.learning_rate"):
        with pytest.raises(DeclarationError, match="has no effect: the sweep searches"):
            declare("bert", SPACE, grid={axis: [4, 8]})
