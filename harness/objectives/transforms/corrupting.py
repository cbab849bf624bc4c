"""The transforms by their kinds: what becomes of a batch of rows."""

from collections.abc import Callable

import numpy as np

from harness.objectives.layout import Rows
from harness.objectives.transforms import Transform
from harness.objectives.transforms.corrupted import Corrupted
from harness.objectives.transforms.denoising import denoising
from harness.objectives.transforms.masking import ngram_masking, span_masking, token_masking
from harness.objectives.transforms.order import deshuffling, identity, permutation_order, prefix
from harness.objectives.transforms.spans import span_corruption
from harness.objectives.vocabulary import Vocabulary

CORRUPTIONS: dict[str, Callable[..., Corrupted]] = {
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


def corrupt(
    transform: Transform, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> Corrupted:
    """The rows as `transform` leaves them; the same for the same state of `rng`."""
    return CORRUPTIONS[transform.kind](transform, rows, rng, vocabulary)
