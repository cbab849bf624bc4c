"""Checks of arms with auxiliary objectives in fine-tuning."""

from collections.abc import Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.finetuning.diagnostics import AUXILIARY_WEIGHTS

FIELD = ("evaluate", "finetune", "auxiliary")


def problems(arm: Arm, arms: Sequence[Arm]) -> Problems:
    """Settings that are incompatible with auxiliary objectives, or need some."""
    evaluate = arm.evaluate
    if AUXILIARY_WEIGHTS in evaluate.diagnostics and not any(
        one.evaluate.finetune.auxiliary for one in arms
    ):
        yield (
            ("evaluate", "diagnostics"),
            f"evaluate.diagnostics: {AUXILIARY_WEIGHTS} needs evaluate.finetune.auxiliary, which "
            "no arm has; remove it",
        )
    if not (evaluate.finetune.auxiliary and evaluate.finetune.auxiliary.is_learned):
        return
    for name, why in (
        ("multitask", "one task's hold-out decides them, but several tasks are trained"),
        ("distillation", "no teacher has outputs for the hold-out that decides them"),
    ):
        if getattr(evaluate, name):
            yield (
                (*FIELD, "weights"),
                f"evaluate.finetune.auxiliary.weights must be 'fixed' for {arm.name!r} with "
                f"evaluate.{name}: {why}",
            )
