"""Batches in which a fine-tuned model is evaluated."""

from collections.abc import Iterator

import numpy as np

from harness.finetuning.inputs import Encoded

MAX_ITEMS = 256
MAX_POSITIONS = 2**15
"""Tokens of a batch, with padding. 256 questions with 4 answers of 512 tokens each would take 13 GB
for the attention scores of a layer of BERT base, where these are in memory."""


def evaluation_batches(data: Encoded, max_items: int) -> Iterator[np.ndarray]:
    """Items [B] of each batch, with up to MAX_POSITIONS positions if they are several, by length,
    so that little is padded.

    Args:
        max_items: largest B.
    """
    order = np.argsort(data.lengths, kind="stable")
    lengths, num_rows = data.lengths[order], data.rows_per_item[order]
    start = rows = 0
    for place, (length, more) in enumerate(zip(lengths.tolist(), num_rows.tolist(), strict=True)):
        is_full = place - start == max_items or (rows + more) * length > MAX_POSITIONS
        if is_full and place > start:
            yield order[start:place]
            start, rows = place, 0
        rows += more
    if start < len(order):
        yield order[start:]
