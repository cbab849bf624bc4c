"""The section on the search: curves of random trials alone, settings, importance or why not."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.analysis.frames.trials import selected_trials
from harness.finetuning.search.edges import at_edge
from harness.finetuning.search.optuna_search import point
from harness.finetuning.search.space import Range
from harness.finetuning.search.sweep import Sweep
from harness.report.page import write_report
from harness.report.search_edges import (
    EDGE_NOTE,
    can_be_inside_finetuning,
    edges_of_finetuning,
)
from harness.report.sections.search import (
    chosen_section,
    chosen_table,
    importance_table,
    search_curves,
    search_section,
    search_table,
    trials_table,
)

SPACE = {"learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}, "epochs": [1, 2, 3]}


def searched(sampler: str = "random", trials: int = 9) -> dict[str, object]:
    """Trials whose score grows with the epochs alone; the first of each search diverged."""
    sweep = Sweep.read({"trials": trials, "sampler": sampler, "space": SPACE})
    rows = []
    for arm, task in [(arm, task) for arm in ("good", "bad") for task in ("sst2", "mrpc")]:
        for number in range(trials):
            params = point(sweep, number)
            value = int(params["epochs"]) / 10 + (0.5 if arm == "good" else 0)
            state = "complete" if number else "diverged"
            score = value if number else np.nan
            row = {"arm": arm, "task": task, "pretrain_seed": 0, "trial": number, "value": score}
            rows.append({**row, "state": state, "seconds": 1.0, "reached": 3, **params})
    return {"trials": pd.DataFrame(rows), "sweep": sweep}


def test_curves_of_random_trials(fabricate) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6}, **searched())
    curves = search_curves(data)
    assert len(curves) == 18
    trials = data.trials.query("arm == 'good' and task == 'sst2'")
    first = 100 * trials["value"].fillna(0).mean()
    means = curves.query("arm == 'good'")["mean"].to_numpy()
    assert means[0] == pytest.approx(first) and (np.diff(means) >= 0).all()
    assert search_table(data).head == ["arm", "1", "2", "4", "8", "9"]


def test_settings_and_importance(fabricate) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6}, **searched(trials=20))
    grid = trials_table(data)
    assert [row[:6] for row in grid.rows][:2] == [
        ["good", "sst2", "20", "1", "0", "0"],
        ["good", "mrpc", "20", "1", "0", "0"],
    ]
    assert grid.rows[0][-1] == "80.0"
    chosen = chosen_table(data)
    assert list(chosen.head) == ["arm", "hyperparameter", "sst2", "mrpc"]
    assert [row[:2] for row in chosen.rows] == [
        [arm, name] for arm in ("good", "bad") for name in ("learning_rate", "epochs")
    ]
    assert chosen.rows[1][2:] == ["3*", "3*"]  # the most of three
    shares = importance_table(data).rows[0]
    assert float(shares[-1]) > float(shares[-2])


def test_settings_on_the_edge_are_named(fabricate, tmp_path: Path) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6}, **searched(trials=20))
    (sentence,) = edges_of_finetuning(data)
    assert "good epochs in 2 of 2 searches, " in sentence
    assert "bad epochs in 2 of 2 searches" in sentence
    chosen = selected_trials(data).query("arm == 'good'")["learning_rate"]
    tried = Range.model_validate(SPACE["learning_rate"])
    on_edge = [at_edge(tried, rate) for rate in chosen]
    assert (f"good learning_rate in {sum(on_edge)} of 2" in sentence) == any(on_edge)
    section = chosen_section(data)
    assert section and section.notes[-1] == EDGE_NOTE
    write_report(data, tmp_path)
    assert sentence in (tmp_path / "README.md").read_text()


def test_two_choices_have_no_edge(fabricate) -> None:
    given = searched()
    two = {"trials": 9, "sampler": "random", "space": {"epochs": [2, 3]}}
    data = fabricate({"good": 0.9, "bad": 0.6}, **{**given, "sweep": Sweep.read(two)})
    section = chosen_section(data)
    assert section and EDGE_NOTE not in section.notes
    assert not can_be_inside_finetuning(data) and not [*edges_of_finetuning(data)]


def test_few_trials_have_a_reason(fabricate) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6}, **searched(trials=3))
    rows = importance_table(data).rows
    assert all("at least 8 complete trials" in row[-1] for row in rows)


def test_trials_that_are_not_drawn_at_random_have_no_curve(fabricate, tmp_path: Path) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6}, **searched())
    learned = Sweep.read({**json.loads(data.experiment.sweep.model_dump_json()), "sampler": "tpe"})
    other = fabricate({"good": 0.9, "bad": 0.6}, trials=data.trials, sweep=learned)
    assert search_curves(other).empty and not search_table(other).rows
    write_report(other, tmp_path)
    assert "does not draw trials independently" in (tmp_path / "README.md").read_text()
    assert not (tmp_path / "search.svg").exists()


def test_the_report_has_the_section_only_where_there_was_a_search(
    fabricate, tmp_path: Path
) -> None:
    write_report(fabricate({"good": 0.9, "bad": 0.6}, **searched()), tmp_path / "with")
    write_report(fabricate({"good": 0.9, "bad": 0.6}), tmp_path / "without")
    for name in ("README.md", "index.html"):
        assert "Importance of each hyperparameter" in (tmp_path / "with" / name).read_text()
        assert "Chosen settings" not in (tmp_path / "without" / name).read_text()
    assert (tmp_path / "with/search.svg").exists()


def test_one_setting_has_no_share_of_importance(fabricate) -> None:
    given = searched()
    alone = Sweep.read({"trials": 9, "sampler": "random", "space": {"epochs": SPACE["epochs"]}})
    data = fabricate({"good": 0.9, "bad": 0.6}, **{**given, "sweep": alone})
    section = search_section(data)
    assert section and not any("mportance" in text for text in [*section.notes, *section.tables])
    assert section.notes[0].endswith("large n. A trial without a score counts as 0.")


def test_searches_of_several_seeds_are_listed_together(fabricate) -> None:
    given = searched(trials=8)
    trials = given["trials"]
    assert isinstance(trials, pd.DataFrame)
    other = trials.assign(pretrain_seed=1, learning_rate=trials["learning_rate"] / 2)
    other["value"] -= 0.1
    both = pd.concat([trials, other], ignore_index=True)
    data = fabricate({"good": 0.9, "bad": 0.6}, **{**given, "trials": both})
    assert trials_table(data).rows[0] == ["good", "sst2", "16", "2", "0", "0", "75.0"]
    rates, epochs = chosen_table(data).rows[:2]
    low, high = sorted(float(rate.rstrip("*")) for rate in rates[2].split(", "))
    assert low == pytest.approx(high / 2, rel=0.01) and epochs[2] == "3*"
    assert search_curves(data)["trials"].max() == 8
