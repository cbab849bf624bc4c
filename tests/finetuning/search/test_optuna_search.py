"""Sweeps: reproducible, resumable, extensible."""

import itertools
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from shutil import copyfile
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState
from pydantic import ValidationError

from harness.finetuning.search import optuna_search
from harness.finetuning.search.optuna_search import (
    Pruned,
    Report,
    importances,
    point,
    search,
    show_trials,
)
from harness.finetuning.search.space import most_epochs, points
from harness.finetuning.search.sweep import TPE_STARTUP, Sweep
from harness.finetuning.search.trials import WORST, Trial, best

SPACE = {"learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}, "epochs": [1, 2, 3]}
GRID = {"batch_size": [8, 16], "epochs": [1, 2, 3]}


def sweep(**fields: Any) -> Sweep:
    return Sweep.read({"trials": 6, "sampler": "tpe", "space": SPACE} | fields)


def trial(params: dict[str, Any], number: int, report: Report | None = None) -> Trial:
    value = -abs(params["learning_rate"] - 1e-3) + params["epochs"]
    return Trial(number, value, "complete", 0.0, params["epochs"], params)


def learning(params: dict[str, Any], number: int, report: Report) -> Trial:
    """Odd trials do not improve, so that a pruner ends them."""
    for epoch in range(1, params["epochs"] + 1):
        value = epoch / 10 if number % 2 == 0 else 0.0
        try:
            report(epoch, value)
        except Pruned:
            return Trial(number, value, "pruned", 0.0, epoch, params)
    return Trial(number, value, "complete", 0.0, params["epochs"], params)


def study(folder: Path, settings: Sweep, objective: Any = trial, name: str = "s") -> list[Trial]:
    folder.mkdir(exist_ok=True)
    epochs = most_epochs(settings.space, 1)
    return search(settings, objective, name=name, storage=folder / "o.db", max_epochs=epochs)


def test_equal_names_give_equal_trials(tmp_path: Path) -> None:
    first = study(tmp_path / "a", sweep())
    assert [one.number for one in first] == list(range(6))
    assert study(tmp_path / "b", sweep()) == first
    assert study(tmp_path / "c", sweep(), name="other") != first


@pytest.mark.parametrize("pruner", [None, "median", "successive_halving", "hyperband"])
def test_killed_and_resumed_gives_the_same_trials(tmp_path: Path, pruner: str | None) -> None:
    settings = sweep(trials=9, pruner=pruner, space={"epochs": [3, 9], "batch_size": [8, 16]})
    calls: list[int] = []

    def dies(params: dict[str, Any], number: int, report: Report) -> Trial:
        calls.append(number)
        if len(calls) == 4:
            report(1, 0.9)
            raise KeyboardInterrupt
        return learning(params, number, report)

    with pytest.raises(KeyboardInterrupt):
        study(tmp_path / "cut", settings, dies)
    whole = study(tmp_path / "whole", settings, learning)
    assert study(tmp_path / "cut", settings, dies) == whole
    assert calls == [0, 1, 2, 3, 3, *range(4, 9)]


@pytest.mark.parametrize("name", ["a", "b"])
def test_brackets_of_hyperband_are_those_of_an_unbroken_study(tmp_path: Path, name: str) -> None:
    """They follow from the study's name, a trial's number and the most epochs. Optuna's own
    estimate of these is that of the trials so far, of which the first has 1 or 2 here."""
    space = {"epochs": [1, 2, 9], "learning_rate": SPACE["learning_rate"]}
    first, settings = (sweep(trials=n, pruner="hyperband", space=space) for n in (6, 20))
    study(tmp_path / "cut", first, learning, name)
    whole = study(tmp_path / "whole", settings, learning, name)
    assert study(tmp_path / "cut", settings, learning, name) == whole
    assert whole[0].epochs < 3 and {one.state for one in whole} == {"complete", "pruned"}


def test_hyperband_ends_trials_after_the_first_rungs_of_its_brackets(tmp_path: Path) -> None:
    """Of 9 epochs and eta = 3 (Li et al. 2018): 1, 3 and 9 epochs; successive halving has one."""

    def ends(pruner: str) -> set[int]:
        settings = sweep(trials=40, pruner=pruner, space={"epochs": [9], "batch_size": [8, 16]})
        trials = study(tmp_path / pruner, settings, learning)
        return {one.epochs for one in trials if one.state == "pruned"}

    assert ends("hyperband") == {1, 3, 9} and ends("successive_halving") == {1}


@pytest.mark.parametrize(
    ("space", "most"),
    [
        ({"batch_size": [8]}, 5),
        ({"epochs": [2, 4]}, 4),
        ({"epochs": {"low": 2, "high": 7}}, 7),
        ({"adaptation": {"full": {"epochs": [3]}, "lora": {"epochs": [2, 4]}}}, 4),
        ({"adaptation": {"full": {}, "lora": {"epochs": [2, 4]}}}, 5),
    ],
)
def test_the_most_epochs_of_a_trial_are_known(space: Any, most: int) -> None:
    assert most_epochs(sweep(space=space).space, 5) == most


def test_more_trials_continue_a_study_and_fewer_are_its_first(tmp_path: Path) -> None:
    many = TPE_STARTUP + 3
    few = study(tmp_path / "a", sweep(trials=TPE_STARTUP + 1))
    more = study(tmp_path / "a", sweep(trials=many))
    assert more[: len(few)] == few and len(more) == many
    assert more == study(tmp_path / "b", sweep(trials=many))
    assert study(tmp_path / "a", sweep(trials=2)) == few[:2]


@pytest.mark.parametrize("pruner", ["median", "successive_halving", "hyperband"])
def test_pruned_trials_are_kept_with_their_last_value(tmp_path: Path, pruner: str) -> None:
    settings = sweep(trials=12, pruner=pruner, space={"epochs": [9], "batch_size": [8, 16]})
    trials = study(tmp_path, settings, learning)
    pruned = [one for one in trials if one.state == "pruned"]
    assert pruned and len(trials) == 12
    assert any(one.epochs < 9 for one in pruned)
    assert all(one.value == 0 and one.number % 2 for one in pruned)
    assert trials == study(tmp_path, settings, learning)  # as they were stored


def test_a_pruned_trial_is_not_best() -> None:
    params = {"epochs": 1}
    ended = Trial(0, 0.9, "pruned", 0.0, 1, params)
    whole = [Trial(number, 0.5, "complete", 0.0, 1, params) for number in (1, 2)]
    assert best([ended, *whole]).number == 1


def test_a_diverged_trial_is_a_result(tmp_path: Path) -> None:
    def diverges(params: dict[str, Any], number: int, report: Report) -> Trial:
        return Trial(number, WORST, "diverged", 0.0, 1, params)

    trials = study(tmp_path, sweep(trials=2), diverges)
    assert [(one.value, one.state) for one in trials] == [(WORST, "diverged")] * 2


def test_a_point_is_a_function_of_space_and_number() -> None:
    few, many = sweep(sampler="random", trials=2), sweep(sampler="random", trials=9)
    drawn = [point(many, number) for number in range(9)]
    assert [point(few, number) for number in range(2)] == drawn[:2]
    assert len({json.dumps(one) for one in drawn}) == 9
    assert all(1e-4 <= float(one["learning_rate"]) <= 1e-2 for one in drawn)


@pytest.mark.parametrize("sampler", ["random", "grid", "tpe"])
def test_trials_do_not_depend_on_the_order_in_which_a_space_is_written(
    sampler: str, tmp_path: Path
) -> None:
    """Their keys do not, either."""
    own = {"lora": {"learning_rate": [1e-3, 2e-3], "rank": [2, 4, 8]}, "full": {"epochs": [1, 2]}}
    space = {"batch_size": [8, 16, 32], "warmup_fraction": [0.0, 0.1], "adaptation": own}
    tried = []
    for number, written in enumerate((space, _backwards(space))):
        settings = sweep(sampler=sampler, space=written)
        if sampler == "tpe":
            tried.append([one.params for one in study(tmp_path / str(number), settings, _constant)])
        else:
            tried.append([point(settings, trial) for trial in range(6)])
    assert tried[0] == tried[1]


def _constant(params: dict[str, Any], number: int, report: Report) -> Trial:
    return Trial(number, 0.5, "complete", 0.0, 1, params)


def _backwards(space: Any) -> Any:
    if not isinstance(space, dict):
        return space
    return {name: _backwards(value) for name, value in reversed(space.items())}


def test_a_grid_covers_all_points_once() -> None:
    settings = sweep(sampler="grid", trials=100, space=GRID)
    assert settings.size == 6
    found = [point(settings, number) for number in range(6)]
    assert sorted(map(str, found)) == sorted(map(str, points(settings.space)))
    assert found != points(settings.space), "a part of them would leave a corner out"


@pytest.mark.parametrize(
    ("field", "choices"),
    [("schedule", ["linear", "constant"]), ("bias_correction", [True, False])],
)
def test_strings_and_booleans_are_searched(field: str, choices: list[Any]) -> None:
    settings = sweep(sampler="random", space={field: choices}, trials=9)
    drawn = [point(settings, number)[field] for number in range(9)]
    assert set(drawn) == set(choices) and {type(one) for one in drawn} == {type(choices[0])}


@pytest.mark.parametrize(("name", "low", "high"), [("epochs", 1, 9), ("adaptation.rank", 1, 64)])
def test_integers_stay_integers(name: str, low: int, high: int) -> None:
    settings = sweep(sampler="random", space={name: {"low": low, "high": high}})
    assert all(isinstance(point(settings, number)[name], int) for number in range(4))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sampler": "grid"}, "grid needs a list of choices for learning_rate, but a range"),
        ({"trials": 0, "pruner": "median"}, "pruner median needs trials, but there are none"),
        ({"sampler": "random", "pruner": "median"}, "median needs the sampler tpe"),
        ({"sampler": "tpe", "pruner": "best"}, "Input should be 'median', 'successive_halving' or"),
        ({"space": {"epochs": [3, "5"]}}, "epochs of '5' cannot be tried"),
        ({"space": {"epochs": [3, True]}}, "epochs of True cannot be tried"),
    ],
)
def test_invalid_sweeps_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        sweep(**fields)


