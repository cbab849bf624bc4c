"""Columns that separated no arms in earlier experiments: the warning, and when there is none."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import f_oneway
from typer.testing import CliRunner

import harness
from harness.analysis.columns import suite_columns
from harness.analysis.unseparated import separation, unseparated_columns
from harness.cli.app import app
from harness.store.recorded import SCORE_COLUMNS, recorded_experiments
from harness.store.store import Store

SUITE, TASKS = "micro-glue-v1", ("micro-sst2", "micro-rte")
COLUMNS = suite_columns(SUITE, tasks=TASKS).columns
ALIKE = {"a": [0.60, 0.64, 0.62], "b": [0.61, 0.63, 0.65]}
APART = {"a": [0.60, 0.62, 0.61], "b": [0.80, 0.82, 0.81]}
Arms = Mapping[str, Sequence[float]]
"""Arm to its scores by pretraining seed."""
EXPERIMENT: dict[str, Any] = {
    "name": "planned",
    "question": "?",
    "pretrain": {"size": "nano", "corpus": "microworld", "budget": {"tokens": 2_000_000}},
    "grid": {"pretrain.objective.sentence_pair": ["nsp", "none"]},
    "evaluate": {"suite": SUITE, "tasks": list(TASKS)},
}


def frame(name: str, scores: Mapping[str, Arms], suite: str = SUITE) -> pd.DataFrame:
    """Of `scores` (task to arms), with two fine-tuning runs per pretraining seed."""
    rows = [
        (name, arm, suite, task, "validation", "accuracy", value + run / 100, seed, run)
        for task, arms in scores.items()
        for arm, values in arms.items()
        for seed, value in enumerate(values)
        for run in (-1, 1)
    ]
    made = pd.DataFrame(rows, columns=SCORE_COLUMNS[:-1])
    return made.assign(key=[f"{name}-{place}" for place in range(len(made))])


def record(
    store: Store,
    name: str,
    scores: Mapping[str, Arms],
    suite: str = SUITE,
    families: Mapping[str, str] | None = None,
) -> None:
    folder = store.root.parent / name
    folder.mkdir(parents=True)
    found = frame(name, scores, suite)
    found.to_parquet(folder / "results.parquet")
    arms = {
        arm: {"pretrain": {"recipe": arm, "model": {"family": (families or {}).get(arm, "bert")}}}
        for arm in found["arm"].unique()
    }
    (folder / "experiment.yaml").write_text(yaml.safe_dump({"experiment": {}, "arms": arms}))
    store.record_experiment(name, suite, folder)


def lines(store: Store) -> list[str]:
    return list(unseparated_columns(SUITE, COLUMNS, recorded_experiments(store)))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def test_the_line_names_the_experiments_and_the_smallest_p(store: Store) -> None:
    closer = {"a": [0.60, 0.62, 0.61], "b": [0.60, 0.64, 0.65]}
    record(store, "one", {"micro-rte": ALIKE, "micro-sst2": APART})
    record(store, "two", {"micro-rte": closer, "micro-sst2": ALIKE})
    smallest = min(f_oneway(*arms.values()).pvalue for arms in (ALIKE, closer))
    assert lines(store) == [
        f"RTE separated no arms in 2 earlier experiments of this store (p of an analysis of "
        f"variance at least {smallest:.2f}); more seeds or a larger budget may be needed"
    ]


def test_one_experiment_has_its_own_p(store: Store) -> None:
    record(store, "one", {"micro-rte": ALIKE})
    (line,) = lines(store)
    p = f_oneway(*ALIKE.values()).pvalue
    assert f"in 1 earlier experiment of this store (p of an analysis of variance {p:.2f})" in line


@pytest.mark.parametrize(
    ("arms", "number"),
    [
        (APART, 0),
        ({"a": [0.5, 0.5], "b": [0.7, 0.7]}, 0),
        ({"a": [0.5, 0.5], "b": [0.5, 0.5]}, 1),
        ({"a": [0.6, 0.7]}, 0),
        ({"a": [0.6, 0.7], "b": [0.6]}, 0),
        ({"a": [0.6], "b": [0.9]}, 0),
        ({**ALIKE, "majority": [0.2, 0.2, 0.2]}, 1),
        ({**ALIKE, "single": [0.99]}, 1),
        ({**ALIKE, "other": [0.99, 0.98]}, 0),
    ],
)
def test_what_counts(store: Store, arms: Arms, number: int) -> None:
    record(store, "one", {"micro-rte": arms}, families={"majority": "majority"})
    assert len(lines(store)) == number
    if arms.get("b") == [0.5, 0.5]:
        assert "(all seeds of all arms have equal scores)" in lines(store)[0]


def test_other_suites_count_with_shipped_tasks_alone(store: Store) -> None:
    record(store, "one", {"micro-rte": ALIKE}, suite="micro-glue-v2")
    assert len(lines(store)) == 1
    own = [COLUMNS[0].model_copy(update={"name": "mine", "task": "mine"})]
    record(store, "two", {"mine": ALIKE}, suite="theirs")
    earlier = recorded_experiments(store)
    assert not list(unseparated_columns("ours", own, earlier))
    assert len(list(unseparated_columns("theirs", own, earlier))) == 1


def test_an_empty_store_says_nothing(store: Store) -> None:
    assert lines(store) == []


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2, 5)])
def test_separation_is_that_of_scipy(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    arms = [60 + rng.standard_normal(size) for size in sizes]
    assert separation(arms) == pytest.approx(f_oneway(*arms).pvalue)
    assert separation([np.full(3, 52.7), np.full(3, 52.7)]) is None
    assert separation([np.full(3, 52.7), np.full(3, 52.8)]) == 0


def test_plan_and_study_warn_of_earlier_experiments(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "planned.yaml"
    path.write_text(yaml.safe_dump(EXPERIMENT))

    def printed() -> str:
        run = CliRunner().invoke(app, ["plan", str(path), "--store", str(store.root)])
        assert run.exit_code == 0, run.output
        return " ".join(run.output.split())

    assert "separated no arms" not in printed()
    record(store, "planned", {"micro-rte": ALIKE})  # its own report says it
    assert "separated no arms" not in printed()
    record(store, "one", {"micro-rte": ALIKE, "micro-sst2": APART})
    assert "warning: RTE separated no arms in 1 earlier experiment of this store" in printed()
    assert "SST-2 separated" not in printed()
    study = harness.declare(EXPERIMENT, store=store.root)
    assert len([line for line in study.warnings if "separated no arms" in line]) == 1


def test_planning_beside_a_store_loads_no_torch_and_no_slow_statistics(store: Store) -> None:
    record(store, "one", {"micro-rte": ALIKE})
    path = store.root.parent / "planned.yaml"
    path.write_text(yaml.safe_dump(EXPERIMENT))
    code = (
        f"import sys\nfrom harness.cli.app import app\n"
        f"app(['plan', {str(path)!r}, '--store', {str(store.root)!r}], standalone_mode=False)\n"
        f"slow = ('torch', 'transformers', 'datasets', 'scipy.stats', 'scipy.integrate')\n"
        f"print(*[name for name in slow if name in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "separated no arms" in run.stdout and run.stderr.split() == []


@pytest.mark.parametrize("recipe", ["a", "b"])
@pytest.mark.parametrize("world", ["shared", "per_seed"])
def test_experiments_with_dependent_runs_say_nothing(store: Store, recipe: str, world: str) -> None:
    """Arms with the same checkpoints may differ clearly, seed by seed, with any p."""
    record(store, "one", {"micro-rte": ALIKE})
    (found,) = recorded_experiments(store)
    spec = {**found.spec, "experiment": {"seeds": {"world": world}}}
    spec["arms"]["b"]["pretrain"]["recipe"] = recipe
    found.__dict__["spec"] = spec
    said = list(unseparated_columns(SUITE, COLUMNS, [found]))
    assert bool(said) == (recipe == "b" and world == "shared")
