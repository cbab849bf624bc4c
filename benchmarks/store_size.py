"""Seconds of leaderboard, report, site and a second run over a generated store of many stages.

    python benchmarks/store_size.py [--runs 20000]
    python benchmarks/store_size.py --runs 200000 --only leaderboard --out FILE

Runs are written directly to MLflow's tables, with tags, metrics and params as `harness run` writes
them; every run of the first experiment has its own files, the other experiments share these. Each
experiment also has its own MLflow experiment: runs of its arms and, nested, of their stages, with
histories. Passes (exit 0) if the first leaderboard takes at most 30 s, later ones 5 s, the report,
the site and a run with nothing to compute 60 s.
"""

import hashlib
import json
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from benchmarks import common
from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.execution.job import Workspace
from harness.execution.study_runs import ARM_KIND, DECLARATION, PARENT, STAGE_RUN, StudyRuns
from harness.plan.plan import Stage
from harness.store.artifacts import digest
from harness.store.entries import DIGEST, KEY, KIND, LABEL, NAME, SUITE
from harness.store.params import flatten
from harness.store.recorded import QUICK_SPEC_FILE, SCORES_FILE
from harness.store.store import StageResult
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
LIMITS = {
    "first leaderboard": 30.0,
    "later leaderboard": 5.0,
    "report": 60.0,
    "site": 60.0,
    "run again": 60.0,
}
"""Seconds."""
POINTS = {"pretrain": (200, 4), "finetune": (50, 2)}
"""Kind of stage to the points and metrics of its history."""
SKILL = 0.8
"""Share of correct answers among the generated predictions."""
FIRST_START = 1_700_000_000_000
"""Milliseconds since 1970 at which the first run starts."""

MAX_ROWS = 2_000_000
"""Points of histories that are written at a time."""
CACHE = "pragma cache_size = -2000000"
"""2 GB for the tables while they are filled: their keys are in no order."""

Generated = tuple[Stage, dict[str, float], Path, str]
"""A stage, its metrics, the folder of its files and their digest."""


