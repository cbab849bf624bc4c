"""Disagreements of two arms, by hand; the page escapes all text."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.analysis.statistics.mcnemar import McNemarTest
from harness.report.disagreements import answers, judgements
from harness.report.disagreements.answers import Disagreements, Flips, find_disagreements
from harness.report.disagreements.page import folder_name, render, write_disagreements
from harness.study import Study
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples
from harness.tasks.metrics.retrieval import NOT_FOUND
from harness.tasks.scores import predictions_frame

EXPERIMENT = """
name: two
question: Which is better?
pretrain: {recipe: bert, size: nano, tokenizer: {vocab_size: 1000}, budget: {tokens: 100_000}}
grid: {pretrain.objective.sentence_pair: [nsp, none]}
seeds: {finetune: 2}
evaluate: {suite: micro-glue-v1, tasks: [micro-sst2, micro-stsb]}
"""
WRONG = {("none", 0): [1], ("none", 1): [], ("nsp", 0): [1, 2], ("nsp", 1): [2]}
"""(arm, fine-tuning seed) to the examples with wrong answers."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root = tmp_path_factory.mktemp("contrast")
    (root / "two.yaml").write_text(EXPERIMENT)
    study = Study.load(root / "two.yaml", (), root / "runs")
    examples = load_examples(TASKS["micro-sst2"], TASKS["micro-sst2"].evaluation[0])
    for cell in study.plan.finetune_runs:
        if cell.task == "micro-sst2":
            out = root / cell.key
            out.mkdir()
            given = examples.labels.copy()
            wrong = WRONG[cell.arm, cell.finetune_seed]
            given[wrong] = 1 - given[wrong]
            frame = predictions_frame("validation", examples, given)
            frame.to_parquet(out / "predictions.parquet")
            study.store.record(cell.key, "finetune", "x", {}, {}, out)
    return study


def test_documents_are_right_if_their_entities_are() -> None:
    """Numbers of entities and the order of mentions do not matter."""
    task = TASKS["micro-coref-documents"]
    gold = [[0, 0, 1], [0, 5, 5], [1, 3, 3], [1, 7, 8]]
    same = [[9, 3, 3], [4, 5, 5], [4, 0, 1], [9, 7, 8]]
    other = [[0, 0, 1], [0, 5, 5]]
    assert judgements.right(task, gold, same) and not judgements.right(task, gold, other)
    assert judgements.majority(task, [other, gold, same]) == gold
    assert answers._shown(task, same) == "0-1 = 5-5; 3-3 = 7-8"
    assert answers._shown(task, []) == ""


def test_a_place_is_shown_unless_the_document_is_not_found() -> None:
    task = TASKS["squad_retrieval"]
    assert answers._shown(task, [3, 0]) == "3 / 0"
    assert answers._shown(task, [*NOT_FOUND]) == "not found"
    assert not judgements.right(task, 1.0, [*NOT_FOUND])


def test_examples_are_sorted_by_the_share_of_seeds_that_are_right(study: Study) -> None:
    found = find_disagreements(study.results, "micro-sst2", ["none", "nsp"])
    assert found.frame["index"].tolist() == [2]  # on 1, both are right with one of two seeds
    row = found.frame.iloc[0]
    assert (row["none: share right"], row["nsp: share right"]) == (1.0, 0.0)
    assert row["none: answer"] == row["label"] != row["nsp: answer"]
    assert row["nsp: by seed"] == f"0.0 {row['nsp: answer']}; 0.1 {row['nsp: answer']}"
    assert "only none right on 1, only nsp on 0" in found.tests[0]
    assert "p = 1 (smallest possible: 1)" in found.tests[0]
    assert found.examples > 100


def test_the_files_have_every_row_and_text(study: Study, tmp_path: Path) -> None:
    found = find_disagreements(study.results, "micro-sst2", ["none", "nsp"])
    page = write_disagreements(found, tmp_path / "out")
    frame = pd.read_parquet(tmp_path / "out" / "examples.parquet")
    assert frame.equals(found.frame.reset_index(drop=True))
    assert frame["text"].iloc[0] in page.read_text()
    assert "not the ways in which they were pretrained" in page.read_text()
    assert pd.read_csv(tmp_path / "out" / "examples.csv")["index"].tolist() == [2]


