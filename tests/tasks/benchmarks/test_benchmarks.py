"""Benchmarks of the Hub: each loads, from invented data of its schema and from real data where a
mirror has them; what is prepared is as made by hand."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import ClassLabel

from harness.analysis.averages import AVERAGES
from harness.analysis.columns import combine, terms_of
from harness.data import hub
from harness.leaderboard.published import published_table
from harness.tasks.benchmarks import REAL_SUITES, REAL_TASKS
from harness.tasks.benchmarks.parsing import HEAD_TAGS
from harness.tasks.benchmarks.sts import STS_V1
from harness.tasks.benchmarks.superglue import SUPERGLUE_V2
from harness.tasks.examples import Answers, Examples
from harness.tasks.load_examples import available_splits, collection_of, load_examples
from harness.tasks.preprocessing import NOWHERE, PREPROCESSORS
from harness.tasks.task import HubData, Split, Suite, Task
from tests.tasks.mirrors import HUB, ROWS, Mirror, invented

TASKS = {task.name: task for task in REAL_TASKS if isinstance(task.data, HubData)}
NAMES = tuple(TASKS)
TRAINED = tuple(name for name in NAMES if TASKS[name].train)


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "hub"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    return Mirror(tmp_path / "hub")


def check(task: Task, examples: Examples, grouped: str | None = None) -> None:
    """What is read has the form that the kind of the task promises."""
    assert len(examples) > 0
    if task.kind not in ("tagging", "coreference"):
        assert {len(texts) for texts in examples.texts} == {len(task.text_fields)}
    if task.kind == "classification" and not examples.hidden:
        assert set(examples.labels.tolist()) <= set(range(len(task.labels)))
    if task.kind == "multiple_choice":
        assert examples.choices
        sizes = [len(options) for options in examples.choices]
        assert min(sizes) >= 2 and np.all(examples.labels < np.array(sizes))
    if task.kind == "tagging":
        assert all(len(w) == len(t) for w, t in zip(examples.texts, examples.labels, strict=True))
        assert all(set(tags) <= set(range(len(task.labels))) for tags in examples.labels)
    if task.kind == "extraction":
        check_spans(examples)
    if task.kind == "generation":
        assert all(texts and all(isinstance(t, str) for t in texts) for texts in examples.labels)
    assert (examples.groups is not None) is ((grouped or task.group_field) is not None)


def check_spans(examples: Examples) -> None:
    for texts, answers in zip(examples.texts, examples.labels, strict=True):
        assert isinstance(answers, Answers) and len(answers.texts) == len(answers.starts)
        if "number" not in texts[1]:  # invented answers lie anywhere
            for text, start in zip(answers.texts, answers.starts, strict=True):
                assert start == NOWHERE or texts[1][start : start + len(text)] == text


# Data of the Hub's schema.


@pytest.mark.parametrize("name", NAMES)
def test_a_task_loads_what_the_hub_holds(mirror: Mirror, name: str) -> None:
    task = TASKS[name]
    mirror.write_task(task)
    splits = available_splits(task, with_test=True)
    assert splits == (*task.evaluation, *task.test)
    for split in splits:
        check(task, load_examples(task, split), split.group_field)
    if task.train:
        check(task, load_examples(task, "train"))


def test_every_schema_is_some_tasks() -> None:
    used = set()
    for task in TASKS.values():
        assert isinstance(task.data, HubData)
        for split in (Split(name="train"), *task.evaluation):
            own = split.config if split.path else split.config or task.data.config
            used.add((split.path or task.data.path, own))
        used |= {(path, config) for path, config, _ in collection_of(task.data)}
    assert used == set(HUB)


@pytest.mark.parametrize(
    "name", ["snli", "superglue_rte", "multirc", "wsc", "mnli_binary", "food_to_film"]
)
def test_another_order_of_the_classes_is_refused(mirror: Mirror, name: str) -> None:
    """Whatever prepares the columns: labels that it leaves alone must be those of the task."""
    task = TASKS[name]
    assert isinstance(task.data, HubData)
    place = task.data.path, task.data.config
    label = ClassLabel(names=HUB[place]["label"].names[::-1])
    mirror.write(
        *place, {"train": invented(HUB[place]) | ROWS.get(place, {})}, HUB[place] | {"label": label}
    )
    with pytest.raises(
        ValueError, match=f"the classes of {name} must b.* {task.labels[0]}.* in this"
    ):
        load_examples(task, "train")


def test_every_question_has_its_own_paragraph(mirror: Mirror) -> None:
    task = TASKS["squad_retrieval"]
    mirror.write_task(task)
    examples = load_examples(task, task.evaluation[0])
    assert examples.texts[1] == ("question number 1", "context number 1")
    assert examples.labels.tolist() == [1.0] * 6 and examples.labels.dtype == np.float64
    assert examples.groups is not None and len(set(examples.groups)) == 6


def test_hidden_labels_of_a_server_stay_hidden(mirror: Mirror) -> None:
    for name in ("boolq", "copa", "swag"):
        task = TASKS[name]
        assert isinstance(task.data, HubData)
        place = task.data.path, task.data.config
        hidden = invented(HUB[place]) | {"label": [-1] * 6}
        hidden |= {"question": ["cause"] * 6} if name == "copa" else {}
        mirror.write(*place, {"test": hidden}, HUB[place])
        assert load_examples(task, task.test[0]).hidden


def test_an_answer_that_its_passage_lacks_is_scored_but_not_trained_on(mirror: Mirror) -> None:
    place = "aps/super_glue", "record"
    rows = invented(HUB[place]) | {
        "passage": ["Oda ran."] * 6,
        "answers": [["Oda", "Bo"], ["Bo"]] * 3,
    }
    mirror.write(*place, {"train": rows, "validation": rows}, HUB[place])
    found, lost = Answers(("Oda", "Bo"), (0, NOWHERE)), Answers(("Bo",), (NOWHERE,))
    validation = load_examples(TASKS["record"], Split(name="validation"))
    assert validation.labels.tolist() == [found, lost] * 3
    assert load_examples(TASKS["record"], "train").labels.tolist() == [found] * 3


def test_diagnostics_of_superglue_share_the_training_of_rte(mirror: Mirror) -> None:
    task = TASKS["superglue_rte"]
    mirror.write("aps/super_glue", "rte", {"validation": invented(HUB["aps/super_glue", "rte"])})
    assert [split.name for split in available_splits(task)] == ["validation"]
    mirror.write("aps/super_glue", "axb", {"test": invented(HUB["aps/super_glue", "axb"])})
    axb = available_splits(task)[1]
    assert load_examples(task, axb).texts[0] == ("sentence1 number 0", "sentence2 number 0")


def test_misleading_overlap_has_its_own_splits(mirror: Mirror) -> None:
    task = TASKS["mnli_binary"]
    mirror.write_task(task)
    by_name = {split.name: load_examples(task, split) for split in task.evaluation}
    assert by_name["validation_matched"].labels.tolist() == [0, 1, 1, 0, 1, 1]
    # of the invented pairs, every third has a word that its premise lacks
    assert by_name["overlap_entailed"].labels.tolist() == [0, 0]
    assert by_name["overlap_not_entailed"].labels.tolist() == [1, 1]
    for heuristic in ("lexical_overlap", "subsequence", "constituent"):
        assert by_name[f"hans_{heuristic}_entailed"].labels.tolist() == [0]
        assert by_name[f"hans_{heuristic}_not_entailed"].labels.tolist() == [1]


def test_films_and_goods_are_other_sets_than_train(mirror: Mirror) -> None:
    task = TASKS["food_to_film"]
    for config, text in (("yelp", "soup"), ("imdb", "plot"), ("amazon", "plug")):
        rows = {"sentence": [f"good {text}", f"bad {text}"], "label": [1, 0]}
        mirror.write("uci/sentiment-labelled-sentences", config, {"train": rows})
    assert load_examples(task, "train").texts[0] == ("good soup",)
    assert [load_examples(task, split).texts[0] for split in task.evaluation] == [
        ("good plot",),
        ("good plug",),
    ]


# Real data.


def has_one_class(task: Task) -> bool:
    """Whether all training examples have one label."""
    assert isinstance(task.data, HubData) and task.train and task.label_field
    rows = hub.load(task.data.path, task.data.config, task.train, task.data.revision)
    return len(set(rows[task.label_field])) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_task_loads_real_data(name: str) -> None:
    task = TASKS[name]
    assert isinstance(task.data, HubData)
    if "HARNESS_DATA" not in os.environ:
        pytest.skip("HARNESS_DATA names no folder of mirrors")
    if not hub.has_config(task.data.path, task.data.config):
        pytest.skip(f"the mirror has no {task.data.path} (config {task.data.config})")
    for split in available_splits(task):
        check(task, load_examples(task, split), split.group_field)
    if task.train:
        if task.kind == "classification" and has_one_class(task):  # a sample, such as of BoolQ
            with pytest.raises(ValueError, match="two or more classes"):
                load_examples(task, "train")
            return
        train = load_examples(task, "train")
        check(task, train)
        assert len(train) <= task.train_size


# Preparations.


def prepared(name: str, **columns: list[Any]) -> dict[str, list[Any]]:
    before = {column: list(values) for column, values in columns.items()}
    after = {column: list(values) for column, values in PREPROCESSORS[name](columns).items()}
    assert columns == before  # pure
    return after


def test_copa_has_its_question_in_words() -> None:
    columns = prepared("copa", question=["effect", "cause"], choice1=["a", "b"], choice2=["c", "d"])
    assert columns["choices"] == [("a", "c"), ("b", "d")]
    assert columns["question"] == ["What happened as a result?", "What was the cause of this?"]


def test_multirc_questions_are_numbered_within_their_paragraph() -> None:
    idx = [
        {"paragraph": p, "question": q, "answer": a}
        for p, q, a in ((0, 0, 0), (0, 0, 1), (0, 1, 2), (1, 0, 3), (11, 1, 4), (1, 11, 5))
    ]
    groups = prepared("multirc", idx=idx)["group"]
    assert groups == ["0-0", "0-0", "0-1", "1-0", "11-1", "1-11"]


@pytest.mark.parametrize(
    ("passage", "names", "texts", "starts"),
    [
        ("Oda saw Bo. Oda ran.", ["Oda"], ["Oda", "Oda"], [0, 12]),
        ("Al met Alma", ["Al"], ["Al"], [0]),  # whole words first
        ("the U.S. and US", ["US", "U.S."], ["US", "U.S."], [13, 4]),
        ("in Swiss-Air planes", ["Air"], ["Air"], [9]),
        ("Britons came", ["Briton"], ["Briton"], [0]),  # only inside a word
        ("Oda", ["Oda", "Oda"], ["Oda"], [0]),  # one name twice
        ("Oda", [], [], []),  # labels not public
        ("Bo ran", ["Oda", "Bo"], ["Bo", "Oda"], [0, -1]),  # right, though nowhere in the passage
    ],
)
def test_record_finds_every_mention(
    passage: str, names: list[str], texts: list[str], starts: list[int]
) -> None:
    (answers,) = prepared("record", passage=[passage], answers=[names])["answers"]
    assert answers == {"text": texts, "answer_start": starts}


@pytest.mark.parametrize(
    ("text", "place", "span", "marked"),
    [
        ("Bo ran because he fell.", 3, "he", "Bo ran because *he* fell."),
        ("Bo saw him, and ran.", 2, "him", "Bo saw *him*, and ran."),
        ("He saw he ran.", 2, "he", "He saw *he* ran."),
        ("Bo told Al that his mother came", 4, "his mother", "Bo told Al that *his mother* came"),
        ("He ran.", 0, "he", "*He* ran."),  # the span is spelt otherwise than the text
        ("Bo  ran  as he  fell", 3, "he", "Bo ran as *he* fell"),
    ],
)
def test_wsc_marks_the_pronoun(text: str, place: int, span: str, marked: str) -> None:
    columns = prepared("wsc", text=[text], span2_index=[place], span2_text=[span])
    assert columns["marked"] == [marked]


def test_a_predicate_is_between_asterisks() -> None:
    columns = prepared(
        "marked_predicate",
        words=[["Bo", "ran", "."]],
        predicate=[1],
        roles=[["B-A0", "B-V", "O"]],
    )
    assert columns["tokens"] == [["Bo", "*", "ran", "*", "."]]
    assert columns["tags"] == [["B-A0", "O", "B-V", "O", "O"]]


def test_every_predicate_of_ontonotes_is_a_row() -> None:
    frames = [["B-ARG0", "B-V", "O", "O"], ["O"] * 4, ["B-ARG0", "O", "O", "B-V"]]
    sentence = {
        "words": ["Bo", "sat", "and", "ate"],
        "srl_frames": [{"verb": "", "frames": one} for one in frames],
    }
    columns = prepared("ontonotes_roles", sentences=[[sentence], [], [sentence]])
    assert [" ".join(words) for words in columns["tokens"]] == [
        "Bo * sat * and ate",
        "Bo sat and * ate *",
    ] * 2
    assert columns["tags"][1] == ["B-ARG0", "O", "O", "O", "B-V", "O"]


def test_heads_are_distances_without_words_written_as_one() -> None:
    """Of "Bo didn't go": the row of `didn't` has no head, and heads count the others."""
    words, heads = "Bo didn't did n't go".split(), ["4", "None", "4", "4", "0"]
    long = ["w"] * 60, ["0", *["60"] * 10, *["1"] * 49]
    columns = prepared("relative_heads", tokens=[words, long[0]], head=[heads, long[1]])
    assert columns["tokens"][0] == "Bo did n't go".split()
    assert columns["heads"][0] == ["+3", "+2", "+1", "root"]
    assert columns["heads"][1][1:3] == ["far-right", "far-right"]
    assert columns["heads"][1][40:43] == ["-40", "far-left", "far-left"]
    assert {tag for row in columns["heads"] for tag in row} <= set(HEAD_TAGS)


def test_diagnostics_take_the_names_of_rte() -> None:
    columns = prepared("rte_and_diagnostics", sentence1=["a"], sentence2=["b"], label=[1])
    assert (columns["premise"], columns["hypothesis"], columns["label"]) == (["a"], ["b"], [1])
    same = {"premise": ["a"], "hypothesis": ["b"]}
    assert prepared("rte_and_diagnostics", **same) == same


def test_pairs_of_winogender_are_neighbours() -> None:
    """Also where rows are missing, or in another order."""
    columns: dict[str, list[Any]] = {"premise": list("abcde"), "hypothesis": list("uvwxy")}
    numbers = [0, 1, 3, 22, 23]
    assert prepared("rte_and_diagnostics", **columns, idx=numbers)["pair"] == [0, 0, 1, 11, 11]


def test_winogender_alone_has_groups(mirror: Mirror) -> None:
    task = TASKS["superglue_rte"]
    mirror.write_task(task)
    found = {split.name: load_examples(task, split).groups for split in task.evaluation}
    assert found["validation"] is None and found["axb"] is None
    assert found["axg"] is not None and found["axg"].tolist() == list("001122")
    assert load_examples(task, "train").groups is None


def test_swag_endings_keep_their_order() -> None:
    endings = {f"ending{number}": [f"{number}a", f"{number}b"] for number in range(4)}
    choices = prepared("swag", **endings)["choices"]
    assert choices == [("0a", "1a", "2a", "3a"), ("0b", "1b", "2b", "3b")]


def test_openbookqa_answers_by_the_place_of_the_letter() -> None:
    options = [
        {"text": ["a", "b"], "label": ["A", "B"]},
        {"text": ["c", "d"], "label": ["B", "A"]},
        {"text": ["e", "f"], "label": ["A", "B"]},
    ]
    columns = prepared("openbookqa", choices=options, answerKey=["B", "B", ""])
    assert columns["label"] == [1, 0, -1]
    assert columns["choices"] == [["a", "b"], ["c", "d"], ["e", "f"]]


def test_mctest_options_are_choices() -> None:
    options = [{"D": "d", "A": "a", "B": "b", "C": "c"}] * 2
    columns = prepared("mctest", answer_options=options, answer=["D", "A"])
    assert columns["choices"] == [list("abcd")] * 2 and columns["label"] == [3, 0]


def test_code_is_that_of_the_tokens_without_the_docstring() -> None:
    found = prepared(
        "code_to_text",
        code=['def f():\n    """Zero."""\n    return 0'],
        code_tokens=[["def", "f", "(", ")", ":", "\n", "return", "0"]],
        docstring=["Zero."],
        docstring_tokens=[["Ze\nro", ".", ""]],
    )
    assert found["code"] == ["def f ( ) : return 0"] and found["docstring"] == ["Zero ."]


def test_classes_of_code_are_false_and_true(mirror: Mirror) -> None:
    task = TASKS["defect_detection"]
    mirror.write_task(task)
    assert load_examples(task, "train").labels.tolist() == [0, 1] * 3


def test_dream_has_one_text_of_its_turns() -> None:
    columns = prepared(
        "dream",
        dialogue=[["W: Is it late?", "M: It is six."], ["M: Hello."]],
        choice=[["At noon.", "At six.", "Never."], ["a", "b", "c"]],
        answer=["At six.", "a"],
    )
    assert columns["dialogue"] == ["W: Is it late? M: It is six.", "M: Hello."]
    assert columns["choices"] == [["At noon.", "At six.", "Never."], ["a", "b", "c"]]
    assert columns["label"] == [1, 0]


def test_narrativeqa_keeps_every_right_answer() -> None:
    columns = prepared(
        "narrativeqa",
        document=[{"summary": {"text": "s"}, "text": "whole"}],
        question=[{"text": "q", "tokens": ["q"]}],
        answers=[[{"text": "x"}, {"text": "y"}]],
    )
    assert columns == {"summary": ["s"], "question": ["q"], "answers": [["x", "y"]]}


def test_translations_become_columns() -> None:
    columns = prepared("languages", translation=[{"de": "eins", "en": "one"}])
    assert (columns["de"], columns["en"]) == (["eins"], ["one"])
    assert prepared("languages", translation=[]) == {"translation": []}


def test_pairs_without_a_label_are_dropped() -> None:
    columns = prepared("drop_unlabelled", premise=["a", "b", "c"], label=[2, -1, 0])
    assert columns == {"premise": ["a", "c"], "label": [2, 0]}


def test_labels_in_lower_case() -> None:
    assert prepared("lower_labels", label=["RESULTS", "methods"])["label"] == ["results", "methods"]


def test_binary_nli_labels_and_overlap() -> None:
    columns = prepared(
        "binary_nli",
        premise=["The cat saw the dog."] * 4,
        hypothesis=["the dog saw, the CAT", "A dog saw", "dog", ""],
        label=[0, 1, 2, -1],
    )
    assert columns["label"] == [0, 1, 1, -1]
    assert columns["overlap"] == ["full", "part", "full", "full"]


def test_subsets_without_names_give_no_mean() -> None:
    named: dict[str, list[Any]] = {"score": [1.0, 2.0], "subset": ["a", "a"]}
    assert prepared("sts_subsets", **named) == named
    assert prepared("sts_subsets", score=[1.0, 2.0])["subset"] == ["0", "1"]


# Averages of the new suites.


@pytest.mark.parametrize(
    ("table", "suite", "half", "inexact"),
    [
        # ADAPET: 76.05, printed 76.0
        ("superglue_leaderboard", SUPERGLUE_V2, 0.05, set()),
        ("sts_spearman", STS_V1, 0.005, {"SBERT-NLI-base"}),
    ],
)
def test_an_average_is_as_printed(table: str, suite: Suite, half: float, inexact: set[str]) -> None:
    rule, off = AVERAGES[suite.average], set()
    for system, rows in published_table(table).groupby("system"):
        cells = rows.set_index(["task", "split", "metric"])["value"].to_dict()
        columns = {
            column: np.mean([cells[column.task, split, m] for m in column.metrics])
            for term in terms_of(rule, suite)
            for column in term
            for split in ["test_senteval" if column.task == "sickr" else "test"]
        }
        average = float(combine(terms_of(rule, suite), columns))
        if abs(average - cells["average", "test", rule.name]) > half + 1e-9:
            off.add(system)
    assert off == inexact


def test_mean_of_rouge() -> None:
    terms = terms_of(AVERAGES["rouge_mean"], suite_of("summarisation-v1"))
    scores = dict(zip([c for t in terms for c in t], [44, 21, 40, 45, 22, 38], strict=True))
    columns = {column: np.array(float(value)) for column, value in scores.items()}
    assert float(combine(terms, columns)) == pytest.approx(35.0)


def suite_of(name: str) -> Suite:
    return next(suite for suite in REAL_SUITES if suite.name == name)


def test_suites_fit_their_tasks() -> None:
    for suite in REAL_SUITES:
        assert terms_of(AVERAGES[suite.average], suite)
        assert set(suite.tasks) <= {task.name for task in REAL_TASKS}


def test_superglue_counts_its_diagnostics_for_nothing() -> None:
    averaged = {c.name for term in terms_of(AVERAGES["superglue8"], SUPERGLUE_V2) for c in term}
    shown = [column.name for column in SUPERGLUE_V2.columns]
    others = [name for name in shown if name not in averaged]
    assert len(averaged) == 8 and others == ["axb", "axg", "axg parity"]
