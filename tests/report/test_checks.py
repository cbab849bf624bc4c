"""What a report finds wrong with runs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.leaderboard import build, run_scores
from harness.report import ReportData, checks
from harness.report.threats import threats
from harness.results.runs import RUN_COLUMNS


def runs(*rows: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=RUN_COLUMNS)


def table_and_scores(data: ReportData) -> Any:
    table = build(data.results, data.suite, tasks=data.tasks, arms=data.arms)
    by_arm = {arm: data.results[data.results["arm"] == arm] for arm in data.arms}
    return table, {
        column.name: {
            arm: run_scores(rows, column).to_numpy(copy=True) for arm, rows in by_arm.items()
        }
        for column in table.columns
    }


def test_runs_at_chance_are_counted_and_arms_of_nothing_else_named(
    fabricate: Callable[..., ReportData],
) -> None:
    data = fabricate({"good": 0.95, "bad": 0.2, "majority": 0.2}, tasks=("sst2", "mrpc"))
    families = {"good": "bert", "bad": "bert", "majority": "majority"}
    data = replace(data, differences={"pretrain.model.family": families})
    counted, collapsed = checks.no_better_than_a_guess(data, *table_and_scores(data))
    assert counted.endswith("bad (12 of 12).")  # 2 tasks, 3 x 2 seeds; a baseline is no failure
    assert collapsed == "Collapsed, no run being better than a guess: bad."


def test_an_undefined_score_is_no_better_than_a_guess(
    fabricate: Callable[..., ReportData],
) -> None:
    data = fabricate({"good": 0.95}, tasks=("sst2",), seeds=(1, 2))
    table, scores = table_and_scores(data)
    scores["sst2"]["good"][0] = np.nan
    (counted,) = checks.no_better_than_a_guess(data, table, scores)
    assert counted.endswith("good (1 of 2).")


def test_truncated_inputs_by_task_in_per_cent(fabricate: Callable[..., ReportData]) -> None:
    rows = [
        *[("bert", "rte", 0, seed, True, share, False) for seed, share in ((0, 0.2), (1, 0.22))],
        ("gpt2", "rte", 0, 0, True, 0.34, False),
        ("bag_of_words", "rte", 0, 0, True, 0.0, False),
        ("bert", "sst2", 0, 0, True, 0.004, False),
        ("bert", "cola", 0, 0, True, np.nan, False),
    ]
    data = replace(fabricate({"bert": 0.9}), runs=runs(*rows))
    (sentence,) = checks.truncated(data)
    assert "rte 21 to 34 %." in sentence
    assert "sst2" not in sentence
    assert "cola" not in sentence


def test_runs_and_trials_that_diverged(fabricate: Callable[..., ReportData]) -> None:
    row = ("bert", "rte", 0, 0, True, 0.0)
    trials = pd.DataFrame({"arm": "gpt2", "task": "cola", "state": ["complete", "diverged"]})
    data = replace(fabricate({"bert": 0.9}), runs=runs((*row, True), (*row, False)), trials=trials)
    of_runs, of_trials = checks.diverged(data)
    assert of_runs == "Diverged, and scored as they stand: bert on rte (1)."
    assert of_trials == "Trials that diverged, and count as the worst: gpt2 on cola (1)."


def test_unequal_trials(fabricate: Callable[..., ReportData]) -> None:
    found = [("bert", "rte")] * 3 + [("gpt2", "rte")] * 2 + [("bert", "cola"), ("gpt2", "cola")]
    data = replace(fabricate({"bert": 0.9}), trials=pd.DataFrame(found, columns=["arm", "task"]))
    (sentence,) = checks.unequal_trials(data)
    assert sentence.startswith("Unequal trials on rte: bert 3, gpt2 2.")


def test_seeds_that_a_task_lacks_are_left_out(fabricate: Callable[..., ReportData]) -> None:
    data = fabricate({"good": 0.9, "bad": 0.6}, seeds=(3, 1))
    assert [*checks.excluded_seeds(data)] == []
    keys = data.results["key"]
    lacking = data.results[~keys.isin(["good-sst2-1-0", "good-mrpc-1-0"])]
    (sentence,) = checks.excluded_seeds(replace(data, results=lacking))
    assert sentence.startswith("Pretraining seed 1 of good is left out")
    assert sentence.endswith("no score on mrpc and sst2.")
    fewer = data.results[(data.results["arm"] == "good") | (data.results["pretrain_seed"] < 2)]
    (sentence,) = checks.excluded_seeds(replace(data, results=fewer))
    assert sentence == "Fewer pretraining seeds than the 3 of other arms: bad 2."


@pytest.mark.parametrize("known", [True, False])
def test_what_was_looked_for_and_not_found_is_said_where_it_can_be_known(
    fabricate: Callable[..., ReportData], known: bool
) -> None:
    data = fabricate({"good": 0.95})
    if known:
        data = replace(data, runs=runs(("good", "sst2", 0, 0, True, 0.0, False)))
    *_, last = threats(data, table_and_scores(data)[0], (), table_and_scores(data)[1])
    assert last.startswith("Looked for, and not found: missing scores, ")
    assert ("truncated inputs" in last) == known
    assert "unequal trials" not in last


def test_one_answer_is_right_where_every_example_has_one_label(
    fabricate: Callable[..., ReportData],
) -> None:
    data = fabricate({"good": 0.95}, tasks=("sst2",), seeds=(1, 1))
    table, scores = table_and_scores(data)
    for label, said in ((1.0, True), (None, False)):
        alike = {"label": 1.0} if label else {}

        def stuck(key: str, alike: dict[str, float] = alike) -> pd.DataFrame:
            return data.predictions(key).assign(prediction=1.0, **alike)

        found = " ".join(threats(replace(data, predictions=stuck), table, (), scores))
        assert ("has the same label" in found) == said
        assert ("learned nothing of the task" in found) != said
