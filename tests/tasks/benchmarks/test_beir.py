"""BEIR as its repositories have it: joined by hand, scored by scikit-learn over all documents."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import ndcg_score
from typer.testing import CliRunner

from harness.cli import app
from harness.finetuning.baselines import make
from harness.finetuning.ranking import collection, places
from harness.tasks import SUITES, TASKS
from harness.tasks.datasets.catalog import selected
from harness.tasks.judged_pairs import judged_pairs
from harness.tasks.load_examples import fingerprint, load_examples
from harness.tasks.metrics import METRICS
from harness.tasks.task import Split

DOCUMENTS: list[dict[str, Any]] = [
    {"_id": "12", "title": "Tin", "text": "a cup fell"},
    {"_id": "7", "title": "", "text": "rye grew"},
    {"_id": "30", "title": None, "text": "tin came"},
    {"_id": "u", "title": "Is", "text": "tin in rye"},
    {"_id": "41", "title": "Empty", "text": ""},
]
QUERIES: list[dict[str, Any]] = [
    {"_id": "5", "title": "", "text": "what is tin"},
    {"_id": "u", "title": "", "text": "tin in rye"},
    {"_id": "9", "title": "", "text": "a query of train"},
]
TEST = [("5", "12", 2), ("5", "30", 1), ("u", "7", 1), ("u", "12", 0)]
SPLIT = Split(name="test")
CARD = """\
---
configs:
- config_name: corpus
  data_files:
  - split: corpus
    path: corpus.jsonl.gz
- config_name: queries
  data_files:
  - split: queries
    path: queries.jsonl.gz
