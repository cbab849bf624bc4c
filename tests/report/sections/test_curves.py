"""Learning curves: averages of weights along the way, beside those of the end."""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from harness.report.figures.pretraining import learning_curves, task_curves
from harness.report.figures.style import arm_style
from harness.report.page import write_report
from harness.report.sections.curves import learning_points, learning_table, task_points
from tests.made_up_results import MadeUpResults


@pytest.fixture
def data(fabricate: Callable[..., MadeUpResults]) -> MadeUpResults:
    made = fabricate({"good": 0.9, "bad": 0.6})
    half = made.scores.assign(value=made.scores["value"] - 0.1, pretrain_fraction=0.5)
    tenth = made.scores.assign(value=made.scores["value"] - 0.2, pretrain_fraction=0.1)
    return made.but(checkpoints=pd.concat([tenth, half], ignore_index=True))


def test_points_by_hand(data: MadeUpResults) -> None:
    points = learning_points(data)
    assert len(points) == 2 * 3 * 3  # arms x seeds x shares, the end among them
    one = points[(points["arm"] == "good") & (points["pretrain_seed"] == 0)]
    end, half, tenth = (one[one["pretrain_fraction"] == share].iloc[0] for share in (1.0, 0.5, 0.1))
    assert half["average"] == pytest.approx(end["average"] - 10)
    assert tenth["average"] == pytest.approx(end["average"] - 20)
    assert (tenth["tokens"], half["tokens"], end["tokens"]) == (1e5, 5e5, 1e6)
    assert half["flops"] == 1.5e12


def test_each_task_has_points_and_a_panel(data: MadeUpResults, tmp_path: Path) -> None:
    points = task_points(data)
    assert len(points) == 3 * 2 * 3 * 3  # columns x arms x seeds x shares
    own = points[(points["arm"] == "good") & (points["column"] == "sst2")]
    means = own.groupby("tokens")["score"].mean()
    assert means.index.tolist() == [1e5, 5e5, 1e6]
    assert means.tolist() == pytest.approx([means[1e6] - 20, means[1e6] - 10, means[1e6]])
    write_report(data, tmp_path)
    svg = (tmp_path / "learning_tasks.svg").read_text()
    assert all(f">{column}<" in svg for column in ("sst2", "mrpc", "stsb"))


def test_a_run_without_a_score_leaves_no_point(data: MadeUpResults) -> None:
    """As in the leaderboard: the mean of the other run would stand for both."""
    early = data.checkpoints
    first = (early["task"] == "stsb") & (early["pretrain_seed"] == 0) & (early["arm"] == "bad")
    first &= (early["finetune_seed"] == 0) & (early["pretrain_fraction"] == 0.1)
    points = task_points(data.but(checkpoints=early.assign(value=early["value"].mask(first))))
    lost = points[points["score"].isna()]
    assert lost[["arm", "column", "pretrain_seed", "tokens"]].values.tolist() == [
        ["bad", "stsb", 0, 1e5]
    ]


def test_an_unknown_average_of_a_seed_leaves_its_cell_empty(data: MadeUpResults) -> None:
    early = data.checkpoints
    first = (early["task"] == "stsb") & (early["pretrain_seed"] == 0) & (early["arm"] == "bad")
    first &= early["pretrain_fraction"] == 0.1
    masked = data.but(checkpoints=early.assign(value=early["value"].mask(first)))
    (good, bad), whole = learning_table(masked).rows, learning_table(data).rows
    assert good == whole[0]
    assert bad == ["bad", "–", *whole[1][2:]]


def test_the_table_has_a_column_for_each_share(data: MadeUpResults) -> None:
    grid = learning_table(data)
    assert list(grid.head) == ["arm", "0.1", "0.5", "1"]
    assert [row[0] for row in grid.rows] == ["good", "bad"]


def test_both_formats_show_them(data: MadeUpResults, tmp_path: Path) -> None:
    write_report(data, tmp_path)
    assert (tmp_path / "learning.svg").exists()
    for name in ("README.md", "index.html"):
        assert "Learning curves" in (tmp_path / name).read_text()


def test_without_checkpoints_there_is_nothing(
    fabricate: Callable[..., MadeUpResults], tmp_path: Path
) -> None:
    write_report(fabricate({"good": 0.9}), tmp_path)
    assert not (tmp_path / "learning.svg").exists()
    assert "Learning curves" not in (tmp_path / "README.md").read_text()


def test_of_many_arms_each_stands_beside_the_first(
    fabricate: Callable[..., MadeUpResults], tmp_path: Path
) -> None:
    arms = {f"arm{i}": 0.5 + i / 25 for i in range(10)}
    write_report(fabricate(arms, expect=[("arm1", "arm0")], examples=60), tmp_path)
    pairs = pd.read_csv(tmp_path / "differences.csv")[["first", "second"]].drop_duplicates()
    assert len(pairs) == 1 + 9
    assert set(pairs["first"][1:]) == {"arm9"}
    assert "differs from arm0 in" in (tmp_path / "README.md").read_text()


def test_an_untrained_network_is_a_horizontal_line() -> None:
    """A logarithmic axis has no place for 0 tokens: its name stood in the legend beside nothing."""
    rows = [("bert", 1e5, 0.1, 40.0), ("bert", 1e6, 1.0, 60.0), ("scratch", 0.0, 1.0, 33.0)]
    points = pd.DataFrame(rows, columns=["run", "tokens", "pretrain_fraction", "average"])
    svg = str(learning_curves(points, ["bert", "scratch"], ["tokens"], "learning"))
    (level,) = re.findall(r"<title>scratch</title>\s*<path d=\"M (\S+) (\S+)\s+L (\S+) (\S+)", svg)
    assert level[1] == level[3] and level[0] != level[2]


def test_an_arm_has_one_colour_in_all_learning_curves(data: MadeUpResults) -> None:
    """Also where arms before it have no points, or stand in another order."""
    arms = ["scratch", "good", "bad"]
    points = learning_points(data).rename(columns={"arm": "run"})
    averages = learning_curves(points, arms, ["tokens"], "learning")
    tasks = task_curves(task_points(data).iloc[::-1], arms)
    for svg in map(str, (averages, tasks)):
        for arm, number in (("good", 1), ("bad", 2)):
            (colour, *_) = arm_style(number)
            own = re.findall(rf"<title>{arm}\b.*?stroke: (#\w+)", svg, re.DOTALL)
            assert own and {one.upper() for one in own} == {colour}
