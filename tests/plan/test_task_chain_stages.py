"""Intermediate, multi-task and sequential fine-tuning: stages, loaded weights and scores."""

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.analysis.frames.adaptation import RETAINED_COLUMNS, retained_losses_frame
from harness.analysis.frames.costs import costs_frame
from harness.analysis.frames.scores import SEQUENTIAL_COLUMNS, sequential_scores_frame
from harness.experiment.arms import combinations, resolve_arm
from harness.experiment.declaration import Declaration
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment
from harness.plan.factory import make_plan
from harness.plan.graph import since_repairs
from harness.plan.plan import Plan, Stage
from harness.tasks import TASKS as TASK_VALUES
from tests.stage_runner import StageRunner

BASE: dict[str, Any] = {
    "name": "x",
    "question": "which?",
    "pretrain": {
        "recipe": "roberta",
        "size": {"num_layers": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32},
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "tokenizer": {"vocab_size": 400},
        "phases": [{"fraction": 1, "sequence_length": 64}],
        "batch_size": 8,
        "budget": {"tokens": 0},
    },
}
TASKS = ["micro-rte", "micro-stsb", "micro-mrpc"]
FAST: dict[str, Any] = {
    "suite": "micro-glue-v1",
    "tasks": TASKS,
    "protocol": {"max_train_examples": 16, "max_sequence_length": 48},
    "finetune": {"epochs": 1, "learning_rate": 1e-2, "batch_size": 8},
}
MNLI = {"task": "micro-mnli", "target_tasks": ["micro-rte"]}


def planned(
    grid: dict[str, Any] | None = None,
    sweep: dict[str, Any] | None = None,
    seeds: dict[str, Any] | None = None,
    **evaluate: Any,
) -> Plan:
    given = {"grid": grid, "sweep": sweep, "seeds": seeds}
    fields = {**BASE, "evaluate": {**FAST, **evaluate}}
    experiment = Experiment.model_validate(
        fields | {name: value for name, value in given.items() if value}
    )
    arms = [resolve_arm(experiment, *picked) for picked in combinations(experiment.grid)]
    return make_plan(Declaration(experiment, tuple(arms)))


def of_kind(plan: Plan, kind: str) -> list[Stage]:
    return [stage for stage in plan.stages.values() if stage.kind == kind]


def task_names(stage: Stage) -> list[str]:
    return [task["task"] for task in stage.spec["tasks"]]


def stage_of(plan: Plan, task: str) -> Stage:
    return next(plan.stages[run.key] for run in plan.finetune_runs if run.task == task)


def test_no_chain_by_default() -> None:
    plain = planned()
    assert not of_kind(plain, "train_tasks") and not plain.sequential_scores
    same = planned(intermediate_tasks=[{"task": "micro-mnli", "target_tasks": ["micro-rte"]}])
    assert stage_of(plain, "micro-stsb").key == stage_of(same, "micro-stsb").key
    assert stage_of(plain, "micro-rte").key != stage_of(same, "micro-rte").key


def test_intermediate_tasks_are_in_order_and_skip_the_target() -> None:
    steps = [{"task": "micro-mnli"}, {"task": "micro-mrpc"}]
    plan = planned(intermediate_tasks=steps)
    rte = stage_of(plan, "micro-rte")
    second = plan.stages[rte.parents["body"]]
    first = plan.stages[second.parents["body"]]
    assert (task_names(first), task_names(second)) == (["micro-mnli"], ["micro-mrpc"])
    assert "head" not in rte.parents
    assert stage_of(plan, "micro-mrpc").parents["body"] == first.key
    assert first.parents["pretrain"] == rte.parents["pretrain"]
    assert Evaluate.read({"intermediate_tasks": steps}).other_tasks == {
        "intermediate tasks": "micro-mnli then micro-mrpc"
    }


