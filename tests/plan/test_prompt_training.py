"""Instruction and preference tuning from declaration to scores: stages, refusals, results."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness.experiment.arms import combinations, resolve_arm
from harness.experiment.checks.each_arm import problems
from harness.experiment.declaration import Declaration
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment, Seeds
from harness.plan.factory import make_plan
from harness.plan.plan import Plan, Stage
from tests.stage_runner import StageRunner

BASE: dict[str, Any] = {
    "name": "x",
    "question": "which?",
    "pretrain": {
        "recipe": "gpt2",
        "size": {"num_layers": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32},
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "tokenizer": {"vocab_size": 400},
        "phases": [{"fraction": 1, "sequence_length": 64}],
        "batch_size": 8,
        "budget": {"tokens": 0},
    },
}
FAST: dict[str, Any] = {
    "suite": "micro-glue-v1",
    "tasks": ["micro-rte", "micro-sst2"],
    "adaptation": "prompt",
    "protocol": {"max_train_examples": 16, "max_sequence_length": 48},
    "finetune": {"epochs": 1, "learning_rate": 1e-2, "batch_size": 8},
}
TASKS: dict[str, Any] = {"tasks": ["micro-mrpc", "micro-swag"]}
BOTH: dict[str, Any] = {"instruction_tuning": TASKS, "preference_tuning": {**TASKS, "beta": 0.2}}


def declared(grid: dict[str, Any] | None = None, **evaluate: Any) -> Declaration:
    fields = {**BASE, "evaluate": {**FAST, **evaluate}, "grid": grid or {}}
    experiment = Experiment.model_validate(fields)
    arms = [resolve_arm(experiment, *picked) for picked in combinations(experiment.grid)]
    return Declaration(experiment, tuple(arms))


def planned(grid: dict[str, Any] | None = None, **evaluate: Any) -> Plan:
    return make_plan(declared(grid, **evaluate))


def chain(plan: Plan, key: str) -> list[Stage]:
    """The stages of other tasks before a run, the last one first."""
    found = [plan.stages[key]]
    while "body" in found[-1].parents:
        found.append(plan.stages[found[-1].parents["body"]])
    return found[1:]


def test_no_training_on_prompts_by_default() -> None:
    plain = planned()
    assert not any(stage.kind == "train_tasks" for stage in plain.stages.values())
    tuned = planned(**BOTH)
    assert {run.key for run in plain.finetune_runs}.isdisjoint(r.key for r in tuned.finetune_runs)
    assert set(plain.pretrain_keys.values()) == set(tuned.pretrain_keys.values())


def test_preferences_follow_instructions_and_all_tasks_share_both() -> None:
    plan = planned(**BOTH)
    chains = [chain(plan, run.key) for run in plan.finetune_runs]
    assert chains[0] == chains[1]
    preferences, instructions = chains[0]
    assert preferences.spec["prompts"] == {"loss": "preferences", "beta": 0.2, "rejected_seed": 0}
    assert instructions.spec["prompts"] == {"loss": "answers"}
    assert [task["task"] for task in instructions.spec["tasks"]] == TASKS["tasks"]
    assert preferences.flops == 2 * instructions.flops
    (alone,) = chain(p := planned(preference_tuning=TASKS), p.finetune_runs[0].key)
    assert set(alone.parents) == {"pretrain", "tokenizer"}
    assert Evaluate.read(FAST | BOTH).other_tasks == {
        "instruction tuning": "micro-mrpc + micro-swag",
        "preference tuning": "micro-mrpc + micro-swag, beta 0.2",
    }


def test_every_setting_is_part_of_the_key() -> None:
    ways: list[dict[str, Any]] = [
        {"instruction_tuning": TASKS},
        {"instruction_tuning": {**TASKS, "max_examples": 10}},
        {"instruction_tuning": {**TASKS, "finetune": {"epochs": 2}}},
        {"preference_tuning": TASKS},
        {"preference_tuning": {**TASKS, "beta": 0.3}},
        {"preference_tuning": {**TASKS, "rejected_seed": 1}},
    ]
    keys = {planned(**way).finetune_runs[0].key for way in ways}
    assert len(keys) == len(ways)


def test_unset_settings_are_those_of_fine_tuning() -> None:
    plan = planned(instruction_tuning={**TASKS, "finetune": {"epochs": 2}})
    (stage,) = chain(plan, plan.finetune_runs[0].key)
    assert stage.spec["finetune"]["epochs"] == 2 and stage.spec["finetune"]["batch_size"] == 8
    of_arm = planned({"evaluate.finetune.batch_size": [4]}, instruction_tuning=TASKS)
    (stage,) = chain(of_arm, of_arm.finetune_runs[0].key)
    assert stage.spec["finetune"]["batch_size"] == 4


def test_baselines_skip_it() -> None:
    plan = planned({"pretrain.recipe": ["majority"]}, **BOTH)
    assert not any(stage.kind == "train_tasks" for stage in plan.stages.values())
    arm = declared({"pretrain.recipe": ["majority"]}, **BOTH).arms[0]
    assert not list(problems(arm, (), Seeds()))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"instruction_tuning": {"tasks": []}}, "at least 1 item"),
        (
            {"instruction_tuning": {"tasks": ["micro-swga"]}},
            "instruction_tuning: the task 'micro-swga' is not known; did you mean 'micro-swag'",
        ),
        (
            {"preference_tuning": {"tasks": ["micro-swag", "micro-swag"]}},
            "preference_tuning: the task 'micro-swag' is given twice",
        ),
        (
            {"instruction_tuning": {"tasks": ["micro-stsb"]}},
            "instruction_tuning: the tasks must have prompts, but micro-stsb has none",
        ),
        (
            {"instruction_tuning": {"tasks": ["micro-mrpc", "micro-rte"]}},
            "instruction_tuning: the tasks must be held out of the reported ones, but micro-rte is "
            "reported; leave it out, or set includes_reported: true",
        ),
        (
            {"preference_tuning": {**TASKS, "includes_reported": True}},
            "includes_reported is for tasks that are reported, but none is; leave it out",
        ),
        (
            {"instruction_tuning": {"tasks": ["micro-mrpc"], "max_examples": 10}},
            "max_examples is for the mixing of several tasks, but there is one; leave it out",
        ),
        ({"preference_tuning": {**TASKS, "beta": 0}}, "greater than 0"),
        (
            {"instruction_tuning": TASKS, "multitask": {}, "adaptation": "full"},
            "multitask and instruction_tuning exclude each other; keep one",
        ),
        (
            {"preference_tuning": TASKS, "intermediate_tasks": [{"task": "micro-mnli"}]},
            "intermediate_tasks and preference_tuning exclude each other; keep one",
        ),
    ],
)
def test_invalid_declarations(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Evaluate.read(FAST | fields)


def test_reported_tasks_may_be_declared() -> None:
    Evaluate.read(
        FAST | {"instruction_tuning": {"tasks": ["micro-rte"], "includes_reported": True}}
    )


@pytest.mark.parametrize(
    ("recipe", "fields", "message"),
    [
        ("gpt2", BOTH, ""),
        ("t5", BOTH, ""),
        ("bart", BOTH, ""),
        ("lm_lstm", BOTH, ""),
        (
            "bert",
            {"instruction_tuning": TASKS},
            r"'x': evaluate.instruction_tuning needs a network that writes text \(causal, "
            r"prefix, encoder_decoder\), but this bert is bidirectional; leave it out",
        ),
        ("glove", {"preference_tuning": TASKS}, "but this static is .*; leave it out"),
        ("elmo", {"preference_tuning": TASKS}, "but this .* is bilm; leave it out"),
        (
            "gpt2",
            {"instruction_tuning": {**TASKS, "finetune": {"sift_weight": 5}}},
            "evaluate.instruction_tuning: finetune.sift_weight needs an output layer",
        ),
        (
            "gpt2",
            {"preference_tuning": {**TASKS, "finetune": {"neftune_alpha": 5}}},
            "evaluate.preference_tuning: finetune.neftune_alpha has no effect",
        ),
        (
            "gpt2",
            {"instruction_tuning": {**TASKS, "finetune": {"reinit_layers": 5}}},
            "evaluate.instruction_tuning: finetune.reinit_layers must be at most 1",
        ),
    ],
)
def test_networks_and_settings_that_cannot(
    recipe: str, fields: dict[str, Any], message: str
) -> None:
    size = {} if recipe in ("lm_lstm", "glove", "elmo") else {"size": BASE["pretrain"]["size"]}
    pretrain = {"recipe": recipe, "budget": {"tokens": 0}, **size}
    experiment = Experiment.model_validate(
        BASE | {"pretrain": pretrain, "evaluate": {**FAST, **fields}}
    )
    arm = resolve_arm(experiment, *next(iter(combinations(experiment.grid))))
    found = [text for keys, text in problems(arm, (arm,), Seeds()) if keys[1] in fields]
    assert len(found) == (1 if message else 0)
    assert all(re.search(message, text) for text in found), found


def test_from_declaration_to_scores(tmp_path: Path) -> None:
    """Each training changes the network that is prompted, and only trained stages take updates."""
    runner = StageRunner(tmp_path)
    grid = {
        "tuning": {
            "none": {"evaluate.instruction_tuning": None},
            "instructed": {"evaluate.instruction_tuning": TASKS},
            "preferred": {f"evaluate.{name}": value for name, value in BOTH.items()},
        }
    }
    plan = planned(grid, tasks=["micro-sst2"])
    runner.run(plan)
    updates, networks = {}, {}
    for run in plan.finetune_runs:
        metrics, stages = runner.finished[run.key].metrics, chain(plan, run.key)
        assert metrics["steps"] == 0 and "validation/accuracy" in metrics
        found = [json.loads((runner.out(s.key) / "tasks.json").read_text()) for s in stages]
        updates[run.arm] = [sum(one["steps"] for one in figures.values()) for figures in found]
        assert all(set(figures) == set(TASKS["tasks"]) for figures in found)
        last = stages[0].key if stages else plan.stages[run.key].parents["pretrain"]
        (file,) = (runner.out(last) / "model").glob("*.safetensors")
        networks[run.arm] = file.read_bytes()
    assert updates == {"none": [], "instructed": [4], "preferred": [4, 4]}
    assert len(set(networks.values())) == 3
