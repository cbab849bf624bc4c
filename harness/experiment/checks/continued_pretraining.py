"""Checks of `evaluate.continued_pretraining`."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from harness.core.config import unknown_name
from harness.data.corpora import load_corpus
from harness.data.corpora.sources import MicroworldCorpus, TaskCorpus
from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.finetuning.continued_pretraining import ContinuedPretraining, continued_run
from harness.pretraining.steps import planned_steps
from harness.tasks.custom import tasks_of
from harness.tasks.task import MicroworldData

KEYS = ("evaluate", "continued_pretraining")


def problems(arm: Arm) -> Problems:
    """Problems that do not depend on the files of the corpora."""
    steps, run = arm.evaluate.continued_pretraining, arm.pretrain
    if steps:
        yield from _arm_problems(arm)
    for number, step in enumerate(steps):
        for message in (*_texts(arm, step), *_run(arm, step, run.objective)):
            yield (*KEYS, number), f"evaluate.continued_pretraining[{number}]: {message}"
        run = run.model_copy(update={"objective": step.objective or run.objective})


def data_problems(arm: Arm) -> Problems:
    """Corpora without their files."""
    for number, step in enumerate(arm.evaluate.continued_pretraining):
        texts = step.corpus.values() if isinstance(step.corpus, Mapping) else (step.corpus,)
        for text in texts:
            try:
                if not isinstance(text, TaskCorpus):
                    load_corpus.fingerprint(text)
            except ValueError as error:
                keys = (*KEYS, number, "corpus")
                yield keys, f"evaluate.continued_pretraining[{number}].{error}"


def _arm_problems(arm: Arm) -> Problems:
    """Fields of an arm that are incompatible with any continued pretraining."""
    evaluate = arm.evaluate
    if arm.pretrain.model.facts.kind == "baseline":
        message = f"needs a pretrained model, but {arm.name!r} is a {arm.pretrain.model.family}"
        yield KEYS, f"evaluate.continued_pretraining {message}; remove it from this arm"
    if arm.pretrain.checkpoint_fractions:
        yield (
            ("pretrain", "checkpoint_fractions"),
            "pretrain.checkpoint_fractions and evaluate.continued_pretraining exclude each other "
            f"in {arm.name!r}: training continues from the last checkpoint; remove one of them",
        )
    by_task = any(step.by_task for step in evaluate.continued_pretraining)
    if by_task and evaluate.probes:
        yield (
            ("evaluate", "probes"),
            "evaluate.probes need one model per arm, but evaluate.continued_pretraining makes one "
            f"for each task of {arm.name!r}; remove the probes from this arm",
        )
    if by_task and (evaluate.multitask or evaluate.sequential):
        yield (
            KEYS,
            f"evaluate.continued_pretraining makes a model for each task of {arm.name!r}, but "
            "multitask and sequential train one model on all tasks; give one corpus for all",
        )


def _texts(arm: Arm, step: ContinuedPretraining) -> Iterator[str]:
    tasks = arm.evaluate.chosen
    if isinstance(step.corpus, Mapping):
        suite = arm.evaluate.suite_value
        for name in step.corpus:
            if name not in tasks_of(suite):
                yield "corpus: " + unknown_name(f"in {suite.name} the task", name, tasks)
        if missing := [name for name in tasks if name not in step.corpus]:
            yield f"corpus must give a text for each task, but has none for {', '.join(missing)}"
            return
    for name, task in tasks.items():
        text = step.corpus_of(name)
        if isinstance(text, TaskCorpus) and not task.train:
            yield f"corpus task needs a train set, but {name} has none; give it another corpus"
        if isinstance(task.data, MicroworldData) and isinstance(text, MicroworldCorpus):
            world = task.data.world or 0
            if text.world != world:
                yield f"corpus.world must be {world}, the world of {name}, but is {text.world}"


def _run(arm: Arm, step: ContinuedPretraining, objective: object) -> Iterator[str]:
    schedule = arm.pretrain.schedule
    warmup = schedule.warmup_steps if step.warmup_fraction is None else None
    without = schedule.model_copy(update={"warmup_steps": None})  # its own message is below
    start = arm.pretrain.model_copy(update={"objective": objective, "schedule": without})
    if start.model.facts.kind == "baseline":
        return
    try:
        run = continued_run(start, step)
    except ValidationError as error:
        yield from (detail["msg"].removeprefix("Value error, ") for detail in error.errors())
        return
    except ValueError as error:
        yield str(error)
        return
    steps = 0 if run.budget.seconds else planned_steps(run)
    if warmup and 0 < steps < warmup and schedule.decay != "inverse_sqrt":
        yield (
            f"the warmup of the pretraining, {warmup} updates, is longer than this run of {steps}; "
            "give a warmup_fraction"
        )
