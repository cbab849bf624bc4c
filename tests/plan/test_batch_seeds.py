"""Seeds of the batches of runs that start from the networks of others."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.execution.job import Workspace
from harness.execution.profile_inputs import stage_inputs
from harness.execution.show_batch import _rows
from harness.execution.stages import pretrain
from harness.plan.batch_seeds import BATCH_SEED
from harness.plan.plan import Plan, Stage
from tests.plan.test_plan import BASE, planned

MLM: dict[str, Any] = {"packing": {"format": "full_sentences"}, "objective": "mlm"}


def plan_of(**run: Any) -> tuple[Plan, list[Stage]]:
    plan = planned(pretrain=BASE["pretrain"] | MLM | run)
    return plan, [stage for stage in plan.stages.values() if stage.kind == "pretrain"]


def test_only_runs_that_start_from_networks_have_a_seed_of_their_own() -> None:
    _, stages = plan_of(init_from={"init_from": {"budget": {"steps": 2}}, "budget": {"steps": 3}})
    seeds = [stage.spec.get(BATCH_SEED) for stage in stages]
    assert seeds[0] is None and None not in seeds[1:] and len(set(seeds)) == 3
    assert {stage.spec["seed"] for stage in stages} == {0}
    glove = {"recipe": "glove", "size": BASE["pretrain"]["size"], "budget": {"steps": 2}}
    _, stages = plan_of(init_from=glove)
    assert len(stages) == 2 and not any(BATCH_SEED in stage.spec for stage in stages)


def test_a_run_reads_other_batches_than_its_start(tmp_path: Path) -> None:
    plan, (start, run) = plan_of(init_from={})
    assert start.spec["pretrain"] == run.spec["pretrain"] | {"init_from": None}
    inputs = stage_inputs(plan, start, None, Workspace(tmp_path), lambda what: None)
    first, second = (_rows(stage.spec, inputs, 0) for stage in (start, run))
    assert first != second and first == _rows(start.spec, inputs, 0)


def test_training_takes_the_seed_of_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def record(*_: Any, seed: int, **__: Any) -> dict[str, float]:
        seeds.append(seed)
        return {}

    monkeypatch.setattr("harness.pretraining.run.pretrain", record)
    monkeypatch.setattr(pretrain, "utilisation", lambda *_: {})
    settings: Any = None  # not read
    for more in ({}, {BATCH_SEED: 9}):
        context: Any = SimpleNamespace(
            spec={"seed": 3, **more}, inputs=dict.fromkeys(["tokens", "tokenizer"]), out=None,
            state=None, progress=None, compute=None, loggers=list,
        )  # fmt: skip
        pretrain.train_network(context, settings)
    assert seeds == [3, 9]
