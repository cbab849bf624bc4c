"""Scores of fine-tuning runs and of probes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from harness.analysis.results import Results
from harness.plan.plan import FinetuneRun, ProbeRun
from harness.store.recorded import SCORE_COLUMNS
from harness.store.store import StageResult
from harness.tasks.probes import PROBES
from harness.tasks.probes.accuracy import item_values
from harness.tasks.probes.probe import OVERALL, UNSUPPORTED_FILE
from harness.tasks.task import Task

SEQUENTIAL_COLUMNS = [
    *("arm", "pretrain_seed", "finetune_seed", "after_task", "task", "split", "metric", "value")
]
PROBE_COLUMNS = [
    *("arm", "probe", "category", "pretrain_seed", "score", "chance", "items"),
    "unsupported_reason",
]
PROBE_ITEM_COLUMNS = ["arm", "probe", "category", "index", "pretrain_seed", "value"]


def scores_frame(results: Results) -> pd.DataFrame:
    """One row per finished run, split and metric: SCORE_COLUMNS. `value` is NaN if a metric is
    undefined, such as the correlation of constant predictions."""
    return _frame(results, results.finetune_runs)


def main_scores(frame: pd.DataFrame, tasks: Mapping[str, Task]) -> pd.DataFrame:
    """The rows of the main metric on the first evaluation split of each task."""
    main = [
        metric == tasks[task].metrics[0] and split == tasks[task].evaluation[0].name
        for task, split, metric in zip(frame["task"], frame["split"], frame["metric"], strict=True)
    ]
    return frame[np.array(main, dtype=bool)]


def checkpoint_scores_frame(results: Results) -> pd.DataFrame:
    """`scores_frame` of checkpoints during pretraining, with their `pretrain_fraction`."""
    runs = results.plan.finetune_runs
    fractions = sorted({run.pretrain_fraction for run in runs} - {1.0})
    frames = [
        _frame(results, [run for run in runs if run.pretrain_fraction == fraction]).assign(
            pretrain_fraction=fraction
        )
        for fraction in fractions
    ]
    empty = pd.DataFrame(columns=[*SCORE_COLUMNS, "pretrain_fraction"])
    return pd.concat(frames, ignore_index=True) if frames else empty


def sequential_scores_frame(results: Results) -> pd.DataFrame:
    """Scores of arms that learn task after task (`evaluate.sequential`), in the order of learning.

    One row per learned task (`after_task`), task scored after it (`task`: the same or an earlier
    one), split and metric. If both are equal, nothing of the task can be forgotten yet.
    """
    tasks = results.experiment.evaluate.chosen
    rows = [
        (
            *(one.arm, one.pretrain_seed, one.finetune_seed, one.after_task, one.task),
            *(split, metric, value),
        )
        for one in results.plan.sequential_scores
        if one.key in results.finished
        for split, metric, value in _scores(results.finished[one.key], tasks[one.task])
    ]
    return pd.DataFrame(rows, columns=SEQUENTIAL_COLUMNS)


def _frame(results: Results, runs: Sequence[FinetuneRun]) -> pd.DataFrame:
    suites = {arm.name: arm.evaluate.suite_value.name for arm in results.plan.arms}
    experiment, tasks = results.experiment.name, results.experiment.evaluate.chosen
    rows = [
        (
            *(experiment, run.arm, suites[run.arm], run.task, split, metric, value),
            *(run.pretrain_seed, run.finetune_seed, run.key),
        )
        for run in runs
        if run.key in results.finished
        for split, metric, value in _scores(results.finished[run.key], tasks[run.task])
    ]
    return pd.DataFrame(rows, columns=SCORE_COLUMNS)


def _scores(stage: StageResult, task: Task) -> Iterator[tuple[str, str, float]]:
    """(split, metric, value) of the labelled splits; metrics are stored as `split/metric`."""
    splits = dict.fromkeys(name.split("/")[0] for name in stage.metrics if "/" in name)
    for split in splits or [split.name for split in task.evaluation if not split.optional]:
        for metric in task.metrics:
            yield split, metric, stage.metrics.get(f"{split}/{metric}", math.nan)


def probes_frame(results: Results) -> pd.DataFrame:
    """One row per arm, probe, category (`overall` last) and pretraining seed: PROBE_COLUMNS.

    `score` and `chance` are accuracies, `items` is the number of items. If a model does not support
    the probe, they are NaN and 0, and `unsupported_reason` says why.
    """
    return _probes(results, [run for run in results.plan.probe_runs if run.pretrain_fraction == 1])


def checkpoint_probes_frame(results: Results) -> pd.DataFrame:
    """`probes_frame` of checkpoints during pretraining, with their `pretrain_fraction`."""
    runs = [run for run in results.plan.probe_runs if run.pretrain_fraction < 1]
    frames = [
        _probes(results, [run]).assign(pretrain_fraction=run.pretrain_fraction) for run in runs
    ]
    empty = pd.DataFrame(columns=[*PROBE_COLUMNS, "pretrain_fraction"])
    return pd.concat(frames, ignore_index=True) if frames else empty


def _probes(results: Results, runs: Sequence[ProbeRun]) -> pd.DataFrame:
    rows = [
        (run.arm, run.probe, category, run.pretrain_seed, *figures)
        for run in runs
        if run.key in results.finished
        for category, *figures in _probe_scores(run, results)
    ]
    return pd.DataFrame(rows, columns=PROBE_COLUMNS)


def probe_items_frame(results: Results) -> pd.DataFrame:
    """One row per arm, probe, item and pretraining seed: PROBE_ITEM_COLUMNS. `value` is 1 if the
    model prefers the correct sentence, 1/k if it ties with others, else 0."""
    frames = [
        _probe_items(run.probe, results.files(run.key)).assign(
            arm=run.arm, probe=run.probe, pretrain_seed=run.pretrain_seed
        )
        for run in results.plan.probe_runs
        if run.key in results.finished and run.pretrain_fraction == 1
    ]
    empty = pd.DataFrame(columns=PROBE_ITEM_COLUMNS)
    return pd.concat(frames, ignore_index=True)[PROBE_ITEM_COLUMNS] if frames else empty


def _probe_items(probe: str, folder: Path) -> pd.DataFrame:
    items = pd.read_parquet(folder / "items.parquet")
    values = item_values(PROBES[probe].kind, list(items["scores"]), list(items["answer"]))
    return items[["category", "index"]].assign(value=values)


def _probe_scores(run: ProbeRun, results: Results) -> Iterator[tuple[str, float, float, int, str]]:
    """(category, accuracy, chance, items, unsupported_reason) of a finished probe."""
    folder, probe = results.files(run.key), PROBES[run.probe]
    items = pd.read_parquet(folder / "items.parquet")
    guess = 1 / items["scores"].map(len) if probe.kind != "generation" else 0 * items["answer"]
    guesses = guess.groupby(items["category"])
    chances, counts = guesses.mean(), guesses.size()
    file = folder / UNSUPPORTED_FILE
    reason = file.read_text() if file.exists() else ""
    for name in probe.categories:
        score, chance = results.metric(run.key, name), chances.get(name, math.nan)
        yield name, score, float(chance), int(counts.get(name, 0)), reason
    yield OVERALL, results.metric(run.key, OVERALL), probe.chance, len(items), reason
