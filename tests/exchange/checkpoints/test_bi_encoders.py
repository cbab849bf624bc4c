"""Bi-encoders and embedders as folders of sentence-transformers: the embeddings are the same."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast
from typer.testing import CliRunner

from harness.cli.app import app
from harness.exchange.checkpoints.bi_encoders import _step, is_trained_further, protocol_of_arm
from harness.exchange.checkpoints.selection import _network
from harness.finetuning.adaptation import ADAPTATIONS, Frozen
from harness.finetuning.heads.retrieval import Retrieval
from harness.finetuning.protocol import Protocol
from harness.finetuning.run import outputs
from harness.models.backbone import Backbone
from harness.models.build import load
from harness.models.checkpoints.sentence_embeddings import SentenceEmbedding, read_embedding
from harness.pretraining.checkpoint_import import adopt
from harness.study import Study
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from tests.stage_runner import StageRunner

EXPERIMENT = """
name: sentences
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
  training:
    none: {evaluate.intermediate_tasks: []}
    siamese: {evaluate.intermediate_tasks: [{task: micro-mnli, siamese: softmax}]}
    pairs: {evaluate.intermediate_tasks: [{task: micro-mnli}]}
seeds: {pretrain: 1, finetune: 2}
evaluate:
  suite: micro-sts-v1
  tasks: [micro-sts]
  protocol: {pooling: max, max_sequence_length: 16, max_train_examples: 40}
  finetune: {epochs: 1}
"""
PROTOCOL = Protocol(pooling="max", max_sequence_length=16)
TEXTS = ["the cat saw the dog .", "a dog", " ".join(["the cat saw the dog ."] * 6), "rain came"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Everything is trained and stored but the runs on tasks."""
    root = tmp_path_factory.mktemp("sentences")
    (root / "x.yaml").write_text(EXPERIMENT)
    study = Study.load(root / "x.yaml", (), root / "runs")
    runner = StageRunner(root)
    for key, stage in study.plan.stages.items():
        if stage.kind in ("pretrain", "train_tasks"):
            runner.make(study.plan, key)
    for key, finished in runner.finished.items():
        stage = study.plan.stages[key]
        spec = {**stage.spec, "parents": stage.parents}
        study.store.record(key, stage.kind, stage.label, spec, finished.metrics, runner.out(key))
    return study


def export(study: Study, *arguments: object) -> str:
    command = ["export", *map(str, arguments), "--store", str(study.folder)]
    result = CliRunner().invoke(app, command)
    return f"{result.exit_code} {' '.join(result.output.split())}"


def trained(study: Study, arm: str, seed: int = 0) -> str:
    """Key of what an arm trained before its task."""
    runs = study.plan.finetune_runs
    run = next(one for one in runs if (one.arm, one.finetune_seed) == (arm, seed))
    return study.plan.stages[run.key].parents["body"]


def stored(study: Study, key: str) -> Path:
    record = study.store.find(key)
    folder = record and study.store.fetch(record)
    assert folder
    return folder / "model"


