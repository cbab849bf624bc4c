"""Continued pretraining: losses before and after each run."""

import pandas as pd

from harness.analysis.results import Results

LOSS = "validation_loss"
LOSS_COLUMNS = [
    *("arm", "task", "step", "corpus", "pretrain_seed", "loss_before", "loss_after"),
    *("pretrain_loss_before", "pretrain_loss_after", "key"),
]


def continued_losses_frame(results: Results) -> pd.DataFrame:
    """Held-out losses before and after each run of continued pretraining (Gururangan et al. 2020,
    table 1): LOSS_COLUMNS.

    One row per arm, task, step (index of the run within the arm) and pretraining seed; rows of
    tasks that share a run have the same `key`. Losses are in nats per predicted token: `loss_*` on
    the held-out text of the run, `pretrain_loss_*` on that of the pretraining, under its objective.
    NaN for unfinished stages, models that predict no tokens, and the pretraining text of
    checkpoints.
    """
    rows = [
        (
            *(run.arm, run.task, run.step, run.corpus, run.pretrain_seed),
            results.metric(run.loss_before, LOSS),
            results.metric(run.key if run.loss_before else None, LOSS),
            results.metric(run.pretrain_loss_before, LOSS),
            results.metric(run.pretrain_loss_after, LOSS),
            run.key,
        )
        for run in results.plan.continued_runs
    ]
    return pd.DataFrame(rows, columns=LOSS_COLUMNS)
