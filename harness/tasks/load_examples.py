"""Loading of the examples of a task, and their fingerprint."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from harness.core.files import file_exists, searched_from, user_path
from harness.data import hub, python_stdlib
from harness.data.digests import digest
from harness.data.microworld import examples
from harness.tasks import loaders
from harness.tasks.annotated_words import Columns
from harness.tasks.examples import Answers, Examples, content_holdout
from harness.tasks.judged_pairs import DOCUMENTS, QUERIES, judged_pairs
from harness.tasks.labels import (
    check_choices,
    check_class_names,
    check_judgements,
    check_mentions,
    check_tags,
    class_name,
    read_labels,
)
from harness.tasks.marked_words import marked_fields, marked_spans
from harness.tasks.patterns import columns_in, filled, is_pattern
from harness.tasks.preprocessing import NOWHERE, prepared
from harness.tasks.row_checks import check_rows, is_own
from harness.tasks.task import (
    HOLDOUT_SPLIT,
    CollectionData,
    FileData,
    HubData,
    Kind,
    MicroworldData,
    PluginData,
    Split,
    StdlibData,
    Task,
)

IN_LISTS: tuple[Kind, ...] = ("tagging", "coreference")
"""Kinds of tasks whose text field contains a list of words or of sentences."""


def load_examples(task: Task, split: Split | Literal["train"]) -> Examples:
    """The examples of a split of `task`.

    Raises:
        ValueError: the data are missing, or do not match the declaration of the task.
    """
    if split != "train":
        return _loaded(task, split)
    assert task.train, f"{task.name} has nothing to train on"
    examples = _loaded(task, Split(name=task.train))
    if examples.hidden:
        raise ValueError(
            f"{task.name} needs labels to train on, but its split {task.train} has hidden ones "
            f"(-1, null or no answer) in {task.label_field!r}"
        )
    if task.kind == "classification" and len(set(examples.labels.tolist())) < 2:
        only = task.labels[int(examples.labels[0])] if task.labels else examples.labels[0]
        raise ValueError(
            f"{task.name} needs examples of two or more classes to train on, but its split "
            f"{task.train} has only {only!r}"
        )
    return _with_spans(examples)


def _loaded(task: Task, split: Split) -> Examples:
    columns = _columns(task, split)
    if task.prepare:
        columns = prepared(task.prepare, columns)
    examples = _examples(task, split, columns)
    if not len(examples):
        raise ValueError(
            f"{task.name} needs examples, but its split {split.name} has none"
            f"{_why_empty(task, split)}"
        )
    if task.kind == "multiple_choice":
        check_choices(task, split, examples)
    if task.kind == "tagging":
        check_tags(task, split, examples)
    if task.kind == "coreference":
        check_mentions(task, split, examples)
    if task.kind == "retrieval":
        check_judgements(task, split, examples)
    return examples


def _why_empty(task: Task, split: Split) -> str:
    if split.where:
        return " with " + " and ".join(f"{field} {value}" for field, value in split.where.items())
    fraction = task.data.holdout_fraction if isinstance(task.data, FileData) else None
    if not fraction or (split.of or split.name) != HOLDOUT_SPLIT:
        return ""
    equal = task.group_field or " and ".join(task.text_fields)
    return (
        f": {fraction:.0%} of the inputs in {file_of(task, HOLDOUT_SPLIT).name}, of which rows "
        f"with equal {equal} count as one, round to 0; name a file for it in data.files"
    )


def _with_spans(examples: Examples) -> Examples:
    """The examples whose answer occurs in the context; the others have no target span."""
    lost = [
        isinstance(label, Answers) and set(label.starts) == {NOWHERE} for label in examples.labels
    ]
    return examples.take(np.flatnonzero(~np.array(lost))) if any(lost) else examples


def available_splits(task: Task, with_test: bool = False) -> tuple[Split, ...]:
    """The evaluation splits of `task`, without optional ones that the mirror lacks.

    Args:
        with_test: also return the splits without public labels.
    """
    splits = (*task.evaluation, *(task.test if with_test else ()))
    return tuple(split for split in splits if not split.optional or _exists(task, split))


def wanted_fields(task: Task, split: Split) -> list[str]:
    """Columns that the examples of a split need, after preprocessing."""
    texts = [name for text in task.text_fields for name in columns_in(text)]
    group_field = split.group_field or task.group_field
    optional = filter(None, (task.choices_field, group_field, *marked_fields(task)))
    return list(dict.fromkeys([*texts, task.label_field, *optional, *split.where]))


def fingerprint(task: Task) -> str:
    """A string that identifies the examples, computed without loading them. For a data set of a
    plug-in it is the name: the digest of its source is in the keys of stages already.

    Raises:
        ValueError: `HARNESS_DATA` lacks a mirror of the data, or a file is missing.
    """
    data = task.data
    if isinstance(data, MicroworldData):
        from harness.data import microworld

        return f"microworld:{microworld.version(data.generator)}/{data.label}"
    if isinstance(data, StdlibData):
        return python_stdlib.fingerprint()
    if isinstance(data, FileData):
        return digest([file_of(task, name) for name in sorted(data.files)])
    if isinstance(data, PluginData):
        return f"plugin:{data.name}"
    sources = {(data.path, data.config, data.revision), *collection_of(data)} | {
        source_of(data, split) for split in available_splits(task)
    }
    return "+".join(hub.fingerprint(*source) for source in sorted(sources, key=str))


def _exists(task: Task, split: Split) -> bool:
    if not isinstance(task.data, HubData):
        return True
    path, config, _ = source_of(task.data, split)
    return hub.has_config(path, config, split.of or split.name)


def source_of(data: HubData, split: Split) -> tuple[str, str | None, str | None]:
    """Repository, config and commit of a split."""
    if split.path:
        return split.path, split.config, split.revision
    return data.path, split.config or data.config, data.revision


def collection_of(data: HubData) -> list[tuple[str, str | None, str | None]]:
    """Repository, config and commit of the documents and the queries of judgements; none for other
    data."""
    if not isinstance(data, CollectionData):
        return []
    return [(data.collection, config, data.collection_revision) for config in (DOCUMENTS, QUERIES)]


def _columns(task: Task, split: Split) -> Columns:
    data, name = task.data, split.of or split.name
    if isinstance(data, HubData):
        path, config, revision = source_of(data, split)
        dataset = hub.load(path, config, name, revision)
        check_class_names(task, dataset)
        if not (collection := collection_of(data)):
            return dataset[:]
        documents, queries = (
            hub.load(path, part, str(part), commit)[:] for path, part, commit in collection
        )
        return judged_pairs(documents, queries, dataset[:])
    if isinstance(data, StdlibData):
        return python_stdlib.columns(name)
    if isinstance(data, FileData):
        return hub.load_file(data.source, file_of(task, name))[:]
    if isinstance(data, PluginData):
        return loaders.load(data.name, name)
    return examples.examples(data.generator, name, data.world or 0, data.counterexamples)


def file_of(task: Task, split: str) -> Path:
    """The file of a split of the data; the train file for a split that is held out of it.

    Raises:
        ValueError: there is none.
    """
    assert isinstance(task.data, FileData)
    is_held_out = split == HOLDOUT_SPLIT and task.data.holdout_fraction
    name = task.train if task.train and is_held_out else split
    if name not in task.data.files:
        raise ValueError(
            f"{task.name} needs a file for its split {split}, but data.files has "
            f"{', '.join(task.data.files)}"
        )
    path = user_path(task.data.files[name])
    if not file_exists(path):
        raise ValueError(
            f"{task.name} needs the file {path} for its split {split}, but it does not exist"
            f"{searched_from(path)}"
        )
    return path


def _examples(task: Task, split: Split, columns: Columns) -> Examples:
    wanted = wanted_fields(task, split)
    if missing := [field for field in wanted if field not in columns]:
        raise ValueError(
            f"{task.name} needs the columns {', '.join(wanted)}, but its split "
            f"{split.name} has no {', '.join(missing)}; it has {', '.join(columns)}"
        )
    num_examples = len(columns[task.label_field])
    kept = [row for row in range(num_examples) if _matches(columns, row, split.where)]
    _check_texts(task, split, columns)
    texts = texts_of(task, columns)
    source = _source(task, split)
    check_rows(task, split, columns, texts, source)
    groups, choices = None, None
    if group_field := split.group_field or task.group_field:
        groups = np.array([str(group) for group in columns[group_field]], dtype=object)
    if task.choices_field:
        choices = [tuple(options) for options in columns[task.choices_field]]
    labels = read_labels(task, split, columns[task.label_field], source if is_own(task) else "")
    examples = Examples(texts, labels, choices, groups, marked_spans(task, columns))
    wanted_rows = _rows_of(task, split, examples)
    return examples.take(np.array([row for row in kept if wanted_rows[row]], dtype=np.int64))


def _source(task: Task, split: Split) -> str:
    """Where a row is counted: in its file, or among the converted rows of the split."""
    if isinstance(task.data, FileData) and not task.prepare:
        return str(file_of(task, split.of or split.name))
    return f"its split {split.name}"


def _rows_of(task: Task, split: Split, examples: Examples) -> np.ndarray:
    """[num_examples] whether each row of a file belongs to the split: all, without a hold-out."""
    name = split.of or split.name
    fraction = task.data.holdout_fraction if isinstance(task.data, FileData) else None
    if not fraction or name not in (task.train, HOLDOUT_SPLIT):
        return np.ones(len(examples), dtype=bool)
    return content_holdout(examples, fraction) == (name == HOLDOUT_SPLIT)


def _matches(columns: Columns, row: int, where: Mapping[str, str]) -> bool:
    cells = {field: columns[field][row] for field in where}
    # A column of whole numbers with an empty cell is one of floats: 1.0.
    return all(value in (str(cells[f]), class_name(cells[f])) for f, value in where.items())


def _check_texts(task: Task, split: Split, columns: Columns) -> None:
    """Checks for cells that are not text: empty ones of a file, and columns of digits."""
    if task.kind in IN_LISTS:
        _check_lists(task, split, columns[task.text_fields[0]])
        return
    for text_field in task.text_fields:
        may_be_number = is_pattern(text_field)
        for field in columns_in(text_field):
            for row, text in enumerate(columns[field], start=1):
                if text is None or not (may_be_number or isinstance(text, str)):
                    raise ValueError(
                        f"{task.name} needs text in {field!r}, but row {row} of its split "
                        f"{split.name} has {text!r}"
                    )


def _check_lists(task: Task, split: Split, column: Sequence[Any]) -> None:
    for row, parts in enumerate(column, start=1):
        is_list = isinstance(parts, Sequence | np.ndarray) and not isinstance(parts, str)
        if not is_list or not all(isinstance(part, str) for part in parts):
            what = "words" if task.kind == "tagging" else "sentences, each a text,"
            raise ValueError(
                f"{task.name} needs a list of {what} in {task.text_fields[0]!r}, but row {row} of "
                f"its split {split.name} has {parts!s:.60}"
            )


def texts_of(task: Task, columns: Columns) -> list[tuple[str, ...]]:
    """The texts of each row; its words for tagging, its sentences for coreference."""
    if task.kind in IN_LISTS:
        return [tuple(parts) for parts in columns[task.text_fields[0]]]
    parts = (filled(t, columns) if is_pattern(t) else columns[t] for t in task.text_fields)
    return list(zip(*parts, strict=True))
