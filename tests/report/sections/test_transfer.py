"""Loss of pretraining against scores: which losses are comparable, and what is shown of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from harness.report.page import write_report
from harness.report.run_scores import seed_averages
from harness.report.sections.transfer import comparable, transfer_points, transfer_section
from tests.made_up_results import MadeUpResults

ARMS = {"good": 0.95, "fair": 0.8, "other": 0.7}
LOSSES = {"good": 2.0, "fair": 2.5, "other": 4.0}


@pytest.fixture
def data(fabricate: Callable[..., MadeUpResults]) -> MadeUpResults:
    """Three arms; the last has another objective."""
    objectives = {"good": "mlm", "fair": "mlm", "other": "clm"}
    steps = {"good": 9, "fair": 5, "other": 9}
    made = fabricate(ARMS, examples=200)
    rows = [
        (arm, seed, 60.0, LOSSES[arm] + seed / 100, np.nan) for arm in ARMS for seed in (0, 1, 2)
    ]
    columns = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
    return made.but(
        pretraining=pd.DataFrame(rows, columns=columns),
        differences={"pretrain.objective.transform": objectives, "pretrain.budget.steps": steps},
    )


def test_losses_of_different_objectives_are_kept_apart(data: MadeUpResults) -> None:
    assert comparable(data) == [["good", "fair"], ["other"]]
    lists = {arm: [1, 2] for arm in ARMS}  # values that cannot be hashed
    assert len(comparable(data.but(differences={"pretrain.packing.x": lists}))) == 1


def test_points_pair_each_pretraining_with_its_own_average(data: MadeUpResults) -> None:
    points = transfer_points(data)
    assert set(points["arm"]) == {"good", "fair"}  # nothing is comparable with the third
    averages = seed_averages(data).set_index(["arm", "pretrain_seed"])["average"].to_dict()
    for _, arm, seed, loss, average in points.itertuples(index=False):
        assert loss == LOSSES[arm] + seed / 100
        assert average == averages[arm, seed]


def test_the_rank_correlation_needs_enough_runs(data: MadeUpResults) -> None:
    section = transfer_section(data)
    assert section is not None
    points = transfer_points(data)
    rank = spearmanr(points["loss"], points["average"])[0]
    assert f"over 6 pretraining runs is {rank:.2f}" in section.notes[1]
    few = transfer_section(
        data.but(pretraining=data.pretraining[data.pretraining["pretrain_seed"] < 2])
    )
    assert few is not None
    assert len(few.notes) == 1


def test_arms_of_one_pretraining_count_it_once(data: MadeUpResults) -> None:
    named = {arm: f"{arm}/low" for arm in ARMS}

    def and_twins(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([frame, frame.assign(arm=frame["arm"].map(named))])

    twins = data.but(
        arms=[*ARMS, *named.values()],
        scores=and_twins(data.scores),
        pretraining=and_twins(data.pretraining),
        costs=and_twins(data.costs),
        differences={
            path: {**of, **{named[arm]: value for arm, value in of.items()}}
            for path, of in data.plan.differences.items()
        },
    )
    points, alone = transfer_points(twins), transfer_points(data)
    pd.testing.assert_frame_equal(points.reset_index(drop=True), alone.reset_index(drop=True))


def test_what_was_not_pretrained_is_left_out(data: MadeUpResults) -> None:
    tokens = data.costs["tokens"].where(data.costs["arm"] != "fair", 0)
    assert transfer_section(data.but(costs=data.costs.assign(tokens=tokens))) is None
    unknown = data.costs["tokens"].where(data.costs["arm"] != "fair")  # a checkpoint of others
    assert transfer_section(data.but(costs=data.costs.assign(tokens=unknown))) is not None


def test_one_pretraining_has_nothing_to_compare(data: MadeUpResults) -> None:
    assert transfer_section(data.but(differences={"evaluate.adaptation": {"good": "full"}})) is None
    assert transfer_section(data.but(pretraining=data.pretraining.iloc[:0])) is None
    unknown = data.but(pretraining=data.pretraining.assign(loss=np.nan))
    assert transfer_section(unknown) is None


def test_both_formats_show_it(data: MadeUpResults, tmp_path: Path) -> None:
    write_report(data, tmp_path)
    assert (tmp_path / "transfer.svg").exists()
    assert "| good | 1 | 2.010 ± 0.010 |" in (tmp_path / "README.md").read_text()
    assert "Pretraining loss against scores" in (tmp_path / "index.html").read_text()
