"""Baselines: majority, mean, and words that tell the class."""

import numpy as np
import pytest

from harness.adaptation.baselines import BASELINES, Features, bag_of_words, majority
from harness.tasks import TASKS, Task
from harness.tasks.loading import Examples, load_examples
from harness.tasks.metrics import METRICS

SENTENCES = TASKS["micro-sst2"]
PAIRS = TASKS["micro-mrpc"]
SIMILARITY = TASKS["micro-stsb"]


def test_the_most_frequent_class_and_the_mean() -> None:
    train = Examples([("a",)] * 5, np.array([1, 1, 0, 0, 1]))
    assert majority(SENTENCES, train)(train).tolist() == [1.0] * 5
    tie = Examples([("a",)] * 2, np.array([1, 0]))
    assert majority(SENTENCES, tie)(tie).tolist() == [0.0] * 2
    values = Examples([("a", "b")] * 2, np.array([1.0, 4.0]))
    assert majority(SIMILARITY, values)(values).tolist() == [2.5] * 2


def test_features_of_texts_and_pairs() -> None:
    features = Features([("a b", "b c!"), ("c", "a")])
    words = list(features.vectorizer.get_feature_names_out())
    assert words == ["!", "a", "b", "c"]
    row = features([("B b a", "b !")]).toarray()[0]
    assert row.tolist() == [0, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, pytest.approx(1 / 3)]
    assert features([("b",)]).toarray().tolist() == [[0, 0, 1, 0]]


@pytest.mark.parametrize("name", ["micro-sst2", "micro-mrpc", "micro-stsb"])
def test_it_fits_its_train_set_and_repeats(name: str) -> None:
    task: Task = TASKS[name]
    train = load_examples(task, "train").head(300)
    first, again = (bag_of_words(task, train)(train) for _ in range(2))
    assert first.dtype == np.float64 and np.array_equal(first, again)
    constant = majority(task, train)(train)
    if task.kind == "classification":
        assert np.mean(first == train.labels) > np.mean(constant == train.labels) + 0.1
    else:
        assert METRICS["pearson"](train.labels, first) > 0.5


def test_words_that_were_never_seen() -> None:
    train = Examples([("good film",), ("bad film",)] * 10, np.array([1, 0] * 10))
    predict = bag_of_words(SENTENCES, train)
    assert predict(Examples([("good",), ("bad",)], np.zeros(2))).tolist() == [1, 0]
    assert set(predict(Examples([("zzz",), ("",)], np.zeros(2)))) <= {0.0, 1.0}


def test_one_class_alone_is_the_answer() -> None:
    train = Examples([("x", "y")] * 3, np.array([1, 1, 1]))
    for baseline in BASELINES.values():
        assert baseline(PAIRS, train)(train).tolist() == [1.0] * 3
