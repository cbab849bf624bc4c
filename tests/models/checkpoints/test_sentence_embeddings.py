"""Embeddings of sentence-transformers folders: how they are read, and what they give."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import save_file

from harness.finetuning.heads.embedder import Embedder, PairEmbedder
from harness.finetuning.protocol import Protocol
from harness.models.backbone import Backbone
from harness.models.build import load
from harness.models.checkpoints import files
from harness.models.checkpoints.sentence_embeddings import (
    SentenceEmbedding,
    module_paths,
    read_embedding,
)
from harness.pretraining.checkpoint_import import adopt

KINDS = ("Transformer", "Pooling", "Normalize")
WITH_DENSE = ("Transformer", "Pooling", "Dense", "Normalize")
MODES = ("lasttoken", "mean_tokens", "weightedmean_tokens", "max_tokens", "cls_token")
EVERY = {f"pooling_mode_{mode}": True for mode in (*MODES, "mean_sqrt_len_tokens")}
"""All poolings, in another order than that of their concatenation."""
TANH = "torch.nn.modules.activation.Tanh"


def write_modules(
    folder: Path,
    mode: str = "mean_tokens",
    kinds: tuple[str, ...] = KINDS,
    **files_: dict[str, Any],
) -> Path:
    """The files of a sentence-transformers model next to the network in `folder`.

    Args:
        files_: content of further files, by name without `.json`.
    """
    modules = [
        {
            "path": f"{number}_{kind}" if number else "",
            "type": f"sentence_transformers.models.{kind}",
        }
        for number, kind in enumerate(kinds)
    ]
    pooling = {f"pooling_mode_{one}": one == mode for one in ("cls_token", "mean_tokens", mode)}
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    contents = {"modules": modules, "1_Pooling/config": pooling, **files_}
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def write_dense(
    folder: Path, sizes: tuple[int, int], activation: str = TANH, number: int = 2, **more: Any
) -> dict[str, torch.Tensor]:
    """A Dense module in `folder`; returns its weights."""
    module = folder / f"{number}_Dense"
    module.mkdir(parents=True, exist_ok=True)
    config: dict[str, Any] = {"in_features": sizes[0], "out_features": sizes[1], "bias": True}
    config |= {"activation_function": activation, **more}
    (module / "config.json").write_text(json.dumps(config))
    layer = torch.nn.Linear(*sizes)
    weights = {"linear.weight": layer.weight.detach(), "linear.bias": layer.bias.detach()}
    save_file(weights, module / "model.safetensors")
    return weights


def write_network(folder: Path, **fields: Any) -> Path:
    """A tiny BERT without a token head."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    sizes |= {"vocab_size": 90, "intermediate_size": 64}
    config = transformers.BertConfig(**{**sizes, **fields})
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("mode", "kinds", "expected"),
    [
        ("mean_tokens", KINDS, SentenceEmbedding(pooling="mean", normalize=True)),
        ("cls_token", KINDS[:2], SentenceEmbedding(pooling="cls")),
        ("max_tokens", KINDS[:2], SentenceEmbedding(pooling="max")),
        ("lasttoken", KINDS[:2], SentenceEmbedding(pooling="last")),
        ("mean_sqrt_len_tokens", KINDS[:2], SentenceEmbedding(pooling="mean_sqrt_len")),
        ("weightedmean_tokens", KINDS[:2], SentenceEmbedding(pooling="weighted_mean")),
    ],
)
def test_pooling_and_normalisation_are_read(
    mode: str, kinds: tuple[str, ...], expected: SentenceEmbedding, tmp_path: Path
) -> None:
    assert read_embedding(write_modules(tmp_path, mode, kinds)) == expected
    assert "1_Pooling/config.json" in module_paths(tmp_path)