---
"""


def write(root: Path, name: str, judgements: list[tuple[str, str, int]] = TEST) -> None:
    """Compressed JSON lines and tab-separated judgements."""
    folder, judged = root / f"BeIR/{name}", root / f"BeIR/{name}-qrels"
    for place in (folder, judged):
        place.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(CARD)
    for part, rows in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        with gzip.open(folder / f"{part}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in judgements)]
    (judged / "test.tsv").write_text("\n".join(lines) + "\n")
    (judged / "train.tsv").write_text(f"{lines[0]}\n{lines[-1]}\n")


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "hub"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    write(tmp_path / "hub", "nfcorpus")
    return tmp_path / "hub"


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_all_documents_are_there_and_the_queries_of_the_split(mirror: Path) -> None:
    examples = load_examples(TASKS["beir_nfcorpus"], SPLIT)
    assert examples.groups is not None
    assert list(zip(examples.groups, examples.texts, examples.labels, strict=True)) == [
        ("5", ("what is tin", "Tin a cup fell"), 2.0),
        ("5", ("what is tin", "tin came"), 1.0),
        ("u", ("tin in rye", "rye grew"), 1.0),
        ("u", ("tin in rye", "Tin a cup fell"), 0.0),
        ("u", ("tin in rye", "Is tin in rye"), -1.0),  # the document that the query is
        ("5", ("what is tin", "Empty"), 0.0),  # judged for no query
    ]
    again = load_examples(TASKS["beir_nfcorpus"], SPLIT)
    assert again.texts == examples.texts and np.array_equal(again.labels, examples.labels)


def test_ids_of_digits_are_those_of_text(mirror: Path) -> None:
    """A file with ids of digits alone is read as numbers."""
    write(mirror, "scifact", [("5", "12", 1), ("9", "7", 1)])
    examples = load_examples(TASKS["beir_scifact"], SPLIT)
    assert examples.texts[0] == ("what is tin", "Tin a cup fell")


@pytest.mark.parametrize("seed", range(5))
def test_graded_scores_are_those_of_scikit_learn_over_all_documents(
    mirror: Path, seed: int
) -> None:
    examples = load_examples(TASKS["beir_nfcorpus"], SPLIT)
    found = collection(examples)
    assert len(found.queries) == 2 and len(found.documents) == len(DOCUMENTS)
    dice = np.random.default_rng(seed)
    given = dice.integers(0, 6, (2, len(DOCUMENTS))) / 6  # with ties
    grades = np.zeros(given.shape)
    for (query, document), label in zip(found.pairs, examples.labels, strict=True):
        grades[query, document] = label
    wanted = [
        ndcg_score([grade[grade >= 0]], [row[grade >= 0]], k=10)
        for grade, row in zip(grades, given, strict=True)
    ]
    sides = examples.labels, places(lambda rows: given[rows], found), examples.groups
    assert METRICS["ndcg_at_10"](*sides) == pytest.approx(np.mean(wanted))


def test_a_query_does_not_find_itself(mirror: Path) -> None:
    """By common words its own document would stand before "rye grew" and "tin came", which tie."""
    examples = load_examples(TASKS["beir_nfcorpus"], SPLIT)
    found = make("bag_of_words", TASKS["beir_nfcorpus"], None)(examples)
    assert examples.labels[4] == -1 and examples.texts[2][1] == "rye grew"
    assert found[2] == (0, 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [(("5", "99", 1), "the document '99' is not"), (("8", "7", 1), "the query '8'")],
)
def test_judgements_of_something_else_are_refused(row: tuple[str, str, int], message: str) -> None:
    judged = {n: [v] for n, v in zip(("query-id", "corpus-id", "score"), row, strict=True)}
    with pytest.raises(ValueError, match=f"judgements must name what is in the .*{message}"):
        judged_pairs(columns(DOCUMENTS), columns(QUERIES), judged)


def test_documents_of_equal_text_are_one() -> None:
    """As two relevant documents in the first place, they would have an nDCG of 1.23."""
    documents = {
        "_id": ["a", "b", "c", "d"],
        "title": [""] * 4,
        "text": ["tin", "tin", "rye", "rye"],
    }
    judged: dict[str, list[Any]] = {
        "query-id": ["q", "q"],
        "corpus-id": ["a", "b"],
        "score": [1, 2],
    }
    found = judged_pairs(documents, {"_id": ["q"], "text": ["tin"]}, judged)
    assert list(zip(found["document"], found["relevance"], strict=True)) == [("tin", 2), ("rye", 0)]


def test_a_judgement_below_0_leaves_the_document_in_the_ranking() -> None:
    """TREC-COVID has such grades."""
    judged: dict[str, list[Any]] = {"query-id": ["5"], "corpus-id": ["7"], "score": [-1]}
    found = judged_pairs(columns(DOCUMENTS), columns(QUERIES), judged)
    assert {*found["relevance"]} == {0}


def test_a_collection_without_judgements_has_no_rows() -> None:
    none: dict[str, list[Any]] = {"query-id": [], "corpus-id": [], "score": []}
    assert judged_pairs(columns(DOCUMENTS), columns(QUERIES), none)["query"] == []


def test_documents_queries_and_judgements_are_all_in_the_fingerprint(mirror: Path) -> None:
    task, prints = TASKS["beir_nfcorpus"], set[str]()
    for file in (
        "nfcorpus/corpus.jsonl.gz",
        "nfcorpus/queries.jsonl.gz",
        "nfcorpus-qrels/test.tsv",
    ):
        prints.add(fingerprint(task))
        path = mirror / "BeIR" / file
        path.write_bytes(path.read_bytes() + (b"5\t7\t1\n" if file.endswith("tsv") else b""))
        if file.endswith("gz"):
            path.write_bytes(path.read_bytes() + gzip.compress(b"\n"))
    prints.add(fingerprint(task))
    assert len(prints) == 4


def command(*arguments: str) -> str:
    return CliRunner().invoke(app.app, ["data", *arguments]).output


def test_list_and_verify_name_all_repositories(mirror: Path) -> None:
    found = {line[:36].strip(): line for line in command("list").splitlines()}
    assert " mirror " in found["BeIR/nfcorpus (2 configs)"]
    assert " mirror " in found["BeIR/nfcorpus-qrels"]
    assert " missing " in found["BeIR/fiqa (2 configs)"] and " missing " in found["BeIR/fiqa-qrels"]
    lines = command("verify", "beir_nfcorpus").splitlines()
    assert "BeIR/nfcorpus: beir_nfcorpus: corpus 5, queries 3" in lines
    assert "BeIR/nfcorpus-qrels: beir_nfcorpus: test 6" in lines
    assert "2 data sets, 0 problems" in lines


def test_fetch_takes_both_repositories_of_each_task() -> None:
    names = [one.name for one in selected([], "beir-small-v1")]
    sets = ("arguana", "fiqa", "nfcorpus", "scifact")
    assert names == [f"BeIR/{name}{end}" for name in sets for end in ("", "-qrels")]
    assert len(SUITES["beir-small-v1"].tasks) == 4