def test_files_of_the_user_are_not_overwritten(study: Study, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    found = find_disagreements(study.results, "micro-sst2", ["none", "nsp"])
    with pytest.raises(ValueError, match=r"has no page of disagreements, but a file index\.html"):
        write_disagreements(found, tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_old_files_are_kept_if_new_ones_cannot_be_written(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_disagreements(study.results, "micro-sst2", ["none", "nsp"])
    write_disagreements(found, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def broken(frame: pd.DataFrame, path: Path | None = None, **_: Any) -> None:
        if path:
            path.write_text("half")
        raise OSError("disk full")

    for method in ("to_csv", "to_parquet"):
        monkeypatch.setattr(pd.DataFrame, method, broken)
        with pytest.raises(OSError, match="disk full"):
            write_disagreements(found, tmp_path)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
        monkeypatch.undo()


def test_what_cannot_be_compared_is_refused_in_one_line(study: Study) -> None:
    with pytest.raises(ValueError, match="the arm 'sop'"):
        find_disagreements(study.results, "micro-sst2", ["none", "sop"])
    with pytest.raises(ValueError, match="two different arms"):
        find_disagreements(study.results, "micro-sst2", ["none", "none"])
    with pytest.raises(ValueError, match="the task 'micro-cola'"):
        find_disagreements(study.results, "micro-cola", ["none", "nsp"])
    with pytest.raises(ValueError, match="no run of none on micro-stsb has finished"):
        find_disagreements(study.results, "micro-stsb", ["none", "nsp"])


def test_changed_data_are_noticed(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def fewer(*arguments: Any) -> Any:
        return load_examples(*arguments).head(10)

    monkeypatch.setattr(answers, "load_examples", fewer)
    with pytest.raises(ValueError, match="the data have changed"):
        find_disagreements(study.results, "micro-sst2", ["none", "nsp"])


@pytest.mark.parametrize(
    ("task", "label", "answer", "right"),
    [
        ("micro-sst2", 1.0, 1.0, True),
        ("micro-sst2", 1.0, 0.0, False),
        ("micro-squad", ["the cat", "a dog"], "Dog", True),
        ("micro-squad", ["the cat"], "dog", False),
        ("micro-squad2", [], "", True),
        ("micro-squad2", [], "dog", False),
    ],
)
def test_right_depends_on_the_kind_of_task(task: str, label: Any, answer: Any, right: bool) -> None:
    assert judgements.right(TASKS[task], label, answer) == right


@pytest.mark.parametrize(
    ("task", "label", "given", "answer", "right"),
    [
        ("micro-mnli", 0.0, [0.0, 0.0, 1.0, 2.0, 1.0, 0.0], 0.0, True),
        ("micro-mnli", 0.0, [0.0, 0.0, 1.0, 2.0], 0.0, True),  # by half of the seeds, yet by most
        ("micro-mnli", 0.0, [0.0, 1.0, 2.0], None, False),
        ("micro-mnli", 0.0, [1.0, 1.0, 0.0], 1.0, False),
        ("micro-squad", ["the cat"], ["dog", "The cat", "cat"], "The cat", True),
        ("micro-squad", ["the cat"], ["dog", "cat"], None, False),
    ],
)
def test_the_majority_itself_is_right_or_not(
    task: str, label: Any, given: list[Any], answer: Any, right: bool
) -> None:
    found = judgements.majority(TASKS[task], given)
    assert found == answer
    assert judgements.right(TASKS[task], label, found) == right


def test_the_test_is_on_the_majority_answers_that_are_shown(study: Study) -> None:
    task, split = TASKS["micro-sst2"], TASKS["micro-sst2"].evaluation[0]
    arms = ("none", "nsp")
    sides = {arm: answers.arm_predictions(study.results, "micro-sst2", arm) for arm in arms}
    part = answers._of_split(task, split, sides)
    assert [part[f"{arm}: answer"].tolist()[1] for arm in arms] == ["tie", "tie"]
    for arm in arms:
        shown_right = part[f"{arm}: answer"] == part["label"]
        assert part[f"{arm}: right"].tolist() == shown_right.tolist()
    part[["none: right", "nsp: right"]] = False
    part.loc[:2, "none: right"] = True
    one, other = (part[f"{arm}: right"].to_numpy(float) for arm in arms)
    flips = answers._flips(one, other, independent=True)
    assert (flips.only_first, flips.only_second, flips.examples) == (3, 0, len(part))
    assert flips.test and flips.test.p_value == 0.25
    (shown,) = answers.flipped_examples(task, sides).values()
    assert (shown.only_first, shown.only_second) == (1, 0)
    assert shown.examples == len(part) - 1  # without the tie


def test_ties_are_neither_right_nor_wrong_and_groups_have_no_test() -> None:
    task = TASKS["micro-sst2"]
    assert judgements.is_tied(task, 1.0, [0.0, 1.0])
    assert not judgements.is_tied(task, 1.0, [1.0, 1.0, 0.0])
    assert not judgements.is_tied(TASKS["micro-mnli"], 0.0, [1.0, 2.0])  # both are wrong
    sides = np.array([1, 1, np.nan, 0.0]), np.array([0, 1, 1, np.nan])
    flips = answers._flips(*sides, independent=True)
    assert (flips.only_first, flips.only_second, flips.examples) == (1, 0, 2)
    tied = answers._flips(np.full(4, np.nan), sides[0], independent=True)
    assert (tied.test, tied.untested) == (None, answers.ALL_TIED)
    grouped = answers._flips(*sides, independent=False)
    assert grouped.test is None
    frame = pd.DataFrame({"a: share right": [1.0], "b: share right": [0.0]})
    found = Disagreements("x", "multirc", "", ("a", "b"), frame, 2, {"validation": grouped})
    assert found.tests == (
        "validation: only a right on 1, only b on 0 of 2; no test, as examples of one group "
        "(a question, a subset) are not independent.",
    )


def test_every_two_arms_have_a_folder_of_their_own(study: Study) -> None:
    found = find_disagreements(study.results, "micro-sst2", ["none", "nsp"])
    assert folder_name(found) == "two-micro-sst2-none-nsp"
    odd = [replace(found, arms=(first, "b" * 300)) for first in ("a/1", "a_1", "../..")]
    names = {folder_name(one) for one in odd}
    assert len(names) == 3
    assert all("/" not in name and len(name) < 200 for name in names)


def test_values_are_compared_by_their_means() -> None:
    task = TASKS["micro-stsb"]
    error, mean = judgements.judged(task, [2.0, 4.0], [[1.0, 2.0], [4.0, 4.0]])
    assert error.tolist() == [0.5, 0.0]
    assert mean == [1.5, 4.0]
    found = judgements.disagreement(task, [error, error], [mean, [1.0, 4.0]])
    assert found.tolist() == [0.5, 0.0]


def test_different_wrong_answers_come_last_but_come() -> None:
    shares = [np.array([0.0, 1.0, 0.5]), np.array([0.0, 0.0, 0.5])]
    found = judgements.disagreement(TASKS["micro-mnli"], shares, [[0, 1, 1], [2, 0, 1]])
    assert found.tolist() == [judgements.BOTH_WRONG, 1.0, 0.0]


def test_a_text_cannot_break_the_page() -> None:
    evil = '"><script>alert(1)</script>'
    frame = pd.DataFrame(
        {"text": [evil], f"{evil}: share right": [1.0], "b: share right": [0.0], "index": [0]}
    )
    flips = {evil: Flips(1, 0, 3, McNemarTest(1.0, 1.0))}
    page = render(Disagreements(evil, evil, "classification", (evil, "b"), frame, 3, flips))
    assert "<script>alert" not in page
    assert page.count("<script>") == 1
    assert "&lt;script&gt;alert(1)" in page
    assert "http" not in page  # nothing is fetched


def test_arms_of_several_micro_worlds_have_no_examples_in_common(tmp_path: Path) -> None:
    seeds = "seeds: {pretrain: 2, world: per_seed}"
    (tmp_path / "two.yaml").write_text(EXPERIMENT.replace("seeds: {finetune: 2}", seeds))
    results = Study.load(tmp_path / "two.yaml", (), tmp_path / "runs").results
    with pytest.raises(ValueError, match=r"^arms must be scored on the same examples, but each"):
        find_disagreements(results, "micro-sst2", ["nsp", "none"])
