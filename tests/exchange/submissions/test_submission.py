"""The files for the servers: names, headers, counts and labels as published."""

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import harness
from harness.cli import app
from harness.exchange.submissions import submission
from harness.exchange.submissions.server_files import BENCHMARKS, GLUE, SUPERGLUE, TASKS, ServerFile
from harness.experiment.experiment import Seeds
from harness.plan.plan import FinetuneRun
from harness.study import Study

RNG = np.random.default_rng(0)
HEADER = "index\tprediction"
ZERO_ONE, LOWER = {"0", "1"}, {"true", "false"}
TWO_WAY, THREE_WAY = {"entailment", "not_entailment"}, {"entailment", "neutral", "contradiction"}
GLUE_LABELS = {
    **dict.fromkeys(("CoLA.tsv", "SST-2.tsv", "MRPC.tsv", "QQP.tsv", "WNLI.tsv"), ZERO_ONE),
    **dict.fromkeys(("MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"), THREE_WAY),
    **dict.fromkeys(("QNLI.tsv", "RTE.tsv"), TWO_WAY),
}
SUPERGLUE_LABELS: dict[str, set[Any]] = {
    **dict.fromkeys(("BoolQ.jsonl", "WiC.jsonl"), LOWER),
    "WSC.jsonl": {"True", "False"},
    "CB.jsonl": THREE_WAY,
    **dict.fromkeys(("RTE.jsonl", "AX-b.jsonl", "AX-g.jsonl"), TWO_WAY),
    "COPA.jsonl": {0, 1},
    "ReCoRD.jsonl": {"a name"},
}


@dataclass
class FinishedResults:
    """The part of `Results` that a submission uses: one finished run of every task."""

    benchmark: str
    folder: Path
    arms: tuple[str, ...] = ("bert",)
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def plan(self) -> Any:
        tasks = dict.fromkeys(one.task for one in BENCHMARKS[self.benchmark].values())
        return SimpleNamespace(
            arms=[SimpleNamespace(name=arm) for arm in self.arms],
            finetune_runs=[
                FinetuneRun("bert", task, p, f, f"{task}-{p}.{f}")
                for task in tasks
                for p, f in ((3, 0), (3, 1))
            ],
        )

    @property
    def experiment(self) -> Any:
        return SimpleNamespace(name="all", seeds=Seeds(pretrain=(3, 4), finetune=(0, 1)))

    @property
    def finished(self) -> Any:
        return {f"{task}-3.0" for task in self.frames}

    @property
    def store(self) -> Any:
        return SimpleNamespace(root=self.folder)

    def predictions(self, key: str) -> pd.DataFrame:
        return self.frames[key.removesuffix("-3.0")]


def predicted(one: ServerFile) -> pd.DataFrame:
    """Every row of a split, in random order."""
    task = TASKS[one.task]
    values: Any
    if task.kind == "regression":
        values = RNG.uniform(-1, 6, one.rows)
    elif task.kind == "extraction":
        values = ["a name"] * one.rows
    else:
        values = np.arange(one.rows) % max(2, len(task.labels))
    frame = pd.DataFrame({"split": one.split, "index": np.arange(one.rows), "prediction": values})
    return frame.sample(frac=1, random_state=0)


@pytest.fixture
def finished(tmp_path: Path) -> Callable[[str], FinishedResults]:
    def make(benchmark: str) -> FinishedResults:
        results = FinishedResults(benchmark, tmp_path)
        for one in BENCHMARKS[benchmark].values():
            before = [results.frames[one.task]] if one.task in results.frames else []
            results.frames[one.task] = pd.concat([*before, predicted(one)])
        return results

    return make


