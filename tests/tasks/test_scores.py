"""What is kept of a task's predictions: scores, rows, counts."""

import numpy as np
import pandas as pd
import pytest

from harness.tasks import TASKS
from harness.tasks.examples import Answers, Examples
from harness.tasks.metrics import METRICS
from harness.tasks.scores import (
    counts,
    load_counts,
    load_groups,
    predictions_frame,
    save_counts,
    score,
)
from harness.tasks.task import FileData, Task

FILE = FileData(source="jsonl", files={})


def task(kind, metrics, labels=()):
    return Task(
        name="made-up", kind=kind, data=FILE, text_fields=("a",), metrics=metrics, labels=labels
    )


def objects(*labels):
    column = np.empty(len(labels), dtype=object)
    column[:] = labels
    return column


def examples(labels, groups=None):
    return Examples([("text",)] * len(labels), labels, None, groups)


EXTRACTION = objects(Answers(("Rome", "in Rome"), (3, 0)), Answers((), ()))
GROUPS = np.array(["q1", "q1", "q2"], dtype=object)
CASES = {
    "classification": (
        task("classification", ("f1", "accuracy", "matthews"), ("no", "yes")),
        examples(np.array([0, 1, 1])),
        np.array([0.0, 1.0, -1.0]),
    ),
    "regression": (
        task("regression", ("spearman", "pearson")),
        examples(np.array([0.0, 2.5, 5.0])),
        np.array([1.0, 3.0, 2.0]),
    ),
    "multiple_choice": (
        task("multiple_choice", ("accuracy",)),
        examples(np.array([3, 0])),
        np.array([3, 1]),
    ),
    "groups": (
        task("classification", ("f1_answers", "exact_match_groups"), ("no", "yes")),
        examples(np.array([0, 1, 1]), GROUPS),
        np.array([0, 1, 0]),
    ),
    "extraction": (
        task("extraction", ("token_f1", "exact_match")),
        examples(EXTRACTION),
        ["rome", "Paris"],
    ),
    "tagging": (
        task("tagging", ("entity_f1", "accuracy_tags"), ("O", "B-X", "I-X")),
        examples(objects((1, 2), (0, 0), (1,))),
        [np.array([1, 2]), [0, 1], (1,)],
    ),
    "coreference": (
        task("coreference", ("coref_f1", "muc", "b_cubed", "ceaf_e")),
        examples(objects(((0, 0, 0), (0, 2, 3)), (), ((1, 0, 0), (1, 1, 1)))),
        [[[5, 0, 0], (5, 2, 3)], [(0, 0, 1), (0, 0, 0)], ()],
    ),
    "similarity": (
        task("similarity", ("spearman", "spearman_mean_of_groups")),
        examples(np.array([1.0, 2.0, 3.0, 4.0]), np.array(list("xxyy"), dtype=object)),
        np.array([0.1, 0.4, 0.2, 0.3]),
    ),
    "retrieval": (
        task("retrieval", ("ndcg_at_10", "mrr", "recall_at_5")),
        examples(np.array([1.0, 2.0, 1.0]), GROUPS),
        objects((3, 0), (0, 1), (7, 0)),
    ),
    "generation": (
        task("generation", ("rougeL", "bleu")),
        examples(objects(("a b c d",), ("x y", "z"))),
        ["a b c d", "x"],
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_scores_can_be_made_again_from_the_counts(kind, tmp_path):
    made, data, predictions = CASES[kind]
    scores = score(made, data, predictions)
    assert tuple(scores) == made.metrics
    save_counts(tmp_path / "counts.npz", {"dev": counts(made, data, predictions)})
    stored = load_counts(tmp_path / "counts.npz")
    assert stored.keys() == {f"dev/{name}" for name in (*made.metrics, "labels")}
    for name, value in scores.items():
        sums = stored[f"dev/{name}"].sum(axis=0)
        assert METRICS[name].from_counts(sums) == pytest.approx(value, abs=1e-9)


def test_a_split_without_groups_has_no_metric_of_groups(tmp_path):
    made, path = TASKS["superglue_rte"], tmp_path / "predictions.parquet"
    labels, given = np.array([0, 1, 1, 1]), np.array([0.0, 0.0, 1.0, 1.0])
    pairs = np.array(["0", "0", "1", "1"], dtype=object)
    splits = {"validation": examples(labels), "axg": examples(labels, pairs)}
    found = {name: score(made, data, given) for name, data in splits.items()}
    assert list(found["validation"]) == ["accuracy", "matthews"]
    assert list(found["axg"]) == [*found["validation"], "parity"]
    assert found["axg"]["parity"] == 1.0
    frames = [predictions_frame(name, data, given) for name, data in splits.items()]
    pd.concat(frames).to_parquet(path, index=False)
    groups = {name: array.tolist() for name, array in load_groups(path).items()}
    assert groups == {"axg/groups": [0, 0, 1, 1]}


def test_groups_are_numbered_by_name_in_each_split(tmp_path):
    labels, path = np.zeros(4), tmp_path / "predictions.parquet"
    splits = {"dev": ["b", "a", "b", "c"], "other": ["10", "9", "9", "10"]}
    frames = [
        predictions_frame(split, examples(labels, np.array(groups, dtype=object)), labels)
        for split, groups in splits.items()
    ]
    pd.concat(frames).to_parquet(path, index=False)
    found = {name: array.tolist() for name, array in load_groups(path).items()}
    assert found == {"dev/groups": [1, 0, 1, 2], "other/groups": [0, 1, 1, 0]}
    predictions_frame("dev", examples(labels), labels).to_parquet(path, index=False)
    assert load_groups(path) == {}


@pytest.mark.parametrize("kind", CASES)
def test_rows_come_back_from_a_file(kind, tmp_path):
    made, data, predictions = CASES[kind]
    frame = predictions_frame("dev", data, predictions)
    frame.to_parquet(tmp_path / "predictions.parquet", index=False)
    stored = pd.read_parquet(tmp_path / "predictions.parquet")
    grouped = ["group"] if data.groups is not None else []
    assert list(stored) == ["split", "index", "label", "prediction", *grouped]
    assert list(stored["index"]) == list(range(len(data)))
    if data.labels.dtype != object:
        assert stored["label"].dtype == np.float64
        assert stored["prediction"].dtype == (object if kind == "retrieval" else np.float64)
    again = stored["prediction"].to_numpy()
    assert score(made, data, again) == pytest.approx(score(made, data, predictions))


def test_labels_of_an_extraction_are_its_texts():
    frame = predictions_frame("dev", examples(EXTRACTION), np.array(["rome", ""]))
    assert frame["label"].tolist() == [["Rome", "in Rome"], []]
    assert frame["prediction"].tolist() == ["rome", ""]


def test_groups_are_a_column():
    _, data, predictions = CASES["groups"]
    assert predictions_frame("dev", data, predictions)["group"].tolist() == ["q1", "q1", "q2"]


@pytest.mark.parametrize("kind", CASES)
def test_the_digest_depends_on_labels_order_and_groups(kind):
    made, data, predictions = CASES[kind]
    digest = counts(made, data, predictions)["labels"]
    assert digest.dtype == np.uint8 and digest.shape == (32,)
    order = np.arange(len(data))[::-1]
    turned = counts(made, data.take(order), [predictions[place] for place in order])["labels"]
    assert not np.array_equal(digest, turned)
    copied = Examples(list(data.texts), data.labels.copy(), None, data.groups)
    assert np.array_equal(digest, counts(made, copied, predictions)["labels"])
    if data.groups is not None:
        others = Examples(data.texts, data.labels, None, data.groups[::-1])
        assert not np.array_equal(digest, counts(made, others, predictions)["labels"])


def test_constant_predictions_have_null_correlation():
    data = examples(np.arange(4.0))
    assert score(TASKS["stsb"], data, np.ones(4)) == {"spearman": None, "pearson": None}