@pytest.mark.parametrize(
    ("fields", "sampler"),
    [
        ({"trials": 8, "space": SPACE}, "random"),
        ({"trials": TPE_STARTUP + 1, "space": SPACE}, "tpe"),
        ({"trials": 8, "space": SPACE, "pruner": "median"}, "tpe"),
        ({"trials": 5, "space": GRID}, "random"),
        ({"trials": 6, "space": GRID}, "grid"),
        ({"trials": 8, "space": SPACE, "sampler": "tpe"}, "tpe"),
    ],
)
def test_a_sweep_that_names_no_sampler_has_one_that_suits(
    fields: dict[str, Any], sampler: str
) -> None:
    assert Sweep.read(fields).sampler == sampler


def test_importance_finds_what_matters() -> None:
    space = sweep(space={"epochs": [1, 2, 3], "batch_size": [8, 16, 32], "beta2": [0.9]}).space
    tried = [
        {"epochs": epochs, "batch_size": size, "beta2": 0.9}
        for epochs, size in itertools.product([1, 2, 3], [8, 16, 32])
    ]
    values = [float(one["epochs"]) + one["batch_size"] / 1000 for one in tried]
    found = importances(tried, values, space)
    assert found["epochs"] > 0.9 > found["batch_size"] and found["beta2"] == 0
    assert sum(found.values()) == pytest.approx(1)
    assert importances(tried, values, space) == found
    with pytest.raises(ValueError, match="at least 8 complete trials, but has 3"):
        importances(tried[:3], values[:3], space)
    with pytest.raises(ValueError, match="scored the same"):
        importances(tried, [0.5] * 9, space)