@pytest.mark.parametrize(
    ("mode", "poolings"),
    [
        ("mean", ("mean",)),
        ("lasttoken", ("last",)),
        (["weightedmean", "cls", "mean_sqrt_len_tokens", "max"], None),
    ],
)
def test_modes_are_read_as_newer_versions_write_them(
    mode: Any, poolings: tuple[str, ...] | None, tmp_path: Path
) -> None:
    """In the order of the list, which is that of their concatenation."""
    config = {"embedding_dimension": 32, "pooling_mode": mode, "include_prompt": True}
    changes: dict[str, Any] = {"1_Pooling/config": config}
    found = read_embedding(write_modules(tmp_path, kinds=KINDS[:2], **changes))
    assert found and not found.problem
    assert found.poolings == (poolings or ("weighted_mean", "cls", "mean_sqrt_len", "max"))


@pytest.mark.parametrize(("length", "found"), [(64, 64), (10**30, None), (None, None)])
def test_the_length_of_newer_versions_is_that_of_the_tokenizer(
    length: int | None, found: int | None, tmp_path: Path
) -> None:
    folder = write_modules(
        tmp_path,
        sentence_bert_config={"transformer_task": "feature-extraction"},
        tokenizer_config={"model_max_length": length},
    )
    assert (own := read_embedding(folder)) and own.max_length == found


@pytest.mark.parametrize(
    ("mode", "kinds", "more", "problem"),
    [
        ("mean_tokens", ("Transformer", "Pooling", "LSTM"), {}, "the module LSTM"),
        ("other_tokens", KINDS, {}, "its pooling is pooling_mode_other_tokens"),
        ("mean_tokens", (*KINDS, "Dense"), {}, "Pooling, Normalize, Dense in this order"),
        ("mean_tokens", ("Transformer",), {}, "not stated"),
        (
            "mean_tokens",
            KINDS,
            {"sentence_bert_config": {"do_lower_case": True}},
            "lowercased before its tokenizer",
        ),
        (
            "mean_tokens",
            KINDS,
            {"config_sentence_transformers": {"default_prompt_name": "query"}},
            "the prompt 'query'",
        ),
    ],
)
def test_embeddings_that_cannot_be_computed_say_so(
    mode: str, kinds: tuple[str, ...], more: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    found = read_embedding(write_modules(tmp_path, mode, kinds, **more))
    assert found and problem in found.problem and "set protocol.pooling" in found.problem


@pytest.mark.parametrize(
    ("activation", "more", "problem"),
    [
        ("torch.nn.modules.activation.Softmax", {}, "the activation function Softmax"),
        (TANH, {"module_input_name": "token_embeddings"}, "2_Dense reads token_embeddings"),
    ],
)
def test_dense_modules_that_cannot_be_computed_say_so(
    activation: str, more: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    write_modules(tmp_path, kinds=WITH_DENSE)
    write_dense(tmp_path, (32, 8), activation, **more)
    found = read_embedding(tmp_path)
    assert found and problem in found.problem and not found.dense


def test_a_dense_module_without_weights_says_so(tmp_path: Path) -> None:
    write_modules(tmp_path, kinds=WITH_DENSE)
    write_dense(tmp_path, (32, 8))
    (tmp_path / "2_Dense" / "model.safetensors").unlink()
    found = read_embedding(tmp_path)
    assert found and "its module 2_Dense has no weights" in found.problem
    (tmp_path / "2_Dense" / "config.json").write_text('{"in_features": 32}')
    (tmp_path / "2_Dense" / "pytorch_model.bin").touch()
    with pytest.raises(ValueError, match=r"is damaged: .*out_features"):
        read_embedding(tmp_path)


def test_other_models_have_no_embedding_and_keep_their_fingerprint(tmp_path: Path) -> None:
    write_network(tmp_path)
    before = files.fingerprint(str(tmp_path), None)
    assert read_embedding(tmp_path) is None and module_paths(tmp_path) == []
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 5}')
    assert files.fingerprint(str(tmp_path), None) == before
    write_modules(tmp_path)
    mean = files.fingerprint(str(tmp_path), None)
    write_modules(tmp_path, "cls_token")
    assert len({before, mean, files.fingerprint(str(tmp_path), None)}) == 3


@pytest.mark.parametrize(
    "text",
    [
        *("{", '{"type": "a"}', '[{"type": "a"}]'),
        '[{"type": "a", "path": "../elsewhere"}]',
        '[{"type": "a", "path": "/elsewhere"}]',
    ],
)
def test_damaged_files_are_a_problem_of_the_folder(text: str, tmp_path: Path) -> None:
    write_network(tmp_path)
    (tmp_path / "modules.json").write_text(text)
    assert "modules.json" in files.problem(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("modules.json", "[1]", "must be a list of modules with type and path"),
        ("modules.json", '[{"type": null, "path": ""}]', "must be a list of modules with type"),
        ("modules.json", '[{"type": "a", "path": null}]', "must be a list of modules with type"),
        ("modules.json", "[" * 100_000, "is not JSON"),
        ("sentence_bert_config.json", "[]", "must be a JSON object"),
        ("sentence_bert_config.json", '{"max_seq_length": 1.5}', "number of tokens, but is 1.5"),
        ("sentence_bert_config.json", '{"max_seq_length": 0}', "number of tokens, but is 0"),
        ("1_Pooling/config.json", "null", "must be a JSON object"),
        ("1_Pooling/config.json", '{"pooling_mode": 3}', "a name or a list of names, but is 3"),
        ("1_Pooling/config.json", '{"pooling_mode": [[]]}', r"list of names, but is \[\[\]\]"),
        ("2_Dense/config.json", '"x"', "must be a JSON object"),
        ("config_sentence_transformers.json", "[]", "must be a JSON object"),
    ],
)
def test_damaged_modules_are_one_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    folder = write_modules(write_network(tmp_path / "model"), kinds=WITH_DENSE)
    write_dense(folder, (32, 8))
    (folder / name).write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        read_embedding(folder)
    assert str(folder / name) in str(error.value) and "\n" not in str(error.value)
    assert name in files.problem(folder)


