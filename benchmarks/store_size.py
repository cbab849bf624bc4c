"""Times leaderboard, report and site over a generated store of many finished runs.

    python benchmarks/store_size.py --runs 20000

Runs are written to MLflow's tables at once, with tags, metrics and params as `harness run` leaves
them; the first experiment has files of its own for every run, the others share theirs. Passes (exit
0) if the first leaderboard takes at most 60 s, each later one 5 s, the report and the site 60 s.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import yaml

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.plan.plan import Stage
from harness.store.artifacts import digest
from harness.store.params import flatten
from harness.store.store import DIGEST, KEY, KIND, LABEL, NAME, SUITE, StageResult
from harness.study import Study
from harness.tasks.load_examples import load_examples
from harness.tasks.scores import counts, predictions_frame, save_counts, score

EXPERIMENT = """
name: stored-0
question: How long does a leaderboard over many runs take?
expect: none > nsp
pretrain: {recipe: bert, size: nano, tokenizer: {vocab_size: 1000}, budget: {tokens: 100_000}}
grid: {pretrain.objective.sentence_pair: [nsp, sop, none]}
seeds: {pretrain: 5, finetune: 2}
evaluate: {suite: micro-glue-v1}
"""
LIMITS = {"first leaderboard": 60.0, "later leaderboard": 5.0, "report": 60.0, "site": 60.0}
"""Seconds."""
WAITING = "Seconds include waiting for other work on the machine, CPU seconds do not."
SKILL = 0.8
"""Share of right answers among the generated predictions."""
MADE = 1_700_000_000_000
"""Milliseconds since 1970 at which the first run starts."""


class Filler:
    """Writes finished runs to the tables of a store."""

    def __init__(self, study: Study) -> None:
        self.study = study
        study.store.experiments()  # makes the tables and the experiment
        self.experiment_id = study.store._server.experiment_id
        self.artifacts = study.store.root / "artifacts"
        self.rows: dict[str, list[tuple[Any, ...]]] = {
            name: [] for name in ("runs", "tags", "params", "latest_metrics", "metrics")
        }
        self.count = 0

    def add(
        self, tags: dict[str, str], params: dict[str, Any], metrics: dict[str, float], folder: Path
    ) -> None:
        run, start = uuid4().hex, MADE + self.count
        self.count += 1
        where = (*("", "", "unknown", "FINISHED"), start, start + 1, "", "active")
        self.rows["runs"].append(
            (run, "generated", "LOCAL", *where, folder.as_uri(), self.experiment_id, None)
        )
        self.rows["tags"] += [(name, value, run) for name, value in tags.items()]
        self.rows["params"] += [(name, str(value), run) for name, value in params.items()]
        self.rows["latest_metrics"] += [(n, v, start, 0, 0, run) for n, v in metrics.items()]
        self.rows["metrics"] += [(n, v, start, run, 0, 0) for n, v in metrics.items()]

    def write(self) -> None:
        with closing(sqlite3.connect(self.study.store.root / "mlflow.db")) as database, database:
            for table, rows in self.rows.items():
                marks = ", ".join("?" * len(rows[0]))
                database.executemany(f"insert into {table} values ({marks})", rows)
                rows.clear()


def fill(study: Study, num_runs: int) -> int:
    """As many experiments as it takes; returns how many."""
    filler = Filler(study)
    rng = np.random.default_rng(0)
    told = {key: left(study, stage, filler.artifacts / key, rng) for key, stage in stages(study)}
    for number in range(-(-num_runs // len(told))):
        add_experiment(filler, told, number)
    filler.write()
    return filler.count


def stages(study: Study) -> list[tuple[str, Stage]]:
    return list(study.plan.stages.items())


def left(
    study: Study, stage: Stage, folder: Path, rng: np.random.Generator
) -> tuple[Stage, dict[str, float], Path]:
    """A stage with made-up metrics and files."""
    folder.mkdir(parents=True)
    metrics = {"seconds": 1.0, "validation_loss": float(rng.uniform(2, 3))}
    if stage.kind == "pretrain":
        tokens = np.arange(100) * 1000
        curve = {"step": range(100), "tokens": tokens, "train_loss": 7 - tokens / 4e4}
        pd.DataFrame(curve).to_csv(folder / "curve.csv", index=False)
    if stage.kind == "finetune":
        metrics |= predict(study, stage, folder, rng)
    return stage, metrics, folder


def predict(study: Study, stage: Stage, folder: Path, rng: np.random.Generator) -> dict[str, float]:
    """Predictions that are right at the rate of SKILL, with their scores."""
    task = study.plan.experiment.evaluate.chosen[stage.spec["task"]]
    metrics: dict[str, float] = {"diverged": 0.0}
    frames, found = [], {}
    for split in task.evaluation:
        examples = load_examples(task, split)
        guesses = rng.permutation(examples.labels)
        answers = np.where(rng.random(len(examples)) < SKILL, examples.labels, guesses)
        frames.append(predictions_frame(split.name, examples, answers))
        found[split.name] = counts(task, examples, answers)
        scores = score(task, examples, answers)
        metrics |= {f"{split.name}/{n}": v for n, v in scores.items() if v is not None}
    pd.concat(frames).to_parquet(folder / "predictions.parquet", index=False)
    save_counts(folder / "counts.npz", found)
    return metrics


def add_experiment(
    filler: Filler, told: dict[str, tuple[Stage, dict[str, float], Path]], number: int
) -> None:
    """All stages under keys of their own (those of the plan for the first), and their record."""
    study, keys = filler.study, {}
    for key, (stage, metrics, folder) in told.items():
        keys[key] = hashlib.sha256(f"{key}{number}".encode()).hexdigest()[:16] if number else key
        tags = {KEY: keys[key], KIND: stage.kind, LABEL: stage.label, DIGEST: digest(folder)}
        params = flatten({**stage.spec, "parents": dict(stage.parents)})
        filler.add(tags, params, metrics, folder)
    name = f"stored-{number}"
    folder = filler.artifacts / name
    folder.mkdir()
    results = Results(study.plan, study.store)
    results.__dict__["finished"] = {
        key: StageResult(key, stage.kind, stage.label, metrics, "", "")
        for key, (stage, metrics, _) in told.items()
    }
    frame = scores_frame(results).assign(experiment=name)
    frame.assign(key=frame["key"].map(keys)).to_parquet(folder / "results.parquet", index=False)
    spec = yaml.safe_dump(study.declaration.resolved(), sort_keys=False)
    (folder / "experiment.yaml").write_text(spec)
    filler.add({NAME: name, SUITE: "micro-glue-v1"}, {}, {}, folder)


def timed(*arguments: str) -> tuple[float, float]:
    """Seconds of a command of the harness, its start included, and those that a core worked."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "harness", *arguments], check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, worked


