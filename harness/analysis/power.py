"""What a grid can tell apart, said before it is run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.analysis.averages import get_average
from harness.analysis.columns import combine, part_of_suite, terms_of
from harness.analysis.statistics.variance import (
    Components,
    minimum_detectable_difference,
    seed_components,
    seeds_needed,
)
from harness.plan.plan import Plan
from harness.tasks.task import Suite

PRIORS: Mapping[str, float] = {
    "micro-glue": 3.6,
    "micro-superglue": 1.8,
    "micro-squad": 6.7,
    "micro-sum": 3.1,
    "micro-swag": 2.9,
    "micro-ner": 2.9,
    "micro-dapt": 2.1,
    "micro-sts": 3.0,
    "micro-mt": 0.8,
    "micro-food-to-film": 1.7,
    "glue": 0.8,
}
"""Suite without its version to the standard deviation of its average between pretraining seeds with
one fine-tuning run each, in points: root mean square over the arms of the reports in `reports/`."""
OTHER_SEEDS = (5, 10)
ONE_POINT = 1.0


@dataclass(frozen=True)
class Spread:
    """How far runs of one arm lie apart in a suite's average."""

    components: Components
    """In points squared. What the test set adds is left out."""
    source: str


def power_lines(plan: Plan, earlier: Sequence[pd.DataFrame] = ()) -> list[str]:
    """What the seeds of a plan can and cannot tell apart; none where no spread is known, or where
    there is but one arm.

    Args:
        earlier: results of finished experiments (`SCORE_COLUMNS`), which
            are believed rather than PRIORS where they hold the plan's suite.
    """
    evaluate = plan.experiment.evaluate
    whole = evaluate.suite_value
    part = part_of_suite(whole, evaluate.tasks) if evaluate.tasks else whole
    found = _spread(earlier, whole.name, part) or _prior(whole.name, is_part=part != whole)
    if found is None or len(plan.arms) < 2:
        return []
    seeds = plan.experiment.seeds
    paired = not any(path.startswith("pretrain.") for path in plan.differences)
    return [_sentence(found, len(seeds.pretrain), len(seeds.finetune), paired)]


def _sentence(spread: Spread, num_pretrain: int, num_finetune: int, paired: bool) -> str:
    components = spread.components

    def found_by(number: int) -> float:
        return minimum_detectable_difference(components, number, num_finetune, paired=paired)

    detectable = found_by(num_pretrain)
    if math.isinf(detectable):
        start = "one pretraining seed cannot tell arms apart"
    else:
        less = ", less where a checkpoint moves all arms alike" if paired else ""
        start = (
            f"{num_pretrain} pretraining seeds cannot tell arms apart that differ by less than "
            f"about {detectable:.1f} points in the average (80 % power{less})"
        )
    more = [number for number in OTHER_SEEDS if number > num_pretrain]
    others = [f"{number} could from {found_by(number):.1f}" for number in more]
    if detectable > ONE_POINT:
        needed = seeds_needed(components, ONE_POINT, num_finetune, paired=paired)
        others.append(f"one point takes {needed if needed else 'more than 1,000'}")
    spread_now = math.sqrt(
        components.pretrain + np.nan_to_num(components.finetune) / max(1, num_finetune)
    )
    why = f"seeds spread by {spread_now:.1f} points in {spread.source}"
    return "; ".join([start, *others, why])


def _prior(suite: str, is_part: bool) -> Spread | None:
    family = suite.rpartition("-v")[0]
    if family not in PRIORS:
        return None
    components = Components(PRIORS[family] ** 2, math.nan, 0.0)
    return Spread(components, f"committed reports on {'all of ' if is_part else ''}{family}")


def _spread(earlier: Sequence[pd.DataFrame], whole: str, suite: Suite) -> Spread | None:
    """Of all arms on `suite` that two pretraining seeds or more tell apart, each by its degrees of
    freedom; by those with several fine-tuning runs a seed alone, if there are any. Results are
    under the name of the `whole` of which it may be a part."""
    frames = [frame[frame["suite"] == whole] for frame in earlier]
    averages = [_averages(frame, suite) for frame in frames if len(frame)]
    rows = []
    for _, runs in (group for frame in averages for group in frame.groupby("arm")):
        if runs["pretrain_seed"].nunique() > 1 and runs["average"].nunique() > 1:
            found = seed_components(runs["average"].to_numpy(), runs["pretrain_seed"].to_numpy())
            rows.append((*found, runs["pretrain_seed"].nunique() - 1))
    if not rows:
        return None
    table = np.array(rows)
    apart = ~np.isnan(table[:, 1])
    pretrain, finetune, freedom = table[apart if apart.any() else ~apart].T
    components = Components(
        float(np.average(pretrain, weights=freedom)),
        float(np.average(finetune, weights=freedom)),
        0.0,
    )
    arms = "arm" if len(freedom) == 1 else "arms"
    return Spread(components, f"{len(freedom)} {arms} of the store on {suite.name}")


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