def test_mixed_tasks_are_one_stage() -> None:
    mixture = {"task": ["micro-mnli", "micro-cb"], "siamese": "softmax"}
    plan = planned(intermediate_tasks=[mixture])
    (stage,) = of_kind(plan, "train_tasks")
    assert task_names(stage) == mixture["task"] and stage.spec["mixed"]
    assert [task["siamese"] for task in stage.spec["tasks"]] == ["softmax", "softmax"]
    assert stage_of(plan, "micro-rte").parents["body"] == stage.key
    assert Evaluate.read({"intermediate_tasks": [mixture]}).other_tasks == {
        "intermediate tasks": "micro-mnli + micro-cb (siamese softmax)"
    }
    turned = planned(intermediate_tasks=[{**mixture, "task": mixture["task"][::-1]}])
    assert of_kind(turned, "train_tasks")[0].key != stage.key
    alone = planned(intermediate_tasks=[MNLI])
    assert of_kind(alone, "train_tasks")[0].spec["mixed"] is None  # which leaves keys as they were


JOINT = {
    "task": ["micro-swag", "micro-dialogue", "micro-mnli"],
    "siamese": ["ranking", "ranking", "infersent"],
}


def test_objectives_of_several_tasks_are_one_stage() -> None:
    plan = planned(intermediate_tasks=[JOINT])
    (stage,) = of_kind(plan, "train_tasks")
    assert task_names(stage) == JOINT["task"] and stage.spec["mixed"] is None
    assert [task["siamese"] for task in stage.spec["tasks"]] == JOINT["siamese"]
    assert stage_of(plan, "micro-rte").parents["body"] == stage.key
    assert Evaluate.read({"intermediate_tasks": [JOINT]}).other_tasks == {
        "intermediate tasks": "micro-swag + micro-dialogue + micro-mnli "
        "(siamese ranking + ranking + infersent)"
    }


def test_a_mixture_is_for_other_tasks() -> None:
    plan = planned(intermediate_tasks=[{"task": ["micro-rte", "micro-qnli"]}])
    assert "body" not in stage_of(plan, "micro-rte").parents
    assert "body" in stage_of(plan, "micro-mrpc").parents


def test_multitask_is_one_stage_per_seed() -> None:
    plan = planned(multitask={})
    (stage,) = of_kind(plan, "train_tasks")
    assert sorted(task_names(stage)) == sorted(TASKS)
    for task in TASKS:
        parents = stage_of(plan, task).parents
        assert parents["body"] == parents["head"] == stage.key


def test_a_task_without_a_train_set_uses_the_shared_network() -> None:
    plan = planned(
        suite={"name": "mine", "tasks": ["micro-mrpc", "micro-sts"]}, tasks=None, multitask={}
    )
    (stage,) = of_kind(plan, "train_tasks")
    assert task_names(stage) == ["micro-mrpc"]
    assert "head" not in stage_of(plan, "micro-sts").parents


def test_sequential_fine_tuning_scores_earlier_tasks_after_each_task() -> None:
    plan = planned(sequential=True)
    steps = {task_names(stage)[0]: stage for stage in of_kind(plan, "train_tasks")}
    assert list(steps) == TASKS
    assert steps["micro-mrpc"].parents["body"] == steps["micro-stsb"].key
    pairs = [(one.after_task, one.task) for one in plan.sequential_scores]
    assert pairs == [(step, task) for n, step in enumerate(TASKS) for task in TASKS[: n + 1]]
    cells = {(run.task, run.key) for run in plan.finetune_runs}
    assert {
        (one.task, one.key) for one in plan.sequential_scores if one.after_task == TASKS[-1]
    } == cells
    forgotten = next(
        plan.stages[one.key] for one in plan.sequential_scores if one.task == "micro-rte"
    )
    assert forgotten.parents["head"] == steps["micro-rte"].key


def test_the_pretraining_loss_is_measured_before_and_after_each_task() -> None:
    plan = planned(sequential=True)
    steps = {task_names(stage)[0]: stage.key for stage in of_kind(plan, "train_tasks")}
    stages = {one.after_task: plan.stages[one.key] for one in plan.retained_losses}
    pretrained = plan.pretrain_keys["x", 0]
    models = {step: stage.parents["init_from"] for step, stage in stages.items()}
    assert models == {"": pretrained, **steps}
    tokens = plan.stages[pretrained].parents["tokens"]
    assert {stage.parents["tokens"] for stage in stages.values()} == {tokens}
    for recipe in ("electra", "glove", "skip_thought"):
        assert not planned({"pretrain.recipe": [recipe]}, sequential=True).retained_losses


