"""Examples: from a mirror and from the micro-world, held out in fixed and fair shares."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import ClassLabel
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import MemberError
from harness.tasks import SUITES, TASKS
from harness.tasks.examples import Examples, mixed, split_holdout
from harness.tasks.load_examples import available_splits, fingerprint, load_examples
from harness.tasks.preprocessing import PREPROCESSORS
from harness.tasks.task import Split
from harness.tasks.text_groups import text_groups
from harness.tasks.text_sample import sample_texts
from tests.tasks.mirrors import TEXT, Mirror

needs_mirror = pytest.mark.skipif(
    "HARNESS_DATA" not in os.environ, reason="HARNESS_DATA names no folder of mirrors"
)
MATCHED = Split(name="validation_matched")
Rows = dict[str, Any]
ROWS: Rows = {"premise": ["a", "b", "c"], "hypothesis": ["d", "e", "f"], "label": [0, 2, 1]}


class GlueMirror:
    """Writes configs of a GLUE mirror."""

    def __init__(self, root: Path) -> None:
        self.mirror = Mirror(root)

    def write(self, config: str, splits: dict[str, Rows], features: Rows | None = None) -> None:
        self.mirror.write("nyu-mll/glue", config, splits, features)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GlueMirror:
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "hub"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    return GlueMirror(tmp_path / "hub")


def test_pairs_and_labels_of_a_mirror(mirror: GlueMirror) -> None:
    mirror.write("mnli", {"train": ROWS, "validation_matched": ROWS})
    for split in ("train", MATCHED):
        examples = load_examples(TASKS["mnli"], split)
        assert examples.texts == [("a", "d"), ("b", "e"), ("c", "f")]
        assert examples.labels.tolist() == [0, 2, 1] and examples.labels.dtype == np.int64
        assert len(examples) == 3 and not examples.hidden


def test_regression_labels_are_real(mirror: GlueMirror) -> None:
    mirror.write("stsb", {"train": {"sentence1": ["a"], "sentence2": ["b"], "label": [2.5]}})
    examples = load_examples(TASKS["stsb"], "train")
    assert examples.labels.tolist() == [2.5] and examples.labels.dtype == np.float64


def test_hidden_labels_are_kept_as_hidden(mirror: GlueMirror) -> None:
    mirror.write("mnli", {"train": ROWS})
    mirror.write("ax", {"test": ROWS | {"label": [-1, -1, -1]}})
    splits = available_splits(TASKS["mnli"])
    assert splits == TASKS["mnli"].evaluation
    assert load_examples(TASKS["mnli"], splits[-1]).hidden


def test_an_absent_optional_config_is_left_out(
    mirror: GlueMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.write("mnli", {"train": ROWS})
    assert [split.config for split in available_splits(TASKS["mnli"])] == [None, None]
    before = fingerprint(TASKS["mnli"])
    mirror.write("ax", {"test": ROWS})
    assert fingerprint(TASKS["mnli"]) != before
    monkeypatch.delenv("HARNESS_DATA")
    assert len(available_splits(TASKS["mnli"])) == 3
    pinned = "hub:nyu-mll/glue@bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"
    assert fingerprint(TASKS["mnli"]) == f"{pinned}/ax+{pinned}/mnli"


def test_another_order_of_the_classes_is_refused(mirror: GlueMirror) -> None:
    order = ClassLabel(names=["not_entailment", "entailment"])
    features = {"sentence1": TEXT, "sentence2": TEXT, "label": order}
    rows = {"sentence1": ["a"], "sentence2": ["b"], "label": [1]}
    mirror.write("rte", {"train": rows}, features)
    with pytest.raises(ValueError, match="classes of rte must be entailment, not_entailment"):
        load_examples(TASKS["rte"], "train")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"sentence": ["a", "b"], "label": [0, 2]}, r"labels of cola must be 0 to 1.*\[0, 2\]"),
        ({"sentence": ["a", "b"], "label": [0, -1]}, "labels of cola must be 0 to 1"),
        ({"text": ["a"], "label": [0]}, "cola needs .* sentence, label, .* no sentence; .* text"),
    ],
)
def test_unexpected_data_are_refused(mirror: GlueMirror, rows: Rows, message: str) -> None:
    mirror.write("cola", {"train": rows})
    with pytest.raises(ValueError, match=message):
        load_examples(TASKS["cola"], "train")


def test_an_absent_mirror_is_named(mirror: GlueMirror) -> None:
    for use in (fingerprint, lambda task: load_examples(task, "train")):
        with pytest.raises(ValueError, match=r"HARNESS_DATA must contain a folder.*nyu-mll/glue"):
            use(TASKS["cola"])


def test_an_unreachable_hub_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise ConnectionError("Couldn't reach it")

    monkeypatch.delenv("HARNESS_DATA", raising=False)
    monkeypatch.setattr("datasets.load_dataset", unreachable)
    with pytest.raises(ValueError, match=r"nyu-mll/glue \(config cola.*set HARNESS_DATA"):
        load_examples(TASKS["cola"], "train")


@pytest.mark.parametrize("name", SUITES["micro-glue-v1"].tasks)
def test_micro_tasks_load(name: str) -> None:
    task = TASKS[name]
    train = load_examples(task, "train")
    assert len(train) == task.train_size
    assert {len(texts) for texts in train.texts} == {len(task.text_fields)}
    for split in available_splits(task):
        again = load_examples(task, split)
        assert again.texts == load_examples(task, split).texts
        assert not set(again.texts) & set(train.texts)
    assert fingerprint(task) != fingerprint(TASKS["cola"])


@needs_mirror
@pytest.mark.parametrize("name", SUITES["glue-v1"].tasks)
def test_glue_tasks_load(name: str) -> None:
    task = TASKS[name]
    train = load_examples(task, "train")
    assert 0 < len(train) <= task.train_size and not train.hidden
    assert all(all(text.strip() for text in texts) for texts in train.texts[:100])
    for split in available_splits(task):
        assert len(load_examples(task, split)) > 0


def examples_of(labels: np.ndarray) -> Examples:
    return Examples([(str(i),) for i in range(len(labels))], labels)


@given(
    labels=st.lists(st.integers(0, 2), min_size=2, max_size=200),
    fraction=st.floats(0.01, 0.9),
    max_holdout_examples=st.integers(1, 100),
    seed=st.integers(0, 5),
)
def test_holdout_is_a_stratified_partition(
    labels: list[int], fraction: float, max_holdout_examples: int, seed: int
) -> None:
    examples = examples_of(np.array(labels))
    train, holdout = split_holdout(examples, fraction, max_holdout_examples, seed)
    size = len(holdout)
    assert 1 <= size <= max_holdout_examples and size <= max(1, round(fraction * len(labels)))
    assert sorted(train.texts + holdout.texts) == sorted(examples.texts)
    for part in (train, holdout):
        assert [labels[int(text)] for (text,) in part.texts] == part.labels.tolist()
    shares = np.bincount(labels, minlength=3) * size / len(labels)
    assert np.all(np.abs(np.bincount(holdout.labels, minlength=3) - shares) < 1.5)


def test_holdout_is_fixed_by_its_seed() -> None:
    examples = examples_of(np.arange(100) / 10)
    first, again = split_holdout(examples, 0.2, 50, 0), split_holdout(examples, 0.2, 50, 0)
    assert [part.texts for part in first] == [part.texts for part in again]
    assert split_holdout(examples, 0.2, 50, 1)[1].texts != first[1].texts


def test_the_head_of_train_is_a_fair_sample() -> None:
    examples = examples_of(np.repeat([0, 1], 500))
    train, _ = split_holdout(examples, 0.1, 1000, 0)
    assert 35 <= train.head(100).labels.sum() <= 65
    assert len(train.head(None)) == 900


def test_one_example_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="at least 2 examples"):
        split_holdout(examples_of(np.array([1])), 0.5, 10, 0)


@given(
    sizes=st.lists(st.integers(1, 30), min_size=2, max_size=40),
    fraction=st.floats(0.01, 0.9),
    max_holdout_examples=st.integers(30, 200),
    seed=st.integers(0, 5),
)
def test_a_holdout_of_groups_counts_examples(
    sizes: list[int], fraction: float, max_holdout_examples: int, seed: int
) -> None:
    names = np.repeat([f"g{number}" for number in range(len(sizes))], sizes).astype(object)
    labels = np.zeros(len(names), dtype=np.int64)
    examples = Examples([(str(i),) for i in range(len(names))], labels, None, names)
    train, holdout = split_holdout(examples, fraction, max_holdout_examples, seed)
    assert train.groups is not None and holdout.groups is not None
    assert not set(train.groups) & set(holdout.groups)
    assert sorted(train.texts + holdout.texts) == sorted(examples.texts)
    target = min(max(1, round(fraction * len(names))), max_holdout_examples)
    assert 0 < len(holdout) <= max_holdout_examples and len(train) > 0
    assert len(holdout) <= max(target + max(sizes) / 2, min(sizes))
    if max(sizes) < target <= len(names) / 2:
        assert len(holdout) >= target - max(sizes)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=40),
    fraction=st.floats(0.01, 0.9),
)
def test_examples_that_share_texts_are_held_out_together(
    pairs: list[tuple[int, int]], fraction: float
) -> None:
    texts: list[tuple[str, ...]] = [
        (f"text {first}", f" TEXT  {second}") for first, second in pairs
    ]
    groups = text_groups(Examples(texts, np.zeros(len(texts), dtype=np.int64)), "classification")
    for pair, one in zip(pairs, groups, strict=True):
        connected = set(pair)
        for _ in pairs:  # one more step of the search each
            connected.update(*(other for other in pairs if connected & set(other)))
        assert [first in connected for first, _ in pairs] == list(groups == one)
    if len(set(groups)) > 1:
        examples = examples_of(np.zeros(len(texts), dtype=np.int64))
        train, holdout = split_holdout(examples, fraction, 1000, 0, groups)
        sides = [{groups[int(text)] for (text,) in side.texts} for side in (train, holdout)]
        assert all(sides) and not sides[0] & sides[1]


def test_tags_share_texts_by_their_whole_sentence_and_groups_stay_together() -> None:
    texts: list[tuple[str, ...]] = [("the", "bear"), ("the", "fox"), ("The", "bear"), ("a", "cat")]
    names = np.array(["a", "b", "c", "b"], dtype=object)
    examples = Examples(texts, np.zeros(4, dtype=object), groups=names)
    first, fox, again, cat = text_groups(examples, "tagging")
    assert first == again != fox == cat
    without_context = Examples([("a", ""), ("b", "")], np.zeros(2, dtype=np.int64))
    assert len(set(text_groups(without_context, "classification"))) == 2


def test_a_group_larger_than_the_holdout_is_one_line() -> None:
    groups = np.array(["a"] * 3 + ["b"] * 4, dtype=object)
    examples = Examples([("x",)] * 7, np.zeros(7, dtype=np.int64), None, groups)
    with pytest.raises(ValueError, match=r"at most 2 examples must .* smallest group has 3"):
        split_holdout(examples, 0.5, 2, 0)


def test_mixed_classes_have_the_numbers_of_the_first_task() -> None:
    """A set whose halves have their classes in other orders is the set again."""
    whole = load_examples(TASKS["micro-mnli"], "train")
    names = TASKS["micro-mnli"].labels
    order = np.array([2, 0, 1])
    first, second = whole.head(400), whole.take(np.arange(400, len(whole)))
    turned = Examples(second.texts, np.argsort(order)[second.labels])
    found = mixed([(first, names), (turned, [names[number] for number in order])])
    assert found.texts == whole.texts
    assert found.labels.tolist() == whole.labels.tolist() and found.labels.dtype == np.int64


def test_mixed_values_stay() -> None:
    one, other = (Examples([("a", "b")], np.array([value])) for value in (0.5, 4.0))
    assert mixed([(one, ()), (other, ())]).labels.tolist() == [0.5, 4.0]


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda columns: None, "must return columns, not NoneType"),
        (
            lambda columns: {**columns, "label": columns["label"][1:]},
            "must return columns of equal lengths, but they have",
        ),
    ],
)
def test_what_a_preprocessor_returns_is_checked(
    function: Any, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels that lack a row would belong to other texts."""
    monkeypatch.setitem(PREPROCESSORS, "own", function)
    task = TASKS["micro-sst2"].model_copy(update={"name": "own", "prepare": "own"})
    with pytest.raises(MemberError, match=problem):
        load_examples(task, "train")
    with pytest.raises(MemberError, match=problem):
        sample_texts(task, 5)
