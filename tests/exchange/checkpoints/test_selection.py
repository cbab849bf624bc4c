"""Export selects the network that the tasks of an arm start from; interrupted exports."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from harness.cli.app import app
from harness.core.files import DRAFT
from harness.exchange.checkpoints import network, selection
from harness.models.checkpoints.weight_files import num_weights
from harness.study import Study
from tests.stage_runner import StageRunner

EXPERIMENT = """
name: continued
question: Does it help?
pretrain:
  recipe: roberta
  size: {num_layers: 1, hidden_size: 32, num_heads: 2, intermediate_size: 64}
  corpus: {source: microworld, num_tokens: 6_000}
  tokenizer: {algorithm: wordpiece, vocab_size: 3_000}
  phases: [{fraction: 1, sequence_length: 64}]
  batch_size: 4
  schedule: {warmup_steps: null, warmup_fraction: 0.1}
  budget: {tokens: 1_000}
grid:
  text:
    none: {evaluate.continued_pretraining: []}
    dapt:
      evaluate.continued_pretraining:
        - corpus: {source: microworld, domain: biomed, num_tokens: 6_000}
          budget: {tokens: 1_000}
    tapt: {evaluate.continued_pretraining: [{corpus: task, budget: {tokens: 1_000}}]}
seeds: {pretrain: 1}
evaluate: {suite: micro-dapt-v1, tasks: [micro-chemprot, micro-rct]}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Every network is trained and stored; nothing is fine-tuned."""
    root = tmp_path_factory.mktemp("continued")
    (root / "x.yaml").write_text(EXPERIMENT)
    study = Study.load(root / "x.yaml", (), root / "runs")
    runner = StageRunner(root)
    for key, stage in study.plan.stages.items():
        if stage.kind in ("pretrain", "continue_pretraining"):
            runner.make(study.plan, key)
    for key, finished in runner.finished.items():
        stage = study.plan.stages[key]
        spec = {**stage.spec, "parents": stage.parents}
        study.store.record(key, stage.kind, stage.label, spec, finished.metrics, runner.out(key))
    return study


def network_of(study: Study, arm: str, task: str) -> str:
    run = next(one for one in study.plan.finetune_runs if (one.arm, one.task) == (arm, task))
    return study.plan.stages[run.key].parents["pretrain"]


def export(study: Study, *arguments: object) -> tuple[int, str]:
    """Exit code and output of the command."""
    command = ["export", *map(str, arguments), "--store", str(study.folder)]
    result = CliRunner().invoke(app, command)
    return result.exit_code, " ".join(result.output.split())


def same_weights(study: Study, key: str, out: Path) -> bool:
    record = study.store.find(key)
    folder = record and study.store.fetch(record)
    assert folder
    ours, theirs = (load_file(p / "model.safetensors") for p in (folder / "model", out))
    return set(ours) == set(theirs) and all(torch.equal(ours[n], theirs[n]) for n in ours)


def test_the_network_is_the_one_that_the_tasks_start_from(study: Study, tmp_path: Path) -> None:
    for arm in ("none", "dapt"):
        code, output = export(study, study.declaration.path, tmp_path / arm, "--arm", arm)
        assert code == 0, output
        assert same_weights(study, network_of(study, arm, "micro-rct"), tmp_path / arm)
    assert not same_weights(study, study.plan.pretrain_keys["dapt", 0], tmp_path / "dapt")
    card = (tmp_path / "dapt" / "README.md").read_text()
    assert network_of(study, "dapt", "micro-rct") in card
    assert "| continued pretraining 1 |" in card
    assert "6,000 words, domain biomed; " in card and "with 1 x continued pretraining" in card
    assert "| continued pretraining" not in (tmp_path / "none" / "README.md").read_text()


def test_networks_that_differ_by_task_are_selected_by_key(study: Study, tmp_path: Path) -> None:
    code, output = export(study, study.declaration.path, tmp_path / "out", "--arm", "tapt")
    keys = [network_of(study, "tapt", task) for task in ("micro-chemprot", "micro-rct")]
    assert code == 2
    assert "name the key of one" in output
    assert f"{keys[0]} of micro-chemprot; {keys[1]} of micro-rct" in output
    assert not (tmp_path / "out").exists()
    code, output = export(study, keys[1], tmp_path / "out")
    assert code == 0, output
    assert same_weights(study, keys[1], tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "texts of a task's train set (micro-rct)" in card
    assert "language:" not in card and 'license: "other"' in card


def test_the_card_counts_the_exported_weights(study: Study, tmp_path: Path) -> None:
    export(study, study.declaration.path, tmp_path / "out", "--arm", "none")
    count = num_weights(tmp_path / "out")
    assert count < (study.plan.costs["none"].parameters or 0)  # the text has fewer than 3,000 words
    assert f"| parameters | {count:,} |" in (tmp_path / "out" / "README.md").read_text()


def test_the_card_counts_flops_with_the_learned_vocabulary(study: Study, tmp_path: Path) -> None:
    export(study, study.declaration.path, tmp_path / "out", "--arm", "none")
    card = (tmp_path / "out" / "README.md").read_text()
    plan = study.results.plan  # as the report counts them
    assert f"| FLOPs | {plan.costs['none'].flops:.3g} |" in card
    assert f"| tokenizer | wordpiece, {plan.vocab_sizes['none']:,} entries |" in card
    assert plan.vocab_sizes["none"] < 3_000


def test_an_interrupted_export_can_be_repeated(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as broken:
        broken.setattr(selection, "write_card", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            selection.export(selection.of_experiment(study.results, "none", 0), study.store, out)
    assert not out.exists()
    (out / DRAFT).mkdir(parents=True)  # left by a killed export
    (out / DRAFT / "model.safetensors").write_text("half")
    assert export(study, study.declaration.path, out, "--arm", "none")[0] == 0
    assert not (out / DRAFT).exists() and num_weights(out)
    code, output = export(study, study.declaration.path, out, "--arm", "none")
    assert (code, "must be a new or an empty folder" in output) == (2, True)


def test_a_file_is_refused_as_the_output_folder(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "write_network", lambda *_: 1 / 0)
    (tmp_path / "file").write_text("mine")
    code, output = export(study, study.declaration.path, tmp_path / "file", "--arm", "none")
    assert (code, output.endswith("or a writable one, but is a file")) == (2, True)
