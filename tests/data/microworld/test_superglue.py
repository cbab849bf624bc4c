"""micro-superglue: solvable with knowledge of the words, but not from word counts."""

import re
from itertools import chain
from string import Formatter

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from harness.analysis.averages import AVERAGES
from harness.data.microworld import documents
from harness.data.microworld.examples import examples, oracle
from harness.data.microworld.sampling import Rows
from harness.data.microworld.world import Concept, build
from harness.tasks.examples import Examples
from harness.tasks.load_examples import load_examples
from harness.tasks.metrics import METRICS
from harness.tasks.micro.glue import MICRO_GLUE_TASKS
from harness.tasks.micro.superglue import (
    MICRO_SUPERGLUE_TASKS,
    MICRO_SUPERGLUE_V1,
    MICRO_SUPERGLUE_V2,
)
from harness.tasks.task import MicroworldData, Task

ALL = {task.name: task for task in (*MICRO_SUPERGLUE_TASKS, *MICRO_GLUE_TASKS)}
TASKS = pytest.mark.parametrize("task", MICRO_SUPERGLUE_TASKS, ids=lambda task: task.name)
WITH_PROMPT = pytest.mark.parametrize(
    "task", [task for task in ALL.values() if task.prompt], ids=lambda task: task.name
)
WORLDS = pytest.mark.parametrize("world", [0, 1])
SPLITS = ("train", "validation")


def generator(task: Task) -> str:
    assert isinstance(task.data, MicroworldData)
    return task.data.generator


def shown_texts(rows: Rows) -> list[str]:
    """The visible text of each example."""
    columns = [rows[name] for name in rows if name not in ("label", "group", "pair")]
    return [
        " | ".join(" | ".join(value) if isinstance(value, list) else value for value in row)
        for row in zip(*columns, strict=True)
    ]


def split_of(task: Task, split: str) -> Examples:
    return load_examples(task, "train" if split == "train" else task.evaluation[0])


def score(task: Task, labels: np.ndarray, predictions: np.ndarray) -> float:
    """Main score, where groups change nothing: F1 over all answers is F1."""
    return METRICS[task.metrics[0].replace("f1_answers", "f1")](labels, predictions)


@pytest.fixture(scope="module")
def corpus_words() -> set[str]:
    texts = documents.documents(seed=0, world=0, num_tokens=200_000)
    return set(re.findall(r"[a-z]+", " ".join(chain(*texts))))


@TASKS
def test_the_same_arguments_make_the_same_examples(task: Task) -> None:
    one, same = (examples(generator(task), "validation") for _ in range(2))
    assert one == same
    assert one != examples(generator(task), "validation", world=1)
    assert one["label"] != oracle(generator(task), "validation")


@TASKS
def test_the_task_loads(task: Task) -> None:
    train, validation = (split_of(task, split) for split in SPLITS)
    assert len(train) == task.train_size
    assert len(validation) == (250 if task.name == "micro-cb" else len(train))
    assert (validation.choices is not None) == (task.kind == "multiple_choice")
    assert (validation.groups is not None) == (task.name == "micro-multirc")
    if task.kind == "classification":
        assert set(validation.labels) == set(range(len(task.labels)))


@TASKS
def test_examples_are_distinct(task: Task) -> None:
    texts = [text for split in SPLITS for text in shown_texts(examples(generator(task), split))]
    assert len(set(texts)) == len(texts)


@WORLDS
@TASKS
def test_the_dev_set_has_no_open_word_of_the_train_set(task: Task, world: int) -> None:
    train, validation = (
        set(re.findall(r"\w+", " ".join(shown_texts(examples(generator(task), split, world)))))
        for split in SPLITS
    )
    for words, foreign in ((build(world).validation, train), (build(world).train, validation)):
        nouns = {form for concept in words.concepts for form in concept.names + concept.plurals}
        assert not foreign & {*nouns, *words.people, *words.colours, *words.cities}


@pytest.mark.parametrize("task", ALL.values(), ids=ALL)
def test_every_word_is_in_the_corpus(task: Task, corpus_words: set[str]) -> None:
    made = [
        text
        for split in ("train", *(split.name for split in task.evaluation))
        for text in shown_texts(examples(generator(task), split))
    ]
    prompt = f"{task.prompt.pattern} {task.prompt.answers}" if task.prompt else ""
    prompt = re.sub(r"{\w+}", "", prompt)
    assert set(re.findall(r"[a-z]+", " ".join([*made, prompt]))) <= corpus_words


