"""Tokens until arms exceed an untrained network."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from harness.pretraining.budget import Budget
from harness.pretraining.recipes import RECIPES
from harness.report.page import write_report
from harness.report.sections.learning_thresholds import (
    THRESHOLDS,
    threshold,
    threshold_table,
)
from tests.made_up_results import MadeUpResults

LEVEL = pd.Series([50.0, 51.0, 52.0])
LOW, HIGH = pd.Series([50.5, 51.5, 52.0]), pd.Series([60.0, 61.0, 63.0])
scores = st.lists(st.integers(0, 100).map(float), min_size=3, max_size=5, unique=True)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ({1e6: LOW, 4e6: HIGH, 16e6: HIGH}, 4e6),
        ({1e6: HIGH, 4e6: LOW, 16e6: HIGH}, 16e6),  # falls back between
        ({1e6: HIGH, 4e6: HIGH, 16e6: LOW}, None),
        ({16e6: HIGH, 1e6: HIGH}, 1e6),  # in any order
    ],
)
def test_all_later_checkpoints_must_exceed(
    curve: dict[float, pd.Series], expected: float | None
) -> None:
    assert threshold(curve, LEVEL) == expected


@given(scores, scores)
def test_the_interval_is_that_of_welchs_test(first: list[float], second: list[float]) -> None:
    interval = ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    if abs(interval.low) > 1e-9:
        found = threshold({1.0: pd.Series(first)}, pd.Series(second))
        assert (found == 1.0) == (interval.low > 0)


def frame(curves: dict[tuple[str, str, float], pd.Series]) -> pd.DataFrame:
    rows = [
        (arm, column, seed, tokens, score)
        for (arm, column, tokens), values in curves.items()
        for seed, score in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["arm", "column", "pretrain_seed", "tokens", "score"])


def test_the_table_by_hand() -> None:
    points = frame(
        {
            ("bert", "sst2", 1e6): LOW,
            ("bert", "sst2", 16e6): HIGH,
            ("bert", "rte", 1e6): LOW,
            ("bert", "rte", 16e6): LOW,
            ("gpt", "sst2", 0.25e6): HIGH,
            ("gpt", "sst2", 16e6): HIGH,
            ("gpt", "rte", 0.25e6): HIGH[:1],  # one seed shows nothing
            ("gpt", "rte", 16e6): HIGH,
            ("scratch", "sst2", 0.0): LEVEL,
            ("scratch", "rte", 0.0): LEVEL,
            ("other", "sst2", 16e6): HIGH,  # without checkpoints
        }
    )
    beside = dict.fromkeys(("bert", "gpt", "other", "scratch"), "scratch")
    table = threshold_table(points, beside)
    assert list(table.head) == ["arm", "sst2", "rte"]
    assert table.rows == [["bert", "16M", "> 16M"], ["gpt", "0.25M", "–"]]
    missing = threshold_table(points[points["arm"] != "scratch"], beside)
    assert missing.rows == [["bert", "–", "–"], ["gpt", "–", "–"]]


def test_arms_are_compared_with_their_own_untrained_networks() -> None:
    points = frame(
        {
            ("bert", "sst2", 1e6): LOW,
            ("bert", "sst2", 16e6): HIGH,
            ("gpt", "sst2", 1e6): LOW,
            ("gpt", "sst2", 16e6): HIGH,
            ("scratch", "sst2", 0.0): LEVEL,
            ("scratch_gpt", "sst2", 0.0): LEVEL - 20,
        }
    )
    table = threshold_table(points, {"bert": "scratch", "gpt": "scratch_gpt"})
    assert list(table.head) == ["arm", "untrained", "sst2"]
    assert table.rows == [["bert", "scratch", "16M"], ["gpt", "scratch_gpt", "1M"]]


def test_reports_have_it_with_an_untrained_arm(
    fabricate: Callable[..., MadeUpResults], tmp_path: Path
) -> None:
    data = fabricate({"good": 0.9, "scratch": 0.5})
    half = data.scores.assign(pretrain_fraction=0.5)
    data = data.but(checkpoints=half[half["arm"] == "good"])
    write_report(data, tmp_path / "none")
    assert THRESHOLDS not in (tmp_path / "none" / "README.md").read_text()
    untrained = RECIPES["bert"].model_copy(update={"budget": Budget(tokens=0)})
    arms = [replace(a, pretrain=untrained) if a.name == "scratch" else a for a in data.plan.arms]
    declaration = replace(data.plan.declaration, arms=tuple(arms))
    data.plan = replace(data.plan, declaration=declaration)
    write_report(data, tmp_path / "one")
    for name in ("README.md", "index.html"):
        assert THRESHOLDS in (tmp_path / "one" / name).read_text()
    assert "| good | 0.5M |" in (tmp_path / "one" / "README.md").read_text()
