"""Sources of pretraining text as declared values; `load_corpus` reads them."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from harness.core.config import ConfigModel, Count
from harness.core.names import SourceName
from harness.data.corpora.steps import AnyStep, without_ablations
from harness.data.corpora.steps.decontamination import Decontaminate
from harness.data.corpora.steps.step import Step

NUM_WORDS = "num_words"
"""Value of `sort_by`: words separated by white space."""


class HeldOut(ConfigModel):
    """Fields of all corpora."""

    validation_fraction: float = Field(default=0.01, gt=0, lt=1)
    """Share of the documents held out for the pretraining loss, spread evenly over the corpus."""
    max_documents: Count | None = Field(default=None, ge=2)
    """Maximum number of documents; null reads all."""


class Source(HeldOut):
    """Fields of all corpora but the texts of a task."""

    max_bytes: Count | None = Field(default=None, ge=1_000)
    """Maximum size of the text in UTF-8 bytes, to a document; null reads all."""
    steps: tuple[AnyStep, ...] | None = None
    """Filters, deduplication and ablations of the documents; see `harness.data.corpora.steps`."""
    sort_by: str | None = None
    """`num_words`, or a field of the documents of JSON lines, parquet and the Hub: documents are
    read in ascending order, for which all are held in memory. `max_documents` and `max_bytes` keep
    the first in that order. Null: the order of the source."""

    @model_validator(mode="after")
    def _sortable(self) -> Self:
        if has_field_order(self) and not hasattr(self, "text_field"):
            raise ValueError(
                f"sort_by must be {NUM_WORDS!r} where documents have no fields, but is "
                f"{self.sort_by!r}"
            )
        return self


class MicroworldCorpus(Source):
    """English-like documents about the micro-world, generated from a seed."""

    source: Literal["microworld"] = "microworld"
    seed: int = Field(default=0, ge=0)
    """Seed of the documents. `world` determines the words and facts."""
    world: int = Field(default=0, ge=0)
    """Seed of the words and facts. The shipped tasks are about world 0."""
    num_tokens: Count = Field(default=1_000_000, ge=1_000, le=10**12)
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
    streaming: Annotated[bool | None, AfterValidator(lambda value: value or None)] = None
    """Reads documents over the network up to `max_bytes` or `max_documents`, and keeps no copy but
    their tokens; otherwise the data set is downloaded first. The documents are the same."""
    shuffle_seed: int | None = Field(default=None, ge=0)
    """Streams the files in a random order, and documents through a buffer, so that those read are a
    sample of a corpus that is sorted; null: the order of the data set."""

    @model_validator(mode="after")
    def _bounded_stream(self) -> Self:
        if self.streaming and not (self.max_bytes or self.max_documents):
            raise ValueError(
                "max_bytes or max_documents must bound what streaming reads, but both are null"
            )
        if self.streaming and self.sort_by:
            raise ValueError(
                "sort_by must be null with streaming: true, because sorting reads the whole data "
                f"set, but is {self.sort_by!r}: use streaming: false"
            )
        if self.shuffle_seed is not None and not self.streaming:
            raise ValueError(
                "shuffle_seed must go with streaming: true; a data set that is read whole is "
                "shuffled in training"
            )
        return self


class TextCorpus(Source):
    """Plain text files (.txt, .txt.gz or .txt.zst); blank lines separate documents."""

    source: Literal["text"] = "text"
    path: str
    """A file, a folder or a glob pattern; relative to the working folder."""


class JsonLinesCorpus(Source):
    """JSON lines files (.jsonl, .jsonl.gz or .jsonl.zst) with one document a line."""

    source: Literal["jsonl"] = "jsonl"
    path: str
    """A file, a folder or a glob pattern; relative to the working folder."""
    text_field: str = "text"


class ParquetCorpus(Source):
    """Parquet files with one document a row."""

    source: Literal["parquet"] = "parquet"
    path: str
    """A file, a folder or a glob pattern; relative to the working folder."""
    text_field: str = "text"


class StdlibCorpus(Source):
    """The standard library of the running Python, a file a document: the modules whose functions
    are the train split of the tasks on Python; see `harness.data.python_stdlib`."""

    source: Literal["python_stdlib"] = "python_stdlib"


class TaskCorpus(HeldOut):
    """The texts of a task's train set without labels and hold-out, one document for each example.

    This is task-adaptive pretraining (Gururangan et al. 2020, section 4).
    """

    source: Literal["task"] = "task"
    validation_fraction: float = Field(default=0.05, gt=0, lt=1)
    """Share of the texts held out for the pretraining loss; larger than for other corpora, because
    train sets are small."""


LocalCorpus = TextCorpus | JsonLinesCorpus | ParquetCorpus | StdlibCorpus
"""Files on this machine: a user's own, or Python's."""
SingleCorpus = Annotated[MicroworldCorpus | HubCorpus | LocalCorpus, Field(discriminator="source")]


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
    order: Literal["sequence"] | None = None
    """`sequence` reads the sources one after another, each up to its share; null mixes them."""
    num_bytes: Count | None = Field(default=None, ge=1_000)
    """Training text in UTF-8 bytes; sources that are too small are repeated. Null: no source is
    repeated, and the text ends when the first is used up; without weights and at temperature 1 all
    are read whole."""

    def __eq__(self, other: object) -> bool:
        """Whether the sources also have the same order, which their text depends on."""
        same = isinstance(other, MixedCorpus) and [*self.sources] == [*other.sources]
        return same and super().__eq__(other)

    __hash__ = ConfigModel.__hash__

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

    @model_validator(mode="after")
    def _sizes_in_sequence(self) -> Self:
        if self.order and self.num_bytes is None and not self.reads_all:
            raise ValueError(
                "num_bytes must be given for order: sequence with weights or a temperature, but is "
                "null"
            )
        return self

    @property
    def reads_all(self) -> bool:
        """Whether every source is read whole, once."""
        return self.weights is None and self.temperature == 1 and self.num_bytes is None


Corpus = Annotated[
    MicroworldCorpus | HubCorpus | LocalCorpus | MixedCorpus, Field(discriminator="source")
]


def has_field_order(source: Source) -> bool:
    """Whether documents are sorted by a field of theirs."""
    return source.sort_by not in (None, NUM_WORDS)


def sources_of(corpus: Corpus | TaskCorpus) -> list[SingleCorpus | TaskCorpus]:
    """The sources of a mixture, or the corpus itself."""
    return list(corpus.sources.values()) if isinstance(corpus, MixedCorpus) else [corpus]


def steps_of(corpus: Corpus | TaskCorpus) -> list[Step]:
    """The steps of all sources of a corpus."""
    return [step for one in sources_of(corpus) for step in getattr(one, "steps", None) or ()]


def decontaminated(corpus: Corpus | TaskCorpus) -> list[str]:
    """The suites whose texts steps remove from a corpus."""
    return sorted({step.suite for step in steps_of(corpus) if isinstance(step, Decontaminate)})


def clean_text(corpus: Corpus) -> Corpus:
    """The text that a tokenizer is trained on, and that is held out: a corpus without the ablations
    of its steps."""
    if isinstance(corpus, MixedCorpus):
        clean = {name: _clean(source) for name, source in corpus.sources.items()}
        return corpus.model_copy(update={"sources": clean})
    return _clean(corpus)


def _clean(source: SingleCorpus) -> SingleCorpus:
    return source.model_copy(update={"steps": without_ablations(source.steps)})
