"""Arms of several experiments with the same runs, which a board shows once."""

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.leaderboard.build import row_names

ArmName = tuple[str, str]
"""Experiment and arm."""


def twins(scores: pd.DataFrame) -> dict[ArmName, list[ArmName]]:
    """Each arm with the later arms that have exactly its runs; only arms that have such twins.

    Args:
        scores: SCORE_COLUMNS of a suite, of several experiments.
    """
    runs = scores.groupby(["experiment", "arm"], sort=False)["key"].agg(frozenset)
    of_runs: dict[frozenset[str], list[ArmName]] = {}
    for arm, keys in zip(runs.index.tolist(), runs, strict=True):
        of_runs.setdefault(keys, []).append(arm)
    return {first: rest for first, *rest in of_runs.values() if rest}


def without_twins(
    scores: pd.DataFrame, found: Mapping[ArmName, Sequence[ArmName]]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """The scores without those of twins, and row to the note that names its twins."""
    dropped = {twin for rest in found.values() for twin in rest}
    pairs = pd.MultiIndex.from_frame(scores[["experiment", "arm"]])
    kept = scores[~pairs.isin(dropped)] if dropped else scores
    named = kept.assign(row=row_names(kept)).drop_duplicates(["experiment", "arm"])
    rows = dict(zip(zip(named["experiment"], named["arm"], strict=True), named["row"], strict=True))
    notes = {
        rows[first]: f"The same runs as {', '.join(map(': '.join, rest))}."
        for first, rest in found.items()
    }
    return kept, notes
