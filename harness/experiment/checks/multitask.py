"""Checks of arms that train one model on several tasks."""

from collections.abc import Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment


def chain_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Fields that are incompatible with one model for all tasks."""
    for arm in arms:
        evaluate = arm.evaluate
        field = "multitask" if evaluate.multitask else "sequential"
        if not (evaluate.multitask or evaluate.sequential):
            continue
        if experiment.sweep.trials:
            yield (
                ("sweep", "trials"),
                f"sweep.trials must be 0 for {arm.name!r}: a search tunes one task, but "
                f"evaluate.{field} trains one model for all; set evaluate.finetune instead",
            )
        if evaluate.protocol.selection == "best":
            yield (
                ("evaluate", "protocol", "selection"),
                f"evaluate.protocol.selection must be 'last' for {arm.name!r}: evaluate.{field} "
                "trains one model for all tasks, which has no best epoch for each",
            )
        for name, given in (
            ("diagnostics", evaluate.diagnostics),
            ("save_weights", evaluate.save_weights),
        ):
            if given:
                yield (
                    ("evaluate", name),
                    f"evaluate.{name} needs a model for each task, but evaluate.{field} of "
                    f"{arm.name!r} trains one for all; remove it",
                )
