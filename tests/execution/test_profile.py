"""Profiles: the chosen stage, its inputs, and what follows from the measured updates."""

from pathlib import Path
from typing import Any

import pytest
import torch

import harness
from harness.core.compute import Compute
from harness.execution.job import Workspace
from harness.execution.profile import Profile
from harness.execution.profile_inputs import profiled_stage, stage_inputs
from harness.models import SIZES
from harness.plan.plan import Plan
from harness.pretraining.budget import Budget
from harness.pretraining.profiling import Measured
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.store import Store

PARTS = {"data": 0.01, "transfer": 0.0, "forward": 0.03, "backward": 0.05, "optimiser": 0.01}
SMALL: dict[str, Any] = {
    "recipe": "bert",
    "size": {"num_layers": 1, "hidden_size": 16, "num_heads": 1, "intermediate_size": 16},
    "corpus": {"source": "microworld", "num_tokens": 20_000},
    "budget": {"tokens": 100_000},
}


def planned(pretrain: dict[str, Any] = SMALL, **fields: Any) -> Plan:
    evaluate = {"suite": "micro-glue-v1", "tasks": ["micro-sst2"]}
    declared = {"name": "one", "question": "?", "pretrain": pretrain, "evaluate": evaluate}
    return harness.declare({**declared, **fields}).plan


@pytest.fixture
def profile(request: pytest.FixtureRequest) -> Profile:
    """1,000 updates of 0.1 s, of which a checkpoint takes 2 s, on a device of 1 TFLOP/s."""
    spec = Pretrain(
        size=SIZES["nano"],
        budget=getattr(request, "param", Budget(steps=1_000)),
        checkpoint_fractions=(0.5,),
    )
    return Profile(
        spec,
        Compute(),
        Measured(
            updates=50,
            seconds={**PARTS, "framework": 0.0},
            tokens_per_second=50_000,
            flops_per_token=4e6,
            device=torch.device("cpu"),
            start=1.0,
            evaluation=3.0,
            checkpoint=2.0,
            saving=0.5,
        ),
        operators=[],
        imports=8.0,
        memory={"peak_rss_bytes": 1e9},
        device="cpu",
        peak_flops=1e12,
        is_peak_measured=True,
    )


def test_utilisation_by_hand(profile: Profile) -> None:
    assert profile.mfu == pytest.approx(50_000 * 4e6 / 1e12) == 0.2


def test_a_whole_run_by_hand(profile: Profile) -> None:
    """A checkpoint of 2 s is saved every 40 s (5 % of the time), the network twice."""
    whole = {part: 1_000 * seconds for part, seconds in PARTS.items()} | {"framework": 0.0}
    once = {"start": 9.0, "evaluation": 3.0, "storage": 2 * 2.0 + 2 * 0.5}
    assert profile.num_steps == 1_000
    assert profile.run_seconds == pytest.approx(whole | once)


@pytest.mark.parametrize("profile", [Budget(seconds=30)], indirect=True)
def test_a_budget_in_seconds_has_the_updates_that_fit(profile: Profile) -> None:
    assert profile.num_steps == 300


def test_the_first_arm_that_trains_is_chosen() -> None:
    budgets = {"scratch": 0, "bert": 100_000, "more": 200_000}
    arms = {name: {"pretrain.budget.tokens": tokens} for name, tokens in budgets.items()}
    plan = planned(grid={"arm": arms})
    assert profiled_stage(plan)[0] == "bert"
    name, stage = profiled_stage(plan, "more")
    assert (name, stage.key) == ("more", plan.pretrain_keys["more", 0])
    with pytest.raises(ValueError, match=r"scratch must have updates .*do: bert, more$"):
        profiled_stage(plan, "scratch")
    with pytest.raises(ValueError, match="one: the arm 'brt' is not known; did you mean 'bert'"):
        profiled_stage(plan, "brt")


def test_inputs_are_those_of_the_store_or_computed(tmp_path: Path) -> None:
    plan, store, said = planned(), Store(tmp_path / "store"), list[str]()
    _, stage = profiled_stage(plan)
    workspace = Workspace(tmp_path / "work")
    found = stage_inputs(plan, stage, store, workspace, said.append)
    assert (found["tokens"] / "train").exists()
    assert [line.split()[0] for line in said] == ["tokenizer", "tokenize"]
    assert not store.finished()
    for role, kind in (("tokenizer", "tokenizer"), ("tokens", "tokenize")):
        store.record(stage.parents[role], kind, "", {}, {}, found[role])
    said.clear()
    again = stage_inputs(plan, stage, store, Workspace(tmp_path / "new"), said.append)
    assert not said and again["tokens"].is_relative_to(tmp_path / "store")


def test_the_run_that_one_starts_from_must_be_finished(tmp_path: Path) -> None:
    plan = planned({**SMALL, "init_from": {"budget": {"tokens": 50_000}}})
    _, stage = profiled_stage(plan)
    with pytest.raises(ValueError, match=r"starts from the stage pretrain .*'harness run' first$"):
        stage_inputs(plan, stage, None, Workspace(tmp_path), lambda what: None)
