"""From how many tokens on an arm scores above an untrained network."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from harness.analysis.comparison.differences import LEVEL, MIN_SEEDS
from harness.analysis.results import Results
from harness.analysis.statistics.welch import contrast_over_seeds
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.report.chance_checks import UNTRAINED, controls

THRESHOLDS = "Tokens until the score exceeds the untrained network"
THRESHOLDS_NOTE = (
    f"{THRESHOLDS}: the fewest after which the difference from its seeds has a 95 % interval above "
    "zero (Welch's, over pretraining seeds alone, not adjusted for several columns), and has so at "
    "all later checkpoints as well; > is above the whole budget. A smaller number may lie between "
    "two checkpoints."
)
MILLION = 1_000_000


def thresholds_of(results: Results, points: pd.DataFrame) -> TextTable:
    """`threshold_table` with the first network without pretraining, arms in their order; no rows
    without one.

    Args:
        points: as for `threshold_table`.
    """
    known = [arm for arm, kind in controls(results).items() if kind == UNTRAINED]
    if not known:
        return TextTable([], [])
    table = threshold_table(points, known[0])
    order = list(results.arms).index
    return TextTable(table.head, sorted(table.rows, key=lambda row: order(row[0])))


def threshold_table(points: pd.DataFrame, untrained: str) -> TextTable:
    """Arms by columns, with tokens as cells; no rows if no arm has checkpoints.

    Args:
        points: a row for each arm, column, pretraining seed and number of tokens, with its `score`.
        untrained: the arm without pretraining.
    """
    columns = list(dict.fromkeys(points["column"]))
    own = points["arm"] == untrained
    levels = dict(list(points[own].groupby("column")["score"]))
    rows = [
        [str(arm), *(_cell(group[group["column"] == name], levels.get(name)) for name in columns)]
        for arm, group in points[~own].groupby("arm", sort=False)
        if group["tokens"].nunique() > 1
    ]
    return TextTable(["arm", *columns], rows)


def threshold(curve: Mapping[float, pd.Series], level: pd.Series) -> float | None:
    """The fewest tokens from which on all scores exceed the level; null if the last does not.

    Args:
        curve: tokens to the scores of the pretraining seeds.
        level: scores of the seeds of the untrained network.
    """
    found = None
    for tokens in sorted(curve, reverse=True):
        if contrast_over_seeds([curve[tokens].to_numpy(), -level.to_numpy()], LEVEL).low <= 0:
            break
        found = tokens
    return found


def _cell(points: pd.DataFrame, level: pd.Series | None) -> str:
    curve: dict[Any, pd.Series] = dict(list(points.groupby("tokens")["score"]))
    sides = [*curve.values(), *([] if level is None else [level])]
    if level is None or not curve or not all(_is_complete(side) for side in sides):
        return MISSING
    found = threshold(curve, level)
    return f"> {_millions(max(curve))}" if found is None else _millions(found)


def _is_complete(scores: pd.Series) -> bool:
    return len(scores) >= MIN_SEEDS and bool(scores.notna().all())


def _millions(tokens: float) -> str:
    return f"{tokens / MILLION:.3g}M"
