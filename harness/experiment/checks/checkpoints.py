"""Checks of experiments whose arms are all imported checkpoints."""

from collections.abc import Mapping, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.finetuning.continued_pretraining import ContinuedPretraining

OF_PRETRAINING = (
    *("corpus", "held_out", "tokenizer", "objective", "size", "budget", "checkpoint_fractions"),
)
"""Fields of `pretrain` that no checkpoint reads; its files have a tokenizer, objective and size."""
OF_ALL_TRAINING = ("packing", "optimizer", "schedule", "phases", "batch_size")
"""Fields of `pretrain` that continued pretraining reads."""


def checkpoint_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Fields of pretraining that have no effect, as all arms are checkpoints."""
    if not all(arm.pretrain.model.checkpoint for arm in arms):
        return
    continues = any(arm.evaluate.continued_pretraining for arm in arms)
    for field in experiment.pretrain:
        if field == "budget" and _is_zero(experiment.pretrain[field]):
            continue
        if field in OF_PRETRAINING or (field in OF_ALL_TRAINING and not continues):
            step = ContinuedPretraining.model_fields
            other = ", or give it to evaluate.continued_pretraining" if field in step else ""
            yield (
                ("pretrain", field),
                f"pretrain.{field} has no effect, as all arms are imported checkpoints, which are "
                f"not pretrained: leave it out{other}",
            )


def _is_zero(budget: object) -> bool:
    return isinstance(budget, Mapping) and not any(budget.values())
