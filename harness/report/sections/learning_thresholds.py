"""From how many tokens on an arm scores above an untrained network."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from harness.analysis.comparison.differences import LEVEL, MIN_SEEDS
from harness.analysis.results import Results
from harness.analysis.statistics.welch import contrast_over_seeds
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.report.manipulation_checks import untrained_twins

THRESHOLDS = "Tokens until the score exceeds the untrained network"
THRESHOLDS_NOTE = (
    f"{THRESHOLDS}: the fewest after which the difference from its seeds has a 95 % interval above "
    "zero (Welch's, over pretraining seeds alone, not adjusted for several columns), and has so at "
    "all later checkpoints as well; > is above the whole budget. A smaller number may lie between "
    "two checkpoints. The untrained network is one of the arm's architecture, if there is one."
)
MILLION = 1_000_000


def thresholds_of(results: Results, points: pd.DataFrame) -> TextTable:
    """`threshold_table` of all arms with the first untrained network of their architecture, or of
    any if there is none; no rows without one.

    Args:
        points: as for `threshold_table`.
    """
    twins = {arm: untrained_twins(results, arm) for arm in results.arms}
    return threshold_table(points, {arm: found[0] for arm, found in twins.items() if found})


def threshold_table(points: pd.DataFrame, untrained: Mapping[str, str]) -> TextTable:
    """Arms by columns, with tokens as cells; no rows if no arm has checkpoints. The untrained
    network is named where arms have different ones.

    Args:
        points: a row for each arm, column, pretraining seed and number of tokens, with its `score`.
        untrained: arm to the network without pretraining beside it, in the order of the rows.
    """
    columns = list(dict.fromkeys(points["column"]))
    scores = dict(list(points.groupby(["arm", "column"])))
    amounts = points.groupby("arm")["tokens"].nunique()
    shown = {arm: of for arm, of in untrained.items() if amounts.get(arm, 0) > 1}
    rows = [
        [arm, of, *(_cell(scores.get((arm, name)), scores.get((of, name))) for name in columns)]
        for arm, of in shown.items()
    ]
    if len(set(shown.values())) > 1:
        return TextTable(["arm", "untrained", *columns], rows, text_columns=(0, 1))
    return TextTable(["arm", *columns], [[arm, *cells] for arm, _, *cells in rows])


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


def _cell(points: pd.DataFrame | None, untrained: pd.DataFrame | None) -> str:
    if points is None or untrained is None:
        return MISSING
    curve: dict[Any, pd.Series] = dict(list(points.groupby("tokens")["score"]))
    if not all(_is_complete(side) for side in (*curve.values(), untrained["score"])):
        return MISSING
    found = threshold(curve, untrained["score"])
    return f"> {_millions(max(curve))}" if found is None else _millions(found)


def _is_complete(scores: pd.Series) -> bool:
    return len(scores) >= MIN_SEEDS and bool(scores.notna().all())


def _millions(tokens: float) -> str:
    return f"{tokens / MILLION:.3g}M"
