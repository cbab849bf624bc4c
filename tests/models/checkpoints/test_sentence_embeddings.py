"""Embeddings of sentence-transformers folders: how they are read, and what they give."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from harness.finetuning.heads.embedder import Embedder
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
        ("mean_sqrt_len_tokens", KINDS[:2], SentenceEmbedding(pooling="mean")),
    ],
)
def test_pooling_and_normalisation_are_read(
    mode: str, kinds: tuple[str, ...], expected: SentenceEmbedding, tmp_path: Path
) -> None:
    assert read_embedding(write_modules(tmp_path, mode, kinds)) == expected
    assert "1_Pooling/config.json" in module_paths(tmp_path)


@pytest.mark.parametrize(
    ("mode", "kinds", "more", "problem"),
    [
        ("mean_tokens", ("Transformer", "Pooling", "Dense"), {}, "the module Dense"),
        ("weightedmean_tokens", KINDS, {}, "pooling_mode_weightedmean_tokens"),
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
    folder = write_modules(write_network(tmp_path / "model"), kinds=(*KINDS, "Dense"))
    backbone = _imported(folder, tmp_path / "out")
    with pytest.raises(ValueError, match="the module Dense, which is not supported"):
        Embedder(backbone, 1, Protocol())
    assert Embedder(backbone, 1, Protocol(pooling="mean")).pooling == "mean"
