"""Tasks and suites as declared values, readable without their data."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, computed_field, model_validator

from harness.core.config import ConfigModel
from harness.core.names import MetricPart, Name

Kind = Literal[
    "classification",
    "regression",
    "multiple_choice",
    "extraction",
    "tagging",
    "coreference",
    "similarity",
    "retrieval",
    "generation",
]
"""Output of a task: a class, a number, one of several choices, a span of the second text (or none),
a tag for each word, the mentions of entities in a document, the similarity of two texts, the place
of the second text among all second texts of the split, or a text."""
COMPARED: tuple[Kind, ...] = ("similarity", "retrieval")
"""Kinds in which embeddings are compared and nothing is trained."""


class HubData(ConfigModel):
    """A data set of the Hugging Face Hub, or of a mirror laid out like it (`HARNESS_DATA`)."""

    source: Literal["hub"] = "hub"
    path: str
    config: str | None = None
    revision: str | None = None
    """Commit of the Hub repository; null takes the latest one, which may change."""


class CollectionData(HubData):
    """Judgements on the Hub, whose splits are those of the task, and the collection that they are
    about in another repository (Thakur et al. 2021, BEIR): `judged_pairs.py` joins them."""

    source: Literal["collection"] = "collection"  # type: ignore[assignment]
    collection: str
    """Repository with the configs `corpus` and `queries`."""
    collection_revision: str | None = None
    """Its commit; null takes the latest one."""


class MicroworldData(ConfigModel):
    """A data set of the micro-world, generated from a seed."""

    source: Literal["microworld"] = "microworld"
    generator: str
    """Name in `harness.data.microworld.examples.GENERATORS`."""
    world: int | None = Field(default=None, ge=0)
    """Seed of the words and facts; null is 0, the world of the shipped tasks."""
    counterexamples: float | None = Field(default=None, ge=0, le=1)
    """Share of the train examples of `overlap` in which overlap of words misleads, on which a
    shortcut fails; null is 0.1."""

    @model_validator(mode="after")
    def _has_a_shortcut(self) -> "MicroworldData":
        if self.counterexamples is not None and self.generator != "overlap":
            raise ValueError(
                f"counterexamples needs the generator overlap, but it is {self.generator}; "
                "leave it out"
            )
        return self

    @property
    def label(self) -> str:
        """What is generated, for fingerprints."""
        share = "" if self.counterexamples is None else f"/{self.counterexamples:g}"
        return f"{self.generator}{share}{f'@{self.world}' if self.world else ''}"


class FileData(ConfigModel):
    """Local files."""

    source: Literal["csv", "tsv", "jsonl", "parquet"]
    files: Mapping[MetricPart, str]
    """Split to the path of its file; by default `train` and `validation`."""
    holdout_fraction: float | None = Field(default=None, gt=0, lt=1)
    """Share of the train file that is the split `validation`, if that split has no file: drawn by
    content, stratified by class, with equal inputs on the same side."""


class StdlibData(ConfigModel):
    """Functions with docstrings of the standard library of the running Python; see
    `harness.data.python_stdlib`."""

    source: Literal["python_stdlib"] = "python_stdlib"


class PluginData(ConfigModel):
    """A data set that a plug-in loads."""

    source: Literal["plugin"] = "plugin"
    name: str
    """Name in `harness.tasks.loaders.DATASETS`."""


HOLDOUT_SPLIT = "validation"
"""Split that `FileData.holdout_fraction` draws from the train file."""
Data = Annotated[
    HubData | CollectionData | MicroworldData | StdlibData | FileData | PluginData,
    Field(discriminator="source"),
]


class Split(ConfigModel):
    """Examples that are scored and reported together."""

    name: MetricPart
    """Name in columns and predictions."""
    of: str | None = None
    """Split of the data set; null if it has the same name."""
    path: str | None = None
    """Hub repository, if it is not that of the train set; `revision` then refers to it."""
    config: str | None = None
    """Config of the data set, if it is not that of the train set (AX)."""
    revision: str | None = None
    """Commit of the repository at `path`."""
    where: Mapping[str, str] = Field(default_factory=dict)
    """Column to the value, as text, that the examples of this split have."""
    group_field: str | None = None
    """Field with the group of an example, if it is not the task's (AX-g: the minimal pair)."""
    optional: bool = False
    """Omitted without an error if the mirror lacks its data."""


