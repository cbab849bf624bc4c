"""Checks of arms that are fine-tuned on the outputs of another arm."""

from collections.abc import Iterator, Sequence

from harness.core.config import unknown_name
from harness.data.corpora.sources import clean_text
from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.finetuning.distillation import LayerDistillation, masked_problem
from harness.pretraining.recipes.compatibility import layer_problems
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.recipes.teacher_compatibility import attention_problems

FIELD = ("evaluate", "distillation")
KINDS = ("encoder", "checkpoint")
"""Kinds of families whose layers are learned."""
SHARED = (
    "answer",
    "holdout_fraction",
    "max_holdout_examples",
    "holdout_groups",
    "max_train_examples",
)
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
        teacher = others[given]
        for why in _unsuitable(teacher, arm):
            yield place, f"evaluate.distillation.teacher: {given!r} must {why}"
        if distillation.augment and (why := _not_masked(teacher)):
            yield (
                (*FIELD, "augment"),
                f"{arm.name!r}: evaluate.distillation.augment needs a teacher whose network "
                f"predicts masked tokens, but {given!r} does not: {why}; leave it out",
            )
        if distillation.layers:
            for why in _layers(distillation.layers, teacher, arm):
                yield (*FIELD, "layers"), f"{arm.name!r}: evaluate.distillation.layers: {why}"


def _unsuitable(teacher: Arm, student: Arm) -> Iterator[str]:
    """What a teacher must do, and does instead."""
    evaluate = teacher.evaluate
    if evaluate.distillation:
        yield "learn from labels, but has a teacher itself"
    if evaluate.ensemble:
        yield f"be one network, but evaluate.ensemble averages {evaluate.ensemble.label}"
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


def _not_masked(teacher: Arm) -> str:
    """Why the network of a teacher gives no candidates for words; empty if it does."""
    if _is_baseline(teacher):
        return "there is none"
    run = teacher.pretrain
    return masked_problem(run.objective.components[-1][1], run.representation)


def _layers(settings: LayerDistillation, teacher: Arm, student: Arm) -> Iterator[str]:
    """Why a student cannot learn the layers of a teacher."""
    for one in teacher.tried_adaptations:
        if not one.whole:
            yield (
                f"the adaptation of {teacher.name!r} must train the network's own weights, as full "
                f"does, but it is {one.kind}"
            )
    for one in student.tried_adaptations:
        if one.kind != "full":
            yield f"the adaptation of {student.name!r} must be full, but it is {one.kind}"
    for arm in (teacher, student):
        run = arm.adapted
        if run.model.facts.kind not in KINDS or run.representation != "bidirectional":
            yield (
                f"{arm.name!r} must be an encoder read bidirectional, but its family is "
                f"{run.model.family}, read {run.representation}"
            )
    lengths = [one.evaluate.protocol.max_sequence_length for one in (teacher, student)]
    if lengths[0] != lengths[1]:
        yield (
            f"{teacher.name!r} reads the inputs of {student.name!r}, whose "
            f"protocol.max_sequence_length is {lengths[1]}, but has {lengths[0]}"
        )
    ours, theirs = student.pretrain, teacher.pretrain
    if ours.model.checkpoint or theirs.model.checkpoint:
        return  # known when they are read
    if _tokenizer(ours) != _tokenizer(theirs):
        yield f"{teacher.name!r} must have the tokenizer of {student.name!r}, but has another"
    yield from layer_problems(*settings.weights, ours.size, theirs.size)
    if settings.attention_weight:
        yield from attention_problems(ours.model.family, theirs.model.family)


def _tokenizer(run: Pretrain) -> tuple[object, ...]:
    """What decides a tokenizer: its settings and text."""
    own = run.tokenizer
    return own.model_copy(update={"corpus": None}), clean_text(own.corpus or run.corpus)


def _is_baseline(arm: Arm) -> bool:
    return arm.pretrain.model.facts.kind == "baseline"
