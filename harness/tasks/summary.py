"""A task on the user's own data in one line: what is read and predicted, from how many examples."""

from collections import Counter
from pathlib import Path

from harness.tasks import loaders
from harness.tasks.data_files import header
from harness.tasks.examples import Examples
from harness.tasks.load_examples import file_of, load_examples, wanted_fields
from harness.tasks.task import FileData, PluginData, Split, Task

MAX_SHOWN = 6
"""Most classes that are listed with their numbers of examples."""


def summary(task: Task) -> str:
    """Columns, labels, examples of each split with their numbers by class, and metrics.

    Args:
        task: a task whose data are files, or loaded by a plug-in.

    Raises:
        ValueError: the data do not match the task.
    """
    train = load_examples(task, "train") if task.train else None
    sizes = [f"{len(train):,} train{_bracketed(_labels(task, train))}"] if train else []
    for split in task.evaluation:
        found = load_examples(task, split)
        about = _bracketed(_origin(task, split), _labels(task, found))
        sizes.append(f"{len(found):,} {split.name}{about}{_overlap(train, found)}")
    parts = [
        f"{' and '.join(task.text_fields)} -> {task.label_field}",
        "; ".join(sizes),
        ", ".join(task.metrics),
    ]
    if unused := _unused(task):
        parts.append(f"not used: {', '.join(unused)}")
    return f"{task.name}: {task.kind}, {'; '.join(parts)}"


def _bracketed(*parts: str) -> str:
    shown = "; ".join(part for part in parts if part)
    return f" ({shown})" if shown else ""


def _labels(task: Task, examples: Examples) -> str:
    """The numbers of examples by class, or the range of values; empty for other kinds of task."""
    if task.kind not in ("classification", "regression") or examples.hidden:
        return ""
    if task.kind == "regression":
        return f"{examples.labels.min():g} to {examples.labels.max():g}"
    counts = Counter(examples.labels.tolist())
    sizes = {name: counts[index] for index, name in enumerate(task.labels)}
    if len(sizes) > MAX_SHOWN:
        return f"{len(sizes)} classes of {min(sizes.values()):,} to {max(sizes.values()):,}"
    return ", ".join(f"{name}: {size:,}" for name, size in sizes.items())


def _origin(task: Task, split: Split) -> str:
    if not isinstance(task.data, FileData):
        return ""
    name = split.of or split.name
    if name not in task.data.files:
        groups = f", by whole groups of {task.group_field}" if task.group_field else ""
        return f"{task.data.holdout_fraction:.0%} of {file_of(task, name).name}{groups}"
    return Path(task.data.files[name]).name


def _overlap(train: Examples | None, found: Examples) -> str:
    known = set(_inputs(train)) if train else set()
    shared = sum(given in known for given in _inputs(found))
    return f", {shared:,} of them also in train" if shared else ""


def _inputs(examples: Examples) -> list[tuple[tuple[str, ...], ...]]:
    """What a model reads of each example: its texts, and the choices if it has some."""
    choices = examples.choices or [()] * len(examples)
    return list(zip(examples.texts, choices, strict=True))


def _unused(task: Task) -> list[str]:
    """Columns of the first split that the task does not read; none if they are converted."""
    assert isinstance(task.data, FileData | PluginData)
    if task.prepare:
        return []
    split = Split(name=task.train) if task.train else task.evaluation[0]
    used, name = wanted_fields(task, split), split.of or split.name
    if isinstance(task.data, PluginData):
        found = list(loaders.load(task.data.name, name))
    else:
        found = header(file_of(task, name), task.data.source)
    return [name for name in found if name not in used]
