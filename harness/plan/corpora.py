"""The size of each corpus, and how often the budgets read it."""

from collections.abc import Iterator

from harness.data import python_stdlib
from harness.data.corpora.local_files import found_files
from harness.data.corpora.size import corpus_size, expected_bytes
from harness.data.corpora.sources import (
    LocalCorpus,
    MicroworldCorpus,
    MixedCorpus,
    SingleCorpus,
    StdlibCorpus,
)
from harness.experiment.arms import Arm
from harness.plan.plan import Plan
from harness.pretraining.recipes.small_sizes import BYTES_PER_TOKEN


def passes(plan: Plan, arm: Arm) -> float | None:
    """How often one pretraining seed of an arm reads its corpus; null if it is not known, nothing
    is trained, or the budget is of counts of co-occurrence."""
    if arm.pretrain.objectives[-1].output.kind == "cooccurrence":
        return None
    cost, size = plan.costs.get(arm.name), num_tokens(plan, arm)
    tokens = cost.tokens if cost else None
    return tokens / size if tokens and size else None


def num_tokens(plan: Plan, arm: Arm) -> float | None:
    """Tokens of the training text: as counted by the tokenizer, else expected from words or bytes;
    null for data sets of the Hub that are not tokenized, and without text."""
    if arm.pretrain.model.facts.kind in ("baseline", "checkpoint"):
        return None
    if arm.name in plan.corpus_tokens:
        return plan.corpus_tokens[arm.name]
    corpus = arm.pretrain.corpus
    if not isinstance(corpus, MixedCorpus):
        return _expected_tokens(corpus)
    if corpus.num_bytes:
        return corpus.num_bytes / BYTES_PER_TOKEN
    parts = [_expected_tokens(source) for source in corpus.sources.values()]
    known = [part for part in parts if part is not None]
    return sum(known) if corpus.reads_all and len(known) == len(parts) else None


def _expected_tokens(corpus: SingleCorpus) -> float | None:
    """Tokens of the training text of a source, from words or bytes; null if they are not known."""
    size = expected_bytes(corpus)
    tokens = None if size is None else size / BYTES_PER_TOKEN
    if isinstance(corpus, MicroworldCorpus) and not corpus.max_documents:
        tokens = min(corpus.num_tokens, tokens or corpus.num_tokens)
    return None if tokens is None else (1 - corpus.validation_fraction) * tokens


def corpus_lines(plan: Plan) -> Iterator[str]:
    """A line on each corpus of local files, and each mixture: files, documents, tokens, passes;
    without the first two where there are no files, as beside an archive.

    Raises:
        ValueError: the files are not in the declared format.
    """
    arms: dict[LocalCorpus | MixedCorpus, list[Arm]] = {}
    for arm in plan.arms:
        if isinstance(arm.pretrain.corpus, LocalCorpus | MixedCorpus) and num_tokens(plan, arm):
            arms.setdefault(arm.pretrain.corpus, []).append(arm)
    for corpus, users in arms.items():
        if isinstance(corpus, MixedCorpus):
            name, size = f"mixture of {', '.join(corpus.sources)}", []
        else:
            name, size = _name(corpus), list(_size(corpus)) if found_files(corpus) else []
        parts = [*size, _tokens(plan, users)]
        if read := [found for arm in users if (found := passes(plan, arm))]:
            parts.append(f"read {_range(read)} times by the budget")
        yield f"{name}: {', '.join(parts)}"


def _name(corpus: LocalCorpus) -> str:
    return python_stdlib.NAME if isinstance(corpus, StdlibCorpus) else corpus.path


def _size(corpus: LocalCorpus) -> Iterator[str]:
    size = corpus_size(corpus)
    yield f"{size.files:,} file{'' if size.files == 1 else 's'}"
    if size.documents is not None:
        yield f"{size.documents:,} document{'' if size.documents == 1 else 's'}"
        yield f"{size.words:,} words"
    yield f"{size.bytes / 1e6:,.2f} MB"


def _tokens(plan: Plan, arms: list[Arm]) -> str:
    """`72,310 to 80,112 tokens for training`; arms may have tokenizers of their own."""
    counts = [found for arm in arms if (found := num_tokens(plan, arm))]
    low, high = min(counts), max(counts)
    shown = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
    is_known = all(arm.name in plan.corpus_tokens for arm in arms)
    return f"{shown} tokens for training" if is_known else f"about {shown} tokens for training"


def times(value: float) -> str:
    """A number of passes with two digits, without an exponent: `1.9`, `120`."""
    return f"{value:.2g}" if value < 99.5 else f"{float(f'{value:.2g}'):,.0f}"


def _range(values: list[float]) -> str:
    low, high = times(min(values)), times(max(values))
    return low if low == high else f"{low} to {high}"