def test_sizes_that_weights_do_not_have_take_no_memory(tmp_path: Path) -> None:
    folder = write_modules(write_network(tmp_path / "model"), kinds=WITH_DENSE)
    write_dense(folder, (32, 8), out_features=10**15)
    with pytest.raises(ValueError, match=r"must have the shape \[1000000000000000, 32\], but has"):
        adopt(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"linear.weight": [1.0]}, "'linear.weight' is a list"),
        ({7: torch.zeros(8, 32)}, "7 is a Tensor"),
    ],
    ids=["a list", "a number"],
)
def test_weights_of_dense_layers_that_are_no_tensors_are_refused(
    content: dict[Any, Any], message: str, tmp_path: Path
) -> None:
    folder = write_modules(write_network(tmp_path / "model"), kinds=WITH_DENSE)
    write_dense(folder, (32, 8))
    (folder / "2_Dense" / "model.safetensors").unlink()
    file = folder / "2_Dense" / "pytorch_model.bin"
    torch.save(content, file)
    with pytest.raises(ValueError, match=message) as error:
        adopt(folder)
    assert str(file) in str(error.value) and "\n" not in str(error.value)


def _imported(folder: Path, out: Path) -> Backbone:
    adopt(folder).save(out)
    return load(out).eval()


@torch.no_grad()
def test_embeddings_are_the_mean_of_transformers_states(tmp_path: Path) -> None:
    """Reference: the code on the model card of all-MiniLM-L6-v2."""
    folder = write_modules(write_network(tmp_path / "model"))
    backbone = _imported(folder, tmp_path / "out")
    ids = torch.randint(5, 90, (3, 7))
    mask = (torch.arange(7) < torch.tensor([7, 4, 1])[:, None]).long()
    states = transformers.AutoModel.from_pretrained(folder)(ids, mask).last_hidden_state
    expanded = mask.unsqueeze(-1).expand(states.size()).float()
    mean = (states * expanded).sum(1) / expanded.sum(1).clamp(min=1e-9)
    expected = torch.nn.functional.normalize(mean, p=2, dim=1)
    batch = {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids}
    found = Embedder(backbone, 1, Protocol()).eval()(batch)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    first = Embedder(backbone, 1, Protocol(pooling="cls")).eval()(batch)
    torch.testing.assert_close(first, states[:, 0], atol=1e-5, rtol=1e-5)


