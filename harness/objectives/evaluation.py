"""The held-out text as fixed batches, the same for every run with this tokenizer and this text."""

from typing import TYPE_CHECKING

import numpy as np

from harness.corpora.packing import Packing, Sequences, pack
from harness.objectives import Objective
from harness.objectives.batches import Batch, assemble
from harness.objectives.layout import Layout
from harness.objectives.masking import joint_draws
from harness.objectives.vocabulary import Vocabulary

if TYPE_CHECKING:
    from harness.corpora.stream import TokenStream

SEED = 0
SEQUENCE_LENGTH = 128
MAX_TOKENS = 131_072
"""No more of the held-out text is read: about 20,000 masked tokens, a standard error of the
accuracy below 0.4 %."""
ROWS_PER_BATCH = 64
OBJECTIVE = Objective()
"""15 %, 80/10/10: every arm answers the same questions, whatever it was trained on."""
PACKING = Packing(format="doc_sentences")
"""One segment of one document: the input that all formats have in common."""


def masked_batches(stream: "TokenStream", vocabulary: Vocabulary, max_position: int) -> list[Batch]:
    """Batches for the masked-token loss: a function of the text and the tokenizer, and of
    `max_position` where that is below SEQUENCE_LENGTH."""
    length = min(SEQUENCE_LENGTH, max_position)
    sequences = pack(stream, PACKING, length, "none", np.random.default_rng(SEED))
    return _batches(stream, vocabulary, sequences, OBJECTIVE)


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
        objective.pair,
        np.random.default_rng(SEED),
        separators_between=vocabulary.separators_between,
    )
    return _batches(stream, vocabulary, sequences, objective)


def _batches(
    stream: "TokenStream", vocabulary: Vocabulary, sequences: Sequences, objective: Objective
) -> list[Batch]:
    layout = Layout(stream, vocabulary)
    before = np.cumsum(layout.lengths(sequences))
    sequences = sequences.take(slice(0, 1 + int(np.searchsorted(before, MAX_TOKENS))))
    batches = []
    for first in range(0, len(sequences), ROWS_PER_BATCH):
        some = sequences.take(slice(first, first + ROWS_PER_BATCH))
        rows = layout.rows(some)
        draws = joint_draws(rows.tokens.shape, np.random.default_rng((SEED, first)))
        labels = None if objective.pair == "none" else some.label
        batches.append(assemble(rows, draws, labels, objective, vocabulary))
    return batches
