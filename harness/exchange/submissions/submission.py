"""Predictions on unlabelled test splits as the zip file that a benchmark's server accepts."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.analysis.results import Results
from harness.core.files import atomic_path
from harness.core.names import file_name
from harness.data import hub
from harness.exchange.submissions.server_files import BENCHMARKS, TASKS, ServerFile
from harness.tasks.task import HubData


def write_submission(
    benchmark: str,
    results: Results,
    arm: str | None = None,
    seeds: str | None = None,
    out: Path | None = None,
) -> Path:
    """Writes the zip file of one arm and one pair of seeds.

    Args:
        benchmark: a name in `BENCHMARKS`.
        arm: null: the only one.
        seeds: "P.F", a pretraining and a fine-tuning seed; null: the first of each.
        out: null: a file in the store.

    Returns:
        Path of the zip file.

    Raises:
        ValueError: there is no such benchmark, arm or seed, or predictions are missing.
    """
    if benchmark not in BENCHMARKS:
        known = " or ".join(BENCHMARKS)
        raise ValueError(f"the benchmark must be {known}, but is {benchmark!r}")
    arm = _arm(results, arm)
    pretrain, finetune = _seeds(results, seeds)
    files = BENCHMARKS[benchmark]
    found = _predictions(results, arm, (pretrain, finetune), {one.task for one in files.values()})
    _check(benchmark, files, found)
    write = _tsv if benchmark == "glue" else _jsonl
    texts = {file: write(one, found[one.task]) for file, one in files.items()}
    name = f"{results.experiment.name}-{file_name(arm)}-{pretrain}.{finetune}-{benchmark}.zip"
    out = out or results.store.root / "submissions" / name
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(out) as draft:
        draft.write_bytes(_zipped(texts))
    return out


def _arm(results: Results, arm: str | None) -> str:
    names = [one.name for one in results.plan.arms]
    arm = names[0] if arm is None and len(names) == 1 else arm
    if arm not in names:
        given = "is missing" if arm is None else f"is {arm}"
        raise ValueError(f"--arm must be one of {', '.join(names)}, but {given}")
    return str(arm)


def _seeds(results: Results, seeds: str | None) -> tuple[int, int]:
    declared = results.experiment.seeds
    known = [f"{p}.{f}" for p in declared.pretrain for f in declared.finetune]
    seeds = seeds or known[0]
    if seeds not in known:
        raise ValueError(f"seeds must be one of {', '.join(known)}, but is {seeds!r}")
    pretrain, finetune = map(int, seeds.split("."))
    return pretrain, finetune


def _predictions(
    results: Results, arm: str, seeds: tuple[int, int], tasks: set[str]
) -> dict[str, pd.DataFrame]:
    """Task to its predictions, for finished runs."""
    return {
        run.task: results.predictions(run.key)
        for run in results.plan.finetune_runs
        if (run.arm, run.pretrain_fraction) == (arm, 1) and run.task in tasks
        if (run.pretrain_seed, run.finetune_seed) == seeds and run.key in results.finished
    }


def _check(
    benchmark: str, files: Mapping[str, ServerFile], found: Mapping[str, pd.DataFrame]
) -> None:
    missing = []
    for file, one in files.items():
        rows = int((found[one.task]["split"] == one.split).sum()) if one.task in found else -1
        if rows < 0:
            missing.append(f"{file} (no finished run of {one.task})")
        elif rows != one.rows:
            missing.append(f"{file} ({rows:,} of {one.rows:,} predictions of {one.split})")
    if missing:
        raise ValueError(
            f"a submission to {benchmark} needs every file, but lacks {', '.join(missing)}: run "
            "all its tasks with evaluate.predict_test=true and the whole data sets"
        )


def _rows(one: ServerFile, predictions: pd.DataFrame) -> list[Any]:
    """Labels in the order of the split."""
    rows = predictions[predictions["split"] == one.split].sort_values("index")
    return [one.label(TASKS[one.task], prediction) for prediction in rows["prediction"]]


def _tsv(one: ServerFile, predictions: pd.DataFrame) -> str:
    lines = [f"{index}\t{label}" for index, label in enumerate(_rows(one, predictions))]
    return "\n".join(["index\tprediction", *lines, ""])


def _jsonl(one: ServerFile, predictions: pd.DataFrame) -> str:
    pairs = list(zip(example_ids(one), _rows(one, predictions), strict=True))
    if one.task == "multirc":
        lines = _nested(pairs)
    else:
        plain = [(i["query"] if isinstance(i, Mapping) else int(i), label) for i, label in pairs]
        lines = [{"idx": idx, "label": label} for idx, label in plain]
    return "".join(json.dumps(line) + "\n" for line in lines)


def example_ids(one: ServerFile) -> Sequence[Any]:
    """The `idx` of each example of a file's split, in order.

    Returns:
        Integers, or mappings for data sets with nested examples.
    """
    task = TASKS[one.task]
    split = next(s for s in (*task.evaluation, *task.test) if s.name == one.split)
    assert isinstance(task.data, HubData)
    config = split.config or task.data.config
    dataset = hub.load(task.data.path, config, split.of or split.name, task.data.revision)
    return list(dataset["idx"])


def _nested(pairs: Sequence[tuple[Mapping[str, int], int]]) -> list[dict[str, Any]]:
    """MultiRC's labels, nested as answers in questions in passages."""
    passages: dict[int, dict[int, list[dict[str, int]]]] = {}
    for idx, label in pairs:
        questions = passages.setdefault(idx["paragraph"], {})
        answers = questions.setdefault(idx["question"], [])
        answers.append({"idx": idx["answer"], "label": label})
    return [
        {
            "idx": passage,
            "passage": {"questions": [{"idx": q, "answers": a} for q, a in questions.items()]},
        }
        for passage, questions in passages.items()
    ]


def _zipped(texts: Mapping[str, str]) -> bytes:
    """A flat zip archive without timestamps, so that equal predictions give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
