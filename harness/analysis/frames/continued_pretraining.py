"""Continued pretraining: losses around each run, and its cost."""

import math

import pandas as pd

from harness.analysis.results import Results
from harness.plan.continued_cost import continued_runs, total_continued_cost

LOSS_COLUMNS = [
    *("arm", "task", "step", "corpus", "pretrain_seed", "loss_before", "loss_after"),
    *("pretrain_loss_before", "pretrain_loss_after", "key"),
]


def continued_losses_frame(results: Results) -> pd.DataFrame:
    """Held-out losses around each continued run (Gururangan et al. 2020, table 1): LOSS_COLUMNS.

    One row per arm, task, step (number of the run among those of the arm, from 0) and pretraining
    seed; rows of tasks that share a run have equal `key`s. Losses are in nats per predicted token:
    `loss_*` on the held-out text of the run itself, `pretrain_loss_*` on that of the pretraining,
    under its objective. NaN where there is none: of an unfinished stage, of models that predict no
    tokens, and for the pretraining of a checkpoint.
    """
    rows = [
        (
            *(run.arm, run.task, run.step, run.corpus, run.pretrain_seed),
            _loss(run.loss_before, results),
            _loss(run.key if run.loss_before else None, results),
            _loss(run.pretrain_loss_before, results),
            _loss(run.pretrain_loss_after, results),
            run.key,
        )
        for run in results.plan.continued_runs
    ]
    return pd.DataFrame(rows, columns=LOSS_COLUMNS)


def _loss(key: str | None, results: Results) -> float:
    stage = results.finished.get(key) if key else None
    return stage.metrics.get("validation_loss", math.nan) if stage else math.nan


def continued_cost_rows(results: Results) -> list[dict[str, object]]:
    """Rows of `costs_frame` for the continued runs of each arm that has any."""
    rows: list[dict[str, object]] = []
    for arm in results.arms:
        if cost := total_continued_cost(results.plan, arm):
            keys = dict.fromkeys(run.key for run in continued_runs(results.plan, arm))
            rows.append(
                {
                    "arm": f"continued runs of {arm}",
                    "stage": "pretrain",
                    "seconds": results.seconds(keys),
                    "tokens": cost.tokens,
                    "parameters": cost.parameters,
                    "flops": cost.flops,
                }
            )
    return rows
