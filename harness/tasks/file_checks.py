"""Checks of the local files of a task, and of the functions or generator of one, while planning."""

from harness.core.config import unknown_name
from harness.core.files import file_exists, user_path
from harness.data import python_stdlib
from harness.data.digests import digest
from harness.data.microworld.examples import GENERATORS, sample
from harness.tasks.custom import all_splits
from harness.tasks.data_files import header
from harness.tasks.load_examples import file_of, load_examples, wanted_fields
from harness.tasks.task import FileData, MicroworldData, StdlibData, Task

MAX_READ_BYTES = 50_000_000
"""Size of all files up to which they are read whole, which takes seconds; beyond it, a stage that
reads them finds what is wrong."""


def check_files(task: Task) -> None:
    """Checks the local files of a task, or its splits and columns of the standard library or of a
    generator; other tasks are not checked.

    Raises:
        ValueError: a split or column is missing, a file is not in the declared format, train and
            evaluation have the same content, or examples do not match the declaration.
    """
    if isinstance(task.data, StdlibData):
        _check_functions(task)
    if isinstance(task.data, MicroworldData):
        _check_generator(task, task.data)
    if not isinstance(task.data, FileData):
        return
    check_header(task, task.data)
    _check_separate(task, task.data)
    files = [user_path(file) for file in task.data.files.values()]
    if sum(file.stat().st_size for file in files if file_exists(file)) <= MAX_READ_BYTES:
        if task.train:
            load_examples(task, "train")
        for split in task.evaluation:
            load_examples(task, split)


def _check_functions(task: Task) -> None:
    known = python_stdlib.Function._fields
    for split in all_splits(task):
        python_stdlib.check_part(split.of or split.name)
        for field in () if task.prepare else wanted_fields(task, split):
            if field not in known:
                raise ValueError(
                    f"{task.name} needs the column {field!r}, but functions of the standard "
                    f"library have {', '.join(known)}"
                )


def _check_generator(task: Task, data: MicroworldData) -> None:
    if data.generator not in GENERATORS:
        raise ValueError(unknown_name("the generator", data.generator, GENERATORS))
    for split in all_splits(task):
        known = sample(data.generator, split.of or split.name, 1)
        for field in () if task.prepare else wanted_fields(task, split):
            if field not in known:
                raise ValueError(
                    f"{task.name} needs the column {field!r}, but its examples have "
                    f"{', '.join(known)}"
                )


def check_header(task: Task, data: FileData) -> None:
    """Checks the columns of local files by their first lines only.

    Raises:
        ValueError: a column is missing, or a file is not in the declared format.
    """
    for split in () if task.prepare else all_splits(task):
        file = file_of(task, split.of or split.name)
        found = header(file, data.source)
        for field in wanted_fields(task, split):
            if field not in found:
                raise ValueError(
                    f"{task.name} needs the column {field!r}, but {file} has {', '.join(found)}"
                )


def _check_separate(task: Task, data: FileData) -> None:
    if not task.train:
        return
    train = digest([file_of(task, task.train)])
    for split in (*task.evaluation, *task.test):
        name = split.of or split.name
        if name in data.files and name != task.train and digest([file_of(task, name)]) == train:
            raise ValueError(
                f"{task.name} must be scored on examples that it is not trained on, but the files "
                f"of {task.train} and {name} have the same content; for a part of {task.train}, "
                "leave the file out and set holdout_fraction"
            )
