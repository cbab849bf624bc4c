"""The transforms by their kinds: what becomes of a batch of rows."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms import Transform
from harness.pretraining.objectives.transforms.denoising import denoising
from harness.pretraining.objectives.transforms.masking import (
    ngram_masking,
    span_masking,
    token_masking,
)
from harness.pretraining.objectives.transforms.order import (
    deshuffling,
    identity,
    permutation_order,
    prefix,
)
from harness.pretraining.objectives.transforms.result import TransformResult
from harness.pretraining.objectives.transforms.spans import span_corruption
from harness.pretraining.objectives.vocabulary import Vocabulary

TRANSFORMS: dict[str, Callable[..., TransformResult]] = {
    "none": identity,
    "token_masking": token_masking,
    "ngram_masking": ngram_masking,
    "span_masking": span_masking,
    "span_corruption": span_corruption,
    "prefix": prefix,
    "deshuffling": deshuffling,
    "denoising": denoising,
    "permutation_order": permutation_order,
}
"""Kind to function of (settings, rows, generator, vocabulary)."""


def apply_transform(
    transform: Transform, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """The rows as `transform` leaves them; the same for the same state of `rng`.

    An input that masks have made longer than its row was, which positions may not reach, is cut.
    """
    made = TRANSFORMS[transform.kind](transform, rows, rng, vocabulary)
    width = rows.tokens.shape[1]
    if made.inputs.shape[1] <= width:
        return made
    inputs, lengths = made.inputs[:, :width].copy(), np.minimum(made.lengths, width)
    cut = np.flatnonzero(made.lengths > width)
    inputs[cut, width - 1] = vocabulary.sep
    return replace(made, inputs=inputs, lengths=lengths)
