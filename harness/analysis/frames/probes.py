"""Scores of probes as a frame."""

import math
from collections.abc import Iterator, Mapping

import pandas as pd

from harness.analysis.frames.stage_files import stage_files
from harness.plan.plan import Plan, Probing
from harness.store.store import Record, Store
from harness.tasks.probes import PROBES
from harness.tasks.probes.accuracy import OVERALL
from harness.tasks.probes.probe import OBSTACLE

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
    folder, probe = stage_files(record, store), PROBES[one.probe]
    items = pd.read_parquet(folder / "items.parquet")
    guesses = (1 / items["scores"].map(len)).groupby(items["category"])
    chances, counts = guesses.mean(), guesses.size()
    why = folder / OBSTACLE
    obstacle = why.read_text() if why.exists() else ""
    for name in probe.categories:
        score, chance = record.metrics.get(name, math.nan), chances.get(name, math.nan)
        yield name, score, float(chance), int(counts.get(name, 0)), obstacle
    yield OVERALL, record.metrics.get(OVERALL, math.nan), probe.chance, len(items), obstacle
