"""Export of an imported checkpoint: the files it came with, never a head of random weights."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
import transformers
from safetensors.torch import load_file

from harness.exchange.checkpoints import selection
from harness.exchange.checkpoints.arm_models import ArmModels
from harness.models.checkpoints import files
from harness.models.checkpoints.sentence_embeddings import read_embedding
from harness.report.provenance import report_provenance
from harness.report.threats import of_checkpoints
from harness.study import Study
from tests.experiment.test_checkpoint_experiment import VOCAB, write_bert
from tests.models.checkpoints.test_sentence_embeddings import write_modules, write_network
from tests.stage_runner import StageRunner

EXPERIMENT = """
name: theirs
question: How good is theirs?
pretrain: {recipe: checkpoint, model: {checkpoint: FOLDER}}
evaluate: {suite: micro-sts-v1, tasks: [micro-sickr]}
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model without a token head, whose pooler is trained."""
    folder = write_bert(tmp_path_factory.mktemp("models") / "theirs")
    write_modules(write_network(folder, vocab_size=VOCAB, max_position_embeddings=128))
    (folder / "1_Pooling" / "weights.bin").write_text("of a module")
    return folder


def imported(folder: Path, root: Path) -> Study:
    """A study whose checkpoint is imported; nothing is scored."""
    (root / "x.yaml").write_text(EXPERIMENT.replace("FOLDER", str(folder)))
    study, runner = Study.load(root / "x.yaml", (), root / "runs"), StageRunner(root)
    for key, stage in study.plan.stages.items():
        if stage.kind in ("tokenizer", "pretrain"):
            runner.make(study.plan, key)
            spec = {**stage.spec, "parents": stage.parents}
            study.store.record(key, stage.kind, stage.label, spec, {}, runner.out(key))
    return study


def export(study: Study, out: Path) -> str:
    """The model card."""
    chosen = selection.of_experiment(study.results, "theirs", 0)
    return (selection.export(chosen, study.store, out) / "README.md").read_text()


def test_a_checkpoint_is_exported_as_imported(original: Path, tmp_path: Path) -> None:
    study = imported(original, tmp_path)
    card, out = export(study, tmp_path / "out"), tmp_path / "out"
    assert files.fingerprint(str(out), None) == files.fingerprint(str(original), None)
    names = load_file(out / "model.safetensors")
    assert "pooler.dense.weight" in names and not [name for name in names if "cls." in name]
    assert (out / "1_Pooling" / "weights.bin").is_file() and (out / "modules.json").is_file()
    assert "library_name: sentence-transformers" in card and "SentenceTransformer(" in card
    model, _ = ArmModels(study.results, None).load()
    assert isinstance(model, transformers.BertModel)


def test_a_checkpoint_is_identified_by_the_digest_of_its_weights(
    original: Path, tmp_path: Path
) -> None:
    study = imported(original, tmp_path)
    digest = hashlib.sha256((original / "model.safetensors").read_bytes()).hexdigest()
    assert study.results.imported["theirs"]["weights"] == f"sha256:{digest}"
    assert report_provenance(study.results)["weights of checkpoints"] == {
        "theirs": f"sha256:{digest}"
    }
    assert f"sha256:{digest}" in export(study, tmp_path / "out")


def test_reports_say_what_a_checkpoint_lacks(original: Path, tmp_path: Path) -> None:
    head, pooler = of_checkpoints(imported(original, tmp_path).results)
    assert head.startswith("The checkpoint of theirs has no whole token head (no cls.predictions")
    assert pooler.startswith("The checkpoint of theirs has a pretrained pooler, which is not used")


def test_a_checkpoint_that_has_changed_is_exported_without_a_head(
    original: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(original, folder)
    study = imported(folder, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-3}))
    card, out = export(study, tmp_path / "out"), tmp_path / "out"
    assert not [name for name in load_file(out / "model.safetensors") if "cls." in name]
    assert json.loads((out / "config.json").read_text())["architectures"] == ["BertModel"]
    assert "no token head" in card and "library_name: sentence-transformers" in card
    assert read_embedding(out) == read_embedding(original)
