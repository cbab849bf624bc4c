"""What a task and a suite are: metadata that can be read without the data."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from harness.core.config import ConfigModel

Kind = Literal[
    "classification",
    "regression",
    "multiple_choice",
    "extraction",
    "tagging",
    "similarity",
    "generation",
]
"""What a task asks for: a class, a value, one of some choices, a span of the second text (or none),
a tag a word, how alike two texts are (nothing is trained), or a text."""


class HubData(ConfigModel):
    """A data set of the Hugging Face Hub, or of a mirror laid out like it (`HARNESS_DATA`)."""

    source: Literal["hub"] = "hub"
    path: str
    config: str | None = None
    revision: str | None = None
    """Commit of the Hub repository; null takes the latest, which nothing holds fixed."""


class MicroworldData(ConfigModel):
    """A task of the embedded world, made from its seed."""

    source: Literal["microworld"] = "microworld"
    generator: str
    """Name of the task in `harness.data.microworld`."""


class FileData(ConfigModel):
    """Files of the user's own."""

    source: Literal["csv", "jsonl"]
    files: Mapping[str, str]
    """Split to the path of its file; `train` and `validation`, if the task says nothing else."""


Data = Annotated[HubData | MicroworldData | FileData, Field(discriminator="source")]


class Split(ConfigModel):
    """Examples that are reported together."""

    name: str
    """What columns and predictions call it."""
    of: str | None = None
    """Split of the data set; null for one called like this."""
    path: str | None = None
    """Hub repository where it is not the train set's; `revision` is then that one's."""
    config: str | None = None
    """Config of the data set where it is not the train set's (AX)."""
    revision: str | None = None
    """Commit of the repository at `path`."""
    where: Mapping[str, str] = Field(default_factory=dict)
    """Columns with the value, written as text, that an example must have to be in it."""
    optional: bool = False
    """Left out, without an error, where a mirror has no such data."""


class Prompt(ConfigModel):
    """How a pretrained model is asked about an example without being trained for it."""

    pattern: str
    """Text with `{field}` for texts of an example, and `{answer}` for what is to be filled in."""
    answers: tuple[str, ...] = ()
    """Words that stand for the classes, in the order of the labels; empty where each example has
    choices of its own."""


class Task(ConfigModel):
    """One task: where its data is, what it asks, how it is scored, and what the scores mean."""

    name: str
    kind: Kind
    data: Data
    prepare: str | None = None
    """Name in `harness.tasks.preprocessing.PREPROCESSORS`: columns of the data set to those named
    below."""
    train: str | None = "train"
    """Split that is trained on; null where nothing is."""
    text_fields: tuple[str, ...]
    """What a model reads: fields, or patterns such as `{word}: {sentence1}`. One or two; a pair is
    read with a separator. Of extraction: question and context. Of tagging: the field with the list
    of words."""
    symmetric: bool = False
    """Whether the answer stays if the texts of a pair change places: similarity, paraphrase."""
    label_field: str = "label"
    """Class number (or name), value, place of the right choice, tag numbers (or names), `answers`
    with `text` and `answer_start`, or the text (or texts, each of them right) to write."""
    labels: tuple[str, ...] = ()
    """Names of the classes, or of the tags, in the order of their numbers."""
    choices_field: str | None = None
    """List of texts among which a multiple choice is made."""
    group_field: str | None = None
    """Examples that are scored together: the question of an answer (MultiRC), the subset (STS)."""
    prompt: Prompt | None = None
    evaluation: tuple[Split, ...] = (Split(name="validation"),)
    test: tuple[Split, ...] = ()
    """Splits without public labels, of which a benchmark's server takes predictions."""
    metrics: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names in METRICS; the first one selects hyperparameters and is the main score."""
    chance: float | None = None
    """Main score of the best constant or random prediction, in the metric's own unit; null where
    none is known."""
    ceiling: float | None = None
    """Highest main score possible, where it is known (noise in the labels, human performance)."""
    train_size: int = 0
    licence: str = "unknown"
    citation: str = ""

    @property
    def content(self) -> dict[str, Any]:
        """All that can change predictions or scores, as plain data."""
        return self.model_dump(
            exclude={"name", "chance", "ceiling", "train_size", "licence", "citation"}
        )


class Column(ConfigModel):
    """A column of a leaderboard: the mean of one or more metrics of a task on one split."""

    name: str
    task: str
    split: str = "validation"
    metrics: tuple[str, ...]


class Suite(ConfigModel):
    """A versioned selection of tasks; never edited once released, but superseded."""

    name: str
    """With its version: `glue-v1`."""
    tasks: tuple[str, ...]
    columns: tuple[Column, ...]
    average: str
    """Name of the averaging rule in `harness.analysis.averages.AVERAGES`."""
    citation: str
