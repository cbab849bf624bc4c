"""Baselines that no pretraining enters: the most frequent class, and a linear model of words.

Shapes: N examples, W words.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.tasks.loading import Examples
from harness.tasks.task import Task

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Predictor = Callable[[Examples], np.ndarray]
"""Examples to class numbers, or values for regression; float64 [N]."""

MAX_ITERATIONS = 1000


def majority(task: Task, train: Examples) -> Predictor:
    """The most frequent class of `train`, of equals the first; for regression its mean."""
    if task.kind == "regression":
        constant = float(train.labels.mean())
    else:
        constant = float(np.bincount(train.labels).argmax())
    return lambda examples: np.full(len(examples), constant)


def bag_of_words(task: Task, train: Examples) -> Predictor:
    """Logistic regression, for regression tasks ridge regression, on which words occur; both with
    scikit-learn's defaults, and deterministic."""
    from sklearn.linear_model import LogisticRegression, Ridge

    if len(np.unique(train.labels)) == 1:
        return majority(task, train)
    features = Features(train.texts)
    if task.kind == "regression":
        model: Any = Ridge(solver="sparse_cg")
    else:
        model = LogisticRegression(max_iter=MAX_ITERATIONS)
    model.fit(features(train.texts), train.labels)
    return lambda examples: model.predict(features(examples.texts)).astype(np.float64)


class Features:
    """Which words of `texts` occur in a text; of a pair: in the first, in the second, in both, and
    the share of their words that they have in common."""

    def __init__(self, texts: Sequence[tuple[str, ...]]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        # One-letter words and punctuation marks count, too.
        self.vectorizer = CountVectorizer(binary=True, token_pattern=r"\w+|[^\w\s]")
        self.vectorizer.fit(text for example in texts for text in example)

    def __call__(self, texts: Sequence[tuple[str, ...]]) -> "csr_matrix":
        """[N, W], or [N, 3 W + 1] for pairs."""
        from scipy.sparse import csr_matrix, hstack

        parts = [
            self.vectorizer.transform(column).astype(np.float64)
            for column in zip(*texts, strict=True)
        ]
        if len(parts) == 1:
            return parts[0]
        first, second = parts
        both = first.multiply(second)
        either = (first + second - both).sum(1)
        share = csr_matrix(both.sum(1) / np.maximum(either, 1))
        return hstack([first, second, both, share], format="csr")


BASELINES: dict[str, Callable[[Task, Examples], Predictor]] = {
    "majority": majority,
    "bag_of_words": bag_of_words,
}
"""Family to what it makes of a train set."""
