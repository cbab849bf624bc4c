"""Verification of stored data sets: checksums, readable files, and declared columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from harness.data import hub
from harness.data.corpora.sources import HubCorpus
from harness.tasks.datasets.catalog import DataSet, User, users
from harness.tasks.datasets.fetch import SUMS, read_sums, sha256
from harness.tasks.examples import Examples
from harness.tasks.load_examples import (
    available_splits,
    collection_of,
    load_examples,
    source_of,
)
from harness.tasks.probes.probe import Probe
from harness.tasks.task import HubData, Split, Task


def verify(sets: Sequence[DataSet]) -> Iterator[tuple[str, str, str]]:
    """Checks data sets one by one and continues after a failure.

    Yields:
        Name, numbers of rows, and problem (empty if there is none).
    """
    for one in sets:
        where, folder = one.folder()
        if folder is None:
            yield one.name, "", f"it is {where}: harness data fetch {one.name}"
            continue
        problems = list(_damaged(one, folder)) if where == "mirror" else []
        yield from ((one.name, "", problem) for problem in problems)
        for name in one.users if not problems else ():
            try:
                yield from (
                    (one.name, f"{name}: {line}", "") for line in _found(users()[name], one)
                )
            except (ValueError, OSError) as error:
                yield one.name, "", hub.one_line(error)


def _damaged(one: DataSet, folder: Path) -> Iterator[str]:
    """Files with a wrong checksum, or that cannot be read."""
    root = folder.parents[len(Path(one.path).parts) - 1]
    sums = read_sums(root)
    try:
        files = one.files(folder)
    except ValueError as error:
        yield hub.one_line(error)
        return
    for file in files:
        declared = sums.get(file.relative_to(root).as_posix())
        if declared and sha256(file) != declared:
            problem = f"its SHA-256 differs from that in {SUMS}"
        else:
            problem = _unreadable(file)
        if problem:
            yield f"{file} is damaged: {problem}; fetch it again: harness data fetch {one.name}"


def _unreadable(file: Path) -> str:
    """Why a parquet file cannot be opened; empty if it can, and for other files."""
    import pyarrow.parquet

    try:
        if file.suffix == ".parquet":
            pyarrow.parquet.ParquetFile(file).close()
    except (ValueError, OSError) as error:
        return hub.one_line(error)
    return ""


def _found(user: User, one: DataSet) -> list[str]:
    """Numbers of rows, after the checks of columns, classes and labels that a stage makes; and a
    warning for each split with one class only."""
    if isinstance(user, HubCorpus):
        return [_counted(user, one)]
    if isinstance(user, Probe):
        from harness.tasks.probes.items import load_items

        return [f"{len(load_items(user)):,} items"]
    counts, warnings = _sizes(user, one), []
    for split in _splits(user, one):
        examples = load_examples(user, split)
        counts.append(f"{split.name} {len(examples):,}")
        if found := _only_class(user, split, examples):
            warnings.append(
                f"warning: {split.name} has only the class {found}, so its scores mean nothing"
            )
    return [", ".join(counts), *warnings]


def _sizes(task: Task, one: DataSet) -> list[str]:
    """Numbers of documents and queries of a collection; empty for data with labels."""
    assert isinstance(task.data, HubData)
    found = [place for place in collection_of(task.data) if place[0] == one.path]
    return [f"{part} {len(hub.load(path, part, str(part), at)):,}" for path, part, at in found]


def _counted(corpus: HubCorpus, one: DataSet) -> str:
    dataset = hub.load(corpus.path, corpus.config, corpus.split, corpus.revision)
    if corpus.text_field not in dataset.column_names:
        raise ValueError(
            f"{one.name} must have the column {corpus.text_field!r}, but has "
            f"{', '.join(dataset.column_names)}"
        )
    return f"{corpus.split} {len(dataset):,}"


def _only_class(task: Task, split: Split, examples: Examples) -> str:
    """The class of all examples; empty if there are several, or only one by design."""
    designed = task.label_field in split.where or examples.hidden
    if task.kind != "classification" or len(task.labels) < 2 or designed:
        return ""
    found = np.unique(examples.labels)
    return task.labels[found[0]] if len(found) == 1 else ""


def _splits(task: Task, one: DataSet) -> list[Split]:
    """The splits of the task, train included, that are in this data set."""
    assert isinstance(task.data, HubData)
    train = [Split(name=task.train)] if task.train else []
    splits = (*train, *available_splits(task, with_test=True))
    own = [(one.path, config, one.revision) for config in one.configs]
    return [split for split in splits if source_of(task.data, split) in own]
