"""Plans of arms that differ in the noise of their reported examples."""

from typing import Any

from harness.experiment.declaration import from_data
from harness.plan.factory import make_plan
from harness.plan.plan import Plan
from harness.plan.protocol import protocol_of, protocol_text

TYPOS = "evaluate.protocol.perturb.typos"
BASE: dict[str, Any] = {
    "name": "x",
    "question": "which?",
    "pretrain": {"size": "nano", "corpus": "microworld", "budget": {"tokens": 100_000}},
    "evaluate": {"tasks": ["micro-sst2", "micro-stsb"]},
}


def planned(**fields: Any) -> Plan:
    return make_plan(from_data(BASE | fields))


def keys(plan: Plan, arm: str) -> set[str]:
    return {run.key for run in plan.finetune_runs if run.arm == arm}


def test_without_noise_a_run_is_the_one_without_the_field() -> None:
    plain = planned()
    both = planned(grid={TYPOS: [0, 0.1]})
    assert keys(both, "typos=0") == keys(plain, "x")
    assert not keys(both, "typos=0.1") & keys(plain, "x")
    assert both.differences == {TYPOS: {"typos=0": 0.0, "typos=0.1": 0.1}}


def test_an_arm_may_have_noise_of_its_own() -> None:
    plan = planned(grid={"text": {"clean": {}, "noisy": {TYPOS: 0.1}}})
    assert keys(plan, "clean") == keys(planned(), "x")


def test_noise_changes_nothing_that_is_trained_before() -> None:
    """One search and one chain of tasks for both arms."""
    for more in (
        {"sweep": {"trials": 2, "space": {"learning_rate": [1e-4, 1e-3]}}},
        {"evaluate": BASE["evaluate"] | {"sequential": True}},
    ):
        plan, plain = planned(grid={TYPOS: [0, 0.1]}, **more), planned(**more)
        new = [stage for key, stage in plan.stages.items() if key not in plain.stages]
        assert plain.stages.keys() < plan.stages.keys()
        assert {stage.kind for stage in new} == {"finetune"}
        assert all(stage.spec["perturb"] == {"typos": 0.1} for stage in new)


def test_the_protocol_names_the_noise_where_there_is_some() -> None:
    protocol = {"pooling": "max", "perturb": {"typos": 0.1}}
    noisy = planned(evaluate=BASE["evaluate"] | {"protocol": protocol})
    assert protocol_of(noisy)["perturb"] == {"typos": 0.1}
    assert "perturb" not in protocol_of(planned())
    both = planned(grid={TYPOS: [0, 0.1]})
    assert protocol_of(both)["except typos=0.1"] == "protocol.perturb.typos 0.1"
    clean, other = (protocol_text(arm.evaluate.model_dump(mode="json"), {}) for arm in both.arms)
    assert "perturb" not in clean and '"perturb": {"typos": 0.1}' in other
