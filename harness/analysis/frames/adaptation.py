"""What the store holds of adapting, beside scores, as the frames that reports read."""

import math
from collections import Counter
from collections.abc import Mapping

import pandas as pd

from harness.analysis.frames.stage_files import stage_files
from harness.experiment.arms import Arm
from harness.experiment.experiment import Experiment
from harness.finetuning.diagnostics import RECORD_COLUMNS, RECORD_FILE
from harness.plan.plan import Cell, Plan
from harness.store.store import Record, Store

SEEDS = ["pretrain_seed", "finetune_seed"]
TAKEN = ("trained_parameters", "stored_bytes", "peak_memory_bytes", "seconds")
"""Metrics of a fine-tuning stage that say what it took; older stages, and those in which several
tasks are learned, have the last alone."""
COST_COLUMNS = ["arm", "task", *SEEDS, *TAKEN, "updates"]
LABELS = "evaluate.protocol.max_train"
"""The field that says how many labelled examples are learned from, at most."""


def records_frame(plan: Plan, records: Mapping[str, Record], store: Store) -> pd.DataFrame:
    """What was recorded of each finished run: arm, task, pretrain_seed, finetune_seed, and
    `harness.finetuning.diagnostics.RECORD_COLUMNS`.

    Raises:
        ValueError: the files of a stage are damaged.
    """
    asked = {arm.name for arm in plan.arms if arm.evaluate.record}
    frames = []
    for cell in _finished(plan, records):
        folder = stage_files(records[cell.key], store) if cell.arm in asked else None
        if folder and (folder / RECORD_FILE).exists():  # a baseline leaves none
            frame = pd.read_parquet(folder / RECORD_FILE).assign(arm=cell.arm, task=cell.task)
            seeds = {"pretrain_seed": cell.pretrain_seed, "finetune_seed": cell.finetune_seed}
            frames.append(frame.assign(**seeds))
    columns = ["arm", "task", *SEEDS, *RECORD_COLUMNS]
    if not frames:
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True)[columns]


def adaptation_costs_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """What each finished run took, columns COST_COLUMNS: parameters trained, bytes of what must be
    kept of it, most bytes of memory, seconds; and updates, its own and those of the stages of other
    tasks that it builds on, of which runs that share one have equal parts. NaN where it is not
    known."""
    parts = _parts(plan)
    rows = []
    for cell in _finished(plan, records):
        # What several tasks are learned in is a stage of its own.
        learned = records.get(plan.stages[cell.key].parents.get("head", cell.key))
        metrics = learned.metrics if learned else {}
        updates = [
            part * _known(records[key].metrics.get("steps") if key in records else None)
            for key, part in parts[cell].items()
        ]
        seeds = cell.pretrain_seed, cell.finetune_seed
        taken = (_known(metrics.get(name)) for name in TAKEN)
        rows.append((cell.arm, cell.task, *seeds, *taken, sum(updates)))
    return pd.DataFrame(rows, columns=COST_COLUMNS)


def _parts(plan: Plan) -> dict[Cell, dict[str, float]]:
    """Run to the stages that it is learned in, each with the run's part of it among those of its
    arm and seeds."""
    stages = {cell: _learned_in(plan, cell.key) for cell in plan.cells if cell.checkpoint == 1}
    users = Counter((_group(cell), key) for cell, keys in stages.items() for key in keys)
    return {
        cell: {key: 1 / users[_group(cell), key] for key in keys} for cell, keys in stages.items()
    }


def _group(cell: Cell) -> tuple[str, int, int]:
    return cell.arm, cell.pretrain_seed, cell.finetune_seed


def _learned_in(plan: Plan, key: str) -> set[str]:
    """The stage itself, and those of other tasks that it builds on."""
    parents = plan.stages[key].parents
    before = (_learned_in(plan, parents[role]) for role in ("body", "head") if role in parents)
    return {key}.union(*before)


def trained_parameters(plan: Plan, records: Mapping[str, Record]) -> dict[str, float]:
    """Arm to the parameters that it trains, mean over its runs; empty where all arms are adapted
    alike."""
    if len({arm.evaluate.adaptation for arm in plan.arms}) < 2:
        return {}
    means = adaptation_costs_frame(plan, records).groupby("arm")["trained_parameters"].mean()
    return {str(arm): float(value) for arm, value in means.dropna().items()}


RETAINED_COLUMNS = ["arm", *SEEDS, "step", "loss"]


def retained_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """The held-out loss of the pretraining, in nats a token, of arms that learn task after task:
    one row per task just learned (`step`, empty before any), in the order of the sequence."""
    rows = [
        (
            *(one.arm, one.pretrain_seed, one.finetune_seed, one.step),
            _known(records[one.key].metrics.get("validation_loss")),
        )
        for one in plan.retained
        if one.key in records
    ]
    return pd.DataFrame(rows, columns=RETAINED_COLUMNS)


def label_counts(experiment: Experiment, arms: tuple[Arm, ...]) -> dict[str, tuple[str, int]]:
    """Arm to its name without the axis of label counts, and its count; empty where no axis sets
    one."""
    axes = {
        axis
        for axis, values in experiment.grid.items()
        if axis == LABELS
        or (isinstance(values, Mapping) and any(LABELS in bundle for bundle in values.values()))
    }
    if not axes:
        return {}
    found = {}
    for arm in arms:
        rest = "/".join(label for axis, label in arm.labels.items() if axis not in axes)
        count = arm.evaluate.protocol.max_train
        if count is not None:
            found[arm.name] = (rest or experiment.name, count)
    return found


def _finished(plan: Plan, records: Mapping[str, Record]) -> list[Cell]:
    return [cell for cell in plan.cells if cell.checkpoint == 1 and cell.key in records]


def _known(value: float | None) -> float:
    return math.nan if value is None else float(value)
