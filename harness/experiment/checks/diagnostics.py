"""Checks of arms whose diagnostics need certain tasks and networks."""

from collections.abc import Iterator

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.diagnostics import ATTRIBUTED, CHANGED_WORDS

FIELD = ("evaluate", "diagnostics")


def problems(arm: Arm) -> Problems:
    """Tasks, networks and adaptations without attribution to the words of a pair."""
    is_trained = arm.pretrain.model.facts.kind != "baseline"
    if CHANGED_WORDS in arm.evaluate.diagnostics and is_trained:
        for why in (*_task_problems(arm), *_network_problems(arm)):
            yield FIELD, f"{arm.name!r}: evaluate.diagnostics: {CHANGED_WORDS} needs {why}"


def _task_problems(arm: Arm) -> Iterator[str]:
    for name, task in arm.evaluate.chosen.items():
        if task.kind != "classification" or len(task.text_fields) != 2:
            yield f"tasks that classify pairs of texts, but {name} does not; leave one out"
        elif answered_as_text(task, arm.evaluate.protocol):
            yield f"an output layer, but {name} is answered as text; set protocol.answer to head"


def _network_problems(arm: Arm) -> Iterator[str]:
    """Networks whose outputs have no gradient at the embeddings of their inputs, or that read the
    texts of a pair separately."""
    kinds = dict.fromkeys(one.kind for one in arm.tried_adaptations)
    for kind in (kind for kind in kinds if kind in ("frozen", "prompt")):
        yield f"an adaptation that reads the inputs in training, but it is {kind}; leave one out"
    if arm.evaluate.protocol.head == "bilstm_attention":
        yield (
            "both texts of a pair in one input, but protocol.head bilstm_attention reads them "
            "separately; set it to bilstm"
        )
    model = arm.adapted.model
    if model.positions == "none":
        yield "positions, but pretrain.model.positions is none; leave it out"
    if model.family not in ATTRIBUTED:
        yield (
            "position embeddings that are added to those of tokens, or no norm above them, as in "
            f"{', '.join(ATTRIBUTED)}, but the family is {model.family}; leave it out"
        )
