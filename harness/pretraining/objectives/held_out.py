"""The held-out text as fixed batches, the same for every run with this tokenizer and this text."""

from typing import TYPE_CHECKING

import numpy as np

from harness.data.corpora.packing import Packing, Sequences, pack
from harness.pretraining.objectives.layout import Layout
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.targets import Batch, assemble
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.transforms.denoising import Denoising
from harness.pretraining.objectives.transforms.masking import Masking, TokenMasking
from harness.pretraining.objectives.transforms.order import PermutationOrder, Prefix
from harness.pretraining.objectives.transforms.spans import SpanCorruption
from harness.pretraining.objectives.transforms.transform import Transform
from harness.pretraining.objectives.vocabulary import Vocabulary

if TYPE_CHECKING:
    from harness.data.corpora.token_stream import TokenStream

SEED = 0
SEQUENCE_LENGTH = 128
MAX_TOKENS = 131_072
"""No more of the held-out text is read: about 20,000 masked tokens, a standard error of the
accuracy below 0.4 %."""
ROWS_PER_BATCH = 64
PACKING = Packing(format="doc_sentences")
"""One segment of one document: the input that all formats have in common."""
MASKING = TokenMasking()
"""15 %, 80/10/10: every model of hidden tokens answers the same questions, whatever it was trained
on."""


def questions(objective: Objective) -> Objective:
    """What a model trained on `objective` is asked: the same of all that tell the same in the same
    way, without losses that only training needs."""
    plain = {
        "masking": "dynamic",
        "sentence_pair": "none",
        "span_boundary": False,
        "distillation": None,
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
    return MASKING if isinstance(transform, Masking) else transform


def held_out_batches(
    stream: "TokenStream",
    vocabulary: Vocabulary,
    objective: Objective,
    sequence_length: int,
    decoder_start: int,
) -> list[Batch]:
    """Batches for the held-out loss: a function of the text, the tokenizer and the kind of
    `objective`, and of the longest `sequence_length` trained on where it is below SEQUENCE_LENGTH:
    a model has learned nothing of positions and spans beyond it."""
    length = min(SEQUENCE_LENGTH, sequence_length)
    sequences = pack(stream, PACKING, length, "none", np.random.default_rng(SEED))
    return _batches(stream, vocabulary, sequences, questions(objective), decoder_start)


def pair_batches(
    stream: "TokenStream",
    vocabulary: Vocabulary,
    objective: Objective,
    packing: Packing,
    sequence_length: int,
) -> list[Batch]:
    """Batches for the pair accuracy, in the form that the run was trained on."""
    sequences = pack(
        stream,
        packing,
        sequence_length,
        objective.sentence_pair,
        np.random.default_rng(SEED),
        separators_between=vocabulary.separators_between,
    )
    pairs = questions(objective).model_copy(update={"sentence_pair": objective.sentence_pair})
    return _batches(stream, vocabulary, sequences, pairs, vocabulary.pad)


def _batches(
    stream: "TokenStream",
    vocabulary: Vocabulary,
    sequences: Sequences,
    objective: Objective,
    decoder_start: int,
) -> list[Batch]:
    layout = Layout(stream, vocabulary)
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
        if stream.bytes is not None and tells_every_token(objective):
            batch["num_bytes"] = num_bytes(stream, some)
        batches.append(batch)
    return batches


def tells_every_token(objective: Objective) -> bool:
    """Whether the summed loss is that of the text: each token told once, after those before it."""
    return objective.output.kind == "next_token" and objective.transform.kind == "none"


def num_bytes(stream: "TokenStream", sequences: Sequences) -> np.ndarray:
    """[B] UTF-8 bytes of the text of each sequence, one segment of it; where a sentence is cut, its
    bytes go to its parts by their tokens, so that sums over whole sentences are exact."""
    assert stream.bytes is not None
    before = np.concatenate(([0], np.cumsum(stream.bytes)))
    ends = np.interp(np.stack((sequences.a_start, sequences.a_end)), stream.sentences, before)
    sizes: np.ndarray = ends[1] - ends[0]
    return sizes