def test_baselines_have_no_other_tasks() -> None:
    grid = {"pretrain.recipe": ["majority"]}
    ways: list[dict[str, Any]] = [
        {"multitask": {}},
        {"sequential": True},
        {"intermediate_tasks": [MNLI]},
    ]
    for how in ways:
        plan = planned(grid, **how)
        assert (
            not of_kind(plan, "train_tasks")
            and not plan.sequential_scores
            and not plan.retained_losses
        )


def test_intermediate_tasks_can_be_unsupported() -> None:
    plan = planned(protocol={"answer": "text"}, intermediate_tasks=[MNLI])
    assert "writes no text" in plan.unsupported["x", "micro-rte"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"intermediate_tasks": [{"task": "micro-mlni"}]}, "did you mean 'micro-mnli'"),
        (
            {"intermediate_tasks": [{"task": "micro-sts"}]},
            "needs a train set, but micro-sts has none",
        ),
        (
            {"intermediate_tasks": [{"task": "micro-mnli", "target_tasks": ["rte"]}]},
            "the chosen task 'rte'",
        ),
        (
            {"intermediate_tasks": [MNLI], "sequential": True},
            "intermediate_tasks and sequential exclude each other",
        ),
        (
            {"intermediate_tasks": [{"task": ["micro-mnli", "micro-rte"]}]},
            r"mixed tasks must have equal kinds, labels and numbers of texts, but have micro-mnli "
            r"\(classification of 2 texts: contradiction, entailment, neutral\) and micro-rte "
            r"\(classification of 2 texts: entailment, not_entailment\)",
        ),
        (
            {"intermediate_tasks": [{"task": ["micro-mnli", "micro-cb", "micro-mnli"]}]},
            "mixed tasks must differ, but micro-mnli is given twice",
        ),
        (
            {"intermediate_tasks": [{"task": ["micro-ner", "micro-ner"]}]},
            "mixed tasks must have classes or values, but micro-ner is of tagging",
        ),
        (
            {"intermediate_tasks": [{"task": ["micro-mnli"]}]},
            "must be a name or a list of two or more, but has 1",
        ),
        (
            {"intermediate_tasks": [{"task": ["micro-mnli", "micro-cola"], "siamese": "softmax"}]},
            "siamese needs a pair of texts with a class or a value, but micro-cola has none",
        ),
        (
            {"intermediate_tasks": [{**JOINT, "siamese": ["ranking", "infersent"]}]},
            "siamese must be one objective, or a list of one for each task, but there are 2 for 3",
        ),
        (
            {"intermediate_tasks": [{"task": "micro-swag", "siamese": ["ranking", "infersent"]}]},
            "siamese must be one objective, or a list of one for each task, but there are 2 for 1",
        ),
        (
            {"intermediate_tasks": [{**JOINT, "siamese": ["ranking", "infersent", "softmax"]}]},
            "siamese needs a pair of texts with a class or a value, but micro-dialogue has none",
        ),
        (
            {
                "intermediate_tasks": [
                    {"task": ["micro-mnli"] * 2, "siamese": ["softmax", "triplet"]}
                ]
            },
            "mixed tasks must differ, but micro-mnli is given twice",
        ),
        (
            {
                "intermediate_tasks": [
                    {"task": ["micro-swag", "micro-dialogue"], "siamese": "ranking"}
                ]
            },
            "mixed tasks must have classes or values, but micro-swag is of multiple_choice",
        ),
        ({"multitask": {}, "adaptation": "prompt"}, "needs the adaptation full, but it is prompt"),
        ({"multitask": {"temperature": 0.5}}, "greater than or equal to 1"),
    ],
)
def test_invalid_combinations(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Evaluate.read(FAST | fields)


def predictions(runner: StageRunner, key: str) -> np.ndarray:
    return pd.read_parquet(runner.out(key) / "predictions.parquet")["prediction"].to_numpy()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> StageRunner:
    return StageRunner(tmp_path_factory.mktemp("stages"))


@cache
def sequence_plan() -> Plan:
    return planned(sequential=True)


def test_the_score_after_the_first_task_is_that_of_single_task_fine_tuning(
    runner: StageRunner,
) -> None:
    """Loaded network and head predict like the model that was just fine-tuned."""
    plan, alone = sequence_plan(), planned(tasks=["micro-rte"])
    runner.run(plan)
    runner.run(alone)
    first = next(one for one in plan.sequential_scores if one.after_task == one.task == "micro-rte")
    own = predictions(runner, alone.finetune_runs[0].key)
    assert np.array_equal(predictions(runner, first.key), own)
    metrics = runner.finished[first.key].metrics
    assert metrics["steps"] == 0 and "validation/accuracy" in metrics


def test_frame_of_sequential_scores(runner: StageRunner) -> None:
    plan = sequence_plan()
    runner.run(plan)
    frame = sequential_scores_frame(runner.results(plan))
    assert list(frame.columns) == SEQUENTIAL_COLUMNS
    rows = frame[["after_task", "task"]].drop_duplicates().itertuples(index=False)
    assert [tuple(row) for row in rows] == [
        (one.after_task, one.task) for one in plan.sequential_scores
    ]
    assert frame["value"].notna().any()
    costs = costs_frame(runner.results(plan)).set_index("stage")
    training_seconds = sum(
        runner.finished[stage.key].metrics["seconds"] for stage in of_kind(plan, "train_tasks")
    )
    assert costs.loc["train_tasks", "seconds"] == pytest.approx(training_seconds)


def test_the_first_retained_loss_is_that_of_pretraining(runner: StageRunner) -> None:
    """Fine-tuning on each task changes the loss."""
    plan = sequence_plan()
    runner.run(plan)
    frame = retained_losses_frame(runner.results(plan))
    assert list(frame.columns) == RETAINED_COLUMNS and list(frame["after_task"]) == ["", *TASKS]
    pretrained = runner.finished[plan.pretrain_keys["x", 0]].metrics["validation_loss"]
    assert frame["loss"].iloc[0] == pytest.approx(pretrained, abs=1e-6)
    assert frame["loss"].nunique() == len(frame)


def test_multitask_records_the_share_of_each_task(runner: StageRunner) -> None:
    plan = planned(multitask={"mixing": "equal"})
    runner.run(plan)
    (stage,) = of_kind(plan, "train_tasks")
    shares = json.loads((runner.out(stage.key) / "tasks.json").read_text())
    assert shares.keys() == set(TASKS)
    assert sum(one["steps"] for one in shares.values()) == 3 * 2
    assert all(one["share"] == pytest.approx(1 / 3) for one in shares.values())
    for task in TASKS:
        assert runner.finished[stage_of(plan, task).key].metrics["steps"] == 0


def test_siamese_training_spreads_cosine_similarities(runner: StageRunner) -> None:
    settings = {**FAST["finetune"], "epochs": 8}
    before = {"task": "micro-stsb", "siamese": "cosine", "finetune": settings}
    protocol = {**FAST["protocol"], "pooling": "mean"}
    suite: dict[str, Any] = {"suite": "micro-sts-v1", "tasks": ["micro-sickr"]}
    suite["protocol"] = protocol
    trained, plain = planned(**suite, intermediate_tasks=[before]), planned(**suite)
    for plan in (trained, plain):
        runner.run(plan)
    keys = [plan.finetune_runs[0].key for plan in (trained, plain)]
    cosines = [predictions(runner, key) for key in keys]
    assert cosines[0].std() > 2 * cosines[1].std()


def test_mixed_tasks_train_as_one(runner: StageRunner) -> None:
    """As many updates as for all examples together, and one head."""
    mixture = {"task": ["micro-mnli", "micro-cb"], "siamese": "softmax"}
    plan = planned(tasks=["micro-rte"], intermediate_tasks=[mixture])
    runner.run(plan)
    (stage,) = of_kind(plan, "train_tasks")
    figures = json.loads((runner.out(stage.key) / "tasks.json").read_text())
    assert list(figures) == ["micro-mnli + micro-cb"]
    assert figures["micro-mnli + micro-cb"]["steps"] == 2 * 16 / 8
    assert len(list((runner.out(stage.key) / "heads").iterdir())) == 1


def test_objectives_of_several_tasks_are_learned_together(runner: StageRunner) -> None:
    """Each with a head of its own, and as many updates as one by one."""
    suite: dict[str, Any] = {"suite": "micro-sts-v1", "tasks": ["micro-sickr"]}
    suite["protocol"] = {**FAST["protocol"], "pooling": "mean_sqrt_len"}
    trained, plain = planned(**suite, intermediate_tasks=[JOINT]), planned(**suite)
    for plan in (trained, plain):
        runner.run(plan)
    (stage,) = of_kind(trained, "train_tasks")
    figures = json.loads((runner.out(stage.key) / "tasks.json").read_text())
    assert {*figures} == {*JOINT["task"]}
    assert sum(one["steps"] for one in figures.values()) == 3 * 16 / 8
    assert len(list((runner.out(stage.key) / "heads").iterdir())) == 3
    after, before = (predictions(runner, plan.finetune_runs[0].key) for plan in (trained, plain))
    assert not np.array_equal(after, before)


def test_only_runs_that_were_computed_in_another_way_have_other_keys() -> None:
    """New layers were drawn where networks are only scored, token heads stayed frozen where a later
    task alone writes text, missing tags were the first, not O, attributions to a soft prompt were
    read as those to words, fixed embeddings were trained, targets in a token head counted, and
    COCO-LM was scored on tokens that it sees."""
    drawn = {**FAST["finetune"], "reinit_layers": 1}
    several: tuple[tuple[dict[str, Any], bool], ...]
    given: dict[str, Any]
    several = (({"multitask": {}}, True), ({"sequential": True}, True), ({}, False))
    for fields, marked in several:
        stages = of_kind(planned(**fields, finetune=drawn), "finetune")
        assert stages and all(("reinit" in one.spec) is marked for one in stages)
        assert not any("reinit" in one.spec for one in of_kind(planned(**fields), "finetune"))
    text, label = "micro-sum", "micro-mrpc"
    for names, marked in (([label, text], True), ([text, label], False), ([label], False)):
        suite = {"name": "mine", "tasks": names}
        plan = planned({"pretrain.recipe": ["t5"]}, suite=suite, tasks=None, multitask={})
        (stage,) = of_kind(plan, "train_tasks")
        assert task_names(stage) == names and (stage.spec["token_head"] == "trained") is marked
    tagging = TASK_VALUES["conll2003_ner"]
    late = tagging.model_copy(update={"labels": tagging.labels[::-1]})
    cases = (("text", late, True), ("text", tagging, False), ("head", late, False))
    for answer, task, marked in cases:
        evaluate = Evaluate.model_validate({"protocol": {"answer": answer}})
        assert ("missing_tags" in since_repairs(evaluate, task)) is marked
    for kind, marked in (("prompt_tuning", True), ("lora", False)):
        given = {"adaptation": kind, "diagnostics": ["changed_words"]}
        assert ("attributions" in since_repairs(Evaluate.model_validate(given), tagging)) is marked
    for kind, marked in (("selective", True), ("top_layers", False), ("full", False)):
        given = {"adaptation": {"kind": kind} if kind == "selective" else kind}
        assert ("fixed" in since_repairs(Evaluate.model_validate(given), tagging)) is marked
    for answer, targets, marked in (
        ("head", ["dense"], True),
        ("text", ["dense"], False),
        ("head", None, False),
    ):
        given = {"adaptation": {"kind": "lora", "targets": targets}, "protocol": {"answer": answer}}
        assert ("targets" in since_repairs(Evaluate.model_validate(given), tagging)) is marked
    scored = planned({"pretrain.recipe": ["bert", "coco_lm"]}, probes=["micro-blimp"])
    probes = {run.arm: scored.stages[run.key].spec for run in scored.probe_runs}
    assert {arm: "requests" in spec for arm, spec in probes.items()} == {
        "bert": False,
        "coco_lm": True,
    }