def test_shown_trials_are_those_of_optuna(tmp_path: Path) -> None:
    """Added as they end, each once; a study with other trials is made again."""
    ended = {f"k{number}": trial({"learning_rate": 1e-3, "epochs": 2}, number) for number in (0, 1)}
    ended["k1"] = Trial(1, WORST, "diverged", 1.0, 1, {"learning_rate": 1e-2, "epochs": 3})
    path, settings = tmp_path / "optuna.db", sweep(sampler="random")
    for keys in (["k1"], ["k0", "k1"], ["k0", "k1"]):
        show_trials(path, "study/arm/task", settings, {key: ended[key] for key in keys})
    storage = f"sqlite:///{path}"
    study = optuna.load_study(study_name="study/arm/task", storage=storage)
    assert {one.user_attrs["key"]: one.state for one in study.trials} == {
        "k0": TrialState.COMPLETE,
        "k1": TrialState.FAIL,
    }
    assert study.best_trial.params == ended["k0"].params
    assert study.best_value == ended["k0"].value
    show_trials(path, "study/arm/task", settings, {"k2": ended["k0"]})
    study = optuna.load_study(study_name="study/arm/task", storage=storage)
    assert [one.user_attrs["key"] for one in study.trials] == ["k2"]


def test_runs_that_show_trials_at_once_add_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two processes with the same experiment; doubled ones of earlier versions go."""
    path, settings = tmp_path / "optuna.db", sweep(sampler="random")
    ended = {"k0": trial({"learning_rate": 1e-3, "epochs": 2}, 0)}
    show_trials(path, "earlier", settings, ended)
    make = optuna_search._shown

    def slowly(key: str, one: Trial, settings: Sweep) -> FrozenTrial:
        time.sleep(0.3)
        return make(key, one, settings)

    monkeypatch.setattr(optuna_search, "_shown", slowly)
    storage = f"sqlite:///{path}"
    twice = optuna.load_study(study_name="earlier", storage=storage)
    twice.add_trials(twice.trials)
    with ThreadPoolExecutor(2) as threads:
        calls = [
            threads.submit(show_trials, path, name, settings, ended)
            for name in ("same", "same", "earlier")
        ]
    assert not any(call.exception() for call in calls)
    for name in ("same", "earlier"):
        assert len(optuna.load_study(study_name=name, storage=storage).trials) == 1


CHANGES = {
    "value": "update trial_values set value = value + 1 where trial_id = 3",
    "setting": "update trial_params set param_value = param_value / 2 where trial_id = 3",
    "attribute's name": "update trial_user_attributes set key = 'epocht' where trial_id = 3 and "
    "key = 'epochs'",
    "not JSON": "update trial_user_attributes set value_json = '{' where trial_id = 3",
    "not text": "update trial_user_attributes set value_json = cast(x'ff' as text)",
}
FEW = sweep(trials=4)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Trial]]:
    """A file with a finished study, and its trials."""
    folder = tmp_path_factory.mktemp("stored")
    return folder / "o.db", study(folder, FEW)


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)
        assert database.total_changes


@pytest.mark.parametrize("damage", CHANGES)
def test_damaged_trials_are_run_again(
    stored: tuple[Path, list[Trial]], tmp_path: Path, damage: str
) -> None:
    """With those after them, which depend on them."""
    path, expected = stored
    copyfile(path, tmp_path / "o.db")
    change(tmp_path / "o.db", CHANGES[damage])
    numbers: list[int] = []

    def counted(params: dict[str, Any], number: int, report: Report) -> Trial:
        numbers.append(number)
        return trial(params, number)

    assert study(tmp_path, FEW, counted) == expected
    assert numbers in ([2, 3], [0, 1, 2, 3])
    assert study(tmp_path, FEW, None) == expected


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_a_damaged_file_of_trials_is_set_aside(
    stored: tuple[Path, list[Trial]], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "o.db").write_bytes(content)
    assert study(tmp_path, FEW) == stored[1] == study(tmp_path, FEW, None)


def test_trials_of_versions_without_checksums_count(
    stored: tuple[Path, list[Trial]], tmp_path: Path
) -> None:
    copyfile(stored[0], tmp_path / "o.db")
    change(tmp_path / "o.db", "delete from trial_user_attributes where key = 'checksum'")
    assert study(tmp_path, FEW, None) == stored[1]


@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_searches_of_other_seeds_try_other_points(sampler: str) -> None:
    """Of a grid, all points in another order."""
    settings = sweep(sampler=sampler, space=GRID if sampler == "grid" else SPACE)
    tried = [[point(settings, number, repeat) for number in range(6)] for repeat in range(3)]
    assert tried[0] == [point(settings, number) for number in range(6)]
    assert tried[0] != tried[1] != tried[2] != tried[0]
    if sampler == "grid":
        texts = [sorted(map(str, one)) for one in tried]
        assert texts[0] == texts[1] == texts[2]