@TASKS
def test_the_ceiling_is_the_score_of_the_oracle(task: Task) -> None:
    labels = split_of(task, "validation").labels
    reached = score(task, labels, np.array(oracle(generator(task), "validation")))
    assert reached < 1
    assert reached == pytest.approx(task.ceiling, abs=0.0005)


@TASKS
def test_chance_is_the_best_constant(task: Task) -> None:
    labels = split_of(task, "validation").labels
    best = max(score(task, labels, np.full_like(labels, i)) for i in range(5))
    assert best == pytest.approx(task.chance, abs=0.03)


@WORLDS
@TASKS
def test_counting_words_stays_near_chance(task: Task, world: int) -> None:
    """Words and word pairs of the train set, within three standard errors of chance."""
    train, validation = (examples(generator(task), split, world) for split in SPLITS)
    model = make_pipeline(
        CountVectorizer(ngram_range=(1, 2), token_pattern=r"[\w|]+"),
        LogisticRegression(max_iter=1000),
    )
    if task.kind == "multiple_choice":
        model.fit(*candidates(train))
        predictions = best_candidates(
            model.predict_proba(candidates(validation)[0])[:, 1], validation
        )
    else:
        model.fit(shown_texts(train), train["label"])
        predictions = model.predict(shown_texts(validation))
    labels = np.array(validation["label"])
    error = np.sqrt(0.25 / len(labels))
    assert task.chance is not None
    assert score(task, labels, predictions) < task.chance + 3.2 * error


def candidates(rows: Rows) -> tuple[list[str], list[bool]]:
    """Each choice after its context, and whether it is the right one."""
    triples = list(zip(rows["context"], rows["choices"], rows["label"], strict=True))
    texts = [f"{context} | {choice}" for context, choices, _ in triples for choice in choices]
    return texts, [place == label for _, choices, label in triples for place in range(len(choices))]


def best_candidates(scores: np.ndarray, rows: Rows) -> np.ndarray:
    ends = np.cumsum([len(choices) for choices in rows["choices"]])
    return np.array([np.argmax(part) for part in np.split(scores, ends[:-1])])


@TASKS
def test_neither_length_nor_position_reveals_the_label(task: Task) -> None:
    rows = examples(generator(task), "validation")
    lengths = np.array([len(text.split()) for text in shown_texts(rows)], dtype=float)
    labels = np.array(rows["label"])
    limit = 3.2 / np.sqrt(len(labels))
    assert abs(np.corrcoef(np.arange(len(labels)), labels)[0, 1]) < limit
    if task.name != "micro-record":  # more choices make a longer text, and later places
        assert abs(np.corrcoef(lengths, labels)[0, 1]) < limit


@pytest.mark.parametrize("name", ["plausible_alternative", "entity_cloze"])
def test_every_place_is_right_equally_often(name: str) -> None:
    rows = examples(name, "validation")
    sizes = np.array([len(choices) for choices in rows["choices"]])
    answers = np.array(oracle(name, "validation"))
    for size in set(sizes):
        counts = np.bincount(answers[sizes == size], minlength=size)
        assert len(counts) == size
        assert np.ptp(counts) <= 4


def test_entities_vary_in_number_and_choices_differ() -> None:
    choices = examples("entity_cloze", "validation")["choices"]
    assert set(map(len, choices)) == {3, 4, 5}
    assert all(len(set(texts)) == len(texts) for texts in choices)


def test_a_question_has_one_passage_and_right_and_wrong_answers() -> None:
    rows = examples("answer_correctness", "validation")
    answers = np.array(oracle("answer_correctness", "validation"))
    groups = np.array(rows["group"])
    for group in set(groups):
        here = np.flatnonzero(groups == group)
        assert len(here) == 3
        assert len({(rows["passage"][row], rows["question"][row]) for row in here}) == 1
        assert sorted(answers[here])[::2] == [0, 1]


def test_the_sense_of_a_pronoun_is_the_kind_of_its_thing() -> None:
    known = {name: c for c in build(0).validation.concepts for name in c.names}
    rows = examples("same_reference", "validation")
    answers = oracle("same_reference", "validation")
    for word, one, other, answer in zip(
        rows["word"], rows["sentence1"], rows["sentence2"], answers, strict=True
    ):
        things = [things_of(text, known) for text in (one, other)]
        assert list(map(len, things)) == [1, 1]
        assert answer == (things[0][0].kind is things[1][0].kind)
        assert all(re.findall(r"\b(?:it|this)\b", text) == [word] for text in (one, other))


