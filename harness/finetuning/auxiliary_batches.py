"""Batches of auxiliary objectives, made from the inputs of a task.

Shapes: R rows of a task's batch, T tokens, M predictions.
"""

import numpy as np
import torch

from harness.finetuning.auxiliary import Auxiliary
from harness.finetuning.inputs import Batch
from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.targets import assemble
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.vocabulary import Vocabulary

HOLDOUT = "holdout_"
"""Prefix of batch keys for examples of the hold-out."""
MADE = ("input_ids", "token_type_ids", "positions", "targets")
NOISE = 2
"""Key of the random stream that draws the masks."""


def key_of(index: int) -> str:
    """Prefix of batch keys for an auxiliary objective."""
    return f"auxiliary{index}_"


def prefixed(prefix: str, batch: Batch) -> Batch:
    """The batch, such as of rows [R, T], with a prefix before its keys, to be a part of another."""
    return {f"{prefix}{name}": value for name, value in batch.items()}


def part_of(batch: Batch, prefix: str) -> Batch:
    """What `prefixed` made a part of `batch`, such as rows [R, T]."""
    names = (name for name in batch if name.startswith(prefix))
    return {name.removeprefix(prefix): batch[name] for name in names}


def auxiliary_batches(
    batch: Batch, settings: Auxiliary, vocabulary: Vocabulary, seed: tuple[int, ...]
) -> Batch:
    """The batches of all auxiliary objectives, each with the prefix `key_of` its index.

    Args:
        batch: of a task, with rows [R, T].
        seed: of an update, which determines its masks.
    """
    found: Batch = {}
    for index, one in enumerate(settings.objectives):
        rng = np.random.default_rng([*seed, NOISE, index])
        found |= prefixed(key_of(index), objective_batch(batch, one.objective, vocabulary, rng))
    return found


def objective_batch(
    batch: Batch, objective: Objective, vocabulary: Vocabulary, rng: np.random.Generator
) -> Batch:
    """The rows of a task as a batch of an objective: its inputs [R, T] (`input_ids`,
    `token_type_ids`, `attention_mask`), and `targets` [M] at `positions` [M] of the flattened
    states. All tokens but special ones may be masked."""
    rows = rows_of(batch, vocabulary)
    result = apply_transform(objective.transform, rows, rng, vocabulary)
    made = assemble(rows, result, objective, None, vocabulary, vocabulary.pad)
    found = {name: torch.from_numpy(np.ascontiguousarray(made[name])) for name in MADE}
    return {"attention_mask": batch["attention_mask"], **found}


def rows_of(batch: Batch, vocabulary: Vocabulary) -> Rows:
    """The rows [R, T] of a task's batch, before a transform."""
    # Copies, whose arrays a transform may be kept from writing to.
    tokens, types, real = (
        batch[name].numpy().copy() for name in ("input_ids", "token_type_ids", "attention_mask")
    )
    maskable = real.astype(bool) & ~vocabulary.special[tokens]
    return Rows(tokens, types, maskable, real.sum(1), np.zeros_like(maskable))
