"""Where documents come from: the declared values. Reading them is
`harness.data.corpora.load_corpus`."""

from typing import Annotated, Literal

from pydantic import Field

from harness.core.config import ConfigModel


class Source(ConfigModel):
    """What every corpus has."""

    validation_fraction: float = Field(default=0.01, gt=0, lt=1)
    """Share of the documents held out for the pretraining loss, spread evenly over the corpus."""
    max_documents: int | None = Field(default=None, ge=2)
    """Read no more than this many documents; null reads all."""


class MicroworldCorpus(Source):
    """The embedded world: English-like documents made from a seed."""

    source: Literal["microworld"] = "microworld"
    seed: int = Field(default=0, ge=0)
    """Seed of the documents. The world itself (its words and facts) is fixed by `world`."""
    world: int = Field(default=0, ge=0)
    """Seed of the world: its lexicon and facts. Tasks on the same world need the same number."""
    num_tokens: int = Field(default=1_000_000, ge=1_000)
    """Words of text to generate; a longer budget repeats them."""
    domain: Literal["biomed", "cs", "news", "reviews"] | None = None
    """Documents of all genres, or those of one domain with a vocabulary of its own."""


class HubCorpus(Source):
    """A data set of the Hugging Face Hub, or of a mirror laid out like it (`HARNESS_DATA`)."""

    source: Literal["hub"] = "hub"
    path: str
    """`organisation/name` on the Hub."""
    config: str | None = None
    split: str = "train"
    revision: str | None = None
    """Commit of the Hub repository; pin it, or the key cannot vouch for the text."""
    text_field: str = "text"


class TextCorpus(Source):
    """Plain text files (.txt or .txt.gz); blank lines separate documents."""

    source: Literal["text"] = "text"
    path: str
    """A file, a folder or a glob pattern; relative to the working folder."""


class JsonLinesCorpus(Source):
    """JSON lines (.jsonl or .jsonl.gz), one document a line."""

    source: Literal["jsonl"] = "jsonl"
    path: str
    """A file, a folder or a glob pattern; relative to the working folder."""
    text_field: str = "text"


class TaskCorpus(Source):
    """The texts of a task's train set, without its labels and its hold-out: a document an example
    (task-adaptive pretraining, Gururangan et al. 2020, section 4)."""

    source: Literal["task"] = "task"
    validation_fraction: float = Field(default=0.05, gt=0, lt=1)
    """Share of the texts held out for the pretraining loss: more than of a corpus, for train sets
    are small."""


Corpus = Annotated[
    MicroworldCorpus | HubCorpus | TextCorpus | JsonLinesCorpus, Field(discriminator="source")
]