def measure(num_runs: int, root: Path) -> dict[str, tuple[float, float]]:
    (root / "stored.yaml").write_text(EXPERIMENT)
    study = Study.load(root / "stored.yaml", (), root / "runs")
    begin = time.perf_counter()
    count = fill(study, num_runs)
    made = time.perf_counter() - begin
    print(f"{count} runs made in {made:.0f} s", flush=True)
    return {"runs": (float(count), 0.0)} | time_commands(root)


def time_commands(root: Path) -> dict[str, tuple[float, float]]:
    place = ("--store", str(root / "runs"))
    board = ("leaderboard", "micro-glue-v1", *place)
    (root / "runs" / "snapshot-2.db").unlink(missing_ok=True)
    found = {"first leaderboard": timed(*board)}
    found["later leaderboard"] = min(timed(*board) for _ in range(3))
    found["report"] = timed("report", str(root / "stored.yaml"), *place)
    found["site"] = timed("site", *place)
    return found


def write(found: dict[str, tuple[float, float]], out: Path) -> None:
    """As JSON, and as a table that says how busy the machine was."""
    load = f"{os.cpu_count()} CPU cores, load average {os.getloadavg()[0]:.1f}"
    out.write_text(json.dumps({**found, "machine": load}, indent=2) + "\n")
    runs = found["runs"][0]
    rows = [
        f"| {name} | {wall:.1f} | {worked:.1f} | {LIMITS[name]:.0f} |"
        for name, (wall, worked) in found.items()
        if name in LIMITS
    ]
    head = [f"A store of {runs:,.0f} finished runs; {load}. {WAITING}", ""]
    table = ["| | seconds | CPU seconds | wanted |", "| :-- | --: | --: | --: |", *rows]
    text = "\n".join([*head, *table]) + "\n"
    out.with_suffix(".md").write_text(text)
    print(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/store_size.json"))
    options = parser.parse_args()
    folder = Path(TemporaryDirectory().name)
    folder.mkdir()
    try:
        found = measure(options.runs, folder)
    finally:
        shutil.rmtree(folder)
    write(found, options.out)
    return int(any(found[name][0] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    raise SystemExit(main())