def embeddings(backbone: Backbone, folder: Path, protocol: Protocol) -> np.ndarray:
    """[num_texts, H] as a similarity task compares them, of length 1."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    head = Retrieval(TASKS["micro-retrieval"], protocol, tokenizer)
    model = head.make_model(backbone, ADAPTATIONS["full"])
    examples = Examples([(text, TEXTS[0]) for text in TEXTS], np.ones(len(TEXTS)))
    found = outputs(model, head, head.encode(examples))[: len(TEXTS)]  # without documents
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def exported(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "siamese"
    assert export(study, study.declaration.path, out, "--arm", "siamese").startswith("0")
    return out


def test_the_network_is_that_of_the_bi_encoder(study: Study, exported: Path) -> None:
    ours, theirs = (
        load_file(folder / "model.safetensors")
        for folder in (stored(study, trained(study, "siamese")), exported)
    )
    assert set(ours) >= set(theirs) and all(
        torch.equal(ours[name], theirs[name]) for name in theirs
    )


@pytest.mark.parametrize(("layer", "compares"), [(None, True), (-1, True), (0, False)])
def test_embeddings_of_another_layer_are_not_those_of_the_folder(
    study: Study, layer: int | None, compares: bool
) -> None:
    """A folder of sentence-transformers embeds texts by its last layer."""
    arm = study.plan.arms[0]
    evaluate = arm.evaluate.model_copy(update={"adaptation": Frozen(layer=layer)})
    found = protocol_of_arm(replace(arm, evaluate=evaluate))
    assert found == (arm.evaluate.protocol if compares else None)


def test_the_folder_states_the_pooling(exported: Path) -> None:
    found = read_embedding(exported)
    assert found == SentenceEmbedding(pooling="max", max_length=16)
    assert [one["path"] for one in read(exported / "modules.json")] == ["", "1_Pooling"]
    assert read(exported / "1_Pooling/config.json")["word_embedding_dimension"] == 32
    assert read(exported / "sentence_bert_config.json")["max_seq_length"] == 16
    card = (exported / "README.md").read_text()
    assert "SentenceTransformer(" in card and "trained as a bi-encoder" in card
    assert "| bi-encoder training 1 | micro-mnli; siamese softmax; 1 epochs" in card


def read(file: Path) -> Any:
    return json.loads(file.read_text())


def test_the_folder_read_again_gives_the_same_embeddings(study: Study, exported: Path) -> None:
    """By its own pooling, which `native` takes, and by the pooling of the experiment."""
    before = embeddings(load(stored(study, trained(study, "siamese"))), exported, PROTOCOL)
    native = Protocol(pooling="native", max_sequence_length=16)
    np.testing.assert_allclose(embeddings(adopt(exported), exported, native), before, atol=1e-6)
    plain = adopt(exported)
    assert plain.embedding == read_embedding(exported)


def test_embeddings_are_those_of_transformers_and_a_maximum(exported: Path) -> None:
    """As Pooling of sentence-transformers computes it: the largest state of real tokens."""
    tokens = AutoTokenizer.from_pretrained(exported)(
        TEXTS, padding=True, truncation=True, max_length=16, return_tensors="pt"
    )
    with torch.no_grad():
        states = AutoModel.from_pretrained(exported).eval()(**tokens).last_hidden_state
    real = tokens["attention_mask"].unsqueeze(-1).bool()
    pooled = states.masked_fill(~real, -1e9).amax(1)
    wanted = torch.nn.functional.normalize(pooled, dim=-1).numpy()
    native = Protocol(pooling="native", max_sequence_length=16)
    np.testing.assert_allclose(embeddings(adopt(exported), exported, native), wanted, atol=1e-6)


def test_sentence_transformers_gives_the_same_embeddings(exported: Path) -> None:
    library = pytest.importorskip("sentence_transformers", reason="it is no dependency")
    model = library.SentenceTransformer(str(exported), device="cpu")
    assert model.max_seq_length == 16
    found = model.encode(TEXTS, normalize_embeddings=True)
    native = Protocol(pooling="native", max_sequence_length=16)
    ours = embeddings(adopt(exported), exported, native)
    np.testing.assert_allclose(found, ours, atol=1e-6)


def test_an_embedder_without_training_has_the_pooling_of_its_protocol(
    study: Study, tmp_path: Path
) -> None:
    assert export(study, study.declaration.path, tmp_path / "none", "--arm", "none").startswith("0")
    assert read_embedding(tmp_path / "none") == SentenceEmbedding(pooling="max", max_length=16)
    assert "bi-encoder" not in (tmp_path / "none/README.md").read_text()
    key = study.plan.pretrain_keys["none", 0]
    assert export(study, key, tmp_path / "key").startswith("0")  # no experiment names a pooling
    assert read_embedding(tmp_path / "key") is None


def test_a_bi_encoder_is_exported_by_its_key(study: Study, tmp_path: Path, exported: Path) -> None:
    assert export(study, trained(study, "siamese"), tmp_path / "first").startswith("0")
    first = load_file(tmp_path / "first/model.safetensors")
    arm = load_file(exported / "model.safetensors")
    assert all(torch.equal(arm[name], first[name]) for name in arm)
    assert read_embedding(tmp_path / "first") == read_embedding(exported)
    assert export(study, trained(study, "siamese", 1), tmp_path / "second").startswith("0")
    second = load_file(tmp_path / "second/model.safetensors")
    assert not all(torch.equal(second[name], first[name]) for name in first)


def test_the_seed_is_the_first_that_is_declared(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(EXPERIMENT.replace("finetune: 2", "finetune: [1, 0]"))
    study = Study.load(tmp_path / "x.yaml", (), tmp_path / "runs")
    assert _network(study.results, "siamese", 0) == trained(study, "siamese", seed=1)


def test_a_task_before_a_bi_encoder_is_not_called_siamese(study: Study) -> None:
    spec = dict(study.plan.stages[trained(study, "pairs")].spec)
    assert _step(spec).line == "micro-mnli; fine-tuning; 1 epochs; fine-tuning seed 0"


def test_training_on_pairs_together_leaves_no_bi_encoder(study: Study, tmp_path: Path) -> None:
    found = export(study, trained(study, "pairs"), tmp_path / "out")
    assert found.startswith("2") and "or a bi-encoder, but" in found
    assert found.endswith("is of kind train_tasks")


def test_other_training_on_tasks_is_of_the_scores_alone(study: Study) -> None:
    """A multi-task network embeds as it was scored; the exported one was before it."""
    runs = {run.arm: run.key for run in study.plan.finetune_runs}
    further = {arm: is_trained_further(study.plan, key) for arm, key in runs.items()}
    assert further == {"none": False, "siamese": False, "pairs": True}
