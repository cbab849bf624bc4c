"""Checks of adaptation, fine-tuning settings and search space of each arm, and of arms that train
one model on several tasks."""

from collections.abc import Iterator, Mapping, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.finetuning.adaptation import ADAPTATIONS, Adaptation, Full
from harness.finetuning.compatibility import (
    answered_as_text,
    layers_problem,
    settings_problem,
    too_small,
)
from harness.finetuning.protocol import UNSEEING, Finetune
from harness.finetuning.search.space import (
    ADAPTATION,
    ADAPTATION_PREFIX,
    Choice,
    Choices,
    Range,
    branches_of,
    check_tried,
    ends,
    own,
    shared,
)
from harness.models import LEARNED_POSITIONS


def protocol_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Settings of fine-tuning that are incompatible with the model of an arm."""
    for arm in arms:
        representation, evaluate = arm.adapted.representation, arm.evaluate
        if evaluate.protocol.pooling == "cls" and representation in UNSEEING:
            yield (
                ("evaluate", "protocol", "pooling"),
                f"evaluate.protocol.pooling must be native, last, mean or max for {arm.name!r}, "
                f"whose representation is {representation} (its first token attends to no other), "
                "but is 'cls'",
            )
        for message in _settings(arm, evaluate.finetune, evaluate.adaptation):
            field = message.partition(" ")[0].split(".")
            yield ("evaluate", *field), f"{arm.name!r}: evaluate.{message}"
        for one in evaluate.intermediate_tasks:
            for message in _settings(arm, one.finetune or evaluate.finetune, Full()):
                text = f"{arm.name!r}: evaluate.intermediate_tasks: of {one.task}, {message}"
                yield ("evaluate", "intermediate_tasks"), text
        yield from _answer_problems(arm)
        yield from _length_problems(arm)
    num_fewshot = max((arm.evaluate.protocol.num_fewshot for arm in arms), default=0)
    if num_fewshot and all(arm.evaluate.adaptation.trains for arm in arms):
        yield (
            ("evaluate", "protocol", "num_fewshot"),
            "evaluate.protocol.num_fewshot needs the adaptation prompt, which no arm uses, but is "
            f"{num_fewshot}; set evaluate.adaptation or remove it",
        )


def _settings(arm: Arm, settings: Finetune, adaptation: Adaptation) -> Iterator[str]:
    """Problems of fine-tuning settings with the network of an arm; each message begins with the
    field."""
    representation, is_frozen = arm.adapted.representation, adaptation.kind == "frozen"
    if settings.auxiliary_lm_weight and (representation != "causal" or is_frozen):
        yield (
            "finetune.auxiliary_lm_weight must be 0 for a "
            f"{'frozen' if is_frozen else representation} model: its loss needs a trained causal "
            "model"
        )
    wrong_layers = layers_problem(settings, adaptation, arm.adapted)
    yield from filter(None, (settings_problem(settings, adaptation), wrong_layers))


def _length_problems(arm: Arm) -> Problems:
    """Inputs longer than the position embeddings of a network. Those of a checkpoint are in its
    files; see `model.data_problems`."""
    model, protocol = arm.pretrain.model, arm.evaluate.protocol
    if model.family not in LEARNED_POSITIONS:
        return
    if protocol.max_sequence_length > model.max_position:
        yield (
            ("evaluate", "protocol", "max_sequence_length"),
            f"evaluate.protocol.max_sequence_length must be at most {model.max_position}, the "
            f"max_position of {arm.name!r}, but is {protocol.max_sequence_length}",
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
    tasks = evaluate.chosen.items()
    written = [name for name, task in tasks if answered_as_text(task, evaluate.protocol)]
    if written and evaluate.finetune.auxiliary_lm_weight:
        yield (
            ("evaluate", "finetune", "auxiliary_lm_weight"),
            f"evaluate.finetune.auxiliary_lm_weight must be 0 for {written[0]}, which is answered "
            "as text: its loss is the next-token loss of the targets alone",
        )


def space_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Searched hyperparameters that an arm does not have or cannot use."""
    space = experiment.sweep.space
    for branch in branches_of(space):
        for arm in arms:
            if why := _branch_problem(arm, branch, own(space, branch)):
                yield ("sweep", "space", ADAPTATION, branch), f"sweep.space.adaptation: {why}"
                break
    for name, dimension in shared(space).items():
        for arm in arms if name != ADAPTATION else ():
            try:
                for value in ends(dimension):
                    _check_searched(arm, name, value)
            except ValueError as error:
                yield ("sweep", "space", name), f"sweep.space.{name}: {error}"
                break


def _branch_problem(arm: Arm, branch: str, space: Mapping[str, Range | Choices]) -> str:
    """Why an arm cannot try an adaptation with its searched settings; empty if it can."""
    if arm.pretrain.model.facts.kind == "baseline" or not arm.evaluate.adaptation.trains:
        return ""
    fields = {name.rpartition(".")[2]: ends(found) for name, found in space.items()}
    first = {name: values[0] for name, values in fields.items()}
    tried = [first, *({**first, name: one} for name, values in fields.items() for one in values)]
    why = next(filter(None, (_trial_problem(arm, branch, fields) for fields in tried)), "")
    return why and f"{branch} of {arm.name!r}: {why}"


def _trial_problem(arm: Arm, branch: str, fields: Mapping[str, Choice]) -> str:
    """Why an arm cannot try one choice of settings; empty if it can."""
    known = ADAPTATIONS[branch]
    own = {name: value for name, value in fields.items() if name in type(known).model_fields}
    update = {name: value for name, value in fields.items() if name in Finetune.model_fields}
    settings = arm.evaluate.finetune.model_copy(update=update)
    tried = known.model_copy(update=own)
    problem = next(_settings(arm, settings, tried), "")
    return problem or too_small(arm.evaluate.protocol, tried, arm.adapted)


def _check_searched(arm: Arm, name: str, value: Choice) -> None:
    adaptation = arm.evaluate.adaptation
    field = name.removeprefix(ADAPTATION_PREFIX)
    if field == name:
        _check_setting(arm, name, value)
        return
    fields = [known for known in type(adaptation).model_fields if known != "kind"]
    if field not in fields:
        known_fields = ", ".join(fields) or "none"
        raise ValueError(
            f"the adaptation {adaptation.kind} of {arm.name!r} has no field {field}; "
            f"known: {known_fields}"
        )
    check_tried(type(adaptation), field, value, kind=adaptation.kind)
    tried = adaptation.model_copy(update={field: value})
    if why := too_small(arm.evaluate.protocol, tried, arm.adapted):
        raise ValueError(f"{arm.name!r}: {why}")


def _check_setting(arm: Arm, name: str, value: Choice) -> None:
    """Raises if `name` cannot be searched; arms without training are not searched at all."""
    adaptation = arm.evaluate.adaptation
    if arm.pretrain.model.facts.kind == "baseline" or not adaptation.trains:
        return
    settings = arm.evaluate.finetune.model_copy(update={name: value})
    for why in _settings(arm, settings, adaptation):
        if why.startswith(f"finetune.{name} "):
            raise ValueError(f"{arm.name!r}: {why}")


def chain_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Fields that are incompatible with one model for all tasks."""
    for arm in arms:
        evaluate = arm.evaluate
        if not (evaluate.multitask or evaluate.sequential):
            continue
        field = "multitask" if evaluate.multitask else "sequential"
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
