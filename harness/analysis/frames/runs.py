"""Outcomes of pretraining and fine-tuning runs."""

import math

import pandas as pd

from harness.analysis.results import Results
from harness.data.corpora.sources import MixedCorpus
from harness.plan.checks.tokenizers import FEW_UNKNOWN

FINETUNE_COLUMNS = [
    *("arm", "task", "pretrain_seed", "finetune_seed", "finished", "truncated", "diverged")
]
PRETRAIN_COLUMNS = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
SOURCE_COLUMNS = ["arm", "pretrain_seed", "source", "loss"]
CURVE_COLUMNS = ["arm", "pretrain_seed", "step", "tokens", "loss"]


def finetune_runs_frame(results: Results) -> pd.DataFrame:
    """One row per planned fine-tuning run: FINETUNE_COLUMNS.

    `truncated` is the share of train examples that reach the maximum length (nearly all of them are
    truncated), NaN if unknown; `diverged` is false if unknown.
    """
    rows = [
        (
            *(run.arm, run.task, run.pretrain_seed, run.finetune_seed),
            run.key in results.finished,
            results.metric(results.trained_in(run), "truncated"),
            results.metric(results.trained_in(run), "diverged") == 1,
        )
        for run in results.finetune_runs
    ]
    return pd.DataFrame(rows, columns=FINETUNE_COLUMNS)


def pretrain_runs_frame(results: Results) -> pd.DataFrame:
    """One row per finished pretraining run: PRETRAIN_COLUMNS.

    `loss` is on held-out text at the end, in nats per predicted token; `bits_per_byte` is known if
    the model assigns a likelihood to text, and the tokenizer knows it but for FEW_UNKNOWN of its
    tokens: an unknown token costs few bits, for whatever text it stands. NaN if unknown, such as
    the loss of a checkpoint.
    """
    names = ("seconds", "validation_loss")
    rows = [
        (arm, seed, *(results.metric(key, name) for name in names), _bits_per_byte(results, key))
        for (arm, seed), key in results.plan.pretrain_keys.items()
        if key in results.finished
    ]
    return pd.DataFrame(rows, columns=PRETRAIN_COLUMNS)


def _bits_per_byte(results: Results, key: str) -> float:
    """Of the pretraining stage `key`."""
    tokens = results.plan.stages[key].parents.get("tokens")
    lost = results.metric(tokens, "validation_unk_share") > FEW_UNKNOWN
    return math.nan if lost else results.metric(key, "validation_bits_per_byte")


def source_losses_frame(results: Results) -> pd.DataFrame:
    """Held-out loss of every finished pretraining run on each source of a mixture: SOURCE_COLUMNS,
    NaN if unknown."""
    runs = {arm.name: arm.pretrain for arm in results.plan.arms}
    texts = {name: run.held_out or run.corpus for name, run in runs.items()}
    rows = [
        (arm, seed, source, results.metric(key, f"validation_source_{source}_loss"))
        for (arm, seed), key in results.plan.pretrain_keys.items()
        if key in results.finished and isinstance(text := texts.get(arm), MixedCorpus)
        for source in text.sources
    ]
    return pd.DataFrame(rows, columns=SOURCE_COLUMNS)


def curves_frame(results: Results) -> pd.DataFrame:
    """Training loss of every pretraining run by step: CURVE_COLUMNS."""
    frames = []
    for (arm, seed), key in results.plan.pretrain_keys.items():
        found = results.finished.get(key)
        folder = results.store.fetch(found) if found else None
        if folder and (folder / "curve.csv").exists():
            curve = pd.read_csv(folder / "curve.csv").rename(columns={"train_loss": "loss"})
            frames.append(curve.assign(arm=arm, pretrain_seed=seed))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=CURVE_COLUMNS)
