"""Probes on resampled items."""

import numpy as np
import pandas as pd
import pytest

from harness.analysis.comparison.differences import Outcome
from harness.analysis.comparison.probes import probe_runs
from harness.analysis.comparison.resampling import REPLICATES
from harness.analysis.frames.scores import PROBE_ITEM_COLUMNS
from harness.tasks.probes import PROBES
from harness.tasks.probes.columns import probe_columns

SIZES = {"a": 40, "b": 10}
"""Category to its number of items."""


def items(skills: dict[str, float], num_seeds: int = 3) -> pd.DataFrame:
    """The values of random answers, of which a share is correct."""
    rng = np.random.default_rng(0)
    rows = [
        (arm, "blimp", category, index, seed, float(rng.random() < skill))
        for arm, skill in skills.items()
        for seed in range(num_seeds)
        for category, size in SIZES.items()
        for index in range(size)
    ]
    return pd.DataFrame(rows, columns=PROBE_ITEM_COLUMNS)


def test_a_column_for_the_mean_and_for_each_category() -> None:
    columns = probe_columns(["micro-blimp"])
    names = PROBES["micro-blimp"].categories
    assert list(columns) == ["micro-blimp", *(f"micro-blimp/{name}" for name in names)]
    assert {one.task for one in columns.values()} == {"micro-blimp"}


def test_the_observed_scores_are_means_over_categories() -> None:
    frame = items({"good": 0.9, "bad": 0.5})
    means = frame.groupby(["arm", "pretrain_seed", "category"])["value"].mean()
    runs = probe_runs(frame, ["good", "bad", "absent"])
    for arm in ("good", "bad"):
        scores, of_arm = runs[arm]["blimp"].scores, means[arm]
        assert scores["a/accuracy"][0] == pytest.approx(of_arm[:, "a"].to_numpy())
        overall = (of_arm[:, "a"] + of_arm[:, "b"]).to_numpy() / 2
        assert scores["overall/accuracy"][0] == pytest.approx(overall)
        assert scores["overall/accuracy"].shape == (1 + REPLICATES, 3)
    assert runs["absent"] == {}


def test_the_spread_of_resamples_is_the_standard_error_of_the_mean_over_categories() -> None:
    frame = items({"one": 0.7}, num_seeds=1)
    scores = probe_runs(frame, ["one"])["one"]["blimp"].scores["overall/accuracy"][1:, 0]
    variances = frame.groupby("category")["value"].var(ddof=0)
    expected = np.sqrt(sum(variances[name] / size for name, size in SIZES.items())) / 2
    assert scores.std() == pytest.approx(expected, rel=0.1)


def test_the_order_of_the_rows_does_not_matter() -> None:
    frame = items({"good": 0.9, "bad": 0.5})
    shuffled = frame.sample(frac=1, random_state=0)
    one, other = (probe_runs(rows, ["good", "bad"]) for rows in (frame, shuffled))
    for arm in ("good", "bad"):
        ours, theirs = one[arm]["blimp"], other[arm]["blimp"]
        by_seed = np.argsort(theirs.pretrain_seeds)
        for cell, values in ours.scores.items():
            assert np.array_equal(values, theirs.scores[cell][:, by_seed])


def test_arms_compare_with_an_interval_over_seeds_and_items() -> None:
    frame = items({"good": 0.9, "bad": 0.5})
    column = probe_columns(["blimp"])["blimp"].model_copy(update={"split": "overall"})
    runs = probe_runs(frame, ["good", "bad"])
    found = Outcome(runs, [(column,)], lambda *_: False).contrast({"good": 1, "bad": -1})
    means = frame.groupby(["arm", "pretrain_seed", "category"])["value"].mean()
    by_arm = means.groupby("arm").mean()
    assert found is not None and found.num_seeds == 3
    assert found.estimate == pytest.approx(100 * (by_arm["good"] - by_arm["bad"]))
    assert 0 < found.low < found.estimate < found.high
    assert Outcome(runs, [(column,)], lambda *_: False).contrast({"good": 1, "absent": -1}) is None


def test_categories_have_equal_weight_however_many_they_are() -> None:
    rows = [("one", "blimp", name, 0, 0, value) for name, value in {"a": 1, "b": 1, "c": 0}.items()]
    frame = pd.DataFrame(rows, columns=PROBE_ITEM_COLUMNS)
    scores = probe_runs(frame, ["one"])["one"]["blimp"].scores["overall/accuracy"]
    assert scores == pytest.approx(np.full((1 + REPLICATES, 1), 2 / 3))


def test_one_network_without_a_score_leaves_its_arm_out() -> None:
    frame = items({"good": 0.9, "bad": 0.5})
    lost = (frame["arm"] == "bad") & (frame["pretrain_seed"] == 1) & (frame["index"] == 3)
    runs = probe_runs(frame.assign(value=frame["value"].mask(lost)), ["good", "bad"])
    assert runs["bad"] == {} and runs["good"].keys() == {"blimp"}


def test_models_without_scores_are_left_out_and_other_items_refused() -> None:
    frame = items({"good": 0.9, "bad": 0.5})
    undefined = frame["value"].where(frame["arm"] != "bad")
    runs = probe_runs(frame.assign(value=undefined), ["good", "bad"])
    assert runs["bad"] == {} and runs["good"].keys() == {"blimp"}
    with pytest.raises(ValueError, match="the same items, but those of blimp are not"):
        probe_runs(frame.iloc[:-1], ["good", "bad"])
    assert probe_runs(frame.iloc[:0], ["good"]) == {"good": {}}
