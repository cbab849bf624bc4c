"""Checks of micro-worlds: the text must be about the world of the tasks and probes."""

from collections.abc import Iterator, Sequence

from harness.data.corpora.sources import (
    Corpus,
    MicroworldCorpus,
    TaskCorpus,
    decontaminated,
    sources_of,
)
from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment
from harness.tasks.probes import PROBES
from harness.tasks.task import MicroworldData

PER_SEED = ("seeds", "world")


def problems(arm: Arm) -> Problems:
    """A corpus of another micro-world than the tasks and probes."""
    wanted: dict[int, str] = {}
    for what, world in _tested(arm.evaluate):
        wanted.setdefault(world, what)
    texts = sources_of(arm.pretrain.corpus)
    for corpus in (text for text in texts if isinstance(text, MicroworldCorpus)):
        for world, what in wanted.items():
            if corpus.world != world:
                yield (
                    ("pretrain", "corpus", "world"),
                    f"pretrain.corpus.world must be {world}, the world of {what}, but is "
                    f"{corpus.world}",
                )


def world_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Worlds by seed of what has no worlds."""
    if experiment.seeds.in_worlds:
        found = [one for arm in arms for one in (*_tasks(arm.evaluate), *_of_arm(arm))]
        for what in dict.fromkeys(found):
            yield PER_SEED, f"seeds.world: per_seed needs generated text and tasks, but {what}"


def _tested(evaluate: Evaluate) -> Iterator[tuple[str, int]]:
    """What is about a micro-world, and its seed."""
    for task in evaluate.chosen.values():
        if isinstance(task.data, MicroworldData):
            yield f"the task {task.name}", task.data.world or 0
    for probe in evaluate.probes:
        if isinstance(data := PROBES[probe].data, MicroworldData):
            yield f"the probe {probe}", data.world or 0


def _tasks(evaluate: Evaluate) -> Iterator[str]:
    known = evaluate.known_tasks
    before = [known[name] for name in evaluate.earlier_tasks]
    for task in (*evaluate.chosen.values(), *before):
        if not isinstance(task.data, MicroworldData):
            yield f"the task {task.name} has one data set"
        elif task.data.world:
            yield f"the task {task.name} is about world {task.data.world}"
    for probe in evaluate.probes:
        if not isinstance(PROBES[probe].data, MicroworldData):
            yield f"the probe {probe} has one set of items"


def _of_arm(arm: Arm) -> Iterator[str]:
    run, steps = arm.pretrain, arm.evaluate.continued_pretraining
    if run.model.checkpoint:
        yield f"the checkpoint of arm {arm.name!r} has one text"
        return
    of_tasks = [step.corpus_of(task) for step in steps for task in arm.evaluate.chosen]
    texts = (run.corpus, run.held_out, run.tokenizer.corpus, *of_tasks)
    for text in texts:
        if text:
            yield from _of_text(text, arm.name)


def _of_text(text: Corpus | TaskCorpus, arm: str) -> Iterator[str]:
    for one in sources_of(text):
        if not isinstance(one, MicroworldCorpus | TaskCorpus):
            yield f"arm {arm!r} reads {one.source} text"
    if suites := decontaminated(text):
        yield f"arm {arm!r} removes the texts of {', '.join(suites)} in one world"
