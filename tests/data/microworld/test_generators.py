"""The other tasks: correct by construction, and not solvable from word counts."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from harness.data.corpora.load_corpus import fingerprint, read_documents
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.microworld import examples
from harness.data.microworld.documents import documents
from harness.data.microworld.domains import TOPICS, domain_documents
from harness.data.microworld.examples import DOMAIN_TASKS, GENERATORS, OTHERS, WORDS_OF_CORPUS
from harness.data.microworld.tagging import ENTITY_TAGS, POS_TAGS
from harness.data.microworld.translation import LANGUAGES, Clause, Phrase, stems
from harness.data.microworld.world import build
from harness.tasks.load_examples import fingerprint as task_fingerprint
from harness.tasks.load_examples import load_examples
from harness.tasks.metrics import METRICS
from harness.tasks.micro import MICRO_SUITES, MICRO_TASKS
from harness.tasks.task import MicroworldData, Suite, Task

TASKS: dict[str, Task] = {
    task.name: task
    for task in MICRO_TASKS
    if isinstance(task.data, MicroworldData) and GENERATORS[task.data.generator] in OTHERS
}
SUITES = [suite for suite in MICRO_SUITES if set(suite.tasks) <= TASKS.keys()]
CLASSES = [name for name, task in TASKS.items() if task.kind == "classification"]
CHOICES = [name for name, task in TASKS.items() if task.kind == "multiple_choice"]
ALL = pytest.mark.parametrize("name", TASKS)


def shares(name: str) -> bool:
    """Whether train and dev set of a task have the same vocabulary by design."""
    data = TASKS[name].data
    assert isinstance(data, MicroworldData)
    return data.generator not in {*WORDS_OF_CORPUS, *DOMAIN_TASKS}


def maker(name: str) -> Any:
    data = TASKS[name].data
    assert isinstance(data, MicroworldData)
    return GENERATORS[data.generator]


@cache
def made(name: str, split: str) -> Mapping[str, list[Any]]:
    """The columns of a split in world 0; not to be changed."""
    rows: Mapping[str, list[Any]] = maker(name)(split, 0)
    return rows


def texts(rows: Mapping[str, list[Any]], task: Task) -> list[str]:
    columns = (rows[field] for field in task.text_fields)
    return [" | ".join(row) for row in zip(*columns, strict=True)]


def test_a_meaning_in_three_languages() -> None:
    verb = build(0).verbs[0]
    many = Phrase("the", "wild", "dog", "dogs", "animal")
    clause = Clause(
        Phrase(noun="anna"), verb, many, "near", Phrase("this", "", "cat", "", "animal")
    )
    words = {w: w for w in ("anna", verb.base, "the", "wild", "dog", "near", "this", "cat")}
    assert clause.english == "anna saw the wild dogs near this cat."
    assert LANGUAGES["a"].translate(clause, words) == "anna see the dogn wild near this cat."
    assert LANGUAGES["b"].translate(clause, words) == "this cat near anna the dogrm wild see."
    assert LANGUAGES["c"].translate(clause, words) == "see this cat near doganizur wildkiz anna."


@ALL
def test_the_same_again(name: str) -> None:
    split = TASKS[name].train or "test"
    assert maker(name)(split, 0) == made(name, split)
    assert maker(name)(split, 1) != made(name, split)


@ALL
def test_the_harness_reads_every_split(name: str) -> None:
    task = TASKS[name]
    for split in task.evaluation:
        assert len(load_examples(task, split)) >= 250
    if task.train:
        assert len(load_examples(task, "train")) == task.train_size


@pytest.mark.parametrize("name", [*CLASSES, *CHOICES, "micro-sts", "micro-sickr"])
def test_the_ceiling_is_the_score_of_the_oracle(name: str) -> None:
    task, split = TASKS[name], TASKS[name].evaluation[0]
    rows, answers = (f(split.of or split.name, 0) for f in (maker(name), maker(name).answers))
    fits = [
        all(str(rows[field][row]) == value for field, value in split.where.items())
        for row in range(len(answers))
    ]
    labels = np.array(rows["label"])[fits]
    score = METRICS[task.metrics[0]](labels, np.array(answers)[fits])
    assert score == pytest.approx(task.ceiling, abs=0.0015)


@pytest.mark.parametrize("name", CLASSES)
def test_counting_words_stays_near_chance(name: str) -> None:
    task, (train, validation) = TASKS[name], (made(name, s) for s in ("train", "validation"))
    model = make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1000))
    model.fit(texts(train, task), train["label"])
    right = model.predict(texts(validation, task)) == np.array(validation["label"])
    assert right.mean() < 1 / len(task.labels) + 0.06


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("with_context", [True, False])
def test_counting_words_of_choices_stays_near_chance(name: str, with_context: bool) -> None:
    task, (train, validation) = TASKS[name], (made(name, s) for s in ("train", "validation"))

    def pairs(rows: Mapping[str, list[Any]]) -> list[str]:
        contexts = texts(rows, task) if with_context else [""] * len(rows["label"])
        both = zip(contexts, rows["choices"], strict=True)
        return [f"{context} | {choice}" for context, choices in both for choice in choices]

    model = make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1000))
    model.fit(pairs(train), [int(i == label) for label in train["label"] for i in range(4)])
    scores = model.predict_proba(pairs(validation))[:, 1].reshape(-1, 4)
    assert (scores.argmax(1) == np.array(validation["label"])).mean() < 0.25 + 0.06


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS[name].train and not shares(name)])
def test_the_dev_set_has_no_open_word_of_the_train_set(name: str) -> None:
    train, validation = (str(made(name, split)) for split in ("train", "validation"))
    words = build(0).train
    concepts = {form for concept in words.concepts for form in concept.names + concept.plurals}
    foreign = {*concepts, *words.people, *words.cities, *words.positive, *words.negative}
    assert foreign & set(re.findall(r"\w+", train))
    assert not foreign & set(re.findall(r"\w+", validation))


def test_which_tasks_share_their_words() -> None:
    names = {name for name in TASKS if shares(name)}
    assert names == {"micro-squad", "micro-squad2", *(f"micro-mt-{of}" for of in "abc")}


@pytest.mark.parametrize("name", ["micro-squad", "micro-squad2"])
def test_passages_of_the_same_words_are_other_ones(name: str) -> None:
    train, validation = (set(made(name, split)["context"]) for split in ("train", "validation"))
    assert len(train & validation) < 0.01 * len(validation)
    rows = [made(name, split) for split in ("train", "validation")]
    first, later = (set(zip(r["question"], r["context"], strict=True)) for r in rows)
    assert not first & later


@pytest.mark.parametrize("name", ["micro-squad", "micro-squad2"])
def test_answers_are_at_their_offsets(name: str) -> None:
    rows = made(name, "train")
    empty = 0
    for context, answers in zip(rows["context"], rows["answers"], strict=True):
        empty += not answers["text"]
        for text, start in zip(answers["text"], answers["answer_start"], strict=True):
            assert context[start : start + len(text)] == text
            assert 3 <= context.count(".") <= 5
    assert empty == (1_000 if name == "micro-squad2" else 0)


def test_tags_are_valid() -> None:
    rows = made("micro-ner", "train")
    for tokens, numbers in zip(rows["tokens"], rows["tags"], strict=True):
        tags = [ENTITY_TAGS[number] for number in numbers]
        assert len(tokens) == len(tags)
        for before, tag in zip(["O", *tags], tags, strict=False):
            assert not tag.startswith("I-") or before[1:] == tag[1:]
    used = {tag for tags in made("micro-pos", "train")["tags"] for tag in tags}
    assert used == set(range(len(POS_TAGS)))


@pytest.mark.parametrize("name", CHOICES)
def test_correct_choices_are_in_all_positions(name: str) -> None:
    counts = np.bincount(made(name, "validation")["label"])
    assert len(counts) == 4 and counts.max() < 290


@pytest.mark.parametrize("split", ["train", "validation"])
def test_responses_are_two_subjects_times_two_statements(split: str) -> None:
    """So that each word of the correct response is in a wrong one, except for opinions, whose words
    are drawn anew."""
    rows = made("micro-dialogue", split)
    assert all(len(set(choices)) == 4 for choices in rows["choices"])
    pairs = list(zip(rows["dialogue"], rows["choices"], strict=True))
    others = [choices for dialogue, choices in pairs if "what was" not in dialogue]
    assert 600 < len(others) < 850
    for choices in others:
        words = Counter(word for choice in choices for word in choice.split())
        assert set(words.values()) == {2, 4}


def test_the_answers_of_dialogues_follow_from_the_world() -> None:
    """What an encyclopedia knows: the synonym of the thing, and its colour, city or kind."""
    rows, answers = made("micro-dialogue", "validation"), maker("micro-dialogue").answers
    concepts = {name: c for c in build(0).validation.concepts for name in c.names}
    asked = {"colour": 0, "where is it": 0, "what is it": 0}
    for dialogue, choices, answer in zip(
        rows["dialogue"], rows["choices"], answers("validation", 0), strict=True
    ):
        topic = next((one for one in asked if one in dialogue), None)
        if topic is None:
            continue
        asked[topic] += 1
        (name,) = (word for word in re.findall(r"\w+", dialogue) if word in concepts)
        concept = concepts[name]
        value = {"colour": concept.colour, "where is it": concept.city}.get(
            topic, concept.kind.name
        )
        (synonym,) = (one for one in concept.names if one != name)
        right = [{synonym, value} <= set(re.findall(r"\w+", choice)) for choice in choices]
        assert right.index(True) == answer and sum(right) == 1
    assert min(asked.values()) > 50


@pytest.mark.parametrize("name", ["micro-dialogue"])
def test_words_are_those_of_the_corpus(name: str) -> None:
    corpus = " ".join(" ".join(document) for document in documents(0, 0, 200_000))
    rows = [made(name, split) for split in ("train", "validation")]
    found = " ".join(" ".join([*r["dialogue"], *(" ".join(c) for c in r["choices"])]) for r in rows)
    assert set(re.findall(r"\w+", found)) <= set(re.findall(r"\w+", corpus))


@pytest.mark.parametrize("language", LANGUAGES)
def test_translation_is_a_function_of_the_sentence(language: str) -> None:
    words = stems(language, 0)
    assert len(set(words.values())) == len(words)
    train, validation = (made(f"micro-mt-{language}", s) for s in ("train", "validation"))
    assert not set(train["source"]) & set(validation["source"])
    assert len({*train["target"]}) == len(train["target"])
    train_words, validation_words = (
        set(" ".join(rows["source"]).split()) for rows in (train, validation)
    )
    assert validation_words <= train_words
    assert all(re.fullmatch(r"[a-z ]+\.", target) for target in train["target"])


@pytest.mark.parametrize("name", ["micro-sum", "micro-xsum"])
def test_the_first_three_sentences_are_a_fair_summary(name: str) -> None:
    examples = load_examples(TASKS[name], TASKS[name].evaluation[0])
    lead = np.array(["\n".join(t[0].split("\n")[:3]) for t in examples.texts], dtype=object)
    score = METRICS["rouge1"](examples.labels, lead)
    assert (0.2 if name == "micro-sum" else 0.1) < score < 0.8


def test_overlap_misleads() -> None:
    train = made("micro-overlap", "train")
    high = np.array(["high" in cell for cell in train["cell"]])
    assert 0.83 < np.mean(high == (np.array(train["label"]) == 0)) < 0.92
    cells = made("micro-overlap", "validation")["cell"]
    assert {cell: cells.count(cell) for cell in cells} == dict.fromkeys(set(cells), 250)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_overlap_misleads_in_a_share_of_train(share: float) -> None:
    """Of the labels without noise; the evaluation set is the same."""
    train = examples.examples("overlap", "train", counterexamples=share)
    misleading = ("high_overlap_not_entailed", "low_overlap_entailed")
    found = np.mean([cell in misleading for cell in train["cell"]])
    assert found == pytest.approx(share, abs=0.04) and (0 < share < 1 or found == share)
    assert examples.examples("overlap", "validation", counterexamples=share) == made(
        "micro-overlap", "validation"
    )
    assert examples.examples("overlap", "train", counterexamples=0.1) == made(
        "micro-overlap", "train"
    )
    shipped = TASKS["micro-overlap"]
    own = shipped.model_copy(
        update={"data": MicroworldData(generator="overlap", counterexamples=share)}
    )
    assert load_examples(own, "train").texts == list(
        zip(train["sentence1"], train["sentence2"], strict=True)
    )
    assert task_fingerprint(own) != task_fingerprint(shipped)


def test_a_domain_has_a_corpus_of_its_own() -> None:
    corpus = MicroworldCorpus(num_tokens=2_000, domain="cs")
    assert list(read_documents(corpus)) == list(domain_documents("cs", 0, 0, 2_000))
    assert fingerprint(corpus).endswith("/domain=cs")
    general = MicroworldCorpus(num_tokens=2_000)
    assert "domain" not in fingerprint(general)
    assert list(read_documents(general)) == list(documents(0, 0, 2_000))


@pytest.mark.parametrize("domain", TOPICS)
def test_a_word_of_a_domain_has_one_class(domain: str) -> None:
    classes = [words for topic in TOPICS[domain].values() for words in topic.jargon().values()]
    words = [word for members in classes for word in members]
    assert len(set(words)) == len(words)
    text = " ".join(" ".join(d) for d in domain_documents(domain, 0, 0, 50_000))
    assert set(words) <= set(re.findall(r"\w+", text))
    assert not set(words) & set(re.findall(r"\w+", str(list(documents(0, 0, 100_000)))))


@pytest.mark.parametrize("name", DOMAIN_TASKS)
def test_jargon_of_train_and_dev_differs(name: str) -> None:
    train, validation = (
        set(re.findall(r"\w+", " ".join(GENERATORS[name](split, 0)["sentence1"])))
        for split in ("train", "validation")
    )
    topics = TOPICS[DOMAIN_TASKS[name].domain].values()
    words = {w for topic in topics for c in topic.classes.values() for w in c.split()}
    assert not train & validation & words


def test_unknown_splits_are_refused() -> None:
    for name in ("micro-squad", "micro-mt-a"):
        with pytest.raises(ValueError, match="split must be one of train, validation"):
            maker(name)("test", 0)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_columns_are_of_the_tasks(suite: Suite) -> None:
    for column in suite.columns:
        task = TASKS[column.task]
        assert column.task in suite.tasks
        assert column.split in {split.name for split in task.evaluation}
        assert set(column.metrics) <= set(task.metrics)
