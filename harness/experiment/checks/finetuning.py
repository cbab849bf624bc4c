"""Checks of adaptation, fine-tuning settings and search space of each arm, and of arms that train
one model on several tasks."""

from collections.abc import Iterator, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.checkpoints import checkpoint_problems
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.finetuning.adaptation import Adaptation, Full
from harness.finetuning.compatibility import (
    auxiliary_problem,
    layers_problem,
    reading_of,
    use_problem,
)
from harness.finetuning.projection_updates import Adalora
from harness.finetuning.protocol import UNSEEING, Finetune
from harness.finetuning.search.space import branches_of
from harness.finetuning.settings_compatibility import (
    fixed_problem,
    mixing_problem,
    noise_problem,
    outputs_problems,
    settings_problem,
)
from harness.finetuning.task_chain import OF_VECTORS, WITHIN_BATCH, IntermediateTask
from harness.models import BOUNDED
from harness.tasks.perturbation import alignment_problem


def problems(arm: Arm, arms: Sequence[Arm]) -> Problems:
    """Settings of fine-tuning that are incompatible with the model of an arm, and demonstrations
    that no arm of `arms` reads."""
    evaluate = arm.evaluate
    if why := use_problem(evaluate.protocol, evaluate.adaptation, arm.adapted):
        yield (
            ("evaluate", "protocol", "use"),
            f"evaluate.protocol.use must be left out for {arm.name!r}: {why}",
        )
    representation = reading_of(evaluate.protocol, arm.adapted)
    if evaluate.protocol.pooling == "cls" and representation in UNSEEING:
        yield (
            ("evaluate", "protocol", "pooling"),
            f"evaluate.protocol.pooling must be native, last, mean or max for {arm.name!r}, "
            f"whose representation is {representation} (its first token attends to no other), "
            "but is 'cls'",
        )
    facts = arm.adapted.model.facts
    if evaluate.protocol.pooling == "mean_sqrt_len" and facts.kind == "averaging":
        yield (
            ("evaluate", "protocol", "pooling"),
            f"evaluate.protocol.pooling must be native for {arm.name!r}, whose states are all "
            "the average of the text, but is 'mean_sqrt_len'",
        )
    for message in settings_problems(arm, evaluate.finetune, evaluate.adaptation):
        field = message.partition(" ")[0].split(".")
        yield ("evaluate", *field), f"{arm.name!r}: evaluate.{message}"
    for one in evaluate.intermediate_tasks:
        for message in settings_problems(arm, one.finetune or evaluate.finetune, Full()):
            names = " + ".join(one.tasks)
            text = f"{arm.name!r}: evaluate.intermediate_tasks: of {names}, {message}"
            yield ("evaluate", "intermediate_tasks"), text
        yield from _intermediate_problems(arm, one)
    yield from _answer_problems(arm)
    yield from _selection_problems(arm)
    yield from _length_problems(arm)
    yield from _perturbation_problems(arm)
    yield from _chain_problems(arm)
    num_fewshot = evaluate.protocol.num_fewshot
    if num_fewshot and all(one.evaluate.adaptation.trains for one in arms):
        yield (
            ("evaluate", "protocol", "num_fewshot"),
            "evaluate.protocol.num_fewshot needs the adaptation prompt, which no arm uses, but is "
            f"{num_fewshot}; set evaluate.adaptation or remove it",
        )


