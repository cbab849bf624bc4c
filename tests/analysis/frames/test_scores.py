"""Scores of runs and probes, read of the stages."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from harness.analysis.frames import scores
from harness.analysis.results import Results
from harness.plan.plan import ProbeRun
from harness.store.store import StageResult
from harness.tasks import TASKS
from harness.tasks.probes import PROBES
from harness.tasks.probes.probe import OVERALL, UNSUPPORTED_FILE


def test_the_main_score_is_that_of_the_first_metric_on_the_first_split() -> None:
    """MNLI has two splits, MRPC two metrics."""
    rows = [
        ("mnli", "validation_mismatched", "accuracy", 0.7),
        ("mnli", "validation_matched", "accuracy", 0.8),
        ("mrpc", "validation", "accuracy", 0.6),
        ("mrpc", "validation", "f1", 0.75),
    ]
    frame = pd.DataFrame(rows, columns=["task", "split", "metric", "value"])
    assert scores.main_scores(frame, TASKS)["value"].tolist() == [0.8, 0.75]
    assert scores.main_scores(frame.iloc[:0], TASKS).empty


def test_scores_are_those_of_the_splits_that_were_scored() -> None:
    """A metric that is undefined is NaN, on the splits that every mirror has if all are."""
    mrpc, mnli = TASKS["mrpc"], TASKS["mnli"]
    scored = StageResult("key", "finetune", "", {"validation/f1": 0.5, "seconds": 1.0}, "", "")
    known = {(split, metric): value for split, metric, value in scores._scores(scored, mrpc)}
    assert known.pop(("validation", "f1")) == 0.5
    assert list(known) == [("validation", "accuracy")]
    assert np.isnan(known["validation", "accuracy"])
    without = StageResult("key", "finetune", "", {"seconds": 1.0}, "", "")
    assert any(split.optional for split in mnli.evaluation)
    found = list(scores._scores(without, mnli))
    assert {split for split, *_ in found} == {"validation_matched", "validation_mismatched"}
    assert len(found) == 4 and np.isnan([value for *_, value in found]).all()


ITEMS = {
    "category": ["a", "a", "b", "b", "b"],
    "index": [0, 1, 0, 1, 2],
    "scores": [[-1.0, -2.0], [-3.0, -2.0, -2.5, -9.0], [0.0, 1.0], [2.0, 2.0], [5.0, 1.0, 0, 0]],
    "answer": [0, 1, 0, 0, 2],
}
"""Of a cloze test: by hand, right, right, wrong, one of two, wrong."""


def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """One run of a probe after half of the pretraining, and two seeds at its end, of which one is
    not finished."""
    cloze = next(one for one in PROBES.values() if one.kind == "cloze")
    monkeypatch.setitem(PROBES, "own", cloze.model_copy(update={"categories": ("a", "b", "c")}))
    pd.DataFrame(ITEMS).to_parquet(tmp_path / "items.parquet")
    plan: Any = SimpleNamespace(
        probe_runs=[
            ProbeRun("x", "own", 4, "half", 0.5),
            ProbeRun("x", "own", 4, "end"),
            ProbeRun("x", "own", 5, "unfinished"),
        ]
    )
    results = Results(plan, store=cast(Any, SimpleNamespace(files=lambda found: tmp_path)))
    results.__dict__["plan"] = plan
    results.__dict__["finished"] = {
        key: StageResult(key, "probe", "", {"a": score, "b": 1 / 6, OVERALL: 0.4}, "", "")
        for key, score in (("half", 0.5), ("end", 1.0))
    }
    return results


def test_probes_have_chance_by_category_and_checkpoints_have_their_own_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = probed(tmp_path, monkeypatch)
    ends = scores.probes_frame(results)
    assert ends["pretrain_seed"].tolist() == [4] * 4
    by_category = ends.set_index("category")
    assert list(by_category.index) == ["a", "b", "c", OVERALL]
    assert by_category["items"].tolist() == [2, 3, 0, 5]
    chances = [(1 / 2 + 1 / 4) / 2, (1 / 2 + 1 / 2 + 1 / 4) / 3, np.nan, PROBES["own"].chance]
    np.testing.assert_allclose(by_category["chance"], chances)
    np.testing.assert_allclose(by_category["score"], [1, 1 / 6, np.nan, 0.4])
    assert set(ends["unsupported_reason"]) == {""}
    half = scores.checkpoint_probes_frame(results)
    assert set(half["pretrain_fraction"]) == {0.5} and half["score"].iloc[0] == 0.5
    (tmp_path / UNSUPPORTED_FILE).write_text("it has no head")
    assert set(scores.probes_frame(results)["unsupported_reason"]) == {"it has no head"}


def test_items_of_probes_are_those_of_finished_networks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = scores.probe_items_frame(probed(tmp_path, monkeypatch))
    assert frame["value"].tolist() == [1, 1, 0, 0.5, 0]
    assert frame["pretrain_seed"].tolist() == [4] * 5
    assert frame[["category", "index"]].to_dict("list") == {
        name: ITEMS[name] for name in ("category", "index")
    }
