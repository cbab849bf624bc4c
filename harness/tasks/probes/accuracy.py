"""Accuracies from the scores of sentences.

A score is any number that is higher for a likelier sentence, such as a log-probability in nats. NaN
is a missing score; results that depend on it are NaN, which tables show as null.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.tasks.probes.probe import OVERALL

Array = np.ndarray


def minimal_pair_values(good: Array, bad: Array) -> Array:
    """1 if the acceptable sentence has the higher score, 1/2 for a tie, else 0.

    Warstadt et al. 2020 count ties as errors; here they count half, so that constant scores are at
    chance level and not below.

    Args:
        good: [num_items] scores of the acceptable sentences.
        bad: [num_items] scores of the unacceptable ones.

    Returns:
        [num_items] from 0 to 1; NaN if a score is.

    Raises:
        ValueError: the shapes differ.
    """
    good, bad = np.asarray(good, dtype=float), np.asarray(bad, dtype=float)
    if good.shape != bad.shape:
        raise ValueError(f"every pair needs two scores, but there are {good.shape} and {bad.shape}")
    values = (good > bad) + 0.5 * (good == bad)
    return np.where(np.isnan(good) | np.isnan(bad), np.nan, values)


def cloze_values(scores: Array, answers: Array) -> Array:
    """1 if the answer has the highest score, 1/k if it ties with k - 1 others, else 0.

    Args:
        scores: [num_items, num_candidates]; -inf where an item has fewer candidates.
        answers: [num_items] indices of the correct candidates.

    Returns:
        [num_items] from 0 to 1; NaN if a score of the item is NaN, or none is finite.

    Raises:
        ValueError: the shapes do not match.
    """
    scores, answers = np.asarray(scores, dtype=float), np.asarray(answers)
    if scores.ndim != 2 or answers.shape != scores.shape[:1]:
        raise ValueError(
            f"scores must be [num_items, num_candidates] and answers [num_items], but they are "
            f"{scores.shape} and {answers.shape}"
        )
    best = scores.max(axis=1, keepdims=True)
    highest = scores == best
    right = highest[np.arange(len(scores)), answers]
    shares = right / np.maximum(highest.sum(axis=1), 1)
    return np.where(np.isfinite(best[:, 0]), shares, np.nan)


def item_values(kind: str, scores: Sequence[Any], answers: Sequence[int]) -> Array:
    """The values of all items of a probe.

    Args:
        kind: `minimal_pairs`, whose acceptable sentence comes first, `cloze`, or `generation`.
        scores: of each item, those of its sentences (a list or array); of generation, one: 1 if the
            right end was written, else 0.
        answers: [num_items] index of the correct score; of other kinds than `cloze` 0.

    Returns:
        [num_items] from 0 to 1, as of `minimal_pair_values` or `cloze_values`.
    """
    if not len(scores):
        return np.zeros(0)
    if kind == "generation":
        return np.array([one for (one,) in scores], dtype=float)
    if kind == "minimal_pairs":
        good, bad = np.array([list(one) for one in scores], dtype=float).T
        return minimal_pair_values(good, bad)
    most = max(map(len, scores))
    padded = [np.pad(one, (0, most - len(one)), constant_values=-np.inf) for one in scores]
    return cloze_values(np.array(padded), np.array(answers))


def accuracy_by_category(categories: Sequence[str], values: Array) -> dict[str, float]:
    """Mean value of each category in order of appearance, and `overall`, the mean of these means.

    Args:
        categories: [num_items] names.
        values: [num_items] from 0 to 1; NaN makes its category and the overall mean NaN.

    Raises:
        ValueError: no items, or different numbers of categories and values.
    """
    names, values = np.asarray(categories), np.asarray(values, dtype=float)
    if names.shape != values.shape or not names.size:
        raise ValueError(
            f"there must be one value for each item and at least one item, but there are "
            f"{values.shape} values and {names.shape} categories"
        )
    means = {name: float(values[names == name].mean()) for name in dict.fromkeys(categories)}
    return {**means, OVERALL: float(np.mean(list(means.values())))}
