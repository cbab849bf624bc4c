"""Loss curves by tokens, FLOPs and hours, and their numbers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.leaderboard.cells import seeds_cell
from harness.report.page import write_report
from harness.report.sections.pretraining import (
    curve_points,
    loss_table,
    shared_runs,
    source_losses_table,
)
from tests.made_up_results import MadeUpResults


@pytest.fixture
def data(fabricate: Callable[..., MadeUpResults]) -> MadeUpResults:
    made = fabricate({"good": 0.9, "bad": 0.6})
    rows = [(arm, seed, 7200.0, 1.5 + seed, np.nan) for arm in made.arms for seed in range(3)]
    columns = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
    return made.but(pretraining=pd.DataFrame(rows, columns=columns))


def test_flops_and_hours_are_in_proportion_to_tokens(data: MadeUpResults) -> None:
    points = curve_points(data)
    one = points[(points["run"] == "bad") & (points["pretrain_seed"] == 2)]
    share = one["tokens"] / one["tokens"].max()
    assert one["flops"].to_numpy() == pytest.approx(3e12 * share)
    assert one["hours"].to_numpy() == pytest.approx(2 * share)


def test_arms_that_share_a_pretraining_are_one_run(data: MadeUpResults) -> None:
    assert shared_runs(data) == {"good": ["good"], "bad": ["bad"]}
    same = data.but(differences={"evaluate.adaptation": {"good": "full", "bad": "lora"}})
    assert shared_runs(same) == {"all arms": ["good", "bad"]}
    assert curve_points(same)["run"].unique().tolist() == ["all arms"]
    arms = ["a", "b", "c", "d", "e"]
    recipes = {arm: "scratch" if arm == "e" else "bert" for arm in arms}
    several = data.but(arms=arms, differences={"pretrain.recipe": recipes})
    assert shared_runs(several) == {"a and 3 more": arms[:4], "e": ["e"]}


def test_the_table_has_losses_along_the_way_and_at_the_end(data: MadeUpResults) -> None:
    grid = loss_table(data)
    assert list(grid.head) == ["arm", "25 %", "50 %", "75 %", "100 %", "held-out loss"]
    # 5 / steps + seed / 10, steps 100 to 500; the mean of seeds 0 to 2
    assert grid.rows[0][4] == "0.11 ± 0.10"
    assert grid.rows[0][5] == "2.500 ± 1.000"


def test_a_mean_of_few_or_unknown_values() -> None:
    assert seeds_cell([1.0, 2.0], "{:.2f}") == "1.50 ± 0.71"
    assert seeds_cell([1.0], "{:.2f}") == "1.00"
    assert seeds_cell([1.0, np.nan]) == seeds_cell([]) == "–"


def test_hours_are_only_in_the_section_on_cost(data: MadeUpResults, tmp_path: Path) -> None:
    write_report(data, tmp_path / "one")
    slower = data.pretraining.assign(seconds=9999.0)
    write_report(data.but(pretraining=slower), tmp_path / "two")
    one, two = ((tmp_path / name / "README.md").read_text() for name in ("one", "two"))
    assert one.partition("<b>Cost</b>")[0] == two.partition("<b>Cost</b>")[0]
    assert "(loss_hours.svg)" in one.partition("<b>Cost</b>")[2]
    one, two = ((tmp_path / name / "loss_hours.svg").read_text() for name in ("one", "two"))
    assert one != two


def test_a_run_without_a_step_has_no_curve(data: MadeUpResults) -> None:
    steps = data.curves[data.curves["arm"] == "good"].astype(object)
    grid = loss_table(data.but(curves=steps))
    assert grid.rows[1] == ["bad", "–", "–", "–", "–", "2.500 ± 1.000"]


def test_without_any_curve_there_is_no_section(data: MadeUpResults, tmp_path: Path) -> None:
    bare = data.but(curves=data.curves.iloc[:0], pretraining=data.pretraining.iloc[:0])
    write_report(bare, tmp_path)
    assert "Loss curves" not in (tmp_path / "README.md").read_text()


def test_losses_by_source_have_a_table(data: MadeUpResults, tmp_path: Path) -> None:
    assert not source_losses_table(data).rows
    rows = [("good", seed, name, 2.0 + seed) for seed in (0, 1) for name in ("news", "novels")]
    columns = ["arm", "pretrain_seed", "source", "loss"]
    mixed = data.but(sources=pd.DataFrame(rows, columns=columns))
    table = source_losses_table(mixed)
    assert table.head == ["arm", "news", "novels"]
    assert table.rows == [["good", *["2.500 ± 0.707"] * 2]]
    write_report(mixed, tmp_path)
    assert "Held-out loss by source of the text:" in (tmp_path / "README.md").read_text()
