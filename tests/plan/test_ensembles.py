"""Ensembles of fine-tuning runs: stages, keys, scores against averages by hand, and what is
refused."""

import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from transformers import PreTrainedTokenizerFast

from harness.analysis.frames.adaptation import adaptation_costs_frame
from harness.analysis.frames.costs import costs_frame
from harness.core.compute import Compute
from harness.execution.finetuned_model import load_finetuned
from harness.execution.stages.context import StageContext
from harness.execution.stages.task_runner import TaskRunner
from harness.experiment.declaration import from_data
from harness.experiment.evaluation import Evaluate
from harness.experiment.source import DeclarationError
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.adapted_weights import WEIGHTS
from harness.finetuning.averaged_models import AveragedOutputs
from harness.finetuning.ensemble import Ensemble
from harness.finetuning.heads import HEADS
from harness.finetuning.run import predict
from harness.plan.ensemble_stages import members_of
from harness.plan.plan import Plan, Stage
from harness.plan.protocol import protocol_of, protocol_text
from harness.tasks.load_examples import available_splits, load_examples
from harness.tasks.scores import PREDICTIONS
from tests.finetuning.heads.test_conformance import (
    make_backbone,
    make_examples,
    make_head,
    tokenizer,
)
from tests.plan.test_task_chain_stages import BASE, FAST, planned
from tests.stage_runner import StageRunner

__all__ = ["tokenizer"]
ARMS: dict[str, dict[str, Any]] = {
    "single": {},
    "outputs": {"evaluate.ensemble": {"members": 3}},
    "weights": {"evaluate.ensemble": {"members": 3, "average": "weights"}},
}
TASKS = ["micro-rte", "micro-stsb"]
"""Of classes and of values."""


@cache
def plan(**evaluate: Any) -> Plan:
    return planned({"model": ARMS}, tasks=TASKS, save_weights=True, **evaluate)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> StageRunner:
    made = StageRunner(tmp_path_factory.mktemp("stages"))
    made.run(plan())
    return made


def stage(made: Plan, arm: str, task: str) -> Stage:
    return next(
        made.stages[run.key] for run in made.finetune_runs if (run.arm, run.task) == (arm, task)
    )


def members(made: Plan, arm: str, task: str) -> list[Stage]:
    return [made.stages[key] for key in members_of(stage(made, arm, task).parents)]


def weights_of(runner: StageRunner, one: Stage) -> dict[str, torch.Tensor]:
    return load_file(runner.out(one.key) / "weights" / WEIGHTS)


def outputs_of(runner: StageRunner, one: Stage) -> np.ndarray:
    """Of the model that a run saved, on the development set."""
    inputs = {role: runner.out(key) for role, key in one.parents.items()}
    out, root = runner.out(one.key), runner.workspace.root
    model = load_finetuned(one.spec, inputs, out, root).model
    context = StageContext(one.spec, inputs, out, root, root, Compute(), lambda *_, **__: None)
    own = TaskRunner(context)
    return own.outputs(model, load_examples(own.task, available_splits(own.task)[0]))


def predictions(runner: StageRunner, one: Stage) -> np.ndarray:
    frame = pd.read_parquet(runner.out(one.key) / PREDICTIONS)
    return frame["prediction"].to_numpy(float)


def test_members_have_distinct_seeds_and_one_run_is_scored() -> None:
    many = planned({"model": ARMS}, tasks=TASKS)
    for arm in ("outputs", "weights"):
        found = members(many, arm, "micro-rte")
        assert [one.spec["seed"] for one in found] == [0, 1, 2]
        assert all(one.spec["save_weights"] for one in found)
        assert stage(many, arm, "micro-rte").flops == 0 < found[0].flops
    initial = [one.spec.get("initial_seed") for one in members(many, "weights", "micro-rte")]
    assert initial == [None, 0, 0]


def test_ensembles_of_two_seeds_share_no_member() -> None:
    both = [Ensemble(members=4).seeds(seed) for seed in range(3)]
    assert sorted(itertools.chain(*both)) == list(range(12))


def test_the_first_member_is_the_run_alone_where_weights_are_saved() -> None:
    alone = stage(plan(), "single", "micro-rte")
    for arm in ("outputs", "weights"):
        assert members(plan(), arm, "micro-rte")[0].key == alone.key