def test_a_reader_who_knows_the_names_answers_yes_or_no() -> None:
    known = {name: c for c in build(0).validation.concepts for name in c.names}
    rows = examples("yes_no_question", "validation")
    answers = oracle("yes_no_question", "validation")
    for passage, question, answer in zip(rows["passage"], rows["question"], answers, strict=True):
        person = question.rstrip("?").split()[-1]
        [sentence] = [text for text in passage.split(". ") if person in re.findall(r"\w+", text)]
        [thing] = things_of(sentence, known)
        question_words = set(re.findall(r"\w+", question))
        assert answer == bool(question_words & {*thing.names, thing.kind.name})


def things_of(text: str, known: dict[str, Concept]) -> list[Concept]:
    return [known[word] for word in re.findall(r"\w+", text) if word in known]


@WITH_PROMPT
def test_a_prompt_fits_its_task(task: Task) -> None:
    assert task.prompt is not None
    fields = {name for _, name, _, _ in Formatter().parse(task.prompt.pattern) if name}
    assert fields == {*task.text_fields, "answer"}
    assert len(task.prompt.answers) == (0 if task.choices_field else len(task.labels))


def test_the_suite_has_the_eight_tasks_and_all_their_metrics() -> None:
    own = {task.name for task in MICRO_SUPERGLUE_TASKS}
    expected = {"micro-rte", *own} - {"micro-superglue-rte"}
    assert set(MICRO_SUPERGLUE_V1.tasks) == expected
    assert tuple(column.task for column in MICRO_SUPERGLUE_V1.columns) == MICRO_SUPERGLUE_V1.tasks
    for column in MICRO_SUPERGLUE_V1.columns:
        assert column.metrics == ALL[column.task].metrics


def test_the_second_version_adds_the_diagnostic_sets() -> None:
    names = [column.name for column in MICRO_SUPERGLUE_V1.columns]
    assert [one.name for one in MICRO_SUPERGLUE_V2.columns] == [
        *names,
        "AX-b",
        "AX-g",
        "AX-g parity",
    ]
    averaged = {(c.task, c.metrics) for term in AVERAGES["micro_superglue8"].terms for c in term}
    reported = {(c.task, c.metrics) for c in MICRO_SUPERGLUE_V2.columns if c.split == "validation"}
    assert averaged == reported and len(averaged) == 8


@WORLDS
def test_minimal_pairs_differ_in_the_gender_of_a_person_alone(world: int) -> None:
    rows = examples("entailment_with_diagnostics", "axg", world)
    words = build(world).validation
    assert rows["pair"] == [number for pair in rows["pair"][::2] for number in (pair, pair)]
    assert len(set(rows["pair"])) == 500 and 0.45 < np.mean(rows["label"]) < 0.55
    for number in range(0, 1000, 2):
        first, second = (
            f"{rows['sentence1'][n]} {rows['sentence2'][n]}" for n in (number, number + 1)
        )
        assert rows["label"][number] == rows["label"][number + 1]
        differing = {*zip(first.split(), second.split(), strict=True)}
        gendered = {pair for pair in differing if pair[0] != pair[1]}
        women, men = {*words.women, "she"}, {*words.men, "he"}
        assert len(gendered) == 2
        assert all(set(pair) & women and set(pair) & men for pair in gendered)


@WORLDS
def test_the_diagnostic_set_has_pairs_that_training_does_not_have(world: int) -> None:
    rows = examples("entailment_with_diagnostics", "axb", world)
    trained = examples("entailment_with_diagnostics", "train", world)
    longest = max(len(text.split()) for text in trained["sentence1"])
    texts = [" ".join(pair) for pair in zip(rows["sentence1"], rows["sentence2"], strict=True)]
    counts = {
        "negation": sum(" not " in text for text in texts),
        "pronoun": sum(text.split(". ")[1].split()[0] in ("he", "she") for text in texts),
        "longer": sum(len(text.split()) > longest for text in rows["sentence1"]),
    }
    assert 180 < counts["negation"] < 300 and counts["pronoun"] > 200 and counts["longer"] > 600
    assert 0.45 < np.mean(rows["label"]) < 0.55


@pytest.mark.parametrize("name", ["inference", "commitment"])
def test_an_unknown_split_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="split must be one of train, validation"):
        examples(name, "test")
