"""Cost and diagnostics of fine-tuning, and what it retains of pretraining."""

from collections import Counter
from collections.abc import Mapping

import pandas as pd

from harness.analysis.frames.costs import other_tasks
from harness.analysis.results import Results
from harness.finetuning.diagnostics import DIAGNOSTICS_COLUMNS, DIAGNOSTICS_FILE
from harness.plan.ensemble_stages import members_of
from harness.plan.plan import FinetuneRun

SEEDS = ["pretrain_seed", "finetune_seed"]
STAGE_COSTS = ("trained_parameters", "stored_bytes", "peak_memory_bytes", "seconds")
"""Metrics of a fine-tuning stage. Stages of earlier versions, and those that train several tasks,
have `seconds` alone."""
COST_COLUMNS = ["arm", "task", *SEEDS, *STAGE_COSTS, "updates"]
LABEL_COUNT = "evaluate.protocol.max_train_examples"
"""The field that limits the labelled examples of a task."""
RETAINED_COLUMNS = ["arm", *SEEDS, "after_task", "loss"]


def diagnostics_frame(results: Results) -> pd.DataFrame:
    """Diagnostics of each finished run: arm, task, the two seeds, and
    `harness.finetuning.diagnostics.DIAGNOSTICS_COLUMNS`.

    Raises:
        ValueError: the files of a stage are damaged.
    """
    requested = {arm.name for arm in results.plan.arms if arm.evaluate.diagnostics}
    frames = []
    for run in _finished(results):
        path = results.files(run.key) / DIAGNOSTICS_FILE if run.arm in requested else None
        if path and path.exists():  # a baseline leaves none
            seeds = {"pretrain_seed": run.pretrain_seed, "finetune_seed": run.finetune_seed}
            frames.append(pd.read_parquet(path).assign(arm=run.arm, task=run.task, **seeds))
    columns = ["arm", "task", *SEEDS, *DIAGNOSTICS_COLUMNS]
    if not frames:
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True)[columns]


def adaptation_costs_frame(results: Results) -> pd.DataFrame:
    """Cost of each finished run: COST_COLUMNS; NaN if unknown.

    `updates` are those of the run plus its share of the updates of each stage of other tasks that
    it builds on, divided equally among the runs that share the stage.
    """
    parts = _parts(results)
    rows = []
    for run in _finished(results):
        updates = [part * results.metric(key, "steps") for key, part in parts[run].items()]
        costs = (_cost(results, run, name) for name in STAGE_COSTS)
        seeds = run.pretrain_seed, run.finetune_seed
        rows.append((run.arm, run.task, *seeds, *costs, sum(updates)))
    return pd.DataFrame(rows, columns=COST_COLUMNS)


def _cost(results: Results, run: FinetuneRun, name: str) -> float:
    """A metric of the stage that trains a run; of an ensemble, that of its members together, which
    are trained one after the other. Those whose weights are averaged are one network in the end."""
    stage = results.plan.stages[run.key]
    members = members_of(stage.parents)
    if not members:
        return results.metric(results.trained_in(run), name)
    values = [results.metric(key, name) for key in members]
    is_one = name == "peak_memory_bytes" or stage.spec["ensemble"]["average"] == "weights"
    return max(values) if is_one and name != "seconds" else sum(values)


def _parts(results: Results) -> dict[FinetuneRun, dict[str, float]]:
    """Run to {stage that trains it: the run's share among the runs of its arm and seeds}."""
    stages = {
        run: [*_trained(results, run), *other_tasks(results.plan, [run.key])]
        for run in results.finetune_runs
    }
    users = Counter((_group(run), key) for run, keys in stages.items() for key in keys)
    return {run: {key: 1 / users[_group(run), key] for key in keys} for run, keys in stages.items()}


def _trained(results: Results, run: FinetuneRun) -> list[str]:
    """Keys of the runs that a run consists of: its members, or itself."""
    return members_of(results.plan.stages[run.key].parents) or [run.key]


def _group(run: FinetuneRun) -> tuple[str, int, int]:
    return run.arm, run.pretrain_seed, run.finetune_seed


def trained_parameters(results: Results) -> dict[str, float]:
    """Arm to its number of trained parameters, mean over its runs; empty if all arms are adapted in
    the same way."""
    if len({arm.evaluate.adaptation for arm in results.plan.arms}) < 2:
        return {}
    costs = results.get(adaptation_costs_frame)
    means = costs.groupby("arm")["trained_parameters"].mean()
    return {str(arm): float(value) for arm, value in means.dropna().items()}


def retained_losses_frame(results: Results) -> pd.DataFrame:
    """Held-out pretraining loss of arms that learn task after task, in nats per predicted token:
    one row per learned task (`after_task`, empty before the first), in the order of learning."""
    rows = [
        (
            *(one.arm, one.pretrain_seed, one.finetune_seed, one.after_task),
            results.metric(one.key, "validation_loss"),
        )
        for one in results.plan.retained_losses
        if one.key in results.finished
    ]
    return pd.DataFrame(rows, columns=RETAINED_COLUMNS)


def label_counts(results: Results) -> dict[str, tuple[str, int]]:
    """Arm to its name without the axis of label counts and its number of labelled examples; empty
    if no axis varies that number."""
    experiment = results.experiment
    axes = {
        axis
        for axis, values in experiment.grid.items()
        if axis == LABEL_COUNT
        or (
            isinstance(values, Mapping) and any(LABEL_COUNT in bundle for bundle in values.values())
        )
    }
    counts = {}
    for arm in results.plan.arms if axes else ():
        rest = "/".join(label for axis, label in arm.labels.items() if axis not in axes)
        if (count := arm.evaluate.protocol.max_train_examples) is not None:
            counts[arm.name] = (rest or experiment.name, count)
    return counts


def _finished(results: Results) -> list[FinetuneRun]:
    return [run for run in results.finetune_runs if run.key in results.finished]
