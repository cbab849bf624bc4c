"""Checks of arms that are trained on the prompts of tasks."""

from harness.experiment.arms import Arm
from harness.experiment.checks.finetuning import settings_problems
from harness.experiment.checks.grid import Problems
from harness.experiment.evaluation import PROMPT_TRAININGS
from harness.finetuning.adaptation import Full
from harness.finetuning.prompt_training import network_problem, settings_problem


def problems(arm: Arm) -> Problems:
    """Networks and settings that training on prompts does not suit; baselines skip it."""
    evaluate = arm.evaluate
    if arm.pretrain.model.facts.kind == "baseline":
        return
    for field in PROMPT_TRAININGS:
        given = getattr(evaluate, field)
        if not given:
            continue
        if why := network_problem(evaluate.protocol, arm.adapted):
            yield ("evaluate", field), f"{arm.name!r}: evaluate.{field} {why}"
            continue
        settings = given.finetune or evaluate.finetune
        of_network = settings_problems(arm, settings, Full())
        for message in filter(None, (settings_problem(given, settings), *of_network)):
            yield ("evaluate", field), f"{arm.name!r}: evaluate.{field}: {message}"
