"""External checkpoints: `harness evaluate`, checkpoints in experiments, and invalid ones."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import transformers
from safetensors.torch import load_file
from typer.testing import CliRunner

from harness.cli.app import app
from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.experiment.checkpoint_experiment import load_evaluation
from harness.experiment.source import DeclarationError
from harness.models.checkpoints import files, weight_files
from harness.plan.factory import load_plan, make_plan
from harness.plan.plan import Plan
from harness.study import Study
from tests.models.checkpoints.test_sentence_embeddings import write_modules
from tests.stage_runner import StageRunner

VOCAB = 500
FAST = ("evaluate.protocol.max_train_examples=48", "evaluate.finetune.epochs=1")
MIXED = """
name: mixed
question: Is ours better than theirs?
expect: ours > theirs
pretrain:
  recipe: bert
  size: {num_layers: 1, hidden_size: 32, num_heads: 2, intermediate_size: 64}
  corpus: {source: microworld, num_tokens: 20_000}
  tokenizer: {vocab_size: 500}
  phases: [{fraction: 1, sequence_length: 64}]
  batch_size: 8
  budget: {tokens: 2_000}
grid:
  whose:
    ours: {pretrain.recipe: bert}
    theirs: {pretrain.recipe: checkpoint, pretrain.model.checkpoint: FOLDER}
seeds: {pretrain: 2, finetune: 1}
evaluate:
  tasks: [micro-cola]
  probes: [micro-blimp]
  protocol: {max_train_examples: 48, pooling: native, head_dropout: 0.1}
  finetune: {learning_rate: 5e-5, epochs: 1, batch_size: 32}  # for both, as in `harness evaluate`
