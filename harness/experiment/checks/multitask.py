"""What must hold of arms that learn several tasks with one model."""

from collections.abc import Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment


def chain_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """What one model for all tasks does not go with."""
    for arm in arms:
        evaluate = arm.evaluate
        field = "multitask" if evaluate.multitask else "sequential"
        if not (evaluate.multitask or evaluate.sequential):
            continue
        if experiment.sweep.trials:
            yield (
                ("sweep", "trials"),
                f"sweep.trials must be 0 for {arm.name!r}: a search is of one task, but "
                f"evaluate.{field} trains one model for all; set evaluate.finetune instead",
            )
        if evaluate.protocol.selection == "best":
            yield (
                ("evaluate", "protocol", "selection"),
                f"evaluate.protocol.selection must be 'last' for {arm.name!r}: the epochs of one "
                f"task select nothing where evaluate.{field} trains one model for all",
            )
        for name, given in (
            ("diagnostics", evaluate.diagnostics),
            ("save_weights", evaluate.save_weights),
        ):
            if given:
                yield (
                    ("evaluate", name),
                    f"evaluate.{name} is of runs on one task, but evaluate.{field} of {arm.name!r} "
                    "trains one model for all, and their runs only score it; leave it out",
                )
