"""Array operations on the rows of a batch.

Shapes: B rows, T positions.
"""

import numpy as np


def packed(values: np.ndarray, keep: np.ndarray, fill: int) -> tuple[np.ndarray, np.ndarray]:
    """[B, most kept] the kept values of each row, left-aligned and padded; and [B] their numbers.

    Args:
        values, keep: [B, T].
        fill: value of the padding.
    """
    lengths = keep.sum(1)
    result = np.full((len(keep), int(lengths.max(initial=0))), fill, dtype=values.dtype)
    result[filled(lengths, result.shape[1])] = values[keep]
    return result, lengths


def filled(lengths: np.ndarray, width: int) -> np.ndarray:
    """[B, width] bool: the first `lengths` [B] positions of each row."""
    result: np.ndarray = np.arange(width) < lengths[:, None]
    return result


def shuffled(values: np.ndarray, where: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """[B, T] values, those at `where` [B, T] in a uniformly random order within each row."""
    order = np.argsort(np.where(where, rng.random(where.shape), np.inf), axis=1)
    result = values.copy()
    in_order = np.take_along_axis(values, order, axis=1)
    result[where] = in_order[filled(where.sum(1), where.shape[1])]
    return result


def choose_tokens(maskable: np.ndarray, key: np.ndarray, budget: np.ndarray) -> np.ndarray:
    """[B, T] bool: in each row, the `budget` [B] maskable positions with the smallest keys."""
    order = np.argsort(np.where(maskable, key, np.inf), axis=1)
    chosen = np.zeros_like(maskable)
    np.put_along_axis(chosen, order, filled(budget, maskable.shape[1]), axis=1)
    return chosen & maskable


def runs(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[B, T] bool, the first position of each unbroken run of chosen ones; and [B, T] the index of
    the run in its row, -1 where nothing is chosen."""
    begins = chosen.copy()
    begins[:, 1:] &= ~chosen[:, :-1]
    number = np.cumsum(begins, axis=1)
    number *= chosen
    number -= 1
    return begins, number


def covered(begin: np.ndarray, end: np.ndarray, width: int) -> np.ndarray:
    """[B, width] bool: positions inside any of the intervals begin <= i < end, both [B, K].

    Intervals may overlap, be empty, or exceed the width.
    """
    steps = np.zeros((len(begin), width + 1), dtype=np.int64)
    row = np.arange(len(begin))[:, None]
    np.add.at(steps, (row, np.minimum(begin, width)), 1)
    np.add.at(steps, (row, np.minimum(np.maximum(begin, end), width)), -1)
    inside: np.ndarray = np.cumsum(steps[:, :width], axis=1) > 0
    return inside
