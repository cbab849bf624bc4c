"""The section on continued pretraining: held-out losses before and after each run."""

import pandas as pd

from harness.analysis.frames.continued_pretraining import continued_losses_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import number_cell
from harness.leaderboard.text_tables import TextTable
from harness.report.layout import Section

NOTE = (
    "Loss per token on held-out text before and after each run of continued pretraining, mean over "
    "pretraining seeds (Gururangan et al. 2020, table 1): on the new text, and on the original "
    "pretraining text, where an increase measures forgetting. Losses on different texts or under "
    "different objectives are not comparable."
)
HEAD = ["arm", "text", "before", "after", "original text before", "original text after"]
LOSSES = [*("loss_before", "loss_after", "pretrain_loss_before", "pretrain_loss_after")]


def continued_pretraining_section(results: Results) -> Section | None:
    """Held-out losses before and after each run of continued pretraining."""
    table = losses_table(results.get(continued_losses_frame))
    return Section("Continued pretraining", [NOTE], tables={"": table}) if table.rows else None


def losses_table(losses: pd.DataFrame) -> TextTable:
    """One row per arm and text.

    Args:
        losses: result of `continued_losses_frame`.
    """
    if losses.empty:
        return TextTable(HEAD, [])
    runs = losses.drop_duplicates(["arm", "key"]).groupby(["arm", "step", "corpus"], sort=False)
    # A missing seed leaves its cell empty: the others would be a mean of fewer seeds.
    means = runs[LOSSES].agg(_mean)
    rows = [
        [str(arm), str(corpus), *(number_cell(loss, "{:.3f}") for loss in found)]
        for (arm, _, corpus), *found in means.itertuples(name=None)
    ]
    return TextTable(HEAD, rows, text_columns=(0, 1))


def _mean(seeds: pd.Series) -> float:
    return float(seeds.mean(skipna=False))