class StoreWriter:
    """Writes finished runs to the tables of a store."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.shown = StudyRuns(study.plan, study.store, Workspace(study.store.root))
        self.spec = study.declaration.resolved()
        self.experiment_id = study.store._server.experiment_id
        self.artifacts = study.store.root / "artifacts"
        self.rows: dict[str, list[tuple[Any, ...]]] = {
            name: [] for name in ("runs", "tags", "params", "latest_metrics", "metrics")
        }
        self.count = 0

    def add(
        self,
        tags: dict[str, str],
        params: dict[str, Any],
        metrics: dict[str, float],
        folder: Path,
        experiment_id: str | None = None,
        history: tuple[int, int] = (0, 0),
    ) -> str:
        """Adds a run that has finished, and returns its id.

        Args:
            experiment_id: null: that of the store.
            history: points and metrics of its history.
        """
        run, start = uuid4().hex, FIRST_START + self.count
        self.count += 1
        where = (*("", "", "unknown", "FINISHED"), start, start + 1, "", "active")
        self.rows["runs"].append(
            (
                *(run, "generated", "LOCAL", *where, folder.as_uri()),
                *(experiment_id or self.experiment_id, None),
            )
        )
        self.rows["tags"] += [(name, value, run) for name, value in tags.items()]
        self.rows["params"] += [(name, str(value), run) for name, value in params.items()]
        self.rows["latest_metrics"] += [(n, v, start, 0, 0, run) for n, v in metrics.items()]
        self.rows["metrics"] += [(n, v, start, run, 0, 0) for n, v in metrics.items()]
        points, series = history
        for name in (f"train/{number}" for number in range(series)):
            self.rows["latest_metrics"].append((name, 0.5, start, points, 0, run))
            self.rows["metrics"] += [(name, 0.5, start + i, run, i, 0) for i in range(points)]
        return run

    def write(self) -> None:
        """Inserts all added runs."""
        with closing(sqlite3.connect(self.study.store.root / "mlflow.db")) as database, database:
            database.execute("pragma synchronous = off")
            database.execute(CACHE)
            for table, rows in self.rows.items():
                marks = ", ".join("?" * len(rows[0]))
                database.executemany(f"insert into {table} values ({marks})", rows)
                rows.clear()


def fill(study: Study, num_runs: int) -> int:
    """Writes whole experiments until their stages have `num_runs` runs; returns the number of all
    runs."""
    writer = StoreWriter(study)
    rng = np.random.default_rng(0)
    stages = {
        key: generate(study, stage, writer.artifacts / key, rng)
        for key, stage in study.plan.stages.items()
    }
    scores = stored_scores(study, stages)
    for number in range(-(-num_runs // len(stages))):
        add_experiment(writer, stages, scores, number)
        if len(writer.rows["metrics"]) > MAX_ROWS:
            writer.write()
    writer.write()
    return writer.count


def stored_scores(study: Study, stages: dict[str, Generated]) -> pd.DataFrame:
    """The scores of the generated stages."""
    results = Results(study.plan, study.store)
    results.__dict__["finished"] = {
        key: StageResult(key, stage.kind, stage.label, metrics, "", "")
        for key, (stage, metrics, *_) in stages.items()
    }
    return scores_frame(results)


def generate(study: Study, stage: Stage, folder: Path, rng: np.random.Generator) -> Generated:
    """Made-up metrics and files of a stage."""
    folder.mkdir(parents=True)
    metrics = {"seconds": 1.0, "validation_loss": float(rng.uniform(2, 3))}
    if stage.kind == "tokenizer":
        vocabulary = {"[UNK]": 0}
        Tokenizer(WordLevel(vocabulary, unk_token="[UNK]")).save(str(folder / "tokenizer.json"))
    if stage.kind == "tokens":
        for name in ("train", "validation"):
            (folder / name).mkdir()
            np.save(folder / name / "tokens.npy", rng.integers(0, 1000, 10_000, dtype=np.uint16))
            for part in ("sentences", "documents", "bytes"):
                np.save(folder / name / f"{part}.npy", np.arange(2))
    if stage.kind == "pretrain":
        tokens = np.arange(100) * 1000
        curve = {"step": range(100), "tokens": tokens, "train_loss": 7 - tokens / 4e4}
        pd.DataFrame(curve).to_csv(folder / "curve.csv", index=False)
    if stage.kind == "finetune":
        metrics |= predict(study, stage, folder, rng)
    return stage, metrics, folder, digest(folder)


def predict(study: Study, stage: Stage, folder: Path, rng: np.random.Generator) -> dict[str, float]:
    """Writes predictions of which SKILL are correct; returns their scores."""
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
    writer: StoreWriter, stages: dict[str, Generated], scores: pd.DataFrame, number: int
) -> None:
    """Adds all stages under new keys (for the first experiment, those of the plan), and the
    experiment itself."""
    keys, runs = {}, {}
    for key, (stage, metrics, folder, checked) in stages.items():
        keys[key] = hashlib.sha256(f"{key}{number}".encode()).hexdigest()[:16] if number else key
        tags = {KEY: keys[key], KIND: stage.kind, LABEL: stage.label, DIGEST: checked}
        params = flatten({**stage.spec, "parents": dict(stage.parents)})
        runs[key] = writer.add(tags, params, metrics, folder)
    name = f"stored-{number}"
    folder = writer.artifacts / name
    folder.mkdir()
    frame = scores.assign(experiment=name, key=scores["key"].map(keys))
    frame.to_parquet(folder / SCORES_FILE, index=False)
    (folder / QUICK_SPEC_FILE).write_text(json.dumps(writer.spec))
    writer.add({NAME: name, SUITE: "micro-glue-v1"}, {}, {}, folder)
    show_experiment(writer, stages, name, runs)


def show_experiment(
    writer: StoreWriter, stages: dict[str, Generated], name: str, runs: dict[str, str]
) -> None:
    """Adds the MLflow experiment of a study.

    Args:
        runs: key in the plan to the id of the run with the results.
    """
    experiment_id = writer.study.store.tracking(name).experiment_id
    shown, parents = writer.shown, {}
    for arm, digest_ in shown.digests.items():
        tags = {"experiment": name, "arm": arm, "kind": ARM_KIND, DECLARATION: digest_}
        parents[arm] = writer.add(tags, {}, {}, writer.artifacts, experiment_id)
    for one in shown.stages:
        stage, metrics, folder, _ = stages[one.stage.key]
        tags = {"experiment": name, "arm": one.arm, **one.tags, PARENT: parents[one.arm]}
        tags[STAGE_RUN] = runs[stage.key]
        history = POINTS.get(stage.kind, (0, 0))
        writer.add(tags, flatten(stage.spec), metrics, folder, experiment_id, history)


def timed(*arguments: str) -> tuple[float, float]:
    """Seconds of a command of the harness, with its start, and its CPU seconds."""
    command = [sys.executable, "-m", "harness", *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, _ = common.timed(
        lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(num_runs: int, root: Path, only: str = "") -> dict[str, tuple[float, float]]:
    """Number of runs, and wall-clock and CPU seconds of each command whose name contains `only`."""
    (root / "stored.yaml").write_text(EXPERIMENT)
    study = Study.load(root / "stored.yaml", (), root / "runs")
    seconds, count = common.timed(lambda: fill(study, num_runs))
    print(f"{count} runs made in {seconds:.0f} s", flush=True)
    store = ("--store", str(root / "runs"))
    board = ("leaderboard", "micro-glue-v1", *store)
    study.store.runs.snapshot.discard()
    commands = {
        "first leaderboard": lambda: timed(*board),
        "later leaderboard": lambda: min(timed(*board) for _ in range(3)),
        "report": lambda: timed("report", str(root / "stored.yaml"), *store),
        "site": lambda: timed("site", *store),
        "run again": lambda: timed("run", str(root / "stored.yaml"), *store),
    }
    found = {name: command() for name, command in commands.items() if only in name}
    return {"runs": (float(count), 0.0), **found}


def page(found: dict[str, Any]) -> str:
    """The figures as markdown."""
    setting = (
        f"A store of {found['runs'][0]:,.0f} finished runs; {found['machine']}. Seconds include "
        "waiting for other work on the machine, CPU seconds do not."
    )
    rows = [
        [name, f"{found[name][0]:.1f}", f"{found[name][1]:.1f}", f"{limit:.0f}"]
        for name, limit in LIMITS.items()
        if name in found
    ]
    head = ("command", "seconds", "CPU seconds", "limit")
    return common.markdown(__file__, "Size of the store", setting, head, rows)


def main() -> int:
    """Measures and writes the figures; returns 1 if a limit is exceeded."""
    arguments = common.parse_arguments(__doc__, "store_size", runs=20_000, only="")
    with TemporaryDirectory() as folder:
        found = measure(arguments.runs, Path(folder), arguments.only)
    machine = f"{os.cpu_count()} CPU cores, load average {os.getloadavg()[0]:.1f}"
    figures = {**found, "machine": machine}
    common.save(figures, page(figures), arguments.out)
    return int(any(found[name][0] > LIMITS[name] for name in found if name in LIMITS))


if __name__ == "__main__":
    raise SystemExit(main())
