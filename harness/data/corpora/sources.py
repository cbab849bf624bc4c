"""Sources of pretraining text as declared values; `load_corpus` reads them."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from harness.core.config import ConfigModel, Count
from harness.data.corpora.steps import AnyStep, without_ablations


class Source(ConfigModel):
    """Fields of all corpora."""

    validation_fraction: float = Field(default=0.01, gt=0, lt=1)
    """Share of the documents held out for the pretraining loss, spread evenly over the corpus."""
    max_documents: Count | None = Field(default=None, ge=2)
    """Maximum number of documents; null reads all."""
    steps: tuple[AnyStep, ...] | None = None
    """Filters, deduplication and ablations of the documents; see `harness.data.corpora.steps`."""


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


SingleCorpus = Annotated[
    MicroworldCorpus | HubCorpus | TextCorpus | JsonLinesCorpus, Field(discriminator="source")
]
SourceName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


class MixedCorpus(ConfigModel):
    """Several sources, document by document, with shares of the text that hold at every point.

    The held-out documents are those of the sources, and no part of what is repeated.
    """

    source: Literal["mixture"] = "mixture"
    sources: Annotated[Mapping[SourceName, SingleCorpus], Field(min_length=2)]
    """Name to source; held-out losses are also computed by name."""
    weights: Mapping[SourceName, Annotated[float, Field(gt=0)]] | None = None
    """Name to share of the training text in UTF-8 bytes (Gao et al. 2020, table 1), in any unit;
    null: by size and temperature."""
    temperature: float = Field(default=1.0, gt=0)
    """Without weights, shares are proportional to size^(1/temperature): above 1, small sources
    count for more (Raffel et al. 2020, section 3.5.2)."""
    num_bytes: Count | None = Field(default=None, ge=1_000)
    """Training text in UTF-8 bytes; sources that are too small are repeated. Null: no source is
    repeated, and the text ends when the first is used up; without weights and at temperature 1 all
    are read whole."""

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if self.weights is not None and set(self.weights) != set(self.sources):
            raise ValueError(
                f"weights must name every source ({', '.join(self.sources)}) and nothing else, but "
                f"names {', '.join(self.weights) or 'none'}"
            )
        if self.weights is not None and self.temperature != 1:
            raise ValueError(
                f"temperature must be 1 where weights are given, but is {self.temperature:g}; "
                "remove one of the two"
            )
        return self

    @property
    def reads_all(self) -> bool:
        """Whether every source is read whole, once."""
        return self.weights is None and self.temperature == 1 and self.num_bytes is None


Corpus = Annotated[
    MicroworldCorpus | HubCorpus | TextCorpus | JsonLinesCorpus | MixedCorpus,
    Field(discriminator="source"),
]


def sources_of(corpus: Corpus | TaskCorpus) -> list[SingleCorpus | TaskCorpus]:
    """The sources of a mixture, or the corpus itself."""
    return list(corpus.sources.values()) if isinstance(corpus, MixedCorpus) else [corpus]


def text_of_tokenizer(corpus: Corpus) -> Corpus:
    """The text that a tokenizer is trained on: a corpus without the ablations of its steps."""
    if isinstance(corpus, MixedCorpus):
        clean = {name: _clean(source) for name, source in corpus.sources.items()}
        return corpus.model_copy(update={"sources": clean})
    return _clean(corpus)


def _clean(source: SingleCorpus) -> SingleCorpus:
    return source.model_copy(update={"steps": without_ablations(source.steps)})