def test_a_task_without_training_is_scored_as_it_is() -> None:
    both = planned({"model": ARMS}, suite="micro-sts-v1", tasks=["micro-sts"], protocol={})
    found = {run.arm: run.key for run in both.finetune_runs}
    assert len(set(found.values())) == 1


def test_the_average_of_outputs_is_that_of_the_members(runner: StageRunner) -> None:
    for task in TASKS:
        each = [outputs_of(runner, one) for one in members(plan(), "outputs", task)]
        mean = np.mean(each, axis=0)
        expected = mean.argmax(1) if task == "micro-rte" else mean[:, 0]
        found = predictions(runner, stage(plan(), "outputs", task))
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert not np.array_equal(each[0], each[1])


def test_the_average_of_weights_is_that_of_the_members(runner: StageRunner) -> None:
    for task in TASKS:
        found = weights_of(runner, stage(plan(), "weights", task))
        each = [weights_of(runner, one) for one in members(plan(), "weights", task)]
        for name, value in found.items():
            torch.testing.assert_close(value, torch.stack([one[name] for one in each]).mean(0))
        assert any(not torch.equal(each[0][name], each[1][name]) for name in found)
        own = outputs_of(runner, stage(plan(), "weights", task))
        expected = own.argmax(1) if task == "micro-rte" else own[:, 0]
        scored = predictions(runner, stage(plan(), "weights", task))
        np.testing.assert_allclose(scored, expected, rtol=1e-5)


def test_members_of_a_weight_average_begin_with_one_head(tmp_path: Path) -> None:
    fields = {"learning_rate": 1e-12, "epochs": 1}
    made = planned({"model": ARMS}, tasks=["micro-rte"], finetune=fields)
    runner = StageRunner(tmp_path)
    heads: dict[str, list[torch.Tensor]] = {}
    for arm in ("outputs", "weights"):
        for one in members(made, arm, "micro-rte"):
            runner.make(made, one.key)
            head = [
                value
                for name, value in weights_of(runner, one).items()
                if "backbone" not in name and value.ndim == 2
            ]
            heads.setdefault(arm, []).append(head[0])
    torch.testing.assert_close(heads["weights"][0], heads["weights"][1])
    assert not torch.allclose(heads["outputs"][0], heads["outputs"][1])


def test_averaged_outputs_are_no_single_network(runner: StageRunner) -> None:
    with pytest.raises(ValueError, match=r"is no single network; set .* to weights"):
        outputs_of(runner, stage(plan(), "outputs", "micro-rte"))


@pytest.mark.parametrize("average", ["outputs", "weights"])
def test_members_keep_what_their_seeds_draw_and_nobody_trains(tmp_path: Path, average: str) -> None:
    """Re-initialised layers are not saved if the adaptation leaves them as they are."""
    runner = StageRunner(tmp_path)
    made = planned(
        tasks=["micro-stsb"],
        adaptation="biases",
        finetune={"epochs": 1, "learning_rate": 1e-2, "batch_size": 8, "reinit_layers": 1},
        ensemble={"members": 2, "average": average},
    )
    (run,) = made.finetune_runs
    scored = made.stages[run.key]
    runner.make(made, scored.key)
    each = [outputs_of(runner, made.stages[key]) for key in members_of(scored.parents)]
    if average == "outputs":
        found = predictions(runner, scored)
        np.testing.assert_allclose(found, np.mean(each, axis=0)[:, 0], rtol=1e-4)
    else:  # all begin with the layers of the first
        first, second = (made.stages[key].spec for key in members_of(scored.parents))
        assert scored.spec["initial_seed"] == second["initial_seed"] == first["seed"]


def test_statistics_of_frozen_features_are_averaged(tmp_path: Path) -> None:
    runner = StageRunner(tmp_path)
    made = planned(
        tasks=["micro-rte"],
        adaptation="frozen",
        ensemble={"members": 2, "average": "weights"},
        save_weights=True,
    )
    (run,) = made.finetune_runs
    scored = made.stages[run.key]
    runner.make(made, scored.key)
    found = weights_of(runner, scored)
    each = [weights_of(runner, made.stages[key]) for key in members_of(scored.parents)]
    statistics = [name for name in found if "running_" in name]
    assert len(statistics) == 2
    for name in statistics:
        torch.testing.assert_close(found[name], (each[0][name] + each[1][name]) / 2)
        assert not torch.equal(each[0][name], each[1][name])