"""


def write_bert(folder: Path) -> Path:
    """A BERT of one layer with its tokenizer, as transformers saves them."""
    documents = read_documents(MicroworldCorpus(num_tokens=5_000))
    train(
        Tokenizer(vocab_size=VOCAB), (text for document in documents for text in document), folder
    )
    config = transformers.BertConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("models") / "My.BERT")


def evaluate(model: object, store: Path, *more: str) -> tuple[int, str]:
    sets = [part for override in FAST for part in ("--set", override)]
    more = ("--store", str(store), "--executor", "serial", *more)
    arguments = ["evaluate", str(model), *sets, *more]
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def test_a_checkpoint_gets_a_row_and_stages_are_reused(bert: Path, tmp_path: Path) -> None:
    store, some = tmp_path / "runs", ("--task", "micro-cola", "--seeds", "2")
    code, output = evaluate(bert, store, *some)
    assert code == 0, output
    assert any("My.BERT" in line and "1 x 2" in line for line in output.splitlines())
    assert "1 x 2" in output
    report = store / "reports" / "my-bert-micro-glue-v1"
    assert (report / "index.html").is_file() and (report / "leaderboard.csv").is_file()

    elsewhere = tmp_path / "elsewhere" / "My.BERT"
    shutil.copytree(bert, elsewhere)
    code, output = evaluate(elsewhere, store, *some)
    assert code == 0, output
    assert "all 4 stages were done already" in output


@pytest.mark.parametrize(("given", "name"), [("a-link", "a-link"), ("a-link/", "a-link")])
def test_a_link_has_its_own_name(given: str, name: str, bert: Path, tmp_path: Path) -> None:
    (tmp_path / "a-link").symlink_to(bert)
    (arm,) = load_evaluation(f"{tmp_path}/{given}", "micro-glue-v1").arms
    assert arm.name == name


def test_the_current_folder_has_the_name_of_the_folder(
    bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bert)
    (arm,) = load_evaluation(".", "micro-glue-v1").arms
    assert arm.name == "My.BERT"


def test_keys_depend_on_the_content_and_not_on_the_path(bert: Path, tmp_path: Path) -> None:
    def keys(model: Path) -> set[str]:
        return set(make_plan(load_evaluation(str(model), "micro-glue-v1")).stages)

    other = tmp_path / "other"
    shutil.copytree(bert, other)
    assert keys(other) == keys(bert)
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-3}))
    assert not keys(other) & keys(bert)


OTHERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "electra": (
        "ElectraConfig",
        "ElectraForPreTraining",
        {"num_hidden_layers": 1, "intermediate_size": 64},
    ),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_layer": 1}),
    "opt": (
        "OPTConfig",
        "OPTForCausalLM",
        {"num_hidden_layers": 1, "word_embed_proj_dim": 32, "ffn_dim": 64},
    ),
    "t5": ("T5Config", "T5ForConditionalGeneration", {"num_layers": 1, "d_model": 32, "d_ff": 64}),
    "bart": (
        "BartConfig",
        "BartForConditionalGeneration",
        {side + "_layers": 1 for side in ("encoder", "decoder")}
        | {side + "_ffn_dim": 64 for side in ("encoder", "decoder")},
    ),
}


def _as(name: str, bert: Path, folder: Path, **more: Any) -> Path:
    """The files of a tokenizer and the weights of a network of OTHERS."""
    config, network, fields = OTHERS[name]
    shutil.copytree(bert, folder, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
    ends = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}
    sizes = {"vocab_size": VOCAB, "hidden_size": 32, "num_attention_heads": 2} | fields | more
    made = getattr(transformers, config)(**sizes, **ends)
    getattr(transformers, network)(made).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", OTHERS)
def test_every_kind_of_network_is_fine_tuned(name: str, bert: Path, tmp_path: Path) -> None:
    """Stage by stage, in this process."""
    folder = _as(name, bert, tmp_path / name)
    tasks = ("micro-mrpc",)
    plan = make_plan(load_evaluation(str(folder), "micro-glue-v1", FAST, seeds=1, tasks=tasks))
    runner = StageRunner(tmp_path)
    runner.run(plan)
    metrics = runner.finished[plan.finetune_runs[-1].key].metrics
    assert 0 <= metrics["validation/f1"] <= 1
    assert metrics["diverged"] == 0


@pytest.mark.parametrize(
    ("name", "fields", "protocol", "reason"),
    [
        ("gpt2", {"n_positions": 1024}, {"num_beams": 2}, ""),
        ("gpt2", {"n_positions": 575}, {}, "its 575 positions are fewer than the 576 tokens"),
        ("opt", {"max_position_embeddings": 576}, {"num_beams": 2}, ""),
        ("t5", {}, {"num_beams": 2}, ""),
        ("bart", {"max_position_embeddings": 512}, {}, ""),
        (
            "bart",
            {"max_position_embeddings": 512},
            {"max_sequence_length": 128, "max_target_length": 513},
            "its 512 positions are fewer than the 513 tokens",
        ),
    ],
)
def test_a_checkpoint_generates_within_its_positions(
    name: str,
    fields: dict[str, Any],
    protocol: dict[str, int],
    reason: str,
    bert: Path,
    tmp_path: Path,
) -> None:
    folder = _as(name, bert, tmp_path / name, **fields)
    long = {"answer": "text", "max_sequence_length": 512, "max_target_length": 64}
    overrides = [f"evaluate.protocol.{k}={v}" for k, v in (long | protocol).items()]
    tasks = ("micro-mrpc",)
    plan = make_plan(load_evaluation(str(folder), "micro-glue-v1", overrides, tasks=tasks))
    found = next(iter(plan.unsupported.values()), "")
    assert found.startswith(reason) and bool(found) == bool(reason)


def test_a_pretrained_arm_and_a_checkpoint_in_one_experiment(bert: Path, tmp_path: Path) -> None:
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED.replace("FOLDER", str(bert)))
    plan = load_plan(path)
    seeds = [run.pretrain_seed for run in plan.finetune_runs if run.arm == "theirs"]
    assert seeds == [0], "a checkpoint was pretrained once"
    assert plan.costs["theirs"].parameters == weight_files.num_weights(bert)
    assert plan.costs["theirs"].flops is None
    output = CliRunner().invoke(app, ["plan", str(path)]).output
    rows = [line.split() for line in output.splitlines()]
    weights = sum(tensor.numel() for tensor in load_file(bert / "model.safetensors").values())
    assert ["theirs", "-", "-", f"{weights:,}"] in [row[:4] for row in rows]
    study = Study.load(path, store=tmp_path / "runs").run(executor="serial")
    assert not study.last_run.failed
    assert set(study.scores()["arm"]) == {"ours", "theirs"}
    probes = study.probes()
    assert probes.loc[probes["arm"] == "theirs", "score"].notna().all()
    page = (study.write_report() / "index.html").read_text()
    assert "theirs" in page

    exported = tmp_path / "exported"  # our own network and tokenizer in one folder
    records = study.results.finished
    stage = study.plan.stages[study.plan.pretrain_keys["ours", 0]]
    for key, inside in ((stage.key, "model"), (stage.parents["tokenizer"], "")):
        kept = study.store.fetch(records[key])
        assert kept is not None
        shutil.copytree(kept / inside, exported, dirs_exist_ok=True)
    code, output = evaluate(exported, tmp_path / "runs", "--task", "micro-cola", "--seeds", "1")
    assert code == 0, output
    row = next(line for line in output.splitlines() if line.split()[:1] == ["exported"])
    ours = study.scores().query("arm == 'ours' and pretrain_seed == 0")["value"].iloc[0]
    assert f"{100 * ours:.1f}" in row, "the same network under the same protocol"


def test_checkpoints_of_different_objectives_are_compared(bert: Path, tmp_path: Path) -> None:
    gpt2 = Path(shutil.copytree(bert, tmp_path / "gpt2"))
    network = transformers.GPT2Config(
        vocab_size=VOCAB, n_embd=32, n_layer=1, n_head=2, n_positions=128
    )
    transformers.GPT2LMHeadModel(network).save_pretrained(gpt2)
    path = tmp_path / "two.yaml"
    path.write_text(f"""
