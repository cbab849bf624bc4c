"""Checkpoints are read whole, with finite weights, and without anything from elsewhere."""

import hashlib
import json
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from harness.exchange.checkpoints.network import write_network
from harness.models import FAMILIES, MODELS, SIZES
from harness.models.build import build, load
from harness.models.checkpoints import configuration, files, weight_files
from harness.models.checkpoints.configuration import ATTENTION, MAX_LAYERS
from harness.pretraining.checkpoint_import import adopt, check_type
from harness.pretraining.objectives import OBJECTIVES
from tests.models.checkpoints.test_checkpoints import make, trained_tokenizer
from tests.models.networks import TOKENS

QUERY = "bert.encoder.layer.0.attention.self.query.weight"
HEAD = "cls.predictions.transform.dense.weight"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of ours and one as transformers saves it."""
    root = tmp_path_factory.mktemp("checkpoints")
    build(MODELS["bert"], SIZES["nano"], TOKENS, "bidirectional", 0).save(root / "own")
    make("bert").save_pretrained(root / "published")
    for name in ("own", "published"):
        trained_tokenizer(root / name, "wordpiece")
    return root


@pytest.fixture(params=["own", "published"])
def folder(request: pytest.FixtureRequest, made: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return shutil.copytree(made / request.param, tmp_path / request.param)


@pytest.fixture
def published(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made / "published", tmp_path / "published")


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made / "own", tmp_path / "own")


def change_weights(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    file = folder / "model.safetensors"
    weights = load_file(file)
    change(weights)
    save_file(weights, file, metadata={"format": "pt"})


def change_json(file: Path, **fields: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def refused(folder: Path) -> str:
    """The one line that refuses a checkpoint."""
    if why := files.problem(folder):
        return why
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        _read(folder)
    return str(caught.value)


def _read(folder: Path) -> None:
    check_type(folder)
    adopt(folder)


def test_a_missing_weight_is_refused(folder: Path) -> None:
    change_weights(folder, lambda weights: weights.pop(QUERY))
    assert f"lacks weights of the {'bert' if folder.name == 'own' else 'network'}" in (
        line := refused(folder)
    )
    assert QUERY in line


def test_a_stage_reads_its_own_files_as_strictly(own: Path) -> None:
    change_weights(own, lambda weights: weights.pop(HEAD))
    with pytest.raises(ValueError, match=f"lacks weights .* such as {HEAD}"):
        load(own)


@pytest.mark.parametrize("name", ["extra", "bert.encoder.layer.7.attention.self.query.weight"])
def test_weights_of_another_network_are_refused(folder: Path, name: str) -> None:
    change_weights(folder, lambda weights: weights.update({name: torch.zeros(3)}))
    if folder.name == "published" and name == "extra":  # a head for a task
        (note,) = adopt(folder).imported["notes"]
        assert note == "has weights of other heads, which are not used, such as extra"
    else:
        assert name in refused(folder)


def test_constants_of_earlier_versions_are_no_weights(tmp_path: Path) -> None:
    make("gpt2").save_pretrained(tmp_path)
    old = {"attn.bias": torch.ones(1, 1, 64, 64), "attn.masked_bias": torch.tensor(-1e4)}
    named = {f"transformer.h.0.{name}": value for name, value in old.items()}
    before = weight_files.num_weights(tmp_path)
    change_weights(tmp_path, lambda weights: weights.update(named))
    assert adopt(tmp_path).imported["notes"] == []
    assert weight_files.num_weights(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "more"),
    [
        *((name, {}) for name in ("transformer", "bart", "t5", "gpt_neo", "roberta")),
        ("elmo", {"characters": 10}),
        ("bert", {"positions": "sinusoidal"}),
        ("gpt2", {"positions": "sinusoidal"}),
    ],
)
def test_constants_are_not_counted(name: str, more: dict[str, Any], tmp_path: Path) -> None:
    native = FAMILIES[name].representations[0]
    architecture = MODELS[name].model_copy(update=more)
    pieces = tuple(f"piece {number}" for number in range(TOKENS.vocab_size))
    mine = build(architecture, SIZES["nano"], replace(TOKENS, pieces=pieces), native, 0)
    mine.save(tmp_path)
    count = sum(weight.numel() for weight in mine.parameters())
    assert weight_files.num_weights(tmp_path) == count


@pytest.mark.parametrize("in_shards", [False, True])
def test_only_what_transformers_reads_is_counted(in_shards: bool, tmp_path: Path) -> None:
    """Mistral's files have all weights a second time, with other names."""
    network = make("mistral")
    network.save_pretrained(tmp_path, max_shard_size="20KB" if in_shards else "1GB")
    shards = sorted(tmp_path.glob("*.safetensors"))
    assert (len(shards) > 1) == in_shards
    digest, backbone = weight_files.weights_digest(tmp_path), adopt(tmp_path)
    others = {f"own.{name}": weight.clone() for name, weight in network.state_dict().items()}
    save_file(others, tmp_path / "consolidated.safetensors")
    count = sum(weight.numel() for weight in network.parameters())
    assert weight_files.num_weights(tmp_path) == count
    assert weight_files.weights_digest(tmp_path) == digest == backbone.imported["weights"]
    shards[-1].unlink()
    (tmp_path / "consolidated.safetensors").unlink()
    assert weight_files.num_weights(tmp_path) == 0


