"""Costs of stages, and the protocol of an experiment."""

from pathlib import Path
from typing import Any

import pytest

from harness import load
from harness.analysis.frames.costs import (
    ALL_ARMS,
    _flops,
    costs_frame,
    pretraining_flops,
    total_costs,
)
from harness.analysis.results import Results
from harness.plan.protocol import protocol_of
from harness.store.store import StageResult

PRETRAIN = """pretrain:
  size: nano
  packing: {format: full_sentences}
  objective: mlm
  budget: {steps: 5}"""
STUDY = (
    PRETRAIN
    + """
name: taught
question: Does a teacher help?
grid:
  arm:
    alone: {}
    taught:
      pretrain.objective.distillation: {cosine_weight: 1}
      pretrain.teacher: {recipe: roberta, size: nano, budget: {steps: 9}}
      evaluate.adaptation: frozen
      evaluate.finetune.learning_rate: 5e-3
evaluate: {tasks: [micro-rte]}
"""
)


def study(tmp_path: Path) -> Any:
    file = tmp_path / "taught.yaml"
    file.write_text(STUDY)
    return load(file, store=tmp_path / "store")


def test_the_cost_of_a_teacher_has_a_row(tmp_path: Path) -> None:
    costs = costs_frame(study(tmp_path).results).set_index("arm")
    pretraining = costs[costs["stage"] == "pretrain"]
    assert list(pretraining.index) == ["alone", "taught", "teacher of taught"]
    tokens = pretraining["tokens"].astype(float)
    assert tokens["teacher of taught"] == 9 * 512  # tokens per update of a small network


def test_a_run_of_two_roles_counts_once(tmp_path: Path) -> None:
    """The start of the student is its teacher."""
    earlier = "{objective: {distillation: null}, budget: {steps: 9}}"
    text = STUDY.replace("{recipe: roberta, size: nano, budget: {steps: 9}}", earlier)
    text = text.replace("      evaluate.adaptation", f"      pretrain.init_from: {earlier}\n"
                        "      evaluate.adaptation")  # fmt: skip
    file = tmp_path / "taught.yaml"
    file.write_text(text)
    results = load(file, store=tmp_path / "store").results
    costs = costs_frame(results)
    pretraining = costs[costs["stage"] == "pretrain"].set_index("arm")["flops"]
    assert list(pretraining.index) == ["alone", "taught", "init_from of taught"]
    assert pretraining_flops(results)["taught"] == pretraining.iloc[1:].sum()


@pytest.mark.parametrize("name", ["half of alone", "the taught of alone"])
def test_flops_of_an_arm_that_is_named_after_another_are_its_own(tmp_path: Path, name: str) -> None:
    file = tmp_path / "taught.yaml"
    file.write_text(STUDY.replace("    taught:", f"    {name}:"))
    found = pretraining_flops(load(file, store=tmp_path / "store").results)
    own = pretraining_flops(study(tmp_path).results)
    assert found.to_dict() == {"alone": own["alone"], name: own["taught"]}


def test_flops_that_are_not_known_of_a_part_are_not_known(tmp_path: Path) -> None:
    results = study(tmp_path).results
    costs = costs_frame(results)
    unknown = costs["flops"].mask(costs["arm"] == "teacher of taught")
    results._made[costs_frame] = costs.assign(flops=unknown)
    assert pretraining_flops(results).isna().to_dict() == {"alone": False, "taught": True}


def test_what_was_spent_is_that_of_finished_stages(tmp_path: Path) -> None:
    """Every stage takes 36 s, and has 100 tokens if it pretrains; one has not finished."""
    continued = """
      evaluate.continued_pretraining:
        - {corpus: {source: microworld, domain: biomed}, budget: {steps: 2}}"""
    file = tmp_path / "taught.yaml"
    file.write_text(STUDY.replace("    alone: {}", f"    alone:{continued}"))
    plan = load(file, store=tmp_path / "store").plan
    lost = next(run.key for run in plan.finetune_runs if run.arm == "taught")
    results = Results(plan, store=None)  # type: ignore[arg-type]
    results.__dict__["finished"] = {
        key: StageResult(key, one.kind, "", {"seconds": 36.0, "tokens": 100.0}, "", "")
        for key, one in plan.stages.items()
        if key != lost
    }
    totals, flops = total_costs(results), _flops(results.plan)
    kinds = {key: one.kind for key, one in plan.stages.items()}
    of_arms = {arm: ancestors(plan, arm) for arm in ("alone", "taught")}
    for arm, keys in {**of_arms, ALL_ARMS: set(plan.stages)}.items():
        trained = [key for key in keys if "pretrain" in kinds[key]]
        assert totals.loc[arm, "tokens"] == 100 * len(trained)
        assert totals.loc[arm, "flops"] == pytest.approx(sum(flops[key] for key in trained))
        assert totals.loc[arm, "hours"] == pytest.approx(len(keys - {lost}) / 100)
    assert sum("pretrain" in kind for kind in kinds.values()) == 4
    (run,) = plan.continued_runs
    assert flops[run.key] == run.cost.flops


def ancestors(plan: Any, arm: str) -> set[str]:
    """Keys of the runs and losses of an arm, and of all stages that these build on."""
    found: set[str] = set()
    waiting = [run.key for run in plan.finetune_runs if run.arm == arm]
    for run in plan.continued_runs_of(arm):
        waiting += [run.loss_before, run.pretrain_loss_before, run.pretrain_loss_after]
    while waiting:
        found.add(key := waiting.pop())
        waiting += plan.stages[key].parents.values()
    return found


NESTED = (
    PRETRAIN
    + """
name: nested
question: Does a long start help?
grid:
  arm:
    two: {pretrain.init_from: {budget: {steps: 7}}}
    three: {pretrain.init_from: {budget: {steps: 7}, init_from: {budget: {steps: 700}}}}
evaluate: {tasks: [micro-rte]}
"""
)


def test_runs_that_a_start_builds_on_count(tmp_path: Path) -> None:
    file = tmp_path / "nested.yaml"
    file.write_text(NESTED)
    results = load(file, store=tmp_path / "store").results
    costs = costs_frame(results).set_index("arm")
    tokens = costs["tokens"].dropna().astype(float) / 512
    assert tokens.to_dict() == {
        "two": 5, "init_from of two": 7,
        "three": 5, "init_from of three": 7, "init_from of init_from of three": 700,
    }  # fmt: skip
    flops = costs["flops"].dropna().astype(float)
    found = pretraining_flops(results)
    assert found["two"] == flops["two"] + flops["init_from of two"]
    names = [name for name in flops.index if name.endswith("three")]
    assert (
        found["three"] == pytest.approx(flops[names].sum()) and found["three"] > 50 * found["two"]
    )
    stages = results.plan.stages.values()
    spent = _flops(results.plan)
    trained = [spent[one.key] for one in stages if one.kind == "pretrain"]
    assert sum(trained) == pytest.approx(found["three"] + found["two"])


def test_the_protocol_names_arms_that_are_fine_tuned_otherwise(tmp_path: Path) -> None:
    protocol = protocol_of(study(tmp_path).plan)
    assert protocol["adaptation"] == "differs by arm (full unless stated)"
    assert protocol["except taught"] == "adaptation frozen, finetune.learning_rate 0.005"
    assert "except alone" not in protocol
