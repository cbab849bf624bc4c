"""What the store holds of single runs, beside scores: what became of each, as frames."""

import math
from collections.abc import Mapping

import pandas as pd

from harness.plan.plan import Plan
from harness.store.store import Record, Store

RUN_COLUMNS = ["arm", "task", "pretrain_seed", "finetune_seed", "finished", "truncated", "diverged"]
PRETRAINING_COLUMNS = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]


def runs_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """One row per planned run of an arm on a task: whether it is finished, the share of its train
    examples that are as long as the limit allows (most of them are truncated), and whether its loss
    diverged; NaN and false where that is not known."""
    rows = []
    for cell in plan.cells:
        if cell.checkpoint == 1:
            run = records.get(cell.key)
            # What several tasks are learned in is a stage of its own.
            trained = records.get(plan.stages[cell.key].parents.get("head", cell.key))
            metrics = trained.metrics if trained else {}
            rows.append(
                (
                    *(cell.arm, cell.task, cell.pretrain_seed, cell.finetune_seed),
                    run is not None,
                    metrics.get("truncated", math.nan),
                    bool(metrics.get("diverged")),
                )
            )
    return pd.DataFrame(rows, columns=RUN_COLUMNS)


def pretraining_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """One row per arm and pretraining seed that is finished: seconds it took, loss on held-out text
    at its end in nats a predicted token, and bits a byte where a likelihood gives them; NaN where
    it is not known, as the loss of a checkpoint from elsewhere."""
    rows = [
        (
            *(arm, seed),
            *(
                records[key].metrics.get(name, math.nan)
                for name in ("seconds", "validation_loss", "validation_bits_per_byte")
            ),
        )
        for (arm, seed), key in plan.pretrains.items()
        if key in records
    ]
    return pd.DataFrame(rows, columns=PRETRAINING_COLUMNS)


def curves_frame(plan: Plan, records: Mapping[str, Record], store: Store) -> pd.DataFrame:
    """Training loss by step: arm, pretrain_seed, step, tokens, loss."""
    frames = []
    for (arm, seed), key in plan.pretrains.items():
        folder = store.fetch(records[key]) if key in records else None
        if folder and (folder / "curve.csv").exists():
            curve = pd.read_csv(folder / "curve.csv").rename(columns={"train_loss": "loss"})
            frames.append(curve.assign(arm=arm, pretrain_seed=seed))
    if not frames:
        return pd.DataFrame(columns=["arm", "pretrain_seed", "step", "tokens", "loss"])
    return pd.concat(frames, ignore_index=True)
