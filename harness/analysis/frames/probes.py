"""Scores of probes."""

import math
from collections.abc import Iterator

import pandas as pd

from harness.analysis.results import Results
from harness.plan.plan import ProbeRun
from harness.tasks.probes import PROBES
from harness.tasks.probes.accuracy import OVERALL
from harness.tasks.probes.probe import UNSUPPORTED_FILE

PROBE_COLUMNS = [
    *("arm", "probe", "category", "pretrain_seed", "score", "chance", "items"),
    "unsupported_reason",
]


def probes_frame(results: Results) -> pd.DataFrame:
    """One row per arm, probe, category (`overall` last) and pretraining seed: PROBE_COLUMNS.

    `score` and `chance` are accuracies, `items` is the number of items. If a model does not support
    the probe, they are NaN and 0, and `unsupported_reason` says why.
    """
    rows = [
        (run.arm, run.probe, category, run.pretrain_seed, *figures)
        for run in results.plan.probe_runs
        if run.key in results.finished
        for category, *figures in _scores(run, results)
    ]
    return pd.DataFrame(rows, columns=PROBE_COLUMNS)


def _scores(run: ProbeRun, results: Results) -> Iterator[tuple[str, float, float, int, str]]:
    """(category, accuracy, chance, items, unsupported_reason) of a finished probe."""
    folder, probe = results.files(run.key), PROBES[run.probe]
    metrics = results.finished[run.key].metrics
    items = pd.read_parquet(folder / "items.parquet")
    guesses = (1 / items["scores"].map(len)).groupby(items["category"])
    chances, counts = guesses.mean(), guesses.size()
    file = folder / UNSUPPORTED_FILE
    reason = file.read_text() if file.exists() else ""
    for name in probe.categories:
        score, chance = metrics.get(name, math.nan), chances.get(name, math.nan)
        yield name, score, float(chance), int(counts.get(name, 0)), reason
    yield OVERALL, metrics.get(OVERALL, math.nan), probe.chance, len(items), reason
