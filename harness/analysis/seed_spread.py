"""The spread of a suite's average between seeds, estimated from earlier results."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.analysis.averages import get_average
from harness.analysis.columns import combine, part_of_suite, terms_of
from harness.analysis.power import SeedSpread
from harness.analysis.statistics.variance import Components, seed_components
from harness.experiment.evaluation import Evaluate
from harness.store.recorded import recorded_experiments
from harness.store.store import Store
from harness.tasks.task import Suite


def spread_in(store: Store | None, evaluate: Evaluate) -> SeedSpread | None:
    """The spread in the experiments of a store; null without a store, or if none has the tasks."""
    if store is None:
        return None
    return measured_spread(evaluate, [one.scores for one in recorded_experiments(store)])


def measured_spread(evaluate: Evaluate, earlier: Sequence[pd.DataFrame]) -> SeedSpread | None:
    """The spread of the average over an experiment's tasks; null if no result has all of them.

    All arms with two pretraining seeds or more count, weighted by their degrees of freedom. If some
    arms have several fine-tuning runs per pretraining seed, only those count.

    Args:
        earlier: scores of finished experiments (`SCORE_COLUMNS`).
    """
    whole = evaluate.suite_value
    suite = part_of_suite(whole, evaluate.tasks)
    frames = [frame[frame["suite"] == whole.name] for frame in earlier]
    averages = [_averages(frame, suite) for frame in frames if len(frame)]
    rows = []
    for _, runs in (group for frame in averages for group in frame.groupby("arm")):
        if runs["pretrain_seed"].nunique() > 1 and runs["average"].nunique() > 1:
            found = seed_components(runs["average"].to_numpy(), runs["pretrain_seed"].to_numpy())
            rows.append((*found, runs["pretrain_seed"].nunique() - 1))
    if not rows:
        return None
    table = np.array(rows)
    nested = ~np.isnan(table[:, 1])
    pretrain, finetune, freedom = table[nested if nested.any() else ~nested].T
    components = Components(
        float(np.average(pretrain, weights=freedom)),
        float(np.average(finetune, weights=freedom)),
        0.0,
    )
    arms = "arm" if len(freedom) == 1 else "arms"
    return SeedSpread(components, f"{len(freedom)} {arms} of the store on {suite.name}")


def _averages(results: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """Columns arm, pretrain_seed, finetune_seed, average in points, of runs with all scores."""
    identity = ["arm", "pretrain_seed", "finetune_seed"]
    wide = results.pivot_table("value", identity, ["task", "split", "metric"])
    terms = terms_of(get_average(suite.average), suite)
    columns = {column for term in terms for column in term}
    cells = {c: [(c.task, c.split, metric) for metric in c.metrics] for c in columns}
    if not {cell for found in cells.values() for cell in found} <= set(wide.columns):
        return pd.DataFrame(columns=[*identity, "average"])
    scores = {c: wide[found].mean(axis=1, skipna=False).to_numpy() for c, found in cells.items()}
    averages = 100 * combine(terms, scores)
    return wide.index.to_frame(index=False).assign(average=averages).dropna()