class Prompt(ConfigModel):
    """A zero-shot prompt."""

    pattern: str
    """Text with `{field}` for texts of an example and `{answer}` for the word to predict."""
    answers: tuple[str, ...] = ()
    """Verbaliser: a word for each class, in the order of the labels; empty if each example has its
    own choices."""


NOT_CONTENT = {"name", "chance", "ceiling", "train_size", "licence", "citation"}
"""Fields of a task that change no prediction and no score."""


class Task(ConfigModel):
    """A task: its data, inputs, labels, splits and metrics."""

    name: Name
    kind: Kind
    data: Data
    prepare: str | None = None
    """Name in `harness.tasks.preprocessing.PREPROCESSORS`, which map the columns of the data set to
    those named below."""
    train: str | None = "train"
    """Split used for training; null if there is none."""
    text_fields: tuple[str, ...]
    """Inputs of the model: one or two fields, or patterns such as `{word}: {sentence1}`; the texts
    of a pair are separated. For extraction: question and context. For tagging: the field with the
    list of words. For coreference: the field with the list of sentences, whose words are separated
    by single spaces."""
    marked_words: Mapping[str, str | tuple[str, str]] = Field(default_factory=dict)
    """Of tasks about a word in each text, for `protocol.pooling: word`: field of a text to the
    place of the word in it, which is the field with the word, of which the first whole occurrence
    counts, or the two fields with its first character and the one after its last (WiC)."""
    symmetric: bool = False
    """Whether the label is invariant to the order of the pair, as for similarity and paraphrase."""
    label_field: str = "label"
    """Field with the class (index or name), value, index of the correct choice, tags (indices or
    names), `answers` with `text` and `answer_start`, mentions (each the number of its entity and of
    its first and last word in the document, from 0), or reference text (or texts) to generate."""
    labels: tuple[str, ...] = ()
    """Names of the classes or tags in the order of their indices."""
    choices_field: str | None = None
    """Field with the list of choices."""
    group_field: str | None = None
    """Field with the group of an example, for metrics of groups and as the unit that intervals
    resample: the question (MultiRC), the subset (STS), the query of a retrieval."""
    prompt: Prompt | None = None
    evaluation: tuple[Split, ...] = (Split(name="validation"),)
    test: tuple[Split, ...] = ()
    """Splits without public labels, for predictions to submit to a benchmark server."""
    metrics: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names in METRICS; the first one selects hyperparameters and is the main score. Metrics of
    groups are computed on the splits that have groups."""
    chance: float | None = Field(default=None, ge=-1, le=1)
    """Main score of the best constant or random prediction, in the unit of the metric; null if
    unknown."""
    ceiling: float | None = Field(default=None, ge=-1, le=1)
    """Highest possible main score, if known: human performance, or of a micro-world task what label
    noise allows on its first evaluation split in world 0."""
    train_size: int = Field(default=0, ge=0)
    licence: str = "unknown"
    citation: str = ""

    @property
    def has_groups(self) -> bool:
        """Whether examples of some split have groups."""
        return bool(self.group_field or any(split.group_field for split in self.evaluation))

    @property
    def content(self) -> dict[str, Any]:
        """All fields that can change predictions or scores, as plain data, without the marked
        words, which a single pooling reads."""
        return self.model_dump(exclude={*NOT_CONTENT, "marked_words"})

    @property
    def marked_content(self) -> dict[str, Any]:
        """The content with the marked words."""
        return self.model_dump(exclude=NOT_CONTENT)


class Column(ConfigModel):
    """A column of a leaderboard: the mean of one or more metrics of a task on one split."""

    name: str
    task: str
    split: str = "validation"
    metrics: tuple[str, ...]


class Suite(ConfigModel):
    """A versioned set of tasks and their leaderboard columns, never edited after release."""

    name: str
    """With its version: `glue-v1`."""
    columns: tuple[Column, ...]
    average: str = "mean_of_columns"
    """Name of the averaging rule in `harness.analysis.averages.AVERAGES`."""
    citation: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks in the order of their columns."""
        return tuple(dict.fromkeys(column.task for column in self.columns))


VALIDATION_AND_TEST = (Split(name="validation"), Split(name="test"))
"""Evaluation splits of a task whose test labels are public."""
SERVER_TEST = (Split(name="test", optional=True),)
"""The test split of a benchmark server, without public labels."""


def main_columns(tasks: Iterable[Task], split: str = "validation") -> tuple[Column, ...]:
    """A column for each task: its first metric on `split`."""
    return tuple(
        Column(name=task.name, task=task.name, split=split, metrics=task.metrics[:1])
        for task in tasks
    )
