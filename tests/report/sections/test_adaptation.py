"""Cost and effects of adaptation, in both formats of the report."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from harness.analysis.frames.adaptation import RETAINED_COLUMNS, adaptation_costs_frame
from harness.analysis.frames.forgetting import average_forgetting, forgetting_scores
from harness.analysis.frames.scores import sequential_scores_frame
from harness.analysis.results import Results
from harness.plan.plan import FinetuneRun
from harness.report.page import write_report
from harness.report.sections.adaptation import forgetting_section
from harness.report.sections.adaptation_tables import (
    changed_words_table,
    cost_table,
    count_points,
    count_table,
    layer_means,
    retained_table,
)
from harness.tasks import TASKS
from tests.made_up_results import MadeUpResults

Fabricate = Callable[..., MadeUpResults]
TITLES = (
    "Cost of adaptation",
    "Scores by number of labelled examples",
    "Effect of fine-tuning by layer",
    "Forgetting",
)
HOSTILE = "<script>x</script>"


def costs(arms: list[str], **more: float) -> pd.DataFrame:
    known = {"trained_parameters": 500.0, "stored_bytes": 2.0**20, "peak_memory_bytes": 3 * 2.0**20}
    return pd.DataFrame(
        [
            {"arm": arm, "task": task, "pretrain_seed": 0, "finetune_seed": 0, "seconds": 1.0,
             "updates": 342.0, **known, **more}
            for arm in arms
            for task in ("sst2", "mrpc")
        ]
    )  # fmt: skip


def records(arms: list[str]) -> pd.DataFrame:
    rows = [
        (arm, task, 0, 0, record, layer, "", value + place, None)
        for arm in arms
        for task, value in (("sst2", 0.1), ("mrpc", 0.3))
        for record in ("weight_change", "similarity", "gradient_norms", "effective_rank")
        for place, layer in enumerate(["embeddings", "layer 1", "layer 2", "head"])
    ]
    seeds = ["pretrain_seed", "finetune_seed"]
    columns = ["arm", "task", *seeds, "record", "layer", "name", "value", "step"]
    return pd.DataFrame(rows, columns=columns)


def sequence(arms: list[str]) -> pd.DataFrame:
    """sst2 falls from 0.9 over 0.7 to 0.6, mrpc from 0.8 to 0.7; stsb is the last."""
    scores = [
        ("sst2", {"sst2": 0.9}),
        ("mrpc", {"sst2": 0.7, "mrpc": 0.8}),
        ("stsb", {"sst2": 0.6, "mrpc": 0.7, "stsb": 0.5}),
    ]
    rows = [
        (arm, seed, 0, step, task, "validation", TASKS[task].metrics[0], value + seed / 100)
        for arm in arms
        for seed in (-1, 1)
        for step, found in scores
        for task, value in found.items()
    ]
    columns = "arm pretrain_seed finetune_seed after_task task split metric value".split()
    return pd.DataFrame(rows, columns=columns)


def retained(arms: list[str]) -> pd.DataFrame:
    rows = [
        (arm, seed, 0, step, loss + seed / 10)
        for arm in arms
        for seed in (-1, 1)
        for step, loss in (("", 2.0), ("sst2", 2.5), ("mrpc", 4.0))
    ]
    return pd.DataFrame(rows, columns=RETAINED_COLUMNS)


def full(fabricate: Fabricate, name: str = "lora", **more: Any) -> MadeUpResults:
    arms = [f"{name}/64", f"{name}/1000", "full/64", "full/1000"]
    made = fabricate(dict(zip(arms, (0.7, 0.8, 0.6, 0.9), strict=True)), examples=60, **more)
    return made.but(
        adaptation_costs=costs(arms),
        trained=dict.fromkeys(arms[:2], 500.0) | dict.fromkeys(arms[2:], 10100.0),
        label_counts={
            arm: (rest, count)
            for arm, (rest, count) in zip(
                arms, [(name, 64), (name, 1000), ("full", 64), ("full", 1000)], strict=True
            )
        },
        diagnostics=records(arms),
        sequential=sequence(arms[:1]),
        retained=retained(arms[:1]),
    )


def test_both_formats_show_all_sections_deterministically(
    fabricate: Fabricate, tmp_path: Path
) -> None:
    data = full(fabricate)
    write_report(data, tmp_path / "one")
    write_report(data, tmp_path / "two")
    for name in ("README.md", "index.html"):
        text = (tmp_path / "one" / name).read_text()
        assert all(title in text for title in TITLES)
        assert text == (tmp_path / "two" / name).read_text()
    for name in ("label_counts.svg", "layers.svg", "forgetting.svg"):
        assert name in (tmp_path / "one/README.md").read_text()
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        assert "<image" not in (tmp_path / "one" / name).read_text()  # lines alone


def test_sections_without_results_are_left_out(fabricate: Fabricate, tmp_path: Path) -> None:
    write_report(fabricate({"good": 0.9}, examples=60), tmp_path)
    for name in ("README.md", "index.html"):
        assert not any(title in (tmp_path / name).read_text() for title in TITLES)
    assert not (tmp_path / "layers.svg").exists()


def test_names_stay_text(fabricate: Fabricate, tmp_path: Path) -> None:
    write_report(full(fabricate, HOSTILE), tmp_path)
    assert HOSTILE not in (tmp_path / "index.html").read_text()
    assert HOSTILE not in (tmp_path / "README.md").read_text()


def test_costs_by_hand(fabricate: Fabricate) -> None:
    data = fabricate({"good": 0.9, "old": 0.8}).but(adaptation_costs=costs(["good"]))
    assert cost_table(data).rows == [
        ["good", "500", "342", "3.0", "1,024.0"],
        ["old", "–", "–", "–", "–"],
    ]
    unknown = dict.fromkeys(["trained_parameters", "stored_bytes", "peak_memory_bytes"], np.nan)
    assert not cost_table(data.but(adaptation_costs=costs(["good"], **unknown))).rows


def test_points_of_label_counts_are_the_scores(fabricate: Fabricate) -> None:
    data = full(fabricate)
    points = count_points(data)
    assert len(points) == 4 * 3 * 4  # arms x pretraining seeds x (columns, average)
    one = points[
        (points["arm"] == "lora") & (points["labels"] == 64) & (points["column"] == "sst2")
    ]
    runs = data.scores[(data.scores["arm"] == "lora/64") & (data.scores["task"] == "sst2")]
    seeds = runs.groupby("pretrain_seed")["value"].mean()
    assert list(one["score"]) == pytest.approx(list(100 * seeds))
    grid = count_table(points)
    assert list(grid.head) == ["arm", "column", "64", "1,000"]
    assert [row[:2] for row in grid.rows[:2]] == [["lora", "average"], ["full", "average"]]
    mean, spread = one["score"].mean(), one["score"].std()
    assert [f"{mean:.1f} ± {spread:.1f}"] == [row[2] for row in grid.rows if row[1] == "sst2"][:1]


def test_layers_are_means_over_tasks(fabricate: Fabricate) -> None:
    means = layer_means(full(fabricate), "weight_change")
    assert list(means.columns) == ["embeddings", "layer 1", "layer 2", "head"]
    assert list(means.loc["full/64"]) == pytest.approx([0.2, 1.2, 2.2, 3.2])


def test_changed_words_have_a_row_per_arm_and_task(fabricate: Fabricate) -> None:
    rows = [
        ("full/64", task, seed, 0, "changed_words", "", name, value + 0.1 * seed, None)
        for task in ("mrpc", "rte")
        for seed in (0, 1)
        for name, value in (("strongest", 0.5), ("chance", 0.25))
    ]
    data = full(fabricate)
    assert changed_words_table(data).rows == []
    frame = pd.DataFrame(rows, columns=records([]).columns)
    table = changed_words_table(data.but(diagnostics=frame))
    assert table.rows == [["full/64", task, "55.0 ± 7.1", "30.0 ± 7.1"] for task in ("mrpc", "rte")]


def test_retained_losses_have_a_row_per_arm(fabricate: Fabricate) -> None:
    table = retained_table(full(fabricate))
    assert table.head == ["arm", "before any task", "after sst2", "after mrpc"]
    assert table.rows == [["lora/64", "2.000", "2.500", "4.000"]]


def test_forgetting_by_hand(fabricate: Fabricate) -> None:
    scores = forgetting_scores(full(fabricate), TASKS)["lora/64"]
    nan = np.nan
    expected = np.array([[90, 70, 60], [nan, 80, 70], [nan, nan, 50]])
    np.testing.assert_allclose(scores.to_numpy(), expected)
    assert average_forgetting(scores) == pytest.approx((30 + 10) / 2)
    assert np.isnan(average_forgetting(scores.iloc[:1, :1]))


def test_forgetting_of_a_run_without_a_score_is_a_dash(fabricate: Fabricate) -> None:
    results = full(fabricate)
    scores = results.get(sequential_scores_frame)
    lost = (scores["task"] != scores["after_task"]) & (scores["task"] == scores["task"].iloc[0])
    known = scores["value"].mask(lost)
    section = forgetting_section(results.but(sequential=scores.assign(value=known)))
    assert section and "lora/64, average forgetting – points" in section.tables


def results_of(
    runs: dict[tuple[str, str], str],
    parents: dict[str, dict[str, str]],
    metrics: dict[str, dict[str, float]],
) -> Results:
    """Results of one seed: arm and task to the key of its stage, key to the keys it builds on, and
    to its metrics."""
    finetune_runs = [FinetuneRun(arm, task, 0, 0, key) for (arm, task), key in runs.items()]
    keys = {run.key for run in finetune_runs} | parents.keys()
    keys |= {key for of in parents.values() for key in of.values()}
    stages = {key: SimpleNamespace(parents=parents.get(key, {})) for key in keys}
    plan: Any = SimpleNamespace(finetune_runs=finetune_runs, stages=stages)
    results = Results(plan, store=cast(Any, None))
    results.__dict__["finished"] = {
        key: SimpleNamespace(key=key, metrics=found) for key, found in metrics.items()
    }
    return results


def test_costs_of_separate_stages_are_shared_by_their_tasks() -> None:
    """Two tasks alone, together, one after the other, and the second after the first."""
    arms = {"alone": "aa", "together": "tt", "row": "rr", "first": "af"}
    runs = {
        (arm, task): f"{kind}_{task}"
        for arm, kinds in arms.items()
        for task, kind in zip(("one", "two"), kinds, strict=True)
    }
    joint = {"body": "joint", "head": "joint"}
    parents = {
        "t_one": joint,
        "t_two": joint,
        "f_two": {"body": "before"},
        "r_one": {"body": "second", "head": "first"},
        "second": {"body": "first"},
        "r_two": {"body": "second", "head": "second"},
    }
    own = {"trained_parameters": 7.0, "stored_bytes": 4.0, "peak_memory_bytes": 9.0}
    scored = {"steps": 0.0, "seconds": 1.0}
    metrics = dict(
        **{key: {"steps": 10.0, "seconds": 5.0, **own} for key in ("a_one", "a_two", "f_two")},
        **{key: {"steps": 10.0, "seconds": 5.0} for key in ("first", "second", "before")},
        **dict.fromkeys(("t_one", "t_two", "r_one", "r_two"), scored),
        joint={"steps": 20.0, "seconds": 8.0, **own},
    )
    frame = adaptation_costs_frame(results_of(runs, parents, metrics))
    means = frame.groupby("arm").mean(numeric_only=True)
    assert means["updates"].to_dict() == {"alone": 10, "first": 15, "row": 10, "together": 10}
    assert means["trained_parameters"].fillna(-1).to_dict() == {
        "alone": 7,
        "first": 7,
        "together": 7,
        "row": -1,
    }
    assert means["seconds"].to_dict() == {"alone": 5, "first": 5, "row": 5, "together": 8}


def test_a_baseline_keeps_nothing(fabricate: Fabricate) -> None:
    nothing = {"trained_parameters": 0.0, "stored_bytes": np.nan, "peak_memory_bytes": np.nan}
    both = pd.concat([costs(["good"]), costs(["guess"], updates=0, **nothing)])
    data = fabricate({"good": 0.9, "guess": 0.3}).but(adaptation_costs=both)
    assert cost_table(data).rows[1] == ["guess", "0", "0", "–", "–"]
