"""Crops of the text, the second view of sequence contrastive learning (Meng et al. 2021, 3.2)."""

import numpy as np

from harness.pretraining.objectives.layout import Rows, padded_width
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import CorrectedToken
from harness.pretraining.objectives.sample_rows import SPECIALS
from harness.pretraining.objectives.targets import Batch, read
from harness.pretraining.objectives.vocabulary import Vocabulary


def crops(
    rows: Rows, objective: Objective, rng: np.random.Generator, vocabulary: Vocabulary
) -> Batch:
    """The arrays `crop_...` [B, S] of a batch; none if the objective does not contrast.

    Of each row, one contiguous span, uniformly drawn, between its first and its last token
    (microsoft/COCO-LM, span_dataset.py, with add_span_cls).
    """
    output = objective.output
    if not isinstance(output, CorrectedToken) or output.contrast is None:
        return {}
    text = rows.lengths - SPECIALS
    kept = np.maximum(1, (output.contrast.crop * text).astype(int))
    start = 1 + rng.integers(0, text - kept + 1)
    column = np.arange(padded_width(int(kept.max()) + SPECIALS))
    source = np.minimum(start[:, None] + column - 1, rows.tokens.shape[1] - 1)
    inside = (column > 0) & (column <= kept[:, None])
    tokens = np.where(inside, np.take_along_axis(rows.tokens, source, 1), vocabulary.pad)
    types = np.where(inside, np.take_along_axis(rows.types, source, 1), 0)
    row, last = np.arange(len(tokens)), kept + 1
    tokens[:, 0], tokens[row, last] = vocabulary.cls, vocabulary.sep
    types[:, 0], types[row, last] = types[:, 1], types[row, kept]
    batch = read(tokens, kept + SPECIALS, types)
    return {f"crop_{name}": array for name, array in batch.items()}
