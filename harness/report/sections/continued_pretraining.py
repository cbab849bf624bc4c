"""Continued pretraining in the report: the held-out losses around each run."""

import pandas as pd

from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable

LOSS_NOTE = (
    "Loss a token on held-out text before and after each continued run, mean over pretraining "
    "seeds (Gururangan et al. 2020, table 1): of the text that it reads, and of the text of the "
    "pretraining, where a rise is what was forgotten. Losses of different texts, and of different "
    "objectives, are not to be compared."
)
HEAD = ["arm", "text", "before", "after", "old text before", "old text after"]
FIGURES = [*("loss_before", "loss_after", "pretrain_loss_before", "pretrain_loss_after")]


def losses_table(losses: pd.DataFrame) -> TextTable:
    """A row for each arm and text, from the columns of `continued_losses_frame`; none if there are
    none."""
    if losses.empty:
        return TextTable(HEAD, [])
    means = (
        losses.drop_duplicates(["arm", "key"])
        .groupby(["arm", "step", "corpus"], sort=False)[FIGURES]
        .agg(_mean)
    )
    rows = [
        [str(arm), str(corpus), *(_loss(figure) for figure in figures)]
        for (arm, _, corpus), *figures in means.itertuples(name=None)
    ]
    return TextTable(HEAD, rows, text_columns=(0, 1))


def _mean(seeds: pd.Series) -> float:
    """Null where a seed is: a mean of the others would be of another number of seeds."""
    return float(seeds.mean(skipna=False))


def _loss(value: float) -> str:
    return MISSING if pd.isna(value) else f"{value:.3f}"
