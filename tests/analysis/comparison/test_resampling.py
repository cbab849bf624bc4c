"""The runs of arms on the same resampled examples: which are taken, and which are refused."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from harness.analysis.comparison.resampling import arm_runs
from harness.leaderboard.build import experiment_comparer
from tests.made_up_results import MadeUpResults, table_of

Fabricate = Callable[..., MadeUpResults]


@pytest.fixture(scope="module")
def data(fabricate: Fabricate) -> MadeUpResults:
    return fabricate({"a": 0.9, "b": 0.7}, tasks=("sst2", "stsb"), seeds=(2, 1))


def taken(
    data: MadeUpResults, digest: Callable[[str, str], int], by_seed: bool
) -> Mapping[str, object]:
    """The runs, where `digest` gives that of the labels of an arm and a seed."""

    def counts(key: str) -> dict[str, np.ndarray]:
        arm, _, seed, _ = key.split("-")
        return {**data.counts(key), "validation/labels": np.array([digest(arm, seed)])}

    frame, layout = data.scores, table_of(data).layout
    return arm_runs(["a", "b"], frame, counts, layout, examples_by_seed=by_seed)


def test_examples_are_those_of_all_runs_or_those_of_a_seed(data: MadeUpResults) -> None:
    """Of a fixed world all seeds have the same ones; else a paired test would be of other tests."""

    def of_seed(arm: str, seed: str) -> int:
        return int(seed)

    def of_arm(arm: str, seed: str) -> int:
        return ord(arm)

    assert taken(data, lambda *_: 0, by_seed=False).keys() == {"a", "b"}
    assert taken(data, of_seed, by_seed=True).keys() == {"a", "b"}
    for digest, by_seed in ((of_seed, False), (of_arm, False), (of_arm, True)):
        with pytest.raises(ValueError, match="must be scored on the same examples, but"):
            taken(data, digest, by_seed)


def test_an_undefined_score_leaves_its_arm_out(data: MadeUpResults) -> None:
    """As it leaves its cell empty: counts of a constant would give a correlation of 0."""
    scores = data.scores
    lost = (scores["arm"] == "a") & (scores["task"] == "stsb") & (scores["pretrain_seed"] == 1)
    undefined = data.but(scores=scores.assign(value=scores["value"].mask(lost)))
    table = table_of(undefined)
    found = experiment_comparer(undefined, table)("a", "b")
    assert found["sst2"] is not None
    assert found["stsb"] is None and found["average"] is None
    row = next(row for row in table.rows if row.name == "a")
    assert row.average is None
