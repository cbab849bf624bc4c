"""Probes of checkpoints during pretraining."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.frames.scores import PROBE_COLUMNS
from harness.report.page import write_report
from harness.report.sections.probe_curves import MANY_CATEGORIES, along_the_way, probe_points
from tests.made_up_results import UNTRAINED, MadeUpResults, with_recipes

EARLY, LATE = {"verb": 0.9, "place": 0.4}, {"verb": 0.95, "place": 0.8}
RANDOM = {"verb": 0.3, "place": 0.3}


def probed(
    arms: Sequence[str], scores: dict[str, float], fraction: float | None = None
) -> pd.DataFrame:
    rows = [
        (arm, "micro-cloze", category, seed, score + seed / 100, 0.3, 50, "")
        for arm in arms
        for category, score in {**scores, "overall": sum(scores.values()) / 2}.items()
        for seed in range(3)
    ]
    frame = pd.DataFrame(rows, columns=PROBE_COLUMNS)
    return frame if fraction is None else frame.assign(pretrain_fraction=fraction)


@pytest.fixture
def data(fabricate: Callable[..., MadeUpResults]) -> MadeUpResults:
    made = with_recipes(fabricate({"model": 0.9, "random": 0.5}), random=UNTRAINED)
    return made.but(
        probes=pd.concat([probed(["model"], LATE), probed(["random"], RANDOM)]),
        checkpoint_probes=probed(["model"], EARLY, 0.25),
        checkpoints=made.scores.assign(pretrain_fraction=0.25),
    )


def test_points_have_tokens_and_percent(data: MadeUpResults) -> None:
    points = probe_points(data)
    own = points[(points["arm"] == "model") & (points["column"] == "place")]
    assert own.groupby("tokens")["score"].mean().to_dict() == pytest.approx({2.5e5: 41, 1e6: 81})


def test_the_report_shows_a_panel_for_each_category(data: MadeUpResults, tmp_path: Path) -> None:
    write_report(data, tmp_path)
    svg = (tmp_path / "learning_micro-cloze.svg").read_text()
    assert all(f">{category}<" in svg for category in ("verb", "place", "overall"))
    assert "accuracy x 100 of each category by tokens" in (tmp_path / "README.md").read_text()


def test_categories_are_learned_at_different_times(data: MadeUpResults) -> None:
    """Verbs after a quarter of the tokens; places, 41 +- 1 against 31 +- 1, too."""
    data = with_recipes(data, random=UNTRAINED)
    _, tables = along_the_way(data)
    (table,) = tables.values()
    assert list(table.head) == ["arm", "verb", "place", "overall"]
    assert table.rows == [["model", "0.25M", "0.25M", "0.25M"]]
    slow = data.but(checkpoint_probes=probed(["model"], {"verb": 0.9, "place": 0.3}, 0.25))
    _, tables = along_the_way(with_recipes(slow, random=UNTRAINED))
    (table,) = tables.values()
    assert table.rows == [["model", "0.25M", "1M", "0.25M"]]


def test_of_many_categories_the_mean_alone_is_shown(data: MadeUpResults) -> None:
    many = {f"category {number}": 0.5 for number in range(MANY_CATEGORIES)}
    made = data.but(probes=probed(["model"], many), checkpoint_probes=probed(["model"], many, 0.25))
    assert set(probe_points(made)["column"]) == {"overall"}


def test_nothing_without_checkpoints(fabricate: Callable[..., MadeUpResults]) -> None:
    made = fabricate({"model": 0.9}, probes=probed(["model"], LATE))
    assert probe_points(made).empty and along_the_way(made) == ({}, {})