def test_a_bias_that_files_of_t5_have_besides_is_not_counted(tmp_path: Path) -> None:
    make("t5").save_pretrained(tmp_path)
    count = weight_files.num_weights(tmp_path)
    name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    change_weights(tmp_path, lambda weights: weights.update({name: torch.ones(32, 2)}))
    assert adopt(tmp_path).imported["notes"] == []
    assert weight_files.num_weights(tmp_path) == count


def test_fewer_layers_than_the_file_has_are_refused(published: Path) -> None:
    change_json(published / "config.json", num_hidden_layers=1)
    assert "such as bert.encoder.layer.1" in refused(published)


def test_a_weight_of_another_shape_is_refused(folder: Path) -> None:
    change_weights(folder, lambda weights: weights.update({QUERY: torch.zeros(3, 4)}))
    assert f"{QUERY} has the shape [3, 4], but config.json describes [" in refused(folder)


def test_memory_is_not_taken_for_sizes_that_the_file_does_not_have(folder: Path) -> None:
    change_json(folder / "config.json", vocab_size=10**9)
    assert "has the shape [" in refused(folder) and "[1000000000, " in refused(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(folder: Path, value: float) -> None:
    change_weights(folder, lambda weights: weights[QUERY][0, :2].fill_(value))
    line = refused(folder)
    assert f"2 of the {load_file(folder / 'model.safetensors')[QUERY].numel():,} values" in line
    assert f"of {QUERY} are infinite or NaN" in line


def test_weights_beyond_float32_are_refused(folder: Path) -> None:
    change_weights(folder, lambda weights: weights.update({QUERY: weights[QUERY].double() * 1e200}))
    assert "infinite or NaN" in refused(folder)


def test_a_lacking_head_is_said(published: Path) -> None:
    assert adopt(published).imported["notes"] == []
    change_weights(published, lambda weights: weights.pop(HEAD))
    backbone = adopt(published)
    (note,) = backbone.imported["notes"]
    assert note == f"has no whole token head (no {HEAD}), so it predicts no tokens"
    with pytest.raises(ValueError, match="cannot predict tokens"):
        backbone.token_logits(torch.zeros(1, 32))


def test_a_pooler_that_is_not_used_is_said(published: Path) -> None:
    pooler = {"bert.pooler.dense.weight": torch.eye(32), "bert.pooler.dense.bias": torch.ones(32)}
    change_weights(published, lambda weights: weights.update(pooler))
    (note,) = adopt(published).imported["notes"]
    assert "has a pretrained pooler, which is not used" in note


def test_an_exported_discriminator_has_no_head_and_is_read(tmp_path: Path) -> None:
    backbone = build(MODELS["electra"], SIZES["nano"], TOKENS, "bidirectional", 0)
    backbone.objective = OBJECTIVES["rtd"].model_dump(mode="json")
    backbone.save(tmp_path / "model")
    trained_tokenizer(tmp_path / "tokenizer", "wordpiece")
    write_network(tmp_path / "model", tmp_path / "tokenizer", tmp_path / "out")
    assert not [name for name in load_file(tmp_path / "out/model.safetensors") if "gener" in name]
    ids = torch.arange(5, 11)[None]
    one, two = (adopt(tmp_path / name).eval()(ids).last_hidden_state for name in ("model", "out"))
    assert torch.equal(one, two)
    change_weights(tmp_path / "out", lambda weights: weights.pop("embeddings.LayerNorm.bias"))
    assert "embeddings.LayerNorm.bias" in refused(tmp_path / "out")


def test_the_import_records_the_digest_of_the_weights(folder: Path, tmp_path: Path) -> None:
    adopt(folder).save(tmp_path / "out")
    content = (folder / "model.safetensors").read_bytes()
    expected = f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert load(tmp_path / "out").imported["weights"] == expected
    assert weight_files.weights_digest(folder) == expected
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    (folder / "model-2.safetensors").write_bytes(content)
    assert weight_files.weights_digest(folder) not in ("", expected)
    assert weight_files.weights_digest(tmp_path) == ""


def test_the_digest_is_that_of_the_files_that_were_imported_last(own: Path, tmp_path: Path) -> None:
    adopt(own).save(tmp_path / "out")
    save_file(load_file(own / "model.safetensors"), tmp_path / "out" / "model.safetensors")
    digest = weight_files.weights_digest(tmp_path / "out")
    assert digest != weight_files.weights_digest(own)
    assert adopt(tmp_path / "out").imported["weights"] == digest


KERNELS: list[Mapping[str, Any]] = [
    {"_attn_implementation": "org/kernel"},
    {"attn_implementation": "kernels-community/flash-attn2"},
    {"attn_implementation": {"": "org/kernel"}},
    {"text_config": {"_attn_implementation": "org/kernel"}},
    {"attn_implementation": "paged|org/kernel"},
    {"attn_implementation": 3},
    {"attn_implementation": ["org/kernel"]},
]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be fetched."""

    def refuse(*given: Any, **_: Any) -> None:
        raise AssertionError(f"connects to {given}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("fields", KERNELS, ids=str)
def test_attention_from_elsewhere_is_refused(folder: Path, fields: dict[str, Any]) -> None:
    change_json(folder / "config.json", **fields)
    line = refused(folder)
    assert "attn_implementation must be one of eager, sdpa" in line
    assert "config.json" in line and "never run" in line
    with pytest.raises(ValueError, match="never run"):  # also without the check of the files
        adopt(folder)


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_of_transformers_is_allowed_if_its_package_is_here(
    published: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_json(published / "config.json", attn_implementation=name)
    if not ATTENTION[name]:
        assert files.problem(published) == ""
        return
    monkeypatch.setattr(configuration, "find_spec", lambda _: None)
    assert f"needs the package {ATTENTION[name]}" in files.problem(published)
    monkeypatch.setattr(configuration, "find_spec", lambda _: object())
    assert files.problem(published) == ""


@pytest.mark.usefixtures("alone")
def test_code_of_a_checkpoint_is_never_run(folder: Path, tmp_path: Path) -> None:
    """A model type that transformers has is read by transformers' own class."""
    marker = tmp_path / "run"
    (folder / "evil.py").write_text(f"open({str(marker)!r}, 'w')\nclass Evil: pass\n")
    code = {"AutoConfig": "evil.Evil", "AutoModelForMaskedLM": "evil.Evil"}
    change_json(folder / "config.json", auto_map=code)
    change_json(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]})
    check_type(folder)
    assert adopt(folder).hidden_size
    assert not marker.exists() and "evil" not in sys.modules


