"""What the store holds of an experiment, as the frames that leaderboards and reports read."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from harness.continued_frames import continued_costs
from harness.experiment import ROLES, Arm
from harness.plan import Cell, Plan, Probing, pretraining_cost
from harness.probes import PROBES
from harness.probes.probe import OBSTACLE
from harness.probes.scoring import OVERALL
from harness.recipes import Pretrain
from harness.tasks.scoring import COUNTS, load_counts
from harness.tasks.task import Task
from harness.tracking import Record, Store

RESULT_COLUMNS = [
    "experiment",
    "arm",
    "suite",
    "task",
    "split",
    "metric",
    "value",
    "pretrain_seed",
    "finetune_seed",
    "key",
]


def results_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """One row per cell, split and metric; NaN where a metric is undefined, as the correlation of
    constant predictions, and no row for a run that is not finished."""
    cells = [cell for cell in plan.cells if cell.checkpoint == 1]
    return _frame(plan, cells, records)


def checkpoints_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """The same of weights along the way, with their `checkpoint`: a share of the updates."""
    frames = [
        _frame(plan, [cell for cell in plan.cells if cell.checkpoint == share], records).assign(
            checkpoint=share
        )
        for share in sorted({cell.checkpoint for cell in plan.cells} - {1.0})
    ]
    empty = pd.DataFrame(columns=[*RESULT_COLUMNS, "checkpoint"])
    return pd.concat(frames, ignore_index=True) if frames else empty


def _frame(plan: Plan, cells: Sequence[Cell], records: Mapping[str, Record]) -> pd.DataFrame:
    suites = {arm.name: arm.evaluate.suite_value.name for arm in plan.arms}
    tasks = plan.experiment.evaluate.chosen
    rows = [
        (
            *(plan.experiment.name, cell.arm, suites[cell.arm], cell.task, split, metric, value),
            *(cell.pretrain_seed, cell.finetune_seed, cell.key),
        )
        for cell in cells
        if cell.key in records
        for split, metric, value in _scores(records[cell.key], tasks[cell.task])
    ]
    return pd.DataFrame(rows, columns=RESULT_COLUMNS)


def _scores(record: Record, task: Task) -> Iterator[tuple[str, str, float]]:
    """(split, metric, value) from the metrics named `split/metric`, of the splits with labels."""
    splits = dict.fromkeys(name.split("/")[0] for name in record.metrics if "/" in name)
    for split in splits or [split.name for split in task.evaluation if not split.optional]:
        for metric in task.metrics:
            yield split, metric, record.metrics.get(f"{split}/{metric}", math.nan)


def predictions_reader(
    records: Mapping[str, Record], store: Store
) -> Callable[[str], pd.DataFrame]:
    """A function from the key of a fine-tuning stage to its per-example predictions."""

    def read(key: str) -> pd.DataFrame:
        folder = store.fetch(records[key])
        if folder is None:
            raise ValueError(f"the files of stage {key} are damaged: run the experiment again")
        return pd.read_parquet(folder / "predictions.parquet")

    return read


def counts_reader(
    records: Mapping[str, Record], store: Store
) -> Callable[[str], Mapping[str, np.ndarray]]:
    """A function from the key of a fine-tuning stage to the counts of its scores."""

    def read(key: str) -> Mapping[str, np.ndarray]:
        folder = store.fetch(records[key])
        if folder is None:
            raise ValueError(f"the files of stage {key} are damaged: run the experiment again")
        return load_counts(folder / COUNTS)

    return read


FORGETTING_COLUMNS = [
    "arm",
    "pretrain_seed",
    "finetune_seed",
    "step",
    "task",
    "split",
    "metric",
    "value",
]


def forgetting_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """Of arms that learn task after task (`evaluate.sequence`), one row per task just learned
    (`step`), task scored then (`task`: that one or an earlier one), split and metric; in the order
    of the sequence. Where `task` is `step`, the score is the one before anything is forgotten."""
    tasks = plan.experiment.evaluate.chosen
    rows = [
        (
            *(one.arm, one.pretrain_seed, one.finetune_seed, one.step, one.task),
            *(split, metric, value),
        )
        for one in plan.rescored
        if one.key in records
        for split, metric, value in _scores(records[one.key], tasks[one.task])
    ]
    return pd.DataFrame(rows, columns=FORGETTING_COLUMNS)


PROBE_COLUMNS = [
    "arm",
    "probe",
    "category",
    "pretrain_seed",
    "score",
    "chance",
    "items",
    "obstacle",
]


def probes_frame(plan: Plan, records: Mapping[str, Record], store: Store) -> pd.DataFrame:
    """One row per arm, probe, category (`overall` last) and pretraining seed: accuracy, that of a
    guess, and number of items; NaN, and the obstacle in words, where a model cannot be asked."""
    rows = [
        (one.arm, one.probe, category, one.pretrain_seed, *figures)
        for one in plan.probes
        if one.key in records
        for category, *figures in _probed(one, records[one.key], store)
    ]
    return pd.DataFrame(rows, columns=PROBE_COLUMNS)


def _probed(
    one: Probing, record: Record, store: Store
) -> Iterator[tuple[str, float, float, int, str]]:
    """(category, accuracy, chance, items, obstacle) of a finished probe."""
    folder, probe = store.fetch(record), PROBES[one.probe]
    if folder is None:
        raise ValueError(f"the files of stage {one.key} are damaged: run the experiment again")
    items = pd.read_parquet(folder / "items.parquet")
    guesses = (1 / items["scores"].map(len)).groupby(items["category"])
    chances, counts = guesses.mean(), guesses.size()
    why = folder / OBSTACLE
    obstacle = why.read_text() if why.exists() else ""
    for name in probe.categories:
        score, chance = record.metrics.get(name, math.nan), chances.get(name, math.nan)
        yield name, score, float(chance), int(counts.get(name, 0)), obstacle
    yield OVERALL, record.metrics.get(OVERALL, math.nan), probe.chance, len(items), obstacle


def curves_frame(plan: Plan, records: Mapping[str, Record], store: Store) -> pd.DataFrame:
    """Training loss by step: arm, pretrain_seed, step, tokens, loss."""
    frames = []
    for (arm, seed), key in plan.pretrains.items():
        folder = store.fetch(records[key]) if key in records else None
        if folder and (folder / "curve.csv").exists():
            curve = pd.read_csv(folder / "curve.csv").rename(columns={"train_loss": "loss"})
            frames.append(curve.assign(arm=arm, pretrain_seed=seed))
    if not frames:
        return pd.DataFrame(columns=["arm", "pretrain_seed", "step", "tokens", "loss"])
    return pd.concat(frames, ignore_index=True)


def costs_frame(plan: Plan, records: Mapping[str, Record]) -> pd.DataFrame:
    """Per arm and stage kind: seconds over all its stages; tokens, parameters and FLOPs of one
    pretraining run."""
    rows: list[dict[str, object]] = []
    for arm in plan.arms:
        cost = plan.costs[arm.name]
        for kind, keys in _keys_by_kind(plan, arm.name).items():
            pretrain = kind == "pretrain"
            rows.append(
                {
                    "arm": arm.name,
                    "stage": kind,
                    "seconds": sum(records[k].metrics["seconds"] for k in keys if k in records),
                    "tokens": cost.tokens if pretrain else None,
                    "parameters": cost.parameters if pretrain else None,
                    "flops": cost.flops if pretrain else None,
                }
            )
        rows += [_other_cost(arm, role, plan, records) for role in ROLES if _run(arm, role)]
    return pd.DataFrame(rows + continued_costs(plan, records))


def _run(arm: Arm, role: str) -> Pretrain | None:
    run: Pretrain | None = getattr(arm.pretrain, role)
    return run


def _other_cost(
    arm: Arm, role: str, plan: Plan, records: Mapping[str, Record]
) -> dict[str, object]:
    """The same of a run that an arm builds on, under a name of its own."""
    run = _run(arm, role)
    assert run is not None
    cost = pretraining_cost(run)
    own = [key for (name, _), key in plan.pretrains.items() if name == arm.name]
    keys = {plan.stages[key].parents[role] for key in own}
    return {
        "arm": f"{role} of {arm.name}",
        "stage": "pretrain",
        "seconds": sum(records[key].metrics["seconds"] for key in keys if key in records),
        "tokens": cost.tokens,
        "parameters": cost.parameters,
        "flops": cost.flops,
    }


def _keys_by_kind(plan: Plan, arm: str) -> dict[str, list[str]]:
    cells: list[Cell] = [cell for cell in plan.cells if cell.arm == arm]
    finetunes = list(dict.fromkeys(cell.key for cell in cells))
    parents = [plan.stages[key].parents.get("tune") for key in finetunes]
    tunes = list(dict.fromkeys(key for key in parents if key))
    gathered = [plan.stages[key].parents.values() for key in tunes]
    trials = [key for keys in gathered for key in keys if plan.stages[key].kind == "trial"]
    keys = {
        "pretrain": [key for (name, _), key in plan.pretrains.items() if name == arm],
        "continued": list(dict.fromkeys(one.key for one in plan.continued if one.arm == arm)),
        "tune": [*tunes, *dict.fromkeys(trials)],
        "probe": list(dict.fromkeys(one.key for one in plan.probes if one.arm == arm)),
        "learn": _learned(plan, finetunes),
        "finetune": finetunes,
    }
    return {kind: found for kind, found in keys.items() if found}


def _learned(plan: Plan, finetunes: Sequence[str]) -> list[str]:
    """Keys of the stages of other tasks that the runs build on; each once."""
    found: dict[str, None] = {}
    waiting = list(finetunes)
    while waiting:
        parents = plan.stages[waiting.pop()].parents
        for key in (parents[role] for role in ("body", "head") if role in parents):
            if key not in found:
                found[key] = None
                waiting.append(key)
    return list(found)
