"""What the result of a transform must be, checked for every batch.

Shapes: B rows, T positions of the original, S of the input, U of the dropped text.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.transform import TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary


def problems(rows: Rows, result: Any, vocabulary: Vocabulary) -> Iterator[str]:
    """What a transform must return for rows [B, T], and what it returned instead."""
    if not isinstance(result, TransformResult):
        yield f"a TransformResult, but returned {type(result).__name__}"
        return
    shape, size = rows.tokens.shape, vocabulary.size
    if result.chosen.shape != shape:
        yield f"chosen {list(shape)}, as the rows are, but it is {list(result.chosen.shape)}"
    elif (result.chosen & ~rows.maskable).any():
        yield "chosen only where rows.maskable, but special tokens or padding are chosen"
    if result.aligned and result.inputs.shape != shape:
        read = list(result.inputs.shape)
        yield f"inputs {list(shape)} with aligned=True, as the rows are, but they are {read}"
    yield from _text_problems("inputs", result.inputs, result.lengths, len(rows.tokens), size)
    if result.aligned and not np.array_equal(result.lengths, rows.lengths):
        yield "the lengths of the rows with aligned=True, but others"
    if result.dropped is not None:
        yield from _text_problems("dropped", *result.dropped, len(rows.tokens), size)


def _text_problems(
    name: str, ids: np.ndarray, lengths: np.ndarray, num_rows: int, vocab_size: int
) -> Iterator[str]:
    """What is wrong with a padded text [B, S] and its lengths [B]."""
    if ids.ndim != 2 or len(ids) != num_rows:
        yield f"{name} of {num_rows} rows, but of shape {list(ids.shape)}"
    elif lengths.shape != (num_rows,):
        yield f"lengths [{num_rows}] of {name}, one for each row, but {list(lengths.shape)}"
    elif lengths.min() < 0 or lengths.max() > ids.shape[1]:
        given = f"{lengths.min()} to {lengths.max()}"
        yield f"lengths of {name} from 0 to its width {ids.shape[1]}, but {given}"
    elif ids.size and (ids.min() < 0 or ids.max() >= vocab_size):
        given = f"{ids.min()} to {ids.max()}"
        yield f"{name} with ids of the vocabulary, 0 to {vocab_size - 1}, but with {given}"