name: two
question: Which is better?
pretrain: {{recipe: checkpoint}}
grid: {{pretrain.model.checkpoint: [{bert}, {gpt2}]}}
evaluate: {{tasks: [micro-cola]}}
""")
    output = CliRunner().invoke(app, ["plan", str(path)], env={"COLUMNS": "400"}).output
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.strip()}
    assert rows["pretrain.objective.representation"] == ["checkpoint", "bidirectional", "causal"]


CONFIGS: dict[str, dict[str, Any]] = {
    "a vit is no model of text": {"model_type": "vit"},
    "needs code of its own": {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Mine"}},
    "'mine' is unknown": {"model_type": "mine"},
}


@pytest.mark.parametrize("message", CONFIGS)
def test_a_model_that_cannot_be_read_is_refused(message: str, bert: Path, tmp_path: Path) -> None:
    shutil.copytree(bert, tmp_path / "model")
    (tmp_path / "model" / "config.json").write_text(json.dumps(CONFIGS[message]))
    _refused(tmp_path / "model", message)


def _refused(model: object, message: str, *more: str) -> None:
    code, output = evaluate(model, Path("never-written"), *more)
    assert code == 2, output
    assert message in output
    assert len(output.strip().splitlines()) == 1
    assert not Path("never-written").exists()


def test_folders_that_hold_no_checkpoint_are_refused(bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    _refused(folder, "there is no folder")
    folder.mkdir()
    _refused(folder, "has no config.json")
    shutil.copytree(bert, folder, dirs_exist_ok=True)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    _refused(folder, "damaged or truncated")
    shutil.copyfile(bert / "model.safetensors", weights)
    config = json.loads((bert / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 64}))
    _refused(folder, "has the shape [32], but config.json describes [64]")
    (folder / "tokenizer.json").unlink()
    _refused(folder, "has no tokenizer.json")


def test_invalid_arguments_are_refused(bert: Path) -> None:
    _refused(bert, "the suite 'glu' is not known", "--suite", "glu")
    _refused(bert, "the task 'cola' is not known", "--task", "cola")
    _refused(bert, "revision is for ids on the Hub", "--revision", "main")
    too_long = ("--set", "evaluate.protocol.max_sequence_length=129")
    _refused(bert, "max_sequence_length must be at most 128", *too_long)


def test_problems_name_no_line_of_a_text_that_the_user_did_not_write(bert: Path) -> None:
    with pytest.raises(DeclarationError) as caught:
        load_evaluation(str(bert), "micro-glue-v1", tasks=["cola"])
    (problem,) = caught.value.problems
    assert problem.startswith(f"evaluate {bert}: evaluate.tasks: in micro-glue-v1 the task 'cola'")


def test_the_hub_out_of_reach_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    def unreachable(*_: Any, **__: Any) -> str:
        raise LocalEntryNotFoundError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    _refused("some/model", "connect, or give a folder")


def test_the_commit_on_the_hub_is_pinned(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789" * 4
    snapshot = tmp_path / "snapshots" / commit
    shutil.copytree(bert, snapshot)
    monkeypatch.setattr(files, "_download", lambda *_: snapshot)
    monkeypatch.setattr(
        files,
        "found",
        lambda name, revision: snapshot if revision in (None, commit) else None,
    )
    declaration = load_evaluation("some/model", "micro-glue-v1")
    plan = make_plan(declaration)
    assert declaration.arms[0].pretrain.model.revision == commit
    assert any(commit in str(stage.spec.get("fingerprint")) for stage in plan.stages.values())


def test_an_experiment_names_the_line_of_a_missing_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED.replace("FOLDER", "./nothing-here"))
    line = 1 + MIXED[: MIXED.index("FOLDER")].count("\n")
    with pytest.raises(DeclarationError, match=f"mixed.yaml:{line}: .*there is no folder"):
        load_plan(path)


@pytest.mark.parametrize("place", ["vocab", "added_tokens"])
def test_a_tokenizer_with_more_tokens_than_embeddings_is_found_while_planning(
    place: str, bert: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "more"
    shutil.copytree(bert, folder)
    file = folder / "tokenizer.json"
    content = json.loads(file.read_text())
    if place == "vocab":
        content["model"]["vocab"]["beyond"] = VOCAB
    else:
        content["added_tokens"].append({**content["added_tokens"][0], "id": VOCAB})
    file.write_text(json.dumps(content))
    experiment = tmp_path / "experiment.yaml"
    experiment.write_text(MIXED.replace("FOLDER", str(folder)))
    message = f"a token of number {VOCAB:,}, but the network embeds {VOCAB:,}: they do not belong"
    with pytest.raises(DeclarationError, match=message) as caught:
        load_plan(experiment)
    assert str(caught.value).startswith(f"{experiment}:")
    file.write_text("[" * 100_000)
    with pytest.raises(DeclarationError, match="must be a tokenizer's, but: Recursion"):
        load_plan(experiment)
    file.write_text((bert / "tokenizer.json").read_text().replace('"type":', '"later":'))
    with pytest.raises(DeclarationError, match="cannot be read: data did not match any variant"):
        load_plan(experiment)


def test_an_id_on_the_hub_without_commit_can_be_planned(tmp_path: Path) -> None:
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED.replace("FOLDER", "nobody/nothing"))
    plan = load_plan(path)
    labels = [stage.label for stage in plan.stages.values() if stage.kind == "pretrain"]
    assert "nobody/nothing, no commit pinned, imported" in labels


def _similarity(folder: Path, *overrides: str) -> Plan:
    return make_plan(
        load_evaluation(str(folder), "micro-sts-v1", overrides, tasks=("micro-sickr",))
    )


def test_a_sentence_transformers_model_is_scored_with_its_own_pooling_and_length(
    bert: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(bert, folder)
    write_modules(folder, "max_tokens", sentence_bert_config={"max_seq_length": 8})
    explicit = ("evaluate.protocol.pooling=max", "evaluate.protocol.max_sequence_length=8")
    runner, predictions, lengths = StageRunner(tmp_path), [], []
    for plan in (_similarity(folder), _similarity(folder, *explicit)):
        runner.run(plan)
        out = runner.out(plan.finetune_runs[0].key)
        predictions.append(pd.read_parquet(out / "predictions.parquet")["prediction"])
        lengths.append(runner.results(plan).own_lengths)
    own, explicitly = predictions
    assert lengths == [{"model": 8}, {}]
    np.testing.assert_allclose(own.to_numpy(), explicitly.to_numpy(), atol=1e-6)


def test_a_length_that_is_set_is_kept(bert: Path) -> None:
    def spec(*overrides: str) -> Mapping[str, Any]:
        plan = _similarity(bert, *overrides)
        return plan.stages[plan.finetune_runs[0].key].spec

    assert spec()["own_length"] is True
    assert "own_length" not in spec("evaluate.protocol.max_sequence_length=128")
    assert "own_length" not in spec("evaluate.protocol={max_sequence_length: 128}")


def test_an_unsupported_embedding_is_planned_with_its_reason(bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(bert, folder)
    write_modules(folder, kinds=("Transformer", "Pooling", "LSTM"))
    (line,) = _similarity(folder).unsupported_lines
    assert "the module LSTM, which is not supported; set protocol.pooling" in line
    assert not _similarity(folder, "evaluate.protocol.pooling=mean").unsupported
