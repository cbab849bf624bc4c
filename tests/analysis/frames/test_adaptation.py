"""Costs of fine-tuning and retained losses by hand."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from harness.analysis.frames.adaptation import (
    LABEL_COUNT,
    adaptation_costs_frame,
    label_counts,
    retained_losses_frame,
    trained_parameters,
)
from harness.analysis.results import Results
from harness.plan.plan import FinetuneRun, RetainedLoss
from tests.analysis.test_power import planned

OWN = {"trained_parameters": 7.0, "stored_bytes": 4.0}


def results_of(plan: Any, metrics: dict[str, dict[str, float]]) -> Results:
    """The stages with metrics are finished."""
    results = Results(plan, store=cast(Any, None))
    results.__dict__["plan"] = plan
    results.__dict__["finished"] = {
        key: SimpleNamespace(key=key, metrics=found) for key, found in metrics.items()
    }
    return results


def test_runs_share_a_stage_of_other_tasks_with_those_of_their_seeds() -> None:
    """Two tasks of two fine-tuning seeds, all of which begin with one stage of 20 updates: each
    pair of seeds would train it."""
    runs = [FinetuneRun("row", task, 0, seed, f"{task}{seed}") for task in "ab" for seed in (0, 1)]
    stages = {run.key: SimpleNamespace(parents={"body": "before"}) for run in runs}
    plan = SimpleNamespace(
        finetune_runs=runs, stages={**stages, "before": SimpleNamespace(parents={})}
    )
    metrics = {run.key: {"steps": 10.0, "seconds": 1.0, **OWN} for run in runs}
    metrics["before"] = {"steps": 20.0, "seconds": 2.0}
    frame = adaptation_costs_frame(results_of(plan, metrics))
    assert frame["updates"].tolist() == [10 + 20 / 2] * 4
    del metrics["b1"]  # an unfinished run has no row
    assert len(adaptation_costs_frame(results_of(plan, metrics))) == 3


@pytest.mark.parametrize(
    ("average", "parameters", "memory"), [("outputs", 7 + 8, 5 + 9), ("weights", 8, 9)]
)
def test_members_take_their_time_together_and_memory_one_by_one(
    average: str, parameters: float, memory: float
) -> None:
    """Members whose weights are averaged are one network in the end."""
    members = {"member0": "first", "member1": "second"}
    spec = {"ensemble": {"average": average}}
    plan = SimpleNamespace(
        finetune_runs=[FinetuneRun("both", "a", 0, 0, "scored")],
        stages={
            "scored": SimpleNamespace(parents=members, spec=spec),
            "first": SimpleNamespace(parents={}),
            "second": SimpleNamespace(parents={}),
        },
    )
    first = {"trained_parameters": 7.0, "stored_bytes": 5.0, "peak_memory_bytes": 3.0}
    second = {"trained_parameters": 8.0, "stored_bytes": 9.0, "peak_memory_bytes": 2.0}
    metrics = {
        "first": {"steps": 10.0, "seconds": 1.0, **first},
        "second": {"steps": 12.0, "seconds": 2.0, **second},
        "scored": {"steps": 0.0, "seconds": 64.0},
    }
    (row,) = adaptation_costs_frame(results_of(plan, metrics)).to_dict("records")
    assert (row["seconds"], row["updates"], row["peak_memory_bytes"]) == (1 + 2, 10 + 12, 3)
    assert (row["trained_parameters"], row["stored_bytes"]) == (parameters, memory)


def test_losses_are_those_of_finished_stages() -> None:
    retained = [RetainedLoss("row", task, 0, 0, f"after {task}") for task in ("", "a", "b")]
    losses = {"after ": {"validation_loss": 2.0}, "after a": {"validation_loss": 2.5}}
    frame = retained_losses_frame(results_of(SimpleNamespace(retained_losses=retained), losses))
    assert frame[["after_task", "loss"]].to_numpy().tolist() == [["", 2.0], ["a", 2.5]]


def test_arms_of_unknown_size_have_no_number_of_parameters() -> None:
    """Stages that train several tasks do not say."""
    arms = [SimpleNamespace(evaluate=SimpleNamespace(adaptation=name)) for name in ("full", "lora")]
    results = results_of(SimpleNamespace(arms=arms), {})
    sizes = {"arm": ["a", "a", "b"], "trained_parameters": [10.0, 20.0, np.nan]}
    results._made[adaptation_costs_frame] = pd.DataFrame(sizes)
    assert trained_parameters(results) == {"a": 15.0}


def test_numbers_of_labels_belong_to_the_arm_without_them() -> None:
    bundle = {"few": {LABEL_COUNT: 64}, "many": {LABEL_COUNT: 1000}}
    pair = "pretrain.objective.sentence_pair"
    both = results_of(planned(grid={pair: ["nsp", "none"], "labels": bundle}), {})
    assert label_counts(both) == {
        f"{name}/{label}": (name, count)
        for name in ("nsp", "none")
        for label, count in (("few", 64), ("many", 1000))
    }
    alone = results_of(planned(grid={LABEL_COUNT: [64, 1000]}), {})
    assert list(label_counts(alone).values()) == [("x", 64), ("x", 1000)]
    assert label_counts(results_of(planned(), {})) == {}