@pytest.mark.usefixtures("alone")
def test_an_adapter_is_refused_with_or_without_its_network(folder: Path) -> None:
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "org/other"}
    (folder / "adapter_config.json").write_text(json.dumps(adapter))
    assert "an adapter of another network" in refused(folder)
    with pytest.raises(ValueError, match="merge_and_unload"):
        adopt(folder)
    (folder / "config.json").unlink()
    assert "merge the adapter into its network" in files.problem(folder)


@pytest.mark.parametrize(
    "fields",
    [
        {"transformers_weights": "../elsewhere.safetensors"},
        {"quantization_config": {"quant_method": "bitsandbytes"}},
        {"fusion_config": {"a": True}},
    ],
    ids=str,
)
def test_weights_from_elsewhere_are_refused(folder: Path, fields: dict[str, Any]) -> None:
    change_json(folder / "config.json", **fields)
    assert f"{next(iter(fields))} must not be set" in refused(folder)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_hidden_layers": 10**9}, f"must be at most {MAX_LAYERS:,}, but is 1,000,000,000"),
        ({"max_position_embeddings": 10**12}, "must be at most"),
        ({"layer_norm_eps": float("nan")}, "must be a finite number, but is nan"),
        ({"hidden_size": "768"}, "config.json cannot be read: Validation error for field"),
        ({"hidden_size": -1}, "config.json describes no network"),
        ({"num_attention_heads": 0}, "config.json describes no network"),
        ({"hidden_act": "evil"}, "config.json describes no network"),
        ({"id2label": 3}, "config.json cannot be read"),
        ({"layer_norm_eps": -1e30}, "must give finite states, but gives infinite ones or NaN"),
    ],
    ids=str,
)
def test_odd_configurations_are_one_line(
    folder: Path, fields: dict[str, Any], message: str
) -> None:
    change_json(folder / "config.json", **fields)
    assert message in refused(folder)


