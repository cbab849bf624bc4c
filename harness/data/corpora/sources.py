"""Sources of pretraining text as declared values; `load_corpus` reads them."""

from typing import Annotated, Literal

from pydantic import Field

from harness.core.config import ConfigModel, Count


class Source(ConfigModel):
    """Fields of all corpora."""

    validation_fraction: float = Field(default=0.01, gt=0, lt=1)
    """Share of the documents held out for the pretraining loss, spread evenly over the corpus."""
    max_documents: Count | None = Field(default=None, ge=2)
    """Maximum number of documents; null reads all."""


class MicroworldCorpus(Source):
    """English-like documents about the micro-world, generated from a seed."""

    source: Literal["microworld"] = "microworld"
    seed: int = Field(default=0, ge=0)
    """Seed of the documents. `world` determines the words and facts."""
    world: int = Field(default=0, ge=0)
    """Seed of the words and facts. The shipped tasks are about world 0."""
    num_tokens: Count = Field(default=1_000_000, ge=1_000)
    """Words to generate; longer training budgets repeat the text."""
    domain: Literal["biomed", "cs", "news", "reviews"] | None = None
    """Null for general documents, or a domain with a specific vocabulary."""


class HubCorpus(Source):
    """A data set of the Hugging Face Hub, or of a mirror with the same layout (`HARNESS_DATA`)."""

    source: Literal["hub"] = "hub"
    path: str
    """`organisation/name` on the Hub."""
    config: str | None = None
    split: str = "train"
    revision: str | None = None
    """Commit of the Hub repository; without one, stage keys do not identify the text."""
    text_field: str = "text"


class TextCorpus(Source):
    """Plain text files (.txt or .txt.gz); blank lines separate documents."""

    source: Literal["text"] = "text"
    path: str
    """A file, a folder or a glob pattern; relative to the working folder."""


class JsonLinesCorpus(Source):
    """JSON lines files (.jsonl or .jsonl.gz) with one document a line."""

    source: Literal["jsonl"] = "jsonl"
    path: str
    """A file, a folder or a glob pattern; relative to the working folder."""
    text_field: str = "text"


class TaskCorpus(Source):
    """The texts of a task's train set without labels and hold-out, one document for each example.

    This is task-adaptive pretraining (Gururangan et al. 2020, section 4).
    """

    source: Literal["task"] = "task"
    validation_fraction: float = Field(default=0.05, gt=0, lt=1)
    """Share of the texts held out for the pretraining loss; larger than for other corpora, because
    train sets are small."""


Corpus = Annotated[
    MicroworldCorpus | HubCorpus | TextCorpus | JsonLinesCorpus, Field(discriminator="source")
]
