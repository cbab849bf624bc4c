"""A store filled with made-up runs: two experiments on SWAG, with counts to resample. `two` was
recorded by an earlier version, without quantities."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from harness.models import SIZES
from harness.pretraining.budget import Budget
from harness.pretraining.recipes import RECIPES
from harness.store.recorded import SCORE_COLUMNS
from harness.store.store import Store
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from harness.tasks.scores import COUNTS, PREDICTIONS, counts, predictions_frame, save_counts, score

EVIL = '<script>alert("1")</script>'
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "one": {
        "arms": {"good": 0.9, EVIL: 0.5},
        "size": "nano",
        "tags": ["small"],
        "tokens": 1000,
        "quantities": {"good": {"loss": [1.0, 2.0], "flops": [3e9]}, EVIL: {}},
    },
    "two": {"arms": {"alike": 0.9}, "size": "tiny", "tags": [], "tokens": 2000},
}
NUM_EXAMPLES = 80
REPORT = "<!doctype html><html><head><title>one</title></head>\n<body>\n<p>one</p></body></html>"


def fill(folder: Path) -> Store:
    """Creates the store in `folder`; `one` has a report."""
    store = Store(folder)
    store.create_folder()
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=NUM_EXAMPLES)
    for name, spec in EXPERIMENTS.items():
        rows = [
            row
            for arm, skill in spec["arms"].items()
            for seed in (0, 1)
            for row in _runs(store, name, arm, seed, labels, skill, rng)
        ]
        recorded = folder / f"recorded-{name}"
        recorded.mkdir()
        pd.DataFrame(rows, columns=SCORE_COLUMNS).to_parquet(recorded / "results.parquet")
        (recorded / "experiment.yaml").write_text(yaml.safe_dump(_resolved(name, spec)))
        if "quantities" in spec:
            (recorded / "quantities.json").write_text(json.dumps(spec["quantities"]))
        store.record_experiment(name, "swag-v1", recorded)
    report = folder / "reports" / "one"
    report.mkdir(parents=True)
    (report / "index.html").write_text(REPORT)
    return store


def _runs(store, name, arm, seed, labels, skill, rng):
    task, key = TASKS["swag"], f"{name}-{len(arm)}-{seed}"
    correct = rng.random(len(labels)) < skill
    answers = np.where(correct, labels, (labels + 1) % 4)
    examples = Examples([("",)] * len(labels), labels)
    found = counts(task, examples, answers)
    folder = store.root / f"stage-{key}"
    folder.mkdir()
    splits = [split.name for split in task.evaluation]
    save_counts(folder / COUNTS, dict.fromkeys(splits, found))
    frames = [predictions_frame(split, examples, answers) for split in splits]
    pd.concat(frames).to_parquet(folder / PREDICTIONS)
    store.record(key, "finetune", key, {}, {}, folder)
    for split in splits:
        for metric, value in score(task, examples, answers).items():
            yield name, arm, "swag-v1", "swag", split, metric, value, seed, 0, key


def _resolved(name, spec):
    changes = {"size": SIZES[spec["size"]], "budget": Budget(tokens=spec["tokens"])}
    pretrain = RECIPES["bert"].model_copy(update=changes).model_dump(mode="json")
    return {
        "experiment": {"name": name, "question": f"Is {EVIL} better?", "tags": spec["tags"]},
        "arms": {arm: {"pretrain": pretrain} for arm in spec["arms"]},
    }