@pytest.mark.parametrize("given", [[3], 5, "BertForMaskedLM", {}, None])
def test_odd_architectures_do_not_matter(published: Path, given: Any) -> None:
    change_json(published / "config.json", architectures=given)
    assert adopt(published).family == "bert"


def test_tuples_as_outputs_do_not_matter(published: Path) -> None:
    change_json(published / "config.json", return_dict=False)
    assert adopt(published).family == "bert"


@pytest.mark.parametrize("text", ["", "[", "[]", "null", "3", "{" * 100_000, '{"a": 1'])
@pytest.mark.parametrize("name", ["config.json", "harness.json"])
def test_damaged_json_is_one_line(own: Path, name: str, text: str) -> None:
    (own / name).write_text(text)
    assert name in refused(own)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("family", "x", "family must be one of bert, "),
        ("family", {}, "family must be one of bert, "),
        ("representation", "encoder_decoder", "must be one of bidirectional, causal, prefix, "),
        ("blueprint", ["bert"], "blueprint must be one of bert, "),
        ("blueprint", "gpt2", "lacks weights of the bert"),
        ("blueprint", "checkpoint", "config.json describes no network"),
        ("blueprint", "majority", "has weights that are not of the bert"),
        ("objective", "mlm", "objective must be a JSON object"),
        ("objective", {"output": None}, "objective.output must be a JSON object"),
        ("imported", None, "imported must be a JSON object"),
        ("embedding", {"pooling": "x"}, "embedding is invalid"),
    ],
)
def test_odd_metadata_are_one_line(own: Path, field: str, value: Any, message: str) -> None:
    change_json(own / "harness.json", **{field: value})
    assert message in refused(own)


HEADERS = {
    "no JSON": b"{",
    "no object": b"[]",
    "text as an entry": b'{"a": "b"}',
    "no offsets": b'{"a": {"shape": [1]}}',
    "text as offsets": b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": ["0", "4"]}}',
    "offsets backwards": b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}',
    "three offsets": b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}}',
    "text as a shape": b'{"a": {"dtype": "F32", "shape": "x", "data_offsets": [0, 4]}}',
    "huge offsets": b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1'
    + b"0" * 40
    + b"]}}",
    "deep": b'{"a":' * 50_000,
}


@pytest.mark.parametrize("header", HEADERS)
def test_damaged_headers_are_one_line(published: Path, header: str) -> None:
    content = HEADERS[header]
    file = published / "model.safetensors"
    file.write_bytes(len(content).to_bytes(8, "little") + content + b"\0" * 4)
    assert str(file) in refused(published)
    file.write_bytes((2**63).to_bytes(8, "little") + content)
    assert "truncated" in refused(published)
