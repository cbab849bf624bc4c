"""A few texts of a task, read without loading its data set."""

from itertools import islice

from harness.data import python_stdlib
from harness.data.microworld import examples
from harness.tasks import loaders
from harness.tasks.annotated_words import Columns
from harness.tasks.data_files import first_rows
from harness.tasks.load_examples import file_of, texts_of
from harness.tasks.preprocessing import prepared
from harness.tasks.task import FileData, MicroworldData, PluginData, StdlibData, Task


def sample_texts(task: Task, number: int) -> list[tuple[str, ...]]:
    """The texts of at most `number` train examples, or the words of each for tagging; empty for
    tasks without a train set and for data sets of the Hub, which take seconds to open.

    Raises:
        ValueError: the data are missing, or do not match the declaration of the task.
    """
    if task.train is None:
        return []
    if isinstance(task.data, MicroworldData):
        data = task.data
        drawn = data.generator, task.train, number, data.world or 0, data.counterexamples
        columns: Columns = examples.sample(*drawn)
    elif isinstance(task.data, StdlibData):
        columns = python_stdlib.as_columns(islice(python_stdlib.functions(task.train), number))
    elif isinstance(task.data, FileData):
        columns = _first_rows(task, task.data, number)
    elif isinstance(task.data, PluginData):
        columns = loaders.load(task.data.name, task.train)
    else:
        return []
    columns = prepared(task.prepare, columns) if task.prepare else columns
    return texts_of(task, columns)[:number]


def _first_rows(task: Task, data: FileData, number: int) -> Columns:
    """The columns of the first rows of the train file; empty texts for missing values."""
    assert task.train is not None
    rows = first_rows(file_of(task, task.train), data.source, number)
    return {name: [value or "" for value in column] for name, column in rows.items()}
