"""Made-up experiments: arms of a given skill on tasks of GLUE."""

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from harness.report.data import ReportData
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from harness.tasks.scores import counts, predictions_frame, score

PART = ("sst2", "mrpc", "stsb")
RESULTS = "experiment arm suite task split metric value pretrain_seed finetune_seed key".split()


def _predict(kind: str, labels: np.ndarray, skill: float, rng: np.random.Generator) -> np.ndarray:
    if kind == "regression":
        return labels * skill + rng.standard_normal(len(labels))
    return np.where(rng.random(len(labels)) < skill, labels, 1 - labels)


@pytest.fixture
def fabricate() -> Callable[..., ReportData]:
    """Makes report data: `skills` is {arm: share of right answers}."""

    def make(
        skills: dict[str, float], tasks=PART, seeds=(3, 2), examples=120, **fields
    ) -> ReportData:
        rng = np.random.default_rng(0)
        rows, predictions, counted = [], {}, {}
        labels = {
            task: rng.integers(2, size=examples)
            if TASKS[task].kind == "classification"
            else rng.uniform(0, 5, examples)
            for task in tasks
        }
        for arm, skill in skills.items():
            for task in tasks:
                for pretrain, finetune in np.ndindex(seeds):
                    key = f"{arm}-{task}-{pretrain}-{finetune}"
                    answers = _predict(TASKS[task].kind, labels[task], skill, rng)
                    splits = [split.name for split in TASKS[task].evaluation]
                    asked = Examples([("",)] * examples, labels[task])
                    predictions[key] = pd.concat(
                        predictions_frame(split, asked, answers) for split in splits
                    )
                    found = counts(TASKS[task], asked, answers)
                    counted[key] = {
                        f"{split}/{name}": array
                        for split, (name, array) in itertools.product(splits, found.items())
                    }
                    scores = score(TASKS[task], asked, answers)
                    for split, (metric, value) in itertools.product(splits, scores.items()):
                        row = ("made-up", arm, "glue-v1", task, split, metric, value)
                        rows.append((*row, pretrain, finetune, key))
        steps = np.arange(1, 6) * 100
        curves = [
            pd.DataFrame({"arm": arm, "pretrain_seed": seed, "step": steps, "tokens": steps * 512,
                          "loss": 5 / steps + seed / 10})
            for arm in skills
            for seed in range(seeds[0])
        ]  # fmt: skip
        costs = [
            {
                "arm": arm,
                "stage": stage,
                "seconds": 1.5,
                "tokens": 1e6,
                "parameters": 2e5,
                "flops": 3e12,
            }
            for arm in skills
            for stage in ("pretrain", "finetune")
        ]
        given = {
            "name": "made-up",
            "question": "Is good better?",
            "source": "Nobody 2020",
            "expect": [],
            "arms": list(skills),
            "differences": {"pretrain.recipe": {arm: arm for arm in skills}},
            "suite": "glue-v1",
            "results": pd.DataFrame(rows, columns=RESULTS),
            "predictions": predictions.__getitem__,
            "counts": counted.__getitem__,
            "curves": pd.concat(curves),
            "costs": pd.DataFrame(costs),
            "protocol": {"pooling": "cls"},
            "flops_convention": "matrix products only",
            "tasks": tasks,
            "provenance": {"machine": {"cpu": "one"}, "command": "harness run made-up.yaml"},
        }
        return ReportData(**{**given, **fields})

    return make
