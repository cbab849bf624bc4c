"""Trials of searches, read of the stages."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd

from harness.analysis.frames.trials import selected_trials, trials_frame
from harness.analysis.results import Results
from harness.finetuning.search.trials import WORST
from harness.plan.plan import FinetuneRun

TRIALS = {
    "first": [
        (0, 0.7, "complete", 1e-4),
        (1, 0.9, "complete", 2e-4),
        (2, 0.95, "pruned", 3e-4),  # after an epoch
        (3, 0.9, "complete", 4e-4),
        (4, -1e9, "diverged", 5e-4),
        (5, -1e9, "undefined", 6e-4),
    ],
    "second": [(0, -1e9, "diverged", 1e-4), (1, -1e9, "undefined", 2e-4)],
}
"""Search to number, hold-out score, state and learning rate of its trials."""


def searched(tmp_path: Path) -> Results:
    """Two searches of an arm, of which the first serves two pretraining seeds, and one that is not
    finished."""
    for key, rows in TRIALS.items():
        (tmp_path / key).mkdir()
        frame = pd.DataFrame(rows, columns=["trial", "value", "state", "learning_rate"])
        frame.assign(seconds=1.0, epochs_run=3).to_csv(tmp_path / key / "trials.csv", index=False)
    searches = [("a", 3, "first"), ("a", 4, "first"), ("b", 3, "second"), ("c", 3, "open")]
    runs = [FinetuneRun("x", task, seed, 0, f"{task}{seed}") for task, seed, _ in searches]
    parents = [{"tune": key} for *_, key in searches]
    stages = {run.key: SimpleNamespace(parents=of) for run, of in zip(runs, parents, strict=True)}
    stages |= {key: SimpleNamespace(spec={}) for *_, key in searches}
    plan: Any = SimpleNamespace(
        finetune_runs=runs, stages=stages, searched=["learning_rate", "rank"]
    )
    store = SimpleNamespace(files=lambda found: tmp_path / found.key)
    results = Results(plan, store=cast(Any, store))
    results.__dict__["plan"] = plan
    results.__dict__["finished"] = {key: SimpleNamespace(key=key) for key in TRIALS}
    return results


def test_every_trial_of_a_search_has_one_row(tmp_path: Path) -> None:
    frame = trials_frame(searched(tmp_path))
    found = frame[["task", "pretrain_seed", "trial"]].to_numpy().tolist()
    assert found == [["a", 3, n] for n in range(6)] + [["b", 3, n] for n in range(2)]
    scores = [0.7, 0.9, 0.95, 0.9, *[np.nan] * 4]
    np.testing.assert_array_equal(frame["value"], scores)
    assert frame["rank"].isna().all()  # of another adaptation


def test_the_first_of_the_best_whole_trials_is_selected(tmp_path: Path) -> None:
    found = selected_trials(searched(tmp_path)).set_index("task")
    assert found["learning_rate"].to_dict() == {"a": 2e-4, "b": 1e-4}
    assert found["value"].to_dict() == {"a": 0.9, "b": WORST}
