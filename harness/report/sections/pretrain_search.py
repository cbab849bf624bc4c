"""The section on the search of pretraining settings."""

import math

import pandas as pd

from harness.analysis.frames.pretrain_trials import pretrain_trials_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import MISSING
from harness.leaderboard.text_tables import TextTable
from harness.report.layout import Section
from harness.report.search_edges import EDGE, EDGE_NOTE, edge_mark

NOTE = (
    "All trials of an arm have one seed, which no reported run uses, and the same initial weights "
    "and order of data; the settings with the lowest held-out loss are those of all its runs. "
    "Losses compare the trials of an arm, not arms: objectives differ in what they predict."
)


def pretrain_search_section(results: Results) -> Section | None:
    """The pretraining settings that the search chose, and its trials; null without a search."""
    search, trials = results.experiment.sweep.pretrain, results.get(pretrain_trials_frame)
    if search is None or trials.empty:
        return None
    line = search.line(arm.pretrain for arm in results.plan.arms)
    table = chosen_table(results)
    marked = any(cell.endswith(EDGE) for row in table.rows for cell in row)
    notes = [f"{line}. {NOTE}", *([EDGE_NOTE] if marked else [])]
    folded = {"Pretraining trials of each arm": trials_table(results)}
    return Section("Tuned pretraining", notes, tables={"": table}, folded=folded)


def chosen_table(results: Results) -> TextTable:
    """The chosen settings of each arm, with the losses of the best, median and worst trial."""
    search, trials = results.experiment.sweep.pretrain, results.get(pretrain_trials_frame)
    assert search is not None
    rows = []
    for arm, found in trials.groupby("arm", sort=False):
        own = results.plan.search_of_arms[str(arm)]
        chosen = found[found["chosen"]].iloc[0]
        cells = [
            f"{_value(chosen[name])}{edge_mark(own.space.get(name), chosen[name])}"
            for name in search.names
        ]
        losses = found["loss"]
        spread = [_loss(one) for one in (losses.min(), losses.median(), losses.max())]
        rows.append([str(arm), *cells, *spread, str(losses.isna().sum())])
    head = ["arm", *search.names, "held-out loss", "median", "worst", "diverged"]
    return TextTable(head, rows)


def trials_table(results: Results) -> TextTable:
    """All trials."""
    search, trials = results.experiment.sweep.pretrain, results.get(pretrain_trials_frame)
    names = search.names if search else []
    rows = [
        [row["arm"], str(row["trial"]), *(_value(row[name]) for name in names), _loss(row["loss"])]
        for row in trials.to_dict("records")
    ]
    return TextTable(["arm", "trial", *names, "held-out loss"], rows)


def _loss(value: float) -> str:
    return MISSING if pd.isna(value) else f"{value:.3f}"


def _value(value: object) -> str:
    if isinstance(value, float):
        return MISSING if math.isnan(value) else f"{value:.3g}"
    return str(value)
