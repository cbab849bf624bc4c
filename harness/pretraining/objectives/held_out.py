"""Batches of the held-out text, identical for all runs with the same tokenizer and text."""

from typing import TYPE_CHECKING

import numpy as np

from harness.data.corpora.packing import Packing, Sequences, pack
from harness.pretraining.objectives.crops import crops
from harness.pretraining.objectives.layout import Layout
from harness.pretraining.objectives.negatives import NegativeSampling
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.targets import Batch, assemble
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.transforms.denoising import Denoising
from harness.pretraining.objectives.transforms.masking import Masking, TokenMasking
from harness.pretraining.objectives.transforms.order import (
    ContextWindow,
    PermutationOrder,
    Prefix,
)
from harness.pretraining.objectives.transforms.spans import SpanCorruption
from harness.pretraining.objectives.transforms.transform import Transform
from harness.pretraining.objectives.vocabulary import Vocabulary

if TYPE_CHECKING:
    from harness.data.corpora.token_stream import TokenStream

SEED = 0
SEQUENCE_LENGTH = 128
MAX_TOKENS = 131_072
"""Limit of the held-out text: about 20,000 masked tokens, for a standard error of the accuracy
below 0.4 %."""
ROWS_PER_BATCH = 64
PACKING = Packing(format="doc_sentences")
"""One segment of one document, the input that all formats share."""
MASKING = TokenMasking()
"""15 %, 80/10/10 for all masked LMs, so that their losses are comparable."""


def has_held_out_loss(objective: Objective) -> bool:
    """Whether held-out text has a loss. Counts of co-occurrence have none: they grow with the text,
    so that those of a short one are not what a model of a long one estimates."""
    return objective.output.kind != "cooccurrence"


def evaluation_objective(objective: Objective) -> Objective:
    """The objective of evaluation: equal for all objectives with the same representation, output
    and kind of transform, without losses that only training needs."""
    plain = {
        "masking": "dynamic",
        "sentence_pair": "none",
        "span_boundary": False,
        "distillation": None,
        "embedding_noise": None,
        "shuffled_sources": None,
    }
    return objective.model_copy(update={**plain, "transform": _fixed(objective)})


def _fixed(objective: Objective) -> Transform:
    transform = objective.transform
    if objective.output.kind == "next_token" and objective.representation == "causal":
        return transform.model_copy() if transform.kind == "none" else MASKING
    if isinstance(transform, SpanCorruption):
        fixed = {"mask_rate": 0.15, "mean_span_length": 3.0, "noise": "random_spans"}
        return transform.model_copy(update=fixed)
    if isinstance(transform, Denoising):
        return Denoising(infill_rate=0.3)
    if isinstance(transform, Prefix):
        return Prefix(min_target_fraction=0.5, max_target_fraction=0.5)
    if isinstance(transform, PermutationOrder):
        return PermutationOrder()
    if isinstance(transform, ContextWindow):
        return ContextWindow()
    return MASKING if isinstance(transform, Masking) else transform


def held_out_batches(
    stream: "TokenStream",
    vocabulary: Vocabulary,
    objective: Objective,
    sequence_length: int,
    decoder_start: int,
) -> list[Batch]:
    """Batches [num_rows, width] for the held-out loss.

    They depend on the text, the tokenizer, the kind of `objective`, and on the longest
    `sequence_length` of pretraining if it is below SEQUENCE_LENGTH, as longer positions are not
    trained.
    """
    length = min(SEQUENCE_LENGTH, sequence_length)
    sequences = pack(stream, PACKING, length, "none", np.random.default_rng(SEED))
    return _batches(stream, vocabulary, sequences, evaluation_objective(objective), decoder_start)


def pair_batches(
    stream: "TokenStream",
    vocabulary: Vocabulary,
    objective: Objective,
    packing: Packing,
    sequence_length: int,
) -> list[Batch]:
    """Batches [num_rows, width] for the pair accuracy, in the packing format of pretraining."""
    sequences = pack(
        stream,
        packing,
        sequence_length,
        objective.sentence_pair,
        np.random.default_rng(SEED),
        separators_between=vocabulary.separators_between,
    )
    pairs = evaluation_objective(objective).model_copy(
        update={"sentence_pair": objective.sentence_pair}
    )
    return _batches(stream, vocabulary, sequences, pairs, vocabulary.pad)


def check_pairs(stream: "TokenStream", objective: Objective) -> None:
    """Checks that held-out text has pairs for the pair accuracy, if the objective has one.

    Raises:
        ValueError: there is one document for NSP, or no document of two sentences for SOP.
    """
    sizes = np.diff(stream.documents)
    missing = {
        "nsp": len(sizes) < 2 and "2 documents, as half of the second segments are of another one",
        "sop": not (sizes > 1).any() and "a document of 2 sentences",
    }.get(objective.sentence_pair)
    if missing:
        raise ValueError(
            f"objective.sentence_pair = {objective.sentence_pair} needs held-out text with "
            f"{missing}; raise corpus.validation_fraction or give more text"
        )


def _batches(
    stream: "TokenStream",
    vocabulary: Vocabulary,
    sequences: Sequences,
    objective: Objective,
    decoder_start: int,
) -> list[Batch]:
    layout = Layout(stream, vocabulary, with_identifiers=objective.reads_identifiers)
    sampling = NegativeSampling(stream.tokens, vocabulary)
    before = np.cumsum(layout.lengths(sequences))
    sequences = sequences.take(slice(0, 1 + int(np.searchsorted(before, MAX_TOKENS))))
    batches = []
    for first in range(0, len(sequences), ROWS_PER_BATCH):
        some = sequences.take(slice(first, first + ROWS_PER_BATCH))
        rows = layout.rows(some)
        rng = np.random.default_rng((SEED, first))
        noise = apply_transform(objective.transform, rows, rng, vocabulary)
        labels = None if objective.sentence_pair == "none" else some.label
        batch = assemble(rows, noise, objective, labels, vocabulary, decoder_start)
        batch |= crops(rows, objective, rng, vocabulary)
        batch |= sampling.sample(batch, objective, rng)
        if stream.bytes is not None and predicts_every_token(objective):
            batch["num_bytes"] = num_bytes(stream, some)
        batches.append(batch)
    return batches


def predicts_every_token(objective: Objective) -> bool:
    """Whether the summed loss is the negative log-likelihood of the text, which it is not where
    tokens are seen that are predicted."""
    every = objective.output.kind == "next_token" and objective.transform.kind == "none"
    return every and objective.representation != "bidirectional"


def num_bytes(stream: "TokenStream", sequences: Sequences) -> np.ndarray:
    """[B] UTF-8 bytes of the first segment of each sequence.

    The bytes of a truncated sentence are split in proportion to its tokens, so that sums over whole
    sentences are exact.
    """
    assert stream.bytes is not None
    before = np.concatenate(([0], np.cumsum(stream.bytes)))
    ends = np.interp(np.stack((sequences.a_start, sequences.a_end)), stream.sentences, before)
    sizes: np.ndarray = ends[1] - ends[0]
    return sizes
