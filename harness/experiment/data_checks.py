"""Checks that the files of a declared experiment exist."""

import math
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from harness.core.files import file_exists, searched_from
from harness.data.corpora import load_corpus
from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.size import check_readable
from harness.data.corpora.sources import Corpus, LocalCorpus, TextCorpus, decontaminated
from harness.experiment.arms import Arm
from harness.experiment.checks import continued_pretraining
from harness.experiment.checks import model as model_checks
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.experiment.origins import value_place
from harness.experiment.source import Source
from harness.experiment.yaml_reader import Keys
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks import load_examples
from harness.tasks.custom import CustomSuite
from harness.tasks.evaluation_texts import evaluation_fingerprints
from harness.tasks.file_checks import check_files
from harness.tasks.probes import PROBES, items
from harness.tasks.task import Task

MAX_READ = 10_000
"""Documents that are read to see whether a corpus has enough."""


def report_data_problems(source: Source, experiment: Experiment, arms: Sequence[Arm]) -> None:
    """Reports files of corpora, tasks, probes, vectors and local checkpoints that are missing or
    cannot be read, each with the line that names it."""
    for arm in arms:
        for keys, message in _arm_problems(arm):
            source.report(value_place(source, experiment, arm.labels, keys, ""), message)
    for task in _all_tasks(experiment, arms):
        try:
            load_examples.fingerprint(task)
            check_files(task)
        except ValueError as error:
            message = str(error).removeprefix(f"{task.name} ")
            keys = _task_place(source, experiment, task, message)
            source.report(keys, f"{task.name}: {message}")
    for probe in dict.fromkeys(p for arm in arms for p in arm.evaluate.probes):
        try:
            items.fingerprint(PROBES[probe])
        except ValueError as error:
            source.report(source.mentioned(("evaluate",), probe), f"{probe}: {error}")


def _arm_problems(arm: Arm) -> Problems:
    model = arm.pretrain.model
    if model.vectors and not file_exists(Path(model.vectors)):
        keys = ("pretrain", "model", "vectors")
        where = searched_from(Path(model.vectors))
        yield keys, f"pretrain.model.vectors: there is no file {model.vectors}{where}"
    yield from continued_pretraining.data_problems(arm)
    if model.facts.kind == "checkpoint":
        yield from model_checks.data_problems(arm)
        return
    run = arm.pretrain
    if found := list(_text_problems(run.corpus, "corpus")):
        yield from found
    elif run.held_out is None:
        yield from _too_few_documents(run)
    yield from _text_problems(run.held_out, "held_out")
    yield from _text_problems(run.tokenizer.corpus, "tokenizer", "corpus")


def _text_problems(text: Corpus | None, *field: str) -> Problems:
    """A corpus without its files, with one that cannot be read, or without the texts that its
    steps remove."""
    place = ".".join(("pretrain", *field))
    try:
        if text is not None:
            load_corpus.fingerprint(text)
            check_readable(text)
    except ValueError as error:
        yield ("pretrain", *field, "path"), _named(place, error)
    try:
        for suite in decontaminated(text) if text is not None else ():
            evaluation_fingerprints(suite)
    except ValueError as error:
        yield ("pretrain", *field, "steps"), f"{place}.steps: {error}"


def _named(place: str, error: ValueError) -> str:
    """The message of an error with the path of the corpus in place of `corpus`."""
    start, _, rest = str(error).partition("corpus.")
    return f"{place}: {error}" if start else f"{place}.{rest}"


def _too_few_documents(run: Pretrain) -> Problems:
    """A local corpus of which no document would be left for training or to be held out, or one
    alone is held out where random pairs need another."""
    corpus, pairs = run.corpus, run.objectives[-1].sentence_pair == "nsp"
    if not isinstance(corpus, LocalCorpus) or decontaminated(corpus):
        return
    needed = _with_two_held_out(corpus.validation_fraction) if pairs else 2
    try:
        found = len(list(islice(read_documents(corpus), needed)))
    except ValueError as error:  # beyond what `check_readable` reads
        yield ("pretrain", "corpus", "path"), _named("pretrain.corpus", error)
        return
    if found < needed:
        held_out = "one of them held out"
        if pairs:
            held_out = "two of them held out for sentence_pair nsp (corpus.validation_fraction)"
        ends = "; blank lines separate documents" * isinstance(corpus, TextCorpus)
        yield (
            ("pretrain", "corpus", "path"),
            f"pretrain.corpus must have at least {needed} documents with text, {held_out}, but "
            f"has {found}{ends}",
        )


def _with_two_held_out(fraction: float) -> int:
    """Fewest documents of which two are held out, and two are not; 2 if they are more than
    MAX_READ."""
    held_out = ((size, math.ceil(size * fraction)) for size in range(4, MAX_READ + 1))
    return next((size for size, number in held_out if 2 <= number <= size - 2), 2)


def _all_tasks(experiment: Experiment, arms: Sequence[Arm]) -> list[Task]:
    """The chosen tasks and those that any arm is trained on before."""
    found = dict(experiment.evaluate.chosen)
    for arm in arms:
        known = arm.evaluate.known_tasks
        found |= {name: known[name] for name in arm.evaluate.earlier_tasks}
    return list(found.values())


def _task_place(source: Source, experiment: Experiment, task: Task, message: str) -> Keys:
    """Keys at which a task is declared, or at which it or its suite is named."""
    suite = experiment.evaluate.suite
    if isinstance(suite, CustomSuite) and task in suite.tasks:
        return source.mentioned(("evaluate", "suite", "tasks", suite.tasks.index(task)), message)
    name = experiment.evaluate.suite_value.name
    return source.mentioned(("evaluate",), f"{task.name} {name}")
