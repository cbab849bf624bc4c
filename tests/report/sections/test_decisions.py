"""Decisions at the levels of an axis, and after shares of the updates."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from harness.experiment.experiment import Axis
from harness.report.ordered_axes import is_ordered
from harness.report.page import write_report
from harness.report.sections.decisions import (
    CHECKPOINTS,
    COLUMNS,
    decision_section,
    decisions_frame,
)
from tests.made_up_results import MadeUpResults

Fabricate = Callable[..., MadeUpResults]


@pytest.fixture
def with_checkpoints(fabricate: Fabricate) -> MadeUpResults:
    """`fair` is the best after a tenth of the updates, the order is that of the end after half."""
    made = fabricate({"good": 0.95, "fair": 0.8, "bad": 0.6})
    half = made.scores.assign(value=made.scores["value"] - 0.1, pretrain_fraction=0.5)
    lead = made.scores["arm"].eq("fair") * 0.3
    tenth = made.scores.assign(value=made.scores["value"] - 0.4 + lead, pretrain_fraction=0.1)
    return made.but(checkpoints=pd.concat([tenth, half], ignore_index=True))


def with_axes(data: MadeUpResults) -> MadeUpResults:
    """Arms `method/size` with the labels of two axes, in the order of the grid."""
    arms = [
        replace(arm, labels=dict(zip(("method", "size"), arm.name.split("/"), strict=True)))
        for arm in data.plan.arms
    ]
    grid: dict[str, Axis] = {
        name: {label: {} for label in dict.fromkeys(a.labels[name] for a in arms)}
        for name in arms[0].labels
    }
    experiment = data.experiment.model_copy(update={"grid": grid})
    declaration = replace(data.plan.declaration, arms=tuple(arms), experiment=experiment)
    data.plan = replace(data.plan, declaration=declaration)
    return data


def test_checkpoints_by_hand(with_checkpoints: MadeUpResults) -> None:
    frame = decisions_frame(with_checkpoints)
    assert list(frame.columns) == COLUMNS
    assert frame["along"].tolist() == [CHECKPOINTS] * 2
    assert frame[["level", "of", "pairs", "alike"]].to_numpy().tolist() == [
        ["0.1", "1", 3, 2],
        ["0.5", "1", 3, 3],
    ]


def test_levels_of_an_axis_by_hand(fabricate: Fabricate) -> None:
    skills = {
        "a/nano": 0.7,
        "a/tiny": 0.95,
        "b/nano": 0.9,
        "b/tiny": 0.75,
        "c/nano": 0.6,
        "c/tiny": 0.62,
    }
    frame = decisions_frame(with_axes(fabricate(skills, examples=400)))
    # Not along the methods, of which none is the larger one.
    assert frame[["along", "level", "of", "pairs", "alike"]].to_numpy().tolist() == [
        ["size", "nano", "tiny", 3, 2]
    ]


def test_the_last_level_is_the_largest_also_where_the_first_arm_lacks_scores(
    fabricate: Fabricate,
) -> None:
    skills = {f"{name}/{size}": 0.8 for name in "abc" for size in ("nano", "tiny", "mini")}
    made = fabricate(skills)
    partial = made.but(scores=made.scores[made.scores["arm"] != "a/nano"])
    frame = decisions_frame(with_axes(partial))
    assert frame[["level", "of", "pairs"]].to_numpy().tolist() == [
        ["nano", "mini", 1],
        ["tiny", "mini", 3],
    ]


@pytest.mark.parametrize(
    ("labels", "ordered"),
    [
        (["500k", "1M", "2.5M"], True),
        (["epochs=1", "epochs=12"], True),
        (["mask_rate=0.15", "mask_rate=0.3"], True),
        (["nano", "tiny", "base"], True),
        (["64", "1000", "256"], False),
        (["tiny", "nano"], False),
        (["64", "64"], False),
        (["64", "all"], False),
        (["roberta", "scratch"], False),
    ],
)
def test_the_order_of_an_axis(labels: list[str], ordered: bool) -> None:
    assert is_ordered(labels) == ordered


def test_one_axis_or_one_arm_has_no_decisions(fabricate: Fabricate) -> None:
    assert decision_section(fabricate({"good": 0.9, "bad": 0.6})) is None


def test_the_report_shows_them(with_checkpoints: MadeUpResults, tmp_path: Path) -> None:
    write_report(with_checkpoints, tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "Decisions along the axes" in page and "2 (67 %)" in page
    assert (tmp_path / "decisions.csv").read_text().startswith(",".join(COLUMNS))
