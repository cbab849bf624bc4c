"""Checks of arms that are fine-tuned on the outputs of another arm."""

from collections.abc import Iterator, Sequence

from harness.core.config import unknown_name
from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems

FIELD = ("evaluate", "distillation")
SHARED = ("answer", "holdout_fraction", "max_holdout_examples", "max_train_examples")
"""Fields of `evaluate.protocol` in which student and teacher agree: the outputs are those of the
same examples."""


def problems(arm: Arm, arms: Sequence[Arm]) -> Problems:
    """Teachers that do not exist, or whose outputs an arm cannot learn."""
    distillation = arm.evaluate.distillation
    if not distillation:
        return
    if _is_baseline(arm):
        name = arm.pretrain.model.family
        yield FIELD, f"evaluate.distillation has no effect on the baseline {name}; leave it out"
        return
    place, given = (*FIELD, "teacher"), distillation.teacher
    others = {one.name: one for one in arms if one.name != arm.name}
    if given == arm.name:
        yield place, f"evaluate.distillation.teacher must be another arm than {given!r} itself"
    elif given not in others:
        yield place, f"evaluate.distillation.teacher: {unknown_name('the arm', given, others)}"
    else:
        for why in _unsuitable(others[given], arm):
            yield place, f"evaluate.distillation.teacher: {given!r} must {why}"


def _unsuitable(teacher: Arm, student: Arm) -> Iterator[str]:
    """What a teacher must do, and does instead."""
    evaluate = teacher.evaluate
    if evaluate.distillation:
        yield "learn from labels, but has a teacher itself"
    for name in ("multitask", "sequential"):
        if getattr(evaluate, name):
            yield f"train a model for each task, but evaluate.{name} trains one for all"
    if _is_baseline(teacher) or not evaluate.adaptation.trains:
        what = evaluate.adaptation.kind
        found = teacher.pretrain.model.family if _is_baseline(teacher) else what
        yield f"be a network that is fine-tuned, but is {found}"
    for name in SHARED:
        own, wanted = (getattr(one.evaluate.protocol, name) for one in (teacher, student))
        if own != wanted:
            yield (
                f"read the training examples of {student.name!r}, whose evaluate.protocol.{name} "
                f"is {wanted}, but has {own}"
            )


def _is_baseline(arm: Arm) -> bool:
    return arm.pretrain.model.facts.kind == "baseline"
