"""Baselines of every kind of task: constants, words, copied texts; and unsupported kinds."""

import numpy as np
import pytest

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.baselines import MAKERS, UNTRAINED, make
from harness.finetuning.baselines.bag_of_words import Features
from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.compatibility import unsupported_reason
from harness.finetuning.protocol import Protocol
from harness.models import FAMILIES
from harness.pretraining.recipes import RECIPES
from harness.tasks import TASKS
from harness.tasks.examples import Answers, Examples, Mention, column
from harness.tasks.load_examples import load_examples
from harness.tasks.metrics import METRICS
from harness.tasks.task import Kind, Task

SENTENCES = TASKS["micro-sst2"]
PAIRS = TASKS["micro-mrpc"]
VALUES = TASKS["micro-stsb"]


def toy(kind: Kind, train: str | None = "train") -> Task:
    return SENTENCES.model_copy(update={"name": "toy", "kind": kind, "train": train, "labels": ()})


def majority(kind: Kind, train: Examples | None) -> Predictor:
    return make("majority", toy(kind), train)


def bag_of_words(kind: Kind, train: Examples | None) -> Predictor:
    return make("bag_of_words", toy(kind), train)


def test_the_most_frequent_class_and_the_mean() -> None:
    train = Examples([("a",)] * 5, np.array([1, 1, 0, 0, 1]))
    assert majority("classification", train)(train).tolist() == [1.0] * 5
    assert majority("multiple_choice", train)(train).tolist() == [1.0] * 5
    tie = Examples([("a",)] * 2, np.array([1, 0]))
    assert majority("classification", tie)(tie).tolist() == [0.0] * 2
    values = Examples([("a", "b")] * 2, np.array([1.0, 4.0]))
    assert majority("regression", values)(values).tolist() == [2.5] * 2
    assert majority("similarity", None)(values).tolist() == [0.0] * 2


def test_documents_by_common_words() -> None:
    texts: list[tuple[str, ...]] = [("a cat", "the cat"), ("a dog", "the red dog"), ("a", "x")]
    examples = Examples([*texts, ("no word", "the cat")], np.ones(4))
    assert majority("retrieval", None)(examples).tolist() == [(0, 2)] * 4
    found = bag_of_words("retrieval", None)(examples).tolist()
    assert found == [(0, 0), (0, 0), (0, 2), (0, 2)]


def test_the_most_frequent_answer_tag_and_text() -> None:
    texts: list[tuple[str, ...]] = [("q", "c")] * 3
    answers = [Answers(("x", "y"), (0, 1)), Answers((), ()), Answers((), ())]
    train = Examples(texts, column(answers))
    assert majority("extraction", train)(train).tolist() == [""] * 3
    train = train.head(2)  # of equals the first
    assert majority("extraction", train)(train).tolist() == ["x"] * 2
    train = Examples([("a", "b", "c"), ("d",)], column([(0, 2, 2), (1,)]))
    assert majority("tagging", train)(train).tolist() == [(2, 2, 2), (2,)]
    train = Examples([("a",), ("b",)], column([("x", "y"), ("y",)]))
    assert majority("generation", train)(train).tolist() == ["y"] * 2


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
    first, again = (make("bag_of_words", task, train)(train) for _ in range(2))
    assert first.dtype == np.float64 and np.array_equal(first, again)
    constant = make("majority", task, train)(train)
    if task.kind == "classification":
        assert np.mean(first == train.labels) > np.mean(constant == train.labels) + 0.1
    else:
        assert METRICS["pearson"](train.labels, first) > 0.5


def test_words_that_were_never_seen() -> None:
    train = Examples([("good film",), ("bad film",)] * 10, np.array([1, 0] * 10))
    predict = bag_of_words("classification", train)
    assert predict(Examples([("good",), ("bad",)], np.zeros(2))).tolist() == [1, 0]
    assert set(predict(Examples([("zzz",), ("",)], np.zeros(2)))) <= {0.0, 1.0}


def test_one_class_alone_is_the_answer() -> None:
    train = Examples([("x", "y")] * 3, np.array([1, 1, 1]))
    for family in ("majority", "bag_of_words"):
        assert make(family, PAIRS, train)(train).tolist() == [1.0] * 3
    tags = Examples([("x", "y"), ("z",)], column([(1, 1), (1,)]))
    assert bag_of_words("tagging", tags)(tags).tolist() == [(1, 1), (1,)]