def test_the_length_is_at_most_the_positions(tmp_path: Path) -> None:
    own = {"max_seq_length": 256}
    folder = write_modules(
        write_network(tmp_path / "model", max_position_embeddings=64), sentence_bert_config=own
    )
    assert _imported(folder, tmp_path / "out").embedding == SentenceEmbedding(
        pooling="mean", normalize=True, max_length=64
    )


def test_an_unsupported_embedding_is_refused(tmp_path: Path) -> None:
    folder = write_modules(write_network(tmp_path / "model"), kinds=(*KINDS, "LSTM"))
    backbone = _imported(folder, tmp_path / "out")
    with pytest.raises(ValueError, match="the module LSTM, which is not supported"):
        Embedder(backbone, 1, Protocol())
    assert Embedder(backbone, 1, Protocol(pooling="mean")).poolings == ("mean",)


@torch.no_grad()
def test_poolings_are_concatenated_and_pass_through_dense_layers(tmp_path: Path) -> None:
    """Reference: sentence_transformers' Pooling and Dense, row by row in torch."""
    folder = write_network(tmp_path / "model")
    given: Any = {"1_Pooling/config": EVERY}
    write_modules(folder, kinds=(*WITH_DENSE[:3], "Dense"), **given)
    first = write_dense(folder, (6 * 32, 8))
    second = write_dense(folder, (8, 5), "torch.nn.modules.linear.Identity", 3)
    embedder = Embedder(_imported(folder, tmp_path / "out"), 1, Protocol()).eval()
    ids, lengths = torch.randint(5, 90, (3, 7)), [7, 4, 1]
    network, expected = transformers.AutoModel.from_pretrained(folder), []
    for row, length in zip(ids, lengths, strict=True):
        state = network(row[None, :length]).last_hidden_state[0]
        places = torch.arange(1.0, length + 1)[:, None]
        pooled = [state[0], state.max(0).values, state.mean(0), state.sum(0) / length**0.5]
        pooled += [(state * places).sum(0) / places.sum(), state[-1]]
        hidden = torch.tanh(first["linear.weight"] @ torch.cat(pooled) + first["linear.bias"])
        expected.append(second["linear.weight"] @ hidden + second["linear.bias"])
    mask = (torch.arange(7) < torch.tensor(lengths)[:, None]).long()
    batch = {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids}
    torch.testing.assert_close(embedder(batch), torch.stack(expected), atol=1e-5, rtol=1e-5)
    assert embedder.width == 5 and PairEmbedder(embedder.backbone, 3, Protocol()).eval()(
        {name: rows[:2] for name, rows in batch.items()}
    ).shape == (1, 3)


def test_dense_layers_are_identified_trained_and_saved(tmp_path: Path) -> None:
    folder = write_modules(write_network(tmp_path / "model"), kinds=WITH_DENSE)
    write_dense(folder, (32, 8))
    before = files.fingerprint(str(folder), None)
    write_dense(folder, (32, 8))
    assert files.fingerprint(str(folder), None) != before
    backbone = _imported(folder, tmp_path / "out")
    embedder = Embedder(backbone, 1, Protocol())
    assert "projection.0.0.weight" in dict(embedder.named_parameters())
    assert not [name for name in backbone.state_dict() if "projection" in name]
    with torch.no_grad():
        embedder.get_parameter("projection.0.0.weight").fill_(2)
    backbone.save(tmp_path / "trained")
    trained = load(tmp_path / "trained").projection[0].get_parameter("0.weight")
    assert trained.eq(2).all()
    saved = files.fingerprint(str(tmp_path / "trained"), None)
    assert saved != files.fingerprint(str(tmp_path / "out"), None)


def test_dense_layers_of_other_widths_are_refused(tmp_path: Path) -> None:
    folder = write_modules(write_network(tmp_path / "model"), kinds=WITH_DENSE)
    write_dense(folder, (64, 8))
    with pytest.raises(ValueError, match="must be 32, the width before it, but is 64"):
        adopt(folder)
