"""What must hold of the way in which an arm's model meets a task."""

from collections.abc import Iterator, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.finetuning.adaptation import Adaptation, Full
from harness.finetuning.compatibility import answered_as_text, layers_problem, settings_problem
from harness.finetuning.protocol import UNSEEING, Finetune
from harness.finetuning.search.spaces import ADAPTATION_PREFIX, Choice
from harness.finetuning.search.sweep import check_tried, ends
from harness.models import LEARNED_POSITIONS


def protocol_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """What a model that reads as an arm's does cannot be fine-tuned with."""
    for arm in arms:
        reading, evaluate = arm.adapted.representation, arm.evaluate
        if evaluate.protocol.pooling == "cls" and reading in UNSEEING:
            yield (
                ("evaluate", "protocol", "pooling"),
                f"evaluate.protocol.pooling must be native, last, mean or max for {arm.name!r}, "
                f"read {reading}, whose first token has seen nothing else, but is 'cls'",
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
            "evaluate.protocol.num_fewshot is for the adaptation prompt, which no arm has, but is "
            f"{num_fewshot}; set evaluate.adaptation, or leave it out",
        )


def _settings(arm: Arm, settings: Finetune, adaptation: Adaptation) -> Iterator[str]:
    """What fields of fine-tuning and of the adaptation do not go with the network of an arm: each
    message begins with one."""
    reading, is_frozen = arm.adapted.representation, adaptation.kind == "frozen"
    if settings.auxiliary_lm_weight and (reading != "causal" or is_frozen):
        yield (
            "finetune.auxiliary_lm_weight must be 0 for a model that is "
            f"{'frozen' if is_frozen else f'read {reading}'}: the loss is for causal models that "
            "are trained"
        )
    found = (
        settings_problem(settings, adaptation),
        layers_problem(settings, adaptation, arm.adapted),
    )
    yield from filter(None, found)


def _length_problems(arm: Arm) -> Problems:
    """Inputs longer than a network with a table of positions can read; a checkpoint's are known
    from its files and checked there."""
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
    """What answers in words do not go with."""
    evaluate = arm.evaluate
    if evaluate.protocol.answer == "text" and evaluate.adaptation.kind == "frozen":
        yield (
            ("evaluate", "protocol", "answer"),
            f"evaluate.protocol.answer must be 'head' for {arm.name!r}, which is frozen: in words "
            "answers the model itself, and that has to be trained",
        )
    tasks = evaluate.chosen.items()
    written = [name for name, task in tasks if answered_as_text(task, evaluate.protocol)]
    if written and evaluate.finetune.auxiliary_lm_weight:
        yield (
            ("evaluate", "finetune", "auxiliary_lm_weight"),
            f"evaluate.finetune.auxiliary_lm_weight must be 0 for {written[0]}, which is answered "
            "in words: it has the next-token loss of its targets alone",
        )


def space_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """What is searched, but what an arm has not or refuses."""
    for name, dimension in experiment.sweep.space.items():
        for arm in arms:
            try:
                for value in ends(dimension):
                    _check_searched(arm, name, value)
            except ValueError as error:
                yield ("sweep", "space", name), f"sweep.space.{name}: {error}"
                break


def _check_searched(arm: Arm, name: str, value: Choice) -> None:
    adaptation = arm.evaluate.adaptation
    field = name.removeprefix(ADAPTATION_PREFIX)
    if field == name:
        _check_setting(arm, name, value)
        return
    fields = [known for known in type(adaptation).model_fields if known != "kind"]
    if field not in fields:
        has = ", ".join(fields) or "none"
        raise ValueError(
            f"the adaptation {adaptation.kind} of {arm.name!r} has no field {field}; it has: {has}"
        )
    check_tried(type(adaptation), field, value, kind=adaptation.kind)


def _check_setting(arm: Arm, name: str, value: Choice) -> None:
    """Nothing is searched where nothing is trained."""
    adaptation = arm.evaluate.adaptation
    if arm.pretrain.model.facts.kind == "baseline" or not adaptation.trains:
        return
    settings = arm.evaluate.finetune.model_copy(update={name: value})
    for why in _settings(arm, settings, adaptation):
        if why.startswith(f"finetune.{name} "):
            raise ValueError(f"{arm.name!r}: {why}")