def test_the_choice_with_the_right_words() -> None:
    contexts: list[tuple[str, ...]] = [("it", "rains")] * 8
    choices: list[tuple[str, ...]] = [("good", "bad"), ("worse", "bad", "good")] * 4
    train = Examples(contexts, np.array([0, 2] * 4), choices)
    predict = bag_of_words("multiple_choice", train)
    assert predict(train).tolist() == [0.0, 2.0] * 4
    other = Examples([("", "")] * 2, np.zeros(2), [("bad", "zzz", "good"), ("zzz", "yyy")])
    assert predict(other).tolist() == [2.0, 0.0]  # of equals the first


def test_the_sentence_that_shares_most_words_with_the_question() -> None:
    context = "Cats  sleep. The dog saw Rain in May. The dog saw rain."
    examples = Examples(
        [("When did the dog see rain in may?", context), ("Zzz?", context), ("Who?", "")],
        column([Answers((), ())] * 3),
    )
    found = bag_of_words("extraction", None)(examples)
    assert found.tolist() == ["The dog saw Rain in May.", "Cats sleep.", ""]


def test_tags_of_words_and_their_neighbours() -> None:
    """The word alone is ambiguous: `x` is 1 after `b`, and 2 before it."""
    sentences: list[tuple[str, ...]] = [("b", "x"), ("x", "b"), ("a", "a")]
    train = Examples(sentences * 20, column([(0, 1), (2, 0), (0, 0)] * 20))
    assert bag_of_words("tagging", train)(train).tolist() == train.labels.tolist()


def test_equal_words_that_were_a_mention_are_one_entity() -> None:
    documents: list[tuple[str, ...]] = [
        ("The dog saw it .",),
        ("the dog .", "a cat saw The dog", "it"),
    ]
    train = Examples(documents, column([(Mention(0, 0, 1), Mention(1, 3, 3)), ()]))
    assert bag_of_words("coreference", train)(train).tolist() == [
        (),  # each once
        (Mention(0, 0, 1), Mention(0, 6, 7)),
    ]
    none = Examples(documents, column([(), ()]))
    assert bag_of_words("coreference", none)(train).tolist() == [(), ()]
    assert majority("coreference", None)(train).tolist() == [(), ()]


def test_the_cosine_of_words_by_hand() -> None:
    pairs: list[tuple[str, ...]] = [("a a b", "A b c"), ("a", "b"), ("a!", "a!"), ("", "a")]
    found = bag_of_words("similarity", None)(Examples(pairs, np.zeros(4)))
    assert found.dtype == np.float64
    assert found.tolist() == pytest.approx([3 / np.sqrt(5 * 3), 0, 1, 0])


def test_texts_are_copied() -> None:
    text = "Dr. Roe came. He saw.  It rained. He left."
    examples = Examples([(text,), ("Two. Here.",)], column([("x",)] * 2))
    task = toy("generation", train=None)
    lead = make("lead", task, None)(examples)
    assert lead.tolist() == ["Dr. Roe came.\nHe saw.\nIt rained.", "Two.\nHere."]
    assert make("copy", task, None)(examples).tolist() == [text, "Two. Here."]
    lines = Examples([("one is.\ntwo is.\nthree is.\nfour is.",)], column([("x",)]))
    assert make("lead", task, None)(lines).tolist() == ["one is.\ntwo is.\nthree is."]


def test_every_baseline_is_a_family_and_a_recipe() -> None:
    families = {name for name, facts in FAMILIES.items() if facts.kind == "baseline"}
    assert families == MAKERS.keys()
    assert {RECIPES[name].model.family for name in RECIPES} >= families
    assert {maker for kinds in MAKERS.values() for maker in kinds.values()} > UNTRAINED


@pytest.mark.parametrize(
    ("recipe", "kind", "train", "why"),
    [
        ("bag_of_words", "generation", "train", "does not support tasks of kind generation"),
        ("lead", "multiple_choice", "train", "does not support tasks of kind multiple_choice"),
        ("copy_source", "tagging", "train", "does not support tasks of kind tagging"),
        ("majority", "classification", None, "needs a train set"),
        ("bag_of_words", "tagging", None, "needs a train set"),
        ("majority", "similarity", None, ""),
        ("bag_of_words", "coreference", None, "needs a train set"),
        ("bert", "coreference", "train", ""),
        ("bag_of_words", "extraction", None, ""),
        ("lead", "generation", None, ""),
    ],
)
def test_unsupported_tasks_are_known_when_planning(
    recipe: str, kind: Kind, train: str | None, why: str
) -> None:
    task, run = toy(kind, train), RECIPES[recipe]
    found = unsupported_reason(task, Protocol(), ADAPTATIONS["full"], run)
    assert why in found and bool(why) == bool(found)
    if why:
        with pytest.raises(
            ValueError, match=f"{run.model.family} does not support toy: it .*{why}"
        ):
            make(run.model.family, task, None)