def ids(one: ServerFile) -> list[Any]:
    """The `idx` of the data sets."""
    if one.task == "multirc":
        rows = [(n // 100, n // 10 % 10, n % 10) for n in range(one.rows)]
        return [{"paragraph": p, "question": q, "answer": a} for p, q, a in rows]
    if one.task == "record":
        return [{"passage": n // 3, "query": n} for n in range(one.rows)]
    return list(range(one.rows))


def read(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_glue(finished: Any) -> None:
    files = read(submission.write_submission("glue", finished("glue")))
    assert sorted(files) == sorted([*GLUE_LABELS, "STS-B.tsv"]) and len(files) == 11
    for name, text in files.items():
        header, *lines = text.removesuffix("\n").split("\n")
        indices, labels = zip(*(line.split("\t") for line in lines), strict=True)
        assert header == HEADER
        assert indices == tuple(str(n) for n in range(GLUE[name].rows))
        assert name == "STS-B.tsv" or set(labels) == GLUE_LABELS[name]
    scores = [line.split("\t")[1] for line in files["STS-B.tsv"].splitlines()[1:]]
    assert all(len(score) == 5 and 0 <= float(score) <= 5 for score in scores)
    assert {"0.000", "5.000"} < set(scores)


def test_superglue(finished: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "example_ids", ids)
    files = read(submission.write_submission("superglue", finished("superglue")))
    assert sorted(files) == sorted([*SUPERGLUE_LABELS, "MultiRC.jsonl"]) and len(files) == 10
    for name, labels in SUPERGLUE_LABELS.items():
        lines = [json.loads(line) for line in files[name].splitlines()]
        assert [line["idx"] for line in lines] == list(range(SUPERGLUE[name].rows))
        assert {line["label"] for line in lines} == labels
        assert all(set(line) == {"idx", "label"} for line in lines)
    passages = [json.loads(line) for line in files["MultiRC.jsonl"].splitlines()]
    answers = [
        (passage["idx"], question["idx"], answer["idx"], answer["label"])
        for passage in passages
        for question in passage["passage"]["questions"]
        for answer in question["answers"]
    ]
    rows = range(SUPERGLUE["MultiRC.jsonl"].rows)
    assert answers == [(n // 100, n // 10 % 10, n % 10, n % 2) for n in rows]


def test_equal_predictions_are_equal_bytes(finished: Any, tmp_path: Path) -> None:
    results = finished("glue")
    one = submission.write_submission("glue", results, out=tmp_path / "one.zip")
    other = submission.write_submission("glue", results, "bert", "3.0", tmp_path / "other.zip")
    assert one.read_bytes() == other.read_bytes()


def test_an_interrupted_write_leaves_the_old_file(
    finished: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "one.zip"
    out.write_text("old")

    def killed(*_: object) -> None:
        raise OSError("killed")

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(OSError, match="killed"):
        submission.write_submission("glue", finished("glue"), out=out)
    assert [path.name for path in tmp_path.iterdir()] == ["one.zip"] and out.read_text() == "old"


def test_missing_files_are_named_in_one_line(finished: Any) -> None:
    results = finished("glue")
    del results.frames["cola"]
    results.frames["mrpc"] = results.frames["mrpc"].iloc[:1000]
    results.frames["mnli"] = results.frames["mnli"][results.frames["mnli"]["split"] != "test"]
    with pytest.raises(ValueError, match="a submission to glue needs every file") as caught:
        submission.write_submission("glue", results)
    assert "\n" not in str(caught.value)
    for part in (
        "CoLA.tsv (no finished run of cola)",
        "MRPC.tsv (1,000 of 1,725 predictions of test)",
        "AX.tsv (0 of 1,104 predictions of test)",
    ):
        assert part in str(caught.value)
    assert "SST-2.tsv" not in str(caught.value)


def test_unknown_arms_seeds_and_benchmarks(finished: Any) -> None:
    results = finished("glue")
    with pytest.raises(ValueError, match="must be glue or superglue, but is 'blue'"):
        submission.write_submission("blue", results)
    with pytest.raises(ValueError, match=r"seeds must be one of 3\.0, .*, 4\.1, but is '0'"):
        submission.write_submission("glue", results, seeds="0")
    with pytest.raises(ValueError, match="--arm must be one of bert, but is roberta"):
        submission.write_submission("glue", results, arm="roberta")
    results.arms = ("bert", "roberta")
    with pytest.raises(ValueError, match="--arm must be one of bert, roberta, but is missing"):
        submission.write_submission("glue", results)


def test_every_file_has_a_declared_split() -> None:
    for one in (*GLUE.values(), *SUPERGLUE.values()):
        task = TASKS[one.task]
        assert one.split in [split.name for split in (*task.evaluation, *task.test)]


EXPERIMENT = """
name: quick
question: Is an incomplete run refused?
pretrain: {size: nano, budget: {tokens: 1_000}}
evaluate: {tasks: [micro-sst2]}
"""
COLA = """
name: cola
question: Is the test split predicted?
pretrain:
  size: nano
  corpus: {source: microworld, num_tokens: 20_000}
  tokenizer: {vocab_size: 300}
  phases: [{fraction: 1, sequence_length: 64}]
  batch_size: 8
  budget: {tokens: 2_000}
evaluate:
  suite: glue-v1
  tasks: [cola]
  protocol: {pooling: mean, max_sequence_length: 32}
  finetune: {epochs: 1}
"""


def test_the_command_refuses_an_incomplete_run(tmp_path: Path) -> None:
    path = tmp_path / "quick.yaml"
    path.write_text(EXPERIMENT)
    arguments = ["submit", "glue", str(path), "--store", str(tmp_path / "runs")]
    result = CliRunner().invoke(app.app, arguments)
    assert result.exit_code == 2
    assert "lacks CoLA.tsv (no finished run of cola)" in result.output
    assert isinstance(harness.load(path, store=tmp_path / "runs"), Study)


def test_a_run_predicts_unlabelled_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only with `predict_test`, and they are never scored."""
    folder = tmp_path / "data/nyu-mll/glue"
    (folder / "cola").mkdir(parents=True)
    entries = ""
    for split, label in (("train", 1), ("validation", 1), ("test", -1)):
        labels = [label, min(label, 0)] * 10
        rows = {"sentence": ["a word", "no word"] * 10, "label": labels, "idx": range(20)}
        pd.DataFrame(rows).to_parquet(folder / f"cola/{split}-0.parquet")
        entries += f"  - split: {split}\n    path: cola/{split}-*\n"
    card = f"---\nconfigs:\n- config_name: cola\n  data_files:\n{entries}---\n"
    (folder / "README.md").write_text(card)
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "data"))
    path = tmp_path / "cola.yaml"
    path.write_text(COLA)
    store, more = tmp_path / "runs", "evaluate.predict_test=true"
    plain = harness.load(path, store=store).run(executor="serial")
    tested = harness.load(path, more, store=store).run(executor="serial")
    assert [tested.plan.stages[key].kind for key in tested.last_run.computed] == ["finetune"]
    assert not tested.last_run.failed
    found = []
    for study in (plain, tested):
        (run,) = study.plan.finetune_runs
        stored = study.store.fetch(study.results.finished[run.key])
        assert stored is not None
        found.append(pd.read_parquet(stored / "predictions.parquet").groupby("split").size())
    assert [dict(one) for one in found] == [
        {"validation": 20},
        {"validation": 20, "test": 20},
    ]
    assert set(tested.scores()["split"]) == {"validation"}
    with pytest.raises(ValueError, match=r"CoLA.tsv \(20 of 1,063 predictions of test\)"):
        submission.write_submission("glue", tested.results)
