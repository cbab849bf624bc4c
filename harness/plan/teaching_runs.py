"""Fine-tuning runs from whose outputs the runs of other arms learn (`evaluate.distillation`)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from harness.experiment.arms import Arm
from harness.finetuning.distillation import Augmentation
from harness.plan.plan import FinetuneRun
from harness.tasks.task import Task


def teachers_first(arms: Sequence[Arm]) -> list[Arm]:
    """The arms in the order in which their stages are added: students last."""
    return sorted(arms, key=lambda arm: arm.evaluate.distillation is not None)


class TeachingRuns:
    """The runs of the arms that teach others. They are added before those of their students."""

    def __init__(self, arms: Sequence[Arm]) -> None:
        self.arms = {arm.name: arm for arm in arms}
        given = [arm.evaluate.distillation for arm in arms]
        self.teachers = {one.teacher for one in given if one}
        self.layer_teachers = {one.teacher for one in given if one and one.layers}
        self._augments = [(one.teacher, one.augment) for one in given if one and one.augment]
        self._keys: dict[tuple[str, str], dict[tuple[int, int], str]] = defaultdict(dict)
        """(arm, task) to (pretraining seed, fine-tuning seed) to key."""

    def add(self, run: FinetuneRun) -> None:
        """Keeps a run, if it is of a teacher at the end of its pretraining."""
        if run.arm in self.teachers and run.pretrain_fraction == 1:
            self._keys[run.arm, run.task][run.pretrain_seed, run.finetune_seed] = run.key

    def of_layers(self, arm: Arm) -> Arm | None:
        """The arm whose layers an arm learns; null if it learns none."""
        taught = arm.evaluate.distillation
        return self.arms[taught.teacher] if taught and taught.layers else None

    def augmentations(self, arm: Arm) -> list[Augmentation]:
        """How an arm augments examples for its students: distinct settings, in one order."""
        own = {repr(how): how for name, how in self._augments if name == arm.name}
        return [own[name] for name in sorted(own)]

    def before(self, arm: Arm, task: Task, pretrain_seed: int, seed: int) -> dict[str, str]:
        """Role to key of the run on `task` from which a run of `arm` with these seeds learns; empty
        if it learns from labels alone."""
        taught = arm.evaluate.distillation
        if not (taught and task.train):
            return {}
        keys = self._keys[taught.teacher, task.name]
        first, _ = next(iter(keys))  # a checkpoint has one pretraining seed
        return {"teacher": keys.get((pretrain_seed, seed)) or keys[first, seed]}


def teacher_unsupported_reason(
    arm: Arm, task: Task, unsupported: Mapping[tuple[str, str], str]
) -> str:
    """Why the teacher of an arm does not support a task; empty if it does.

    Args:
        unsupported: (arm, task) to reason.
    """
    taught = arm.evaluate.distillation
    why = unsupported.get((taught.teacher, task.name)) if taught else None
    return f"of its teacher {taught.teacher}: {why}" if taught and why else ""
