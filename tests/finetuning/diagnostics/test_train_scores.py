"""Scores on training examples: by hand, and on a fixed sample."""

import math
from typing import Any

import numpy as np
import pytest
import sklearn.metrics

from harness.finetuning.diagnostics import DIAGNOSTICS_COLUMNS
from harness.finetuning.diagnostics.train_scores import MAX_TRAIN_EXAMPLES, train_scores
from harness.tasks import TASKS
from harness.tasks.examples import Examples


def examples(labels: Any, groups: Any = None) -> Examples:
    texts: list[tuple[str, ...]] = [(f"text {number}",) for number in range(len(labels))]
    return Examples(texts, np.asarray(labels), groups=groups)


def test_the_score_is_the_main_metric() -> None:
    """F1 of MRPC, against scikit-learn."""
    rng = np.random.default_rng(0)
    labels, guesses = rng.integers(0, 2, 50), rng.integers(0, 2, 50)
    frame = train_scores(TASKS["mrpc"], examples(labels), lambda _: guesses.astype(float))
    assert list(frame.columns) == DIAGNOSTICS_COLUMNS
    (row,) = frame.itertuples()
    assert (row.record, row.layer, row.name) == ("train_scores", "", "f1")
    assert row.value == pytest.approx(sklearn.metrics.f1_score(labels, guesses))


def test_the_sample_is_the_first_examples() -> None:
    seen: list[Examples] = []

    def predict(some: Examples) -> np.ndarray:
        seen.append(some)
        return np.zeros(len(some))

    train = examples(np.arange(MAX_TRAIN_EXAMPLES + 5) % 2)
    train_scores(TASKS["sst2"], train, predict)
    assert seen[0].texts == train.texts[:MAX_TRAIN_EXAMPLES]


def test_an_undefined_score_has_no_value() -> None:
    train = examples(np.zeros(5))
    (value,) = train_scores(TASKS["stsb"], train, lambda some: np.ones(len(some)))["value"]
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("most", "rows"),
    [
        (6, [0, 1, 2, 3, 4, 5]),
        (5, [0, 1, 2, 4]),  # the third group would make six
        (4, [0, 1, 2, 4]),
        (3, [0, 2]),
        (1, [0, 2]),  # never none
    ],
)
def test_a_sample_has_whole_groups(most: int, rows: list[int]) -> None:
    train = examples(np.arange(6), np.array(["b", "a", "b", "c", "a", "c"]))
    assert train.sample(most).labels.tolist() == rows
