"""Imported examples, as the examples and counts of runs."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.tasks.scores import GROUPS

Examples = tuple[pd.DataFrame, Mapping[str, np.ndarray]]
"""Of one run: split, index, label and prediction; counts, as `stage_counts` returns them."""


def run_names(rows: pd.DataFrame) -> "pd.Series[Any]":
    """A name for the run of each imported score or example of an arm."""
    seeds = rows["pretrain_seed"].astype(str) + "." + rows["finetune_seed"].astype(str)
    return rows["task"] + "/" + seeds


def run_examples(rows: pd.DataFrame) -> Examples:
    """The examples of one run.

    Args:
        rows: its rows of the imported examples, with the columns of `docs/results.md`.
    """
    rows = rows.sort_values("index")
    counts: dict[str, np.ndarray] = {}
    for split, own in rows.groupby("split"):
        if own["group"].notna().all():
            counts[f"{split}/{GROUPS}"] = pd.factorize(own["group"], sort=True)[0]
        found = [_loaded(text) or {} for text in own["counts"]]
        for metric in set.intersection(*(set(one) for one in found)):
            counts[f"{split}/{metric}"] = np.array([one[metric] for one in found], dtype=float)
    values = {name: [_loaded(text) for text in rows[name]] for name in ("label", "prediction")}
    return rows[["split", "index"]].assign(**values), counts


def contents(examples: Examples) -> dict[str, Any]:
    """Split to the index, label and group of its examples, as plain values: runs with equal ones
    were scored on the same examples."""
    frame, counts = examples
    return {
        str(split): (_labels(rows), np.asarray(counts.get(f"{split}/{GROUPS}", ())).tolist())
        for split, rows in frame.groupby("split")
    }


def _loaded(text: str | float | None) -> Any:
    """A value from JSON; null where pandas has None or NaN."""
    return json.loads(text) if isinstance(text, str) else None


def _labels(rows: pd.DataFrame) -> list[Any]:
    """Index and label of each example, in one order."""
    ordered = rows.sort_values("index")
    return [*zip(ordered["index"].tolist(), map(_plain, ordered["label"]), strict=True)]


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, str) else float(value)
