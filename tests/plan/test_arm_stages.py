"""The stages of each arm, compared with a search among all stages of the plan."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.plan.arm_stages import arm_stages
from harness.plan.plan import Plan
from tests.plan.test_task_chain_stages import planned

WORDS = {"source": "microworld", "domain": "biomed", "num_tokens": 20_000}
PLANS: dict[str, dict[str, Any]] = {
    "shared pretraining": {"probes": ["micro-blimp"]},
    "sequence": {"sequential": True},
    "continued pretraining": {
        "continued_pretraining": [{"corpus": WORDS, "budget": {"tokens": 1000}}]
    },
}
GRID = {"evaluate.finetune.epochs": [1, 2]}


def results(plan: Plan, arm: str) -> Iterator[str]:
    yield from (key for (name, _), key in plan.pretrain_keys.items() if name == arm)
    for kind in (plan.finetune_runs, plan.probe_runs, plan.sequential_scores, plan.retained_losses):
        yield from (run.key for run in kind if run.arm == arm)
    for run in plan.continued_runs:
        if run.arm == arm:
            losses = (run.loss_before, run.pretrain_loss_before, run.pretrain_loss_after)
            yield from filter(None, (run.key, *losses))


@pytest.mark.parametrize("name", PLANS)
def test_an_arm_has_its_results_and_all_that_they_build_on(name: str) -> None:
    plan = planned(GRID, **PLANS[name])
    expected = []
    for arm in plan.arms:
        keys = set(results(plan, arm.name))
        for key in reversed(list(plan.stages)):
            keys |= set(plan.stages[key].parents.values()) if key in keys else set()
        expected += [(arm.name, key) for key in plan.stages if key in keys]
    found = arm_stages(plan)
    assert [(one.arm, one.stage.key) for one in found] == expected
    assert len({key for _, key in expected}) < len(expected)  # arms share stages