@pytest.mark.parametrize("kind", sorted(set(HEADS) - {"coreference", "similarity", "retrieval"}))
def test_an_ensemble_of_equal_members_is_the_member(
    kind: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    head, examples = make_head(kind, tokenizer), make_examples(kind)
    torch.manual_seed(0)
    backbone = make_backbone("bert", "bidirectional", tokenizer)
    member, data = head.make_model(backbone, ADAPTATIONS["full"]), head.encode(examples)
    head.loss(member.train()(batch := head.collate(data, np.arange(4))), batch)
    alone = predict(member, head, data, examples)
    both = predict(AveragedOutputs([member, member]), head, data, examples)
    assert all(map(np.array_equal, alone, both))


def test_costs_are_those_of_all_members(runner: StageRunner) -> None:
    results = runner.results(plan())
    costs = adaptation_costs_frame(results).groupby("arm").mean(numeric_only=True)
    for name in ("trained_parameters", "stored_bytes"):
        assert costs[name]["outputs"] == 3 * costs[name]["single"]
        assert costs[name]["weights"] == costs[name]["single"]
    assert costs["updates"].to_dict() == {"single": 2, "outputs": 6, "weights": 6}
    assert costs["peak_memory_bytes"].nunique() == 1
    seconds = costs_frame(results).query("stage == 'finetune'").set_index("arm")["seconds"]
    assert seconds["single"] < min(seconds["outputs"], seconds["weights"])


def test_the_protocol_names_the_ensemble() -> None:
    lines = protocol_of(plan())
    assert lines["except outputs"] == "ensemble.members 3, ensemble.average outputs"
    of_all = protocol_of(planned(tasks=TASKS, ensemble={"members": 2}))
    assert of_all["ensemble"] == "outputs of 2 runs"
    texts = [protocol_text({"ensemble": given}, {}) for given in (None, {"members": 2})]
    assert "ensemble" in json.loads(texts[1]) and "ensemble" not in json.loads(texts[0])


def test_a_run_without_an_ensemble_keeps_its_key() -> None:
    alone = planned(tasks=TASKS, save_weights=True)
    assert stage(plan(), "single", "micro-rte").key in {run.key for run in alone.finetune_runs}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ensemble": {"members": 1}}, "greater than or equal to 2"),
        ({"ensemble": {}}, "Field required"),
        ({"sequential": True}, "task alone, but sequential is given"),
        ({"multitask": {}}, "task alone, but multitask is given"),
        ({"intermediate_tasks": [{"task": "micro-mnli"}]}, "but intermediate_tasks is given"),
        ({"distillation": {"teacher": "x"}}, "task alone, but distillation is given"),
        ({"diagnostics": ["loss_curve"]}, "task alone, but diagnostics is given"),
        ({"adaptation": "prompt"}, "ensemble needs an adaptation that trains, but it is prompt"),
        (
            {"suite": "micro-elmo-v2", "tasks": ["micro-coref-documents"]},
            "micro-coref-documents are vectors of mentions; set ensemble.average",
        ),
        ({"protocol": {"answer": "text"}}, "micro-rte is answered as text; set ensemble.average"),
    ],
)
def test_unsuited_ensembles_are_refused(fields: dict[str, Any], message: str) -> None:
    given = {**FAST, "tasks": TASKS, "ensemble": {"members": 2}, **fields}
    with pytest.raises(ValueError, match=message):
        Evaluate.model_validate(given)


def test_weights_of_different_ranks_are_not_averaged() -> None:
    evaluate = {**FAST, "tasks": TASKS, "adaptation": "adalora", "ensemble": {"members": 2}}
    from_data({**BASE, "evaluate": evaluate})
    evaluate["ensemble"] = {"members": 2, "average": "weights"}
    with pytest.raises(DeclarationError, match=r"must be 'outputs' .* keep different ranks"):
        from_data({**BASE, "evaluate": evaluate})


def test_weights_of_networks_with_text_output_are_averaged() -> None:
    given = {"members": 2, "average": "weights"}
    Evaluate.model_validate({**FAST, "ensemble": given, "protocol": {"answer": "text"}})
