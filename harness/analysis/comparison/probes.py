"""The accuracies of probes on resampled items, for comparisons between arms."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from harness.analysis.comparison.resampling import EXAMPLES_SEED, REPLICATES, cell_name
from harness.analysis.frames.scores import PROBE_ITEM_COLUMNS
from harness.analysis.statistics.bootstrap import Runs, bootstrap_scores
from harness.tasks.probes.columns import METRIC
from harness.tasks.probes.probe import OVERALL


def probe_runs(items: pd.DataFrame, arms: Sequence[str]) -> dict[str, dict[str, Runs]]:
    """The runs of all arms on the probes, scored on the same resamples of the items, which are
    drawn within their category. Arms whose models a probe does not support are left out.

    Args:
        items: result of `harness.analysis.frames.scores.probe_items_frame`.

    Returns:
        Arm to probe to runs, whose scores are those of the columns `harness.tasks.probes.columns`.

    Raises:
        ValueError: two runs of a probe were scored on different items.
    """
    assert list(items.columns) == PROBE_ITEM_COLUMNS
    runs: dict[str, dict[str, Runs]] = {arm: {} for arm in arms}
    for number, (probe, rows) in enumerate(items.groupby("probe", sort=False)):
        known = rows.groupby("arm", sort=False).filter(lambda own: own["value"].notna().all())
        wide = known.pivot(
            index=["category", "index"], columns=["arm", "pretrain_seed"], values="value"
        )
        if wide.isna().any(axis=None):
            raise ValueError(f"runs must be scored on the same items, but those of {probe} are not")
        scores = _scores(wide, number)
        for arm in dict.fromkeys(wide.columns.get_level_values("arm")):
            own = wide.columns.get_level_values("arm") == arm
            seeds = wide.columns.get_level_values("pretrain_seed")[own].to_numpy()
            of_arm = {cell: values[:, own] for cell, values in scores.items()}
            runs[arm][str(probe)] = Runs(seeds, np.zeros_like(seeds), of_arm)
    return runs


def _scores(wide: pd.DataFrame, number: int) -> Mapping[str, np.ndarray]:
    """`category/accuracy`, and that of OVERALL, to [1 + REPLICATES, runs]."""
    categories = list(dict.fromkeys(wide.index.get_level_values("category")))
    scores = {}
    for place, category in enumerate(categories):
        values = wide.loc[category].to_numpy().T[:, :, None]
        mean = {METRIC: lambda sums, num_items=values.shape[1]: sums[..., 0] / num_items}
        generator = np.random.default_rng([EXAMPLES_SEED, number, place])
        found = bootstrap_scores({METRIC: values}, mean, REPLICATES, generator)
        scores[cell_name(category, METRIC)] = found[METRIC]
    return scores | {cell_name(OVERALL, METRIC): np.mean(list(scores.values()), axis=0)}
