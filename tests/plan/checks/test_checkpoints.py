"""Checks, costs and power of plans with checkpoints."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.power import power_line
from harness.models.checkpoints.weight_files import num_weights
from harness.plan.checks.tokenizers import FEW_UNKNOWN, MANY_PIECES, fertility
from harness.plan.learned_vocabularies import UNKNOWN_SHARE, with_learned_vocabularies
from harness.plan.plan import Plan
from tests.cli.test_plan_output import cells, printed
from tests.experiment.test_checkpoint_experiment import write_bert
from tests.plan.checks.test_checks import found, own_task, planned

SEEDS = {"pretrain": 3, "finetune": 1}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a tokenizer of the micro-world."""
    return write_bert(tmp_path_factory.mktemp("models") / "theirs")


def beside(checkpoint: Path, names: tuple[str, ...] = ("theirs", "ours"), **fields: Any) -> Plan:
    theirs = {"pretrain.recipe": "checkpoint", "pretrain.model.checkpoint": str(checkpoint)}
    arms = {
        "theirs": theirs,
        "ours": {"pretrain.recipe": "bert"},
        "more": {"pretrain.size": "tiny"},
    }
    return planned(grid={"arm": {name: arms[name] for name in names}}, seeds=SEEDS, **fields)


def test_a_checkpoint_is_one_run_for_any_number_of_seeds(bert: Path) -> None:
    (line,) = found("single_runs", beside(bert))
    assert line.startswith("theirs: a checkpoint is one pretraining run") and "never" in line
    assert found("single_runs", beside(bert, ("ours", "more"))) == []
    assert found("single_runs", beside(bert, ("theirs",))) == []
    step = {"corpus": "microworld", "budget": {"steps": 10}}
    evaluate = {"tasks": ["micro-sst2"], "continued_pretraining": [step]}
    assert found("single_runs", beside(bert, evaluate=evaluate)) == []


def test_power_is_of_arms_with_a_run_per_seed(bert: Path) -> None:
    assert power_line(beside(bert)) is None
    assert "3 pretraining seeds" in (power_line(beside(bert, ("theirs", "ours", "more"))) or "")


def test_the_parameters_of_a_checkpoint_are_its_weights(bert: Path) -> None:
    plan = beside(bert)
    cost = plan.costs["theirs"]
    assert (cost.parameters, cost.flops) == (num_weights(bert), None)
    assert cells(printed(plan), "theirs") == ["-", "-", f"{num_weights(bert):,}", "1.00x", "-"]


def test_a_field_that_only_the_checkpoint_lacks_is_set_by_the_base(
    bert: Path, tmp_path: Path
) -> None:
    from harness.plan.factory import load_plan

    file = tmp_path / "x.yaml"
    file.write_text(f"""
name: x
question: which?
pretrain: {{size: nano, corpus: microworld, batch_size: 32, budget: {{steps: 600}}}}
grid:
  arm:
    ours: {{pretrain.recipe: bert}}
    theirs: {{pretrain.recipe: checkpoint, pretrain.model.checkpoint: {bert}}}
evaluate: {{tasks: [micro-sst2]}}
""")
    output = printed(load_plan(file))
    assert cells(output, "pretrain.batch_size") == ["base", "32", "–"]
    assert cells(output, "pretrain.optimizer.beta2")[0] == "recipe"
    assert cells(output, "pretrain.optimizer.learning_rate")[0] == "size"
    assert cells(output, "pretrain.recipe")[0] == "axis"


def test_a_tokenizer_that_does_not_know_the_tasks(bert: Path, tmp_path: Path) -> None:
    assert found("unfit_tokenizer", beside(bert)) == []
    unknown = own_task(tmp_path, ["ሰላም ለዓለም"] * 4)
    (line,) = found("unfit_tokenizer", beside(bert, ("theirs",), evaluate=unknown))
    assert line.startswith("theirs: ") and "of the tokens of its tasks are unknown" in line
    letters = own_task(tmp_path, ["bcdfghjklm nopqrstvwx"] * 4)
    *_, line = found("unfit_tokenizer", beside(bert, ("theirs",), evaluate=letters))
    assert "pieces on average (fertility, Rust et al. 2021), more than 3" in line


def test_fertility_is_of_words_and_marks_without_padding(bert: Path) -> None:
    pieces, unknown = fertility(bert, ["the", "the the ."]) or (0.0, 1.0)
    assert (pieces, unknown) == (1.0, 0.0)
    pieces, _ = fertility(bert, ["bcdfghjklm"]) or (0.0, 0.0)
    assert pieces > MANY_PIECES
    assert fertility(bert, [""]) is None


def test_fertility_is_unknown_without_a_token_of_unknown_text(bert: Path, tmp_path: Path) -> None:
    content = json.loads((bert / "tokenizer.json").read_text())
    content["model"]["unk_token"] = "[absent]"
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert fertility(tmp_path, ["ሰላም"]) is None


def test_unknown_tokens_of_a_corpus_are_known_after_it_is_tokenized() -> None:
    plan = planned()
    (tokens,) = [key for key, stage in plan.stages.items() if stage.kind == "tokenize"]

    def warned(share: float) -> list[str]:
        metrics = {tokens: {UNKNOWN_SHARE: share}}
        return found("unfit_tokenizer", with_learned_vocabularies(plan, metrics))

    (line,) = warned(0.034)
    assert line.startswith("x: 3.4 % of the tokens of its text are unknown")
    assert warned(FEW_UNKNOWN) == [] and found("unfit_tokenizer", plan) == []