def protocol_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Fields of the experiment that have no effect."""
    yield from checkpoint_problems(experiment, arms)
    has_test = any(task.test for task in experiment.evaluate.chosen.values())
    if experiment.evaluate.predict_test and not has_test:
        yield (
            ("evaluate", "predict_test"),
            "evaluate.predict_test needs a task with a test split without public labels, but none "
            "of the chosen tasks has one; leave it out",
        )


def settings_problems(arm: Arm, settings: Finetune, adaptation: Adaptation) -> Iterator[str]:
    """Problems of fine-tuning settings with the network of an arm; each message begins with the
    field."""
    representation = reading_of(arm.evaluate.protocol, arm.adapted)
    is_frozen = adaptation.kind == "frozen"
    if settings.auxiliary_lm_weight and (representation != "causal" or is_frozen):
        yield (
            "finetune.auxiliary_lm_weight must be 0 for a "
            f"{'frozen' if is_frozen else representation} model: its loss needs a trained causal "
            "model"
        )
    problems = (
        settings_problem(settings, adaptation),
        layers_problem(settings, adaptation, arm.adapted, representation),
        _objectives_problem(arm, settings, adaptation),
        noise_problem(settings, arm.adapted.model.family, representation),
        fixed_problem(settings, arm.adapted.model.family),
        mixing_problem(settings, arm.adapted.model.family),
    )
    yield from filter(None, problems)


def _intermediate_problems(arm: Arm, one: IntermediateTask) -> Problems:
    """Objectives that do not suit an intermediate task, its network or its settings."""
    evaluate = arm.evaluate
    settings, model = one.finetune or evaluate.finetune, arm.adapted.model
    where = f"{arm.name!r}: evaluate.intermediate_tasks: of {' + '.join(one.tasks)}, "
    of_vectors = [objective for objective in one.objectives if objective in OF_VECTORS]
    alone = [] if one.siamese else [evaluate.known_tasks[name] for name in one.tasks]
    for message in outputs_problems(settings, alone, evaluate.protocol):
        yield ("evaluate", "intermediate_tasks"), f"{where}{message}"
    if settings.sift_weight and of_vectors:
        yield (
            ("evaluate", "intermediate_tasks"),
            f"{where}finetune.sift_weight needs outputs that are classes, places or values, but it "
            f"is trained by {of_vectors[0]}; leave it out",
        )
    if settings.holdout_decay and (len(one.tasks) > 1 or of_vectors):
        found = f"by {of_vectors[0]}" if of_vectors else f"on {len(one.tasks)} tasks"
        yield (
            ("evaluate", "intermediate_tasks"),
            f"{where}finetune.holdout_decay needs one task with scores on a hold-out, but it is "
            f"trained {found}; leave it out",
        )
    learned = settings.auxiliary and settings.auxiliary.is_learned
    if learned and len(one.tasks) > 1 and not one.is_joint:
        yield (
            ("evaluate", "intermediate_tasks"),
            f"{where}finetune.auxiliary.weights must be 'fixed': one task's hold-out decides them, "
            "but the examples of several tasks are mixed",
        )
    if "dropout_pairs" in one.objectives and not model.has_dropout:
        yield (
            ("evaluate", "intermediate_tasks"),
            f"{where}siamese: dropout_pairs needs a network with dropout, but that of a "
            f"{model.family} with dropout {model.dropout:g} and attention_dropout "
            f"{model.attention_dropout:g} has none: set one of them, or both views of "
            "a text are equal",
        )
    within_batch = [objective for objective in one.objectives if objective in WITHIN_BATCH]
    if within_batch and settings.batch_size < 2:
        yield (
            ("evaluate", "intermediate_tasks"),
            f"{where}siamese: {within_batch[0]} needs a finetune.batch_size of at least 2, as the "
            "other texts of a batch are the negatives, but it is 1",
        )


def _objectives_problem(arm: Arm, settings: Finetune, adaptation: Adaptation) -> str:
    run = arm.adapted
    return auxiliary_problem(
        settings, adaptation, run.representation, run.model.facts.representations
    )


def _length_problems(arm: Arm) -> Problems:
    """Inputs longer than the position embeddings of a network. Those of a checkpoint are in its
    files; see `model.data_problems`."""
    model, protocol = arm.pretrain.model, arm.evaluate.protocol
    if model.family not in BOUNDED:
        return
    if protocol.max_sequence_length > model.max_position:
        yield (
            ("evaluate", "protocol", "max_sequence_length"),
            f"evaluate.protocol.max_sequence_length must be at most {model.max_position}, the "
            f"max_position of {arm.name!r}, but is {protocol.max_sequence_length}",
        )


def _perturbation_problems(arm: Arm) -> Problems:
    """Noise in examples whose labels are places in the text, or that a server scores."""
    evaluate = arm.evaluate
    if not evaluate.protocol.perturb.content:
        return
    keys = ("evaluate", "protocol", "perturb")
    for why in filter(None, map(alignment_problem, evaluate.chosen.values())):
        yield keys, f"evaluate.protocol.perturb must be left out for {arm.name!r}: {why}"
    if evaluate.predict_test:
        yield (
            ("evaluate", "predict_test"),
            f"evaluate.predict_test must be false for {arm.name!r}, whose examples are perturbed: "
            "a benchmark's server scores the examples as they are",
        )


def _selection_problems(arm: Arm) -> Problems:
    """Weights of an arm that may have more ranks than its adaptation allows: of an epoch in which
    they are not reduced yet, or the mean of several runs."""
    falling = [one.kind for one in arm.tried_adaptations if isinstance(one, Adalora)]
    ensemble = arm.evaluate.ensemble
    if falling and ensemble and ensemble.average == "weights":
        yield (
            ("evaluate", "ensemble", "average"),
            f"evaluate.ensemble.average must be 'outputs' for {arm.name!r}: members of "
            f"{falling[0]} keep different ranks, of which their mean has more than are allowed",
        )
    if falling and arm.evaluate.protocol.selection == "best":
        yield (
            ("evaluate", "protocol", "selection"),
            f"evaluate.protocol.selection must be 'last' for {arm.name!r}: the ranks of "
            f"{falling[0]} fall while it is trained, so that the best epoch may have more of them "
            "than the rank allows",
        )


def _answer_problems(arm: Arm) -> Problems:
    """Settings that are incompatible with answers as text."""
    evaluate = arm.evaluate
    if evaluate.protocol.answer == "text" and evaluate.adaptation.kind == "frozen":
        yield (
            ("evaluate", "protocol", "answer"),
            f"evaluate.protocol.answer must be 'head' for {arm.name!r}, which is frozen: only a "
            "trained model can generate answers",
        )
    tasks = evaluate.chosen.values()
    for message in outputs_problems(evaluate.finetune, tasks, evaluate.protocol):
        field = message.partition(" ")[0].split(".")
        yield ("evaluate", *field), f"evaluate.{message}"


def _chain_problems(arm: Arm) -> Problems:
    """Fields that are incompatible with one model for all tasks."""
    evaluate = arm.evaluate
    if not (evaluate.multitask or evaluate.sequential):
        return
    field = "multitask" if evaluate.multitask else "sequential"
    if arm.sweep.trials and evaluate.sequential:
        yield (
            ("sweep", "trials"),
            f"sweep.trials must be 0 for {arm.name!r}: evaluate.sequential trains in steps, "
            "one for each task, which are not searched; set evaluate.finetune instead",
        )
    if branches_of(arm.sweep.space):
        yield (
            ("sweep", "space", "adaptation"),
            f"sweep.space must have no adaptation for {arm.name!r}: evaluate.{field} trains "
            "the whole network",
        )
    searched = arm.searched("holdout_decay")
    if evaluate.multitask and (searched or evaluate.finetune.holdout_decay):
        where = ("sweep", "space") if searched else ("evaluate", "finetune")
        yield (
            (*where, "holdout_decay"),
            f"{'.'.join(where)}.holdout_decay needs one task with scores on a hold-out, but "
            f"{arm.name!r} trains several together; leave it out",
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
