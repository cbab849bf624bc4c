"""Adaptations of networks whose type is not listed, loaded by transformers' AutoModel."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.methods import adapt
from harness.finetuning.methods.parts import freeze_unused
from harness.finetuning.module_discovery import discovered, names_in
from harness.finetuning.module_names import MODULE_NAMES, unsupported_adaptation
from harness.finetuning.projection_updates import Lora
from harness.finetuning.protocol import Protocol
from harness.pretraining.checkpoint_import import adopt
from tests.covering import thinned
from tests.finetuning.methods.models import VOCAB, batch, learn, make_backbone, trained

SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "initializer_range": 0.1,
    "pad_token_id": 0,
}
UNLISTED: dict[str, tuple[str, dict[str, Any]]] = {
    "mpnet": (
        "MPNetForMaskedLM",
        {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    ),
    "opt": ("OPTForCausalLM", {"word_embed_proj_dim": 32, "ffn_dim": 64}),
    "qwen2": ("Qwen2ForCausalLM", {"num_key_value_heads": 1}),
    "gpt_neox": ("GPTNeoXForCausalLM", {}),
}
"""model_type to the class of a network, and further fields of its configuration."""
REFUSED = {("mpnet", "prefix")}
TRAINING = [name for name, value in ADAPTATIONS.items() if value.trains]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for name, (network, fields) in UNLISTED.items():
        made[name] = tmp_path_factory.mktemp("unlisted") / name
        config = transformers.CONFIG_MAPPING[name](**{**SIZES, **fields})
        torch.manual_seed(0)
        getattr(transformers, network)(config).save_pretrained(made[name])
    return made


@pytest.mark.parametrize(
    ("name", "adaptation"),
    thinned([(name, adaptation) for name in UNLISTED for adaptation in TRAINING], 2, REFUSED),
)
def test_every_adaptation_learns_or_is_refused_when_planned(
    name: str, adaptation: str, folders: dict[str, Path]
) -> None:
    method = ADAPTATIONS[adaptation]
    why = unsupported_adaptation(method, name, lambda: names_in(folders[name]))
    assert bool(why) == ((name, adaptation) in REFUSED), why
    torch.manual_seed(0)
    model = Classifier(adopt(folders[name]), 2, Protocol(head_dropout=0.0), method)
    freeze_unused(model)
    if why:
        with pytest.raises(ValueError, match=why):
            adapt(model, method)
        return
    adapt(model, method)
    inside = {n for n in trained(model) if n.startswith("backbone.")}
    assert inside or method.kind == "frozen"
    first, last = learn(model.train(), batch(), rate=1e-2)
    assert last < first


@pytest.mark.parametrize(
    "name", ["bert", "distilbert", "gpt2", "gpt_neo", "llama", "t5", "bart", "transformer"]
)
def test_names_found_in_a_network_match_the_listed_modules(name: str) -> None:
    network = make_backbone(name).network
    listed, found = MODULE_NAMES[network.config.model_type], discovered(network)
    paths = [path for path, _ in network.named_modules()]
    for field in ("query_value", "key_value", "feed_forward", "outputs"):
        theirs, ours = (
            {path for path in paths if re.fullmatch(getattr(one, field), path)}
            for one in (listed, found)
        )
        assert theirs == ours, field
    assert (listed.has_norms, listed.has_biases) == (found.has_norms, found.has_biases)


def test_unknown_targets_are_refused_with_the_known_ones(folders: dict[str, Path]) -> None:
    why = unsupported_adaptation(
        Lora(targets=("query",)), "mpnet", lambda: names_in(folders["mpnet"])
    )
    assert "the projections of a mpnet are" in why and "targets has query" in why


def test_a_network_without_projections_is_refused() -> None:
    config = transformers.FNetConfig(
        vocab_size=VOCAB, hidden_size=32, num_hidden_layers=1, intermediate_size=64
    )
    network = transformers.FNetForMaskedLM(config)
    why = unsupported_adaptation(ADAPTATIONS["lora"], "fnet", lambda: discovered(network))
    assert why == "a fnet has no query and value projections as modules"
