"""Examples of a task and documents of a corpus, to read before they are used."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar

from harness.core.config import unknown_name
from harness.core.files import user_path
from harness.data.corpora import CORPORA
from harness.data.corpora.local_files import matching
from harness.data.corpora.mixing import split_corpus
from harness.data.corpora.sources import (
    Corpus,
    HubCorpus,
    JsonLinesCorpus,
    ParquetCorpus,
    TextCorpus,
)
from harness.experiment.objective_samples import objective_rows
from harness.tasks import TASKS
from harness.tasks.data_files import SUFFIXES
from harness.tasks.datasets import catalog
from harness.tasks.examples import Answers, Examples, Mention, clusters
from harness.tasks.inference import inferred
from harness.tasks.load_examples import load_examples
from harness.tasks.task import HubData, Task

Entry = TypeVar("Entry")

FILES_WITH_SUFFIX = 100
"""Files by whose suffixes a corpus is recognised."""
MAX_CHARACTERS = 400
"""Length at which a text is cut."""


def documents(name: str, number: int) -> list[str]:
    """The beginnings of the first documents of a corpus.

    Args:
        name: of a shipped corpus; or a file, a folder or a glob pattern of text or JSON lines.

    Raises:
        ValueError: no such corpus or file, or a data set of the Hub that is not on this machine.
    """
    documents = split_corpus(named_corpus(name))
    return [_cut(" ".join(one.sentences)) for one in islice(documents, number)]


def named_corpus(name: str) -> Corpus:
    """The corpus of a name or path; see `documents`."""
    corpus = _shipped("corpus", name, CORPORA)
    if corpus is None:
        return _local_corpus(name)
    if isinstance(corpus, HubCorpus):
        _require_local(name, corpus)
    return corpus


def _local_corpus(path: str) -> Corpus:
    """The corpus of a file, folder or pattern, by the suffixes of the files."""
    files = [Path(path), *islice(matching(path), FILES_WITH_SUFFIX)]
    suffixes = {suffix.lower() for file in files for suffix in file.suffixes}
    if ".jsonl" in suffixes:
        return JsonLinesCorpus(path=path)
    return ParquetCorpus(path=path) if ".parquet" in suffixes else TextCorpus(path=path)


def examples(name: str, number: int) -> list[dict[str, Any]]:
    """The texts and the label of the first train examples of a task, or of its first split.

    Args:
        name: of a shipped task; or a file with classes or values, as `data` of an own task.

    Raises:
        ValueError: no such task or file, or a data set of the Hub that is not on this machine.
    """
    task = _shipped("task", name, TASKS)
    if task is None:
        task = _of_file(name)
    if isinstance(task.data, HubData):
        _require_local(name, task)
    found = load_examples(task, "train" if task.train else task.evaluation[0]).head(number)
    return [dict(_fields(task, found, row)) for row in range(len(found))]


def _of_file(name: str) -> Task:
    """The task that a file determines.

    Raises:
        ValueError: there is no such file, or it determines none.
    """
    try:
        return Task.model_validate(inferred({"name": Path(name).stem, "data": name}))
    except ValueError as error:
        if not user_path(name).exists() or name in str(error):  # it is about the file itself
            raise
        raise ValueError(
            f"{name}: {error}; --examples shows files of classification and regression alone, "
            "recognised by their columns: for other kinds or columns, declare the task in an "
            "experiment, where 'harness plan' checks it"
        ) from error


SAMPLES: dict[str, Callable[[str, int], Any]] = {
    "corpora": documents,
    "tasks": examples,
    "objectives": objective_rows,
}
"""Registry to the function of a name and a number that samples its text."""


def _shipped(kind: str, name: str, registry: Mapping[str, Entry]) -> Entry | None:
    """The registered value, or null for the path of a file."""
    if name not in registry and not _is_path(name):
        raise ValueError(unknown_name(f"the {kind} or file", name, registry))
    return registry.get(name)


def _is_path(name: str) -> bool:
    return "*" in name or user_path(name).exists() or Path(name).suffix in (*SUFFIXES, ".txt")


def _require_local(name: str, user: catalog.User) -> None:
    if not catalog.is_local(user):
        raise ValueError(
            f"{name} is neither in HARNESS_DATA nor in the cache of the Hub; "
            f"fetch it: {catalog.fetch_command(catalog.sets_of(user))}"
        )


def _fields(task: Task, found: Examples, row: int) -> Iterator[tuple[str, Any]]:
    texts = found.texts[row]
    if task.kind == "tagging":
        yield task.text_fields[0], " ".join(texts)
    elif task.kind == "coreference":
        yield task.text_fields[0], _cut(" ".join(texts))
    else:
        yield from zip(task.text_fields, map(_cut, texts), strict=True)
    if found.choices:
        yield "choices", [_cut(choice) for choice in found.choices[row]]
    if task.kind == "coreference":
        yield task.label_field, _entities(texts, found.labels[row])
    else:
        yield task.label_field, _label(task, found.labels[row])


def _entities(sentences: Sequence[str], mentions: Sequence[Mention]) -> list[str]:
    """The mentions of each entity, such as `the dog = it`."""
    words = " ".join(sentences).split(" ")
    named = ([" ".join(words[a : b + 1]) for a, b in entity] for entity in clusters(mentions))
    return [_cut(" = ".join(one)) for one in named]


def _label(task: Task, label: Any) -> Any:
    """A label as a reader writes it: names of classes and tags, texts, or a number."""
    if isinstance(label, Answers):
        return list(label.texts)
    if task.kind == "tagging":
        return " ".join(task.labels[tag] for tag in label)
    if isinstance(label, tuple):
        return [_cut(text) for text in label]
    if task.kind == "classification" and task.labels and label >= 0:
        return task.labels[label]
    return label.item()


def _cut(text: str) -> str:
    return shorten(text, MAX_CHARACTERS, placeholder=" ...")
