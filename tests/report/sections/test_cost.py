"""Score against cost: the front, what counts as cost, when there is a section at all."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.report.page import write_report
from harness.report.sections.cost import cost_points, cost_section, differing, front, leveled
from tests.made_up_results import MadeUpResults


def beaten(point: tuple[float, float], points: list[tuple[float, float]]) -> bool:
    """By a point at least as good in both and not the same."""
    return any(c <= point[0] and s >= point[1] and (c, s) != point for c, s in points)


def test_the_front_has_the_points_that_no_other_dominates() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        points = [(float(c), float(s)) for c, s in generator.integers(5, size=(8, 2))]
        found = front([c for c, _ in points], [s for _, s in points])
        assert found == [not beaten(point, points) for point in points]


def test_the_front_by_hand() -> None:
    assert front([1, 2, 2, 3], [5, 7, 6, 7]) == [True, True, False, False]
    assert front([1, 1], [5, 5]) == [True, True]
    assert front([np.nan, 1, 2], [9, np.nan, 3]) == [False, False, True]


@pytest.fixture
def data(fabricate: Callable[..., MadeUpResults]) -> MadeUpResults:
    made = fabricate({"big": 0.9, "small": 0.7, "waste": 0.6}, examples=80)
    flops = pd.Series({"big": 8e12, "small": 1e12, "waste": 8e12})
    return made.but(costs=made.costs.assign(flops=made.costs["arm"].map(flops)))


def points_of(data: MadeUpResults) -> pd.DataFrame:
    return cost_points(data)


def test_costs_of_little_difference_are_the_same(data: MadeUpResults) -> None:
    flops = pd.Series({"big": 8e12, "small": 8.001e12, "waste": 7.999e12})
    near = data.but(costs=data.costs.assign(flops=data.costs["arm"].map(flops)))
    assert differing(points_of(near)) == []
    edge = pd.Series({"big": 1.0049e9, "small": 1.0051e9, "waste": 1.0049e9})
    near = data.but(costs=data.costs.assign(flops=data.costs["arm"].map(edge)))
    assert differing(points_of(near)) == []


def test_costs_are_made_equal_to_the_cheapest_near_them() -> None:
    given = [1000, np.nan, 0, 1004, 1006, 1000.5, 1020]
    found = leveled(given)
    np.testing.assert_equal(found, [1000, np.nan, 0, 1000, 1006, 1000, 1020])


def test_a_checkpoint_of_others_has_no_known_cost(data: MadeUpResults) -> None:
    unknown = {"arm": "waste", "stage": "pretrain", "flops": None, "parameters": None}
    others = data.costs[data.costs["arm"] != "waste"].astype(object)
    costs = pd.concat([others, pd.DataFrame([unknown], dtype=object)])
    points = points_of(data.but(costs=costs)).set_index("arm")
    assert points.loc["waste", ["flops", "parameters"]].isna().all()
    assert points.loc["big", "flops"] == 8e12


def test_what_a_run_builds_on_counts(data: MadeUpResults) -> None:
    more = pd.DataFrame(
        [
            {"arm": f"{part} small", "stage": "pretrain", "seconds": 1.0, "flops": 1e12}
            for part in ("init_from of", "teacher of", "continued runs of")
        ]
    )
    points = points_of(data.but(costs=pd.concat([data.costs, more])))
    assert points.set_index("arm")["flops"].to_dict() == {"big": 8e12, "small": 4e12, "waste": 8e12}


def test_an_unknown_part_makes_the_cost_unknown(data: MadeUpResults) -> None:
    more = pd.DataFrame([{"arm": "teacher of big", "stage": "pretrain", "flops": np.nan}])
    points = points_of(data.but(costs=pd.concat([data.costs, more])))
    assert points["flops"].isna().tolist() == [True, False, False]


def test_costs_that_all_arms_share_are_left_out(
    data: MadeUpResults, fabricate: Callable[..., MadeUpResults]
) -> None:
    assert differing(points_of(data)) == ["flops"]
    same = fabricate({"good": 0.9, "bad": 0.6})
    assert cost_section(same) is None


def test_both_formats_show_the_front(data: MadeUpResults, tmp_path: Path) -> None:
    trained = {"big": 2e6, "small": 1e3, "waste": 1e6}
    write_report(data.but(trained=trained), tmp_path)
    assert (tmp_path / "costs.svg").exists()
    readme = (tmp_path / "README.md").read_text()
    both = "FLOPs of pretraining, trained parameters"
    lines = [line for line in readme.splitlines() if line.endswith((f"| {both} |", "| – |"))]
    for arm, fronts in (("big", both), ("small", both), ("waste", "–")):
        assert any(line.startswith(f"| {arm} ") and f"| {fronts} |" in line for line in lines), arm
    assert "Score against cost" in (tmp_path / "index.html").read_text()


def test_free_arms_and_many_arms_are_drawn(
    fabricate: Callable[..., MadeUpResults], tmp_path: Path
) -> None:
    arms = {f"arm{i}": 0.5 + i / 25 for i in range(10)}
    made = fabricate(arms, examples=60, seeds=(2, 1))
    flops = {arm: float(i // 4) for i, arm in enumerate(arms)}
    costs = made.costs.assign(flops=made.costs["arm"].map(flops))
    write_report(made.but(costs=costs), tmp_path)
    svg = (tmp_path / "costs.svg").read_text()
    assert "not on a Pareto front" in svg
    assert [arm for arm in arms if f">{arm}<" in svg] == ["arm3", "arm7", "arm9"]
