"""What a task and a suite are: metadata that can be read without the data."""

from typing import Annotated, Literal

from pydantic import Field

from harness.values import Value


class HubData(Value):
    """A data set of the Hugging Face Hub, or of a mirror laid out like it (`HARNESS_DATA`)."""

    source: Literal["hub"] = "hub"
    path: str
    config: str | None = None
    revision: str
    """Commit of the Hub repository."""


class MicroworldData(Value):
    """A task of the embedded world, made from its seed."""

    source: Literal["microworld"] = "microworld"
    generator: str
    """Name of the task in `harness.microworld`."""


class Split(Value):
    """A labelled split that is reported."""

    name: str
    """Split of the data set."""
    config: str | None = None
    """Config of the data set where it is not the train set's (AX)."""
    optional: bool = False
    """Left out, without an error, where a mirror has no such config."""


class Task(Value):
    """One task: where its data is, what it asks, how it is scored, and what the scores mean."""

    name: str
    kind: Literal["classification", "regression"]
    data: Annotated[HubData | MicroworldData, Field(discriminator="source")]
    text_fields: tuple[str, ...]
    """One field, or two for a pair."""
    symmetric: bool = False
    """Whether the answer stays if the texts of a pair change places: similarity, paraphrase."""
    label_field: str = "label"
    labels: tuple[str, ...] = ()
    """Class names in the order of their numbers; empty for regression."""
    evaluation: tuple[Split, ...] = (Split(name="validation"),)
    metrics: tuple[str, ...]
    """Names in METRICS; the first one selects hyperparameters and is the main score."""
    chance: float
    """Main score of the best constant or random prediction, in the metric's own unit."""
    ceiling: float | None = None
    """Highest main score possible, where it is known (noise in the labels)."""
    train_size: int
    licence: str
    citation: str


class Column(Value):
    """A column of a leaderboard: the mean of one or more metrics of a task on one split."""

    name: str
    task: str
    split: str = "validation"
    metrics: tuple[str, ...]


class Suite(Value):
    """A versioned selection of tasks; never edited once released, but superseded."""

    name: str
    """With its version: `glue-v1`."""
    tasks: tuple[str, ...]
    columns: tuple[Column, ...]
    average: str
    """Name of the averaging rule in `harness.leaderboard.AVERAGES`."""
    citation: str
