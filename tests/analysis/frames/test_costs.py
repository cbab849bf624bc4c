"""Costs of stages, and the protocol of an experiment."""

from pathlib import Path
from typing import Any, cast

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


@pytest.mark.parametrize("name", ["half of alone", "a half of alone"])
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


@pytest.mark.parametrize("is_pretrained", [True, False])
def test_what_was_spent_is_that_of_finished_stages(tmp_path: Path, is_pretrained: bool) -> None:
    """Every stage takes 36 s, and has 100 tokens if it pretrains; the second arm has finished its
    teacher, and perhaps its own pretraining. Tokenizers have learned 300 entries."""
    continued = """
      evaluate.continued_pretraining:
        - {corpus: {source: microworld, domain: biomed}, budget: {steps: 2}}"""
    file = tmp_path / "taught.yaml"
    file.write_text(STUDY.replace("    alone: {}", f"    alone:{continued}"))
    plan = load(file, store=tmp_path / "store").plan
    lost = {run.key for run in plan.finetune_runs if run.arm == "taught"}
    lost |= set() if is_pretrained else {plan.pretrain_keys["taught", 0]}
    results = finished(plan, lost, vocab_size=300.0)
    totals, costs = total_costs(results), costs_frame(results).set_index("arm")["flops"].dropna()
    trained = {"alone": ["alone", "continued runs of alone"], "taught": ["teacher of taught"]}
    trained["taught"] += ["taught"] * is_pretrained
    trained[ALL_ARMS] = trained["alone"] + trained["taught"]
    stages = {arm: ancestors(plan, arm) for arm in ("alone", "taught")}
    stages[ALL_ARMS] = set(plan.stages)
    for arm, names in trained.items():
        assert totals.loc[arm, "tokens"] == 100 * len(names)
        assert totals.loc[arm, "flops"] == pytest.approx(costs[names].sum())
        assert totals.loc[arm, "hours"] == pytest.approx(len(stages[arm] - lost) / 100)
    assert costs["alone"] < plan.costs["alone"].flops  # of the declared vocabulary


def finished(plan: Any, lost: set[str], **metrics: float) -> Results:
    """All stages but `lost` are finished after 36 s each."""
    results = Results(plan, store=cast(Any, None))
    results.__dict__["finished"] = {
        key: StageResult(key, one.kind, "", {"seconds": 36.0, "tokens": 100.0, **metrics}, "", "")
        for key, one in plan.stages.items()
        if key not in lost
    }
    return results


@pytest.mark.parametrize(("sampler", "searched"), [("random", 3), ("tpe", 1)])
def test_seconds_are_those_of_all_stages_of_a_kind(
    tmp_path: Path, sampler: str, searched: int
) -> None:
    """Two trials and their choice, or one stage for trials that depend on each other, and two
    members and the run that scores them; the network that trials begin with is no search."""
    text = STUDY.replace("{tasks: [micro-rte]}", "{tasks: [micro-rte], ensemble: {members: 2}}")
    space = "{learning_rate: {low: 1e-4, high: 1e-3}}"
    text += f"sweep: {{trials: 2, sampler: {sampler}, space: {space}}}\n"
    file = tmp_path / "taught.yaml"
    file.write_text(text.replace("      evaluate.finetune.learning_rate: 5e-3\n", ""))
    plan = load(file, store=tmp_path / "store").plan
    costs = costs_frame(finished(plan, set()))
    seconds = costs[costs["arm"] == "alone"].set_index("stage")["seconds"] / 36
    own = [plan.stages[key].kind for key in ancestors(plan, "alone")]
    assert seconds["tune"] == own.count("tune") + own.count("trial") == searched
    assert seconds["finetune"] == own.count("finetune") == 3
    assert seconds["pretrain"] == 1


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
