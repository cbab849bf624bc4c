"""Every metric in two steps, counts and their sums, against the same metric in one."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.tasks.examples import Answers, column
from harness.tasks.metrics import METRICS

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
TAGGED = ("accuracy_tags", "entity_f1", "entity_f1_strict", "argument_f1")
COREFERENCE = ("coref_f1", "muc", "b_cubed", "ceaf_e")
CLASSES = ("no", "yes", "other")
WORDS = ("the", "a", "Cat", "dog", "dog.", "sat", "on", "\n", "mat,")

texts = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
references = st.lists(texts, min_size=1, max_size=3).map(tuple)
answers = st.lists(texts, max_size=3).map(lambda found: Answers(tuple(found), (0,) * len(found)))
numbers = st.integers(-3, 3).map(float) | st.floats(-100, 100).map(lambda x: round(x, 2))


@st.composite
def sentences(draw):
    """Tags of one sentence, true and predicted."""
    size = draw(st.integers(0, 6))
    tags = [st.lists(st.integers(low, 4), min_size=size, max_size=size) for low in (0, -1)]
    return tuple(draw(tags[0])), draw(tags[1])


grades = st.integers(0, 3)


def classes(count):
    return st.tuples(st.integers(0, count - 1), st.integers(-1, count - 1))


EXAMPLES = {
    **dict.fromkeys(("accuracy", "f1", "macro_f1", "micro_f1", "matthews"), (classes(3), CLASSES)),
    **dict.fromkeys(
        ("pearson", "spearman", "spearman_mean_of_groups"), (st.tuples(numbers, numbers), ())
    ),
    **dict.fromkeys(("exact_match", "token_f1"), (st.tuples(answers | references, texts), ())),
    **dict.fromkeys((*TAGGED, *COREFERENCE), (sentences(), TAGS)),
    **dict.fromkeys(
        ("rouge1", "rouge2", "rougeL", "rougeLsum", "bleu", "bleu_intl", "bleu_smoothed"),
        (st.tuples(references, texts), ()),
    ),
    **dict.fromkeys(("f1_answers", "exact_match_groups", "parity"), (classes(2), CLASSES[:2])),
    **dict.fromkeys(("ndcg_at_10", "mrr", "recall_at_5"), (st.tuples(grades, numbers), ())),
}
"""Metric to a strategy of (label, prediction), and the names of its classes or tags."""
OF_GROUPS = ("f1_answers", "exact_match_groups", "parity", "ndcg_at_10", "mrr", "recall_at_5")
"""Metrics whose units are not the examples."""
OF_QUERIES = ("ndcg_at_10", "mrr", "recall_at_5")


def test_every_metric_has_examples():
    assert EXAMPLES.keys() == METRICS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
@given(data=st.data())
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_the_sum_of_counts_scores_as_the_metric_does(name, data):
    strategy, names = EXAMPLES[name]
    rows = data.draw(st.lists(strategy, min_size=1, max_size=12))
    labels, predictions = (column(side) for side in zip(*rows, strict=True))
    subsets = st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows))
    groups = np.array(data.draw(subsets), dtype=object)
    metric = METRICS[name]
    expected = metric(labels, predictions, groups, names)
    counts = metric.counts(labels, predictions, groups, names)
    found = metric.from_counts(counts.sum(axis=0))
    assert counts.dtype == np.float64 and np.isfinite(counts).all()
    assert len(counts) == (len(set(groups)) if name in OF_GROUPS else len(rows))
    assert found.shape == ()
    if math.isnan(expected):
        assert np.isfinite(found)  # the part that is undefined counts as 0
    else:
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", EXAMPLES)
@given(data=st.data())
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_sums_of_any_shape_are_scored_at_once(name, data):
    strategy, names = EXAMPLES[name]
    rows = data.draw(st.lists(strategy, min_size=4, max_size=6))
    labels, predictions = (column(side) for side in zip(*rows, strict=True))
    metric = METRICS[name]
    groups = np.array(list("xyzxyz"[: len(rows)]), dtype=object)
    counts = metric.counts(labels, predictions, groups, names)
    draws = np.random.default_rng(0).integers(3, size=(2, 3, len(counts))).astype(float)
    draws[0, 0] = 0  # a resample without anything to score
    sums = draws @ counts
    scores = metric.from_counts(sums)
    assert scores.shape == (2, 3)
    assert scores[0, 0] == 0
    each = [[metric.from_counts(one) for one in row] for row in sums]
    assert scores == pytest.approx(np.array(each), abs=1e-12)


@pytest.mark.parametrize("name", EXAMPLES)
@given(data=st.data())
@settings(max_examples=15, suppress_health_check=[*HealthCheck], deadline=None)
def test_the_order_of_examples_changes_no_score(name, data):
    strategy, names = EXAMPLES[name]
    rows = data.draw(st.lists(strategy, min_size=1, max_size=10))
    groups = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    order = data.draw(st.permutations(range(len(rows))))

    def score(numbers):
        labels, predictions = (column([rows[i][side] for i in numbers]) for side in (0, 1))
        own = np.array([groups[i] for i in numbers], dtype=object)
        return METRICS[name](labels, predictions, own, names)

    assert score(order) == pytest.approx(score(range(len(rows))), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", METRICS)
def test_unequal_or_no_examples_are_refused(name):
    for labels, predictions in ((np.zeros(2), np.zeros(3)), (np.zeros(0), np.zeros(0))):
        with pytest.raises(ValueError, match="as many predictions as labels and at least one"):
            METRICS[name](labels, predictions)


@pytest.mark.parametrize("name", [*OF_GROUPS, "spearman_mean_of_groups"])
def test_metrics_of_groups_need_groups(name):
    with pytest.raises(ValueError, match="needs the group of every example"):
        METRICS[name](np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match="needs the group of every example"):
        METRICS[name](np.array([0, 1]), np.array([0, 1]), np.array(["x"]))


def test_a_column_has_one_entry_for_each_example():
    flat = np.array([0.5, 1.0])
    assert column(flat) is flat
    nested = column(np.array([[1, 2], [3, 4]]))
    assert nested.shape == (2,) and nested[1].tolist() == [3, 4]
    assert column([(1, 2), (3,)]).tolist() == [(1, 2), (3,)]


PERFECT = {
    "extraction": [("four words of text",), ("more",)],
    "tagging": [(1, 2, 0), (3,)],
    "coreference": [(1, 2, 0, 1), (3, 3, 1)],
    "classification": [0, 1, 2, 0, 1, 2],
    "answers": [0, 1, 0, 1],
    "pairs": [0, 1, 1, 1],
}
KINDS = {
    **dict.fromkeys(("exact_match", "token_f1", "rouge1", "rouge2", "rougeL"), "extraction"),
    **dict.fromkeys(("rougeLsum", "bleu", "bleu_intl", "bleu_smoothed"), "extraction"),
    **dict.fromkeys(TAGGED, "tagging"),
    **dict.fromkeys(COREFERENCE, "coreference"),
    **dict.fromkeys(OF_GROUPS, "answers"),
    "parity": "pairs",
}


@pytest.mark.parametrize("name", METRICS)
def test_perfect_predictions_score_one(name):
    kind = KINDS.get(name, "classification")
    labels = PERFECT[kind] if name != "rouge2" else [("two words",), ("one more",)]
    predictions = [gold[0] for gold in labels] if kind == "extraction" else labels
    groups = np.array(list("xxxyyy"[-len(labels) :]), dtype=object)
    if name in OF_QUERIES:
        groups[:] = "x"  # a query without a right document would score 0
    score = METRICS[name](labels, predictions, groups, EXAMPLES[name][1])
    assert score == pytest.approx(1.0)
