"""Sweeps: equal trials, resumable, a function of their name."""

from pathlib import Path
from typing import Any

import pytest

from harness.experiment import Sweep
from harness.tuning import WORST, best, num_trials, search

SPACE = {"learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}, "epochs": [1, 2, 3]}


def sweep(**fields: Any) -> Sweep:
    return Sweep.model_validate({"trials": 6, "sampler": "tpe", "space": SPACE} | fields)


def quality(params: dict[str, Any], number: int) -> float:
    return -abs(params["learning_rate"] - 1e-3) + params["epochs"]


def outcome(folder: Path, settings: Sweep, name: str = "s") -> list[tuple[Any, float | None]]:
    trials = search(settings, quality, name=name, storage=folder / "o.db")
    return [(trial.params, trial.value) for trial in trials]


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_equal_names_give_equal_trials(tmp_path: Path, sampler: str) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    settings = sweep(sampler=sampler)
    first = outcome(tmp_path / "a", settings)
    assert len(first) == 6
    assert outcome(tmp_path / "b", settings) == first
    assert outcome(tmp_path / "c", settings, name="other") != first


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid"])
def test_killed_and_resumed_gives_the_same_trials(tmp_path: Path, sampler: str) -> None:
    space = SPACE if sampler != "grid" else {"epochs": [1, 2, 3], "learning_rate": [1e-3, 1e-4]}
    settings = sweep(sampler=sampler, space=space)
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    calls: list[int] = []

    def dies(params: dict[str, Any], number: int) -> float:
        calls.append(number)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return quality(params, number)

    storage = tmp_path / "cut" / "o.db"
    with pytest.raises(KeyboardInterrupt):
        search(settings, dies, name="s", storage=storage)
    trials = search(settings, dies, name="s", storage=storage)
    assert [(t.params, t.value) for t in trials] == outcome(tmp_path / "whole", settings)
    assert calls == [0, 1, 2, 3, 3, 4, 5]


def test_a_study_can_be_continued_with_more_trials(tmp_path: Path) -> None:
    few = outcome(tmp_path, sweep(sampler="random", trials=2))
    assert outcome(tmp_path, sweep(sampler="random", trials=4))[:2] == few


def test_a_grid_has_no_more_trials_than_points(tmp_path: Path) -> None:
    settings = sweep(sampler="grid", trials=100, space={"epochs": [1, 2], "batch_size": [8, 16]})
    assert num_trials(settings) == 4
    trials = search(settings, lambda params, number: 0.0, name="g", storage=tmp_path / "o.db")
    points = {tuple(sorted(trial.params.items())) for trial in trials}
    assert len(points) == 4


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_a_diverged_trial_is_the_worst_result(tmp_path: Path, value: float | None) -> None:
    trials = search(sweep(trials=2), lambda *_: value, name="s", storage=tmp_path / "o.db")
    assert [trial.value for trial in trials] == [WORST, WORST]


def test_the_first_of_equal_trials_is_best(tmp_path: Path) -> None:
    trials = search(sweep(trials=3), lambda *_: 0.5, name="s", storage=tmp_path / "o.db")
    assert best(trials).number == 0


def test_integer_fields_get_integers(tmp_path: Path) -> None:
    settings = sweep(sampler="random", space={"epochs": {"low": 1, "high": 9}})
    trials = search(settings, lambda *_: 0.0, name="s", storage=tmp_path / "o.db")
    assert all(isinstance(trial.params["epochs"], int) for trial in trials)
