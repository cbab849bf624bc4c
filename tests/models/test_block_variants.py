"""Blocks with other positions and norms, or without residual connections: torch's own layers,
formulas, and what must hold of every network."""

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModel, BertForMaskedLM, GPT2LMHeadModel

from harness.finetuning.adaptation import ADAPTATIONS, Selective
from harness.finetuning.compatibility import unsupported_reason
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.methods import adapt
from harness.finetuning.protocol import Protocol
from harness.models import SIZES, Architecture
from harness.models.backbone import Backbone
from harness.models.block_variants import Sinusoids, sinusoids
from harness.models.build import build
from harness.models.cpu_attention import attend_by_products
from harness.models.flops import Lengths, forward_flops
from harness.models.layer_names import EMBEDDINGS, HEAD
from harness.models.layers import layer_of_parameters
from harness.pretraining.learners.token_prediction import TokenPrediction
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes import RECIPES
from harness.tasks import TASKS
from tests.finetuning.methods.models import batch as task_batch
from tests.finetuning.methods.models import learn
from tests.models.counts.head_parameters import count_trained_parameters
from tests.models.networks import TOKENS, VOCAB, overfit, padding, saved, text, without_gradient

NANO = SIZES["nano"]
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("bert", {"norm": "pre"}),
    ("bert", {"norm": "none"}),
    ("bert", {"positions": "sinusoidal"}),
    ("bert", {"positions": "none"}),
    ("bert", {"residual": False}),
    ("bert", {"norm": "pre", "residual": False, "activation": "relu"}),
    ("roberta", {"norm": "pre"}),
    ("roberta", {"norm": "none"}),
    ("roberta", {"positions": "sinusoidal", "residual": False}),
    ("roberta", {"positions": "none"}),
    ("gpt2", {"norm": "post"}),
    ("gpt2", {"norm": "none"}),
    ("gpt2", {"positions": "sinusoidal", "activation": "relu"}),
    ("gpt2", {"positions": "none"}),
    ("gpt2", {"residual": False}),
]
ACTIVATIONS = [("bert", "relu"), ("roberta", "silu"), ("gpt2", "gelu"), ("gpt2", "linear")]
TORCHS: dict[str, Any] = {
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "relu2": lambda x: F.relu(x) ** 2,
    "silu": F.silu,
    "tanh": torch.tanh,
    "linear": lambda x: x,
}


def declared(family: str, **fields: Any) -> Architecture:
    without = {"dropout": 0.0, "attention_dropout": 0.0, "initializer_range": 0.1}
    return Architecture(family=family, max_position=64, **without, **fields)


def made(family: str, reading: str = "", **fields: Any) -> Backbone:
    """A nano network whose biases and norms differ from their initial values."""
    architecture = declared(family, **fields)
    reading = reading or architecture.facts.representations[0]
    backbone = build(architecture, NANO, TOKENS, reading, 0).eval()
    generator = torch.Generator().manual_seed(1)
    for weight in backbone.parameters():
        if weight.ndim == 1:
            weight.data += 0.1 * torch.randn(weight.shape, generator=generator)
    return backbone


def stack_of(backbone: Backbone) -> Any:
    return backbone.network.base_model


def layers_of(backbone: Backbone) -> list[Any]:
    stack = stack_of(backbone)
    return list(stack.h if backbone.family == "gpt2" else stack.encoder.layer)


def weights_of(layer: Any) -> dict[str, Tensor]:
    """Weights of a layer of either family by their names in torch.nn.TransformerEncoderLayer."""
    if hasattr(layer, "attn"):  # of GPT-2, whose matrices are [in, out]
        parts = {
            "self_attn.in_proj_": layer.attn.c_attn,
            "self_attn.out_proj.": layer.attn.c_proj,
            "linear1.": layer.mlp.c_fc,
            "linear2.": layer.mlp.c_proj,
        }
        found = {f"{name}weight": part.weight.T for name, part in parts.items()}
        norms = (layer.ln_1, layer.ln_2)
    else:
        own, output = layer.attention.self, layer.attention.output
        three = (own.query, own.key, own.value)
        whole = nn.Linear(NANO.hidden_size, 3 * NANO.hidden_size)
        whole.weight.data = torch.cat([part.weight for part in three])
        whole.bias.data = torch.cat([part.bias for part in three])
        parts = {
            "self_attn.in_proj_": whole,
            "self_attn.out_proj.": output.dense,
            "linear1.": layer.intermediate.dense,
            "linear2.": layer.output.dense,
        }
        found = {f"{name}weight": part.weight for name, part in parts.items()}
        norms = (output.LayerNorm, layer.output.LayerNorm)
    found |= {f"{name}bias": part.bias for name, part in parts.items()}
    for number, norm in enumerate(norms, 1):
        found |= {f"norm{number}.{name}": weight for name, weight in norm.named_parameters()}
    return found


def embedded(backbone: Backbone, ids: Tensor) -> Tensor:
    """[B, T, H] input of the layers."""
    found: list[Tensor] = []
    hook = layers_of(backbone)[0].register_forward_pre_hook(lambda _, args: found.append(args[0]))
    backbone(ids)
    hook.remove()
    return found[0]


def norm_above(backbone: Backbone) -> nn.Module:
    stack = stack_of(backbone)
    above: nn.Module = stack.ln_f if backbone.family == "gpt2" else stack.encoder.LayerNorm
    return above


@pytest.mark.parametrize(
    ("family", "place", "activation"),
    [
        ("bert", "post", "relu"),
        ("bert", "pre", None),
        ("bert", "pre", "silu"),
        ("roberta", "pre", None),
        ("gpt2", "post", None),
        ("gpt2", "pre", "relu"),
        ("gpt2", "post", "relu2"),
    ],
)
@torch.no_grad()
def test_layers_are_those_of_torch(family: str, place: str, activation: str | None) -> None:
    """torch.nn.TransformerEncoderLayer with the same weights, with padding; both places of the
    norm, other activations. GPT-2 has a causal mask."""
    is_own = declared(family).block["norm"] == place
    backbone = made(family, norm=None if is_own else place, activation=activation)
    used = declared(family, activation=activation).block["activation"]
    ids, mask = text(), padding()
    shape: dict[str, Any] = {"d_model": 64, "nhead": 2, "dim_feedforward": 256, "dropout": 0.0}
    own: dict[str, Any] = {"layer_norm_eps": getattr(norm_eps(backbone), "eps", 0.0)}
    states = embedded(backbone, ids)
    causal = torch.ones(12, 12).triu(1).bool() if family == "gpt2" else None
    for layer in layers_of(backbone):
        theirs = nn.TransformerEncoderLayer(
            **shape, **own, activation=TORCHS[used], batch_first=True, norm_first=place == "pre"
        )
        theirs.load_state_dict(weights_of(layer))
        states = theirs.train()(states, src_mask=causal, src_key_padding_mask=mask == 0)
    states = norm_above(backbone)(states) if place == "pre" else states
    ours = backbone(ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(ours[mask.bool()], states[mask.bool()], atol=2e-5, rtol=1e-4)


def norm_eps(backbone: Backbone) -> nn.Module:
    norms = [m for m in stack_of(backbone).modules() if isinstance(m, nn.LayerNorm)]
    return norms[0] if norms else nn.Identity()


def by_hand(weights: dict[str, Tensor], states: Tensor, change: dict[str, Any]) -> Tensor:
    """One layer of one sequence [T, H], head by head."""
    place, residual = change["norm"], change["residual"]

    def norm(x: Tensor, number: int) -> Tensor:
        if place == "none":
            return x
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-12).sqrt()
        return scaled * weights[f"norm{number}.weight"] + weights[f"norm{number}.bias"]

    def attend(x: Tensor) -> Tensor:
        projected = x @ weights["self_attn.in_proj_weight"].T + weights["self_attn.in_proj_bias"]
        query, key, value = projected.chunk(3, -1)
        heads = []
        for first in (0, 32):
            q, k, v = (part[:, first : first + 32] for part in (query, key, value))
            scores = (q @ k.T / math.sqrt(32)).exp()
            heads.append(scores / scores.sum(-1, keepdim=True) @ v)
        joined = torch.cat(heads, -1)
        return joined @ weights["self_attn.out_proj.weight"].T + weights["self_attn.out_proj.bias"]

    def feed_forward(x: Tensor) -> Tensor:
        inner = x @ weights["linear1.weight"].T + weights["linear1.bias"]
        inner = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
        return inner @ weights["linear2.weight"].T + weights["linear2.bias"]

    for number, function in ((1, attend), (2, feed_forward)):
        out = function(norm(states, number) if place == "pre" else states)
        out = states + out if residual else out
        states = norm(out, number) if place == "post" else out
    return states


@pytest.mark.parametrize("place", ["post", "pre", "none"])
@pytest.mark.parametrize("residual", [True, False])
@torch.no_grad()
def test_layers_are_those_computed_by_hand(place: str, residual: bool) -> None:
    changes: dict[str, Any] = {"positions": "none"}
    changes |= {} if place == "post" else {"norm": place}
    changes |= {} if residual else {"residual": False}
    backbone, ids = made("bert", **changes), text(1)
    (states,) = embedded(backbone, ids)
    for layer in layers_of(backbone):
        states = by_hand(weights_of(layer), states, {"norm": place, "residual": residual})
    states = norm_above(backbone)(states)
    torch.testing.assert_close(backbone(ids).last_hidden_state[0], states, atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_norms_stand_where_they_are_declared() -> None:
    """BERT's norm of the embeddings moves with the others; that of the token head remains."""
    word, position = ("bert.embeddings.word_embeddings", "bert.embeddings.position_embeddings")
    for place, expected in (("post", True), ("pre", False), ("none", False)):
        backbone = made("bert", **({} if place == "post" else {"norm": place}))
        network, ids = backbone.network, text(1)
        table = network.get_submodule("bert.embeddings.token_type_embeddings").weight[0]  # type: ignore[index]
        summed = network.get_submodule(word)(ids) + table
        summed = summed + network.get_submodule(position)(torch.arange(12))
        states = embedded(backbone, ids)
        assert torch.allclose(states, summed, atol=1e-6) != expected
        norms = [n for n, m in network.named_modules() if isinstance(m, nn.LayerNorm)]
        assert len(norms) == {"post": 6, "pre": 6, "none": 1}[place]
        assert "cls.predictions.transform.LayerNorm" in norms


@pytest.mark.parametrize("width", [8, 9, 64])
def test_sinusoids_are_those_of_the_formula(width: int) -> None:
    """Vaswani et al. 2017, section 3.5."""
    table = np.zeros((40, width))
    for position in range(40):
        for column in range(width):
            angle = position / 10000 ** (2 * (column // 2) / width)
            table[position, column] = np.sin(angle) if column % 2 == 0 else np.cos(angle)
    np.testing.assert_allclose(sinusoids(40, width).numpy(), table, atol=1e-6)


@torch.no_grad()
def test_sinusoids_are_added_in_the_ratio_of_the_paper() -> None:
    """Section 3.4: sqrt(H) times the embedding plus the table, here divided by sqrt(H)."""
    backbone, ids = made("gpt2", positions="sinusoidal"), text()
    words = stack_of(backbone).wte(ids)
    expected = (8 * words + sinusoids(64, 64)[:12]) / 8
    torch.testing.assert_close(embedded(backbone, ids), expected)
    assert not [*Sinusoids(4, 8).parameters()]


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2"])
@pytest.mark.parametrize("positions", [None, "sinusoidal", "none"])
@torch.no_grad()
def test_without_positions_order_does_not_matter(family: str, positions: str | None) -> None:
    """States move with their tokens, if and only if the network has no positions."""
    backbone, ids = made(family, "bidirectional", positions=positions), text()
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    states, moved = (
        backbone(x, attention_mask=mask).last_hidden_state for x in (ids, ids[:, order])
    )
    assert torch.allclose(states[:, order], moved, atol=1e-5) == (positions == "none")


@pytest.mark.parametrize(("family", "change"), CHANGES)
def test_parameters_are_counted(family: str, change: dict[str, Any]) -> None:
    architecture = declared(family, **change)
    network = made(family, **change).network
    count = sum(parameter.numel() for parameter in network.parameters())
    assert count == count_trained_parameters(architecture, NANO, VOCAB)


@pytest.mark.parametrize(("family", "change"), CHANGES)
def test_products_are_counted(family: str, change: dict[str, Any]) -> None:
    network: Any = made(family, **change).network
    network.set_attn_implementation("eager")
    with FlopCounterMode(display=False) as counter:
        network(text(1))
    ours = forward_flops(declared(family, **change), NANO, VOCAB, Lengths(12, predicted=12))
    assert counter.get_total_flops() == ours


@pytest.mark.parametrize(("family", "change"), CHANGES)
@torch.no_grad()
def test_saved_network_is_the_same(family: str, change: dict[str, Any], tmp_path: Path) -> None:
    backbone, ids = made(family, **change), text()
    again = saved(backbone, tmp_path / "whole").eval()
    states = backbone(ids).last_hidden_state
    assert torch.equal(states, again(ids).last_hidden_state)
    assert torch.equal(backbone.token_logits(states), again.token_logits(states))
    copied = copy.deepcopy(backbone)
    for weight in backbone.parameters():
        weight.zero_()
    assert torch.equal(states, copied(ids).last_hidden_state)


@pytest.mark.parametrize(("family", "change"), CHANGES)
@torch.no_grad()
def test_padding_changes_nothing(family: str, change: dict[str, Any]) -> None:
    backbone, tokens, mask = made(family, **change), text(), padding()
    padded = backbone(tokens * mask, attention_mask=mask).last_hidden_state
    for row, length in enumerate(mask.sum(1).tolist()):
        alone = backbone(tokens[row : row + 1, :length]).last_hidden_state[0]
        torch.testing.assert_close(padded[row, :length], alone, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize(("family", "change"), CHANGES)
@torch.no_grad()
def test_nothing_is_seen_ahead(family: str, change: dict[str, Any]) -> None:
    backbone, tokens = made(family, "causal", **change), text()
    other = tokens.clone()
    other[:, 6] = (tokens[:, 6] + 1) % 40 + 5
    states, moved = (backbone(x).last_hidden_state for x in (tokens, other))
    differs = (states - moved).abs().amax((0, 2)) > 1e-6
    assert differs.tolist() == [False] * 6 + [True] * 6


@pytest.mark.parametrize(("family", "change"), CHANGES)
@torch.no_grad()
def test_attention_by_products_is_near(family: str, change: dict[str, Any]) -> None:
    backbone, mask = made(family, **change), padding()

    def states() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            found: Tensor = backbone(text(), attention_mask=mask).last_hidden_state
        return found[mask.bool()].float()

    kernel = states()
    attend_by_products(backbone)
    scale = float(kernel.abs().max())
    torch.testing.assert_close(states(), kernel, atol=0.03 * scale, rtol=0.05)


@pytest.mark.parametrize(("family", "change"), CHANGES)
def test_all_is_trained_and_one_batch_is_learned(family: str, change: dict[str, Any]) -> None:
    """Masked tokens, or the next ones; but for the positions of a network without them."""
    is_causal = family == "gpt2"
    backbone = build(
        declared(family, **change), NANO, TOKENS, "causal" if is_causal else "bidirectional", 0
    )
    objective: Any = OBJECTIVES["clm" if is_causal else "mlm"]
    learner = TokenPrediction(backbone, (objective,), 0.1)
    tokens = text()
    positions = torch.tensor([3, 17, 30, 44])
    targets = tokens.flatten()[positions + 1]
    if not is_causal:
        targets = tokens.flatten()[positions].clone()
        tokens = tokens.flatten().index_fill(0, positions, 1).view(4, 12)
    made_batch = {"input_ids": tokens, "positions": positions, "targets": targets}
    unused = {name for name in without_gradient(learner, made_batch) if "pooler" not in name}
    assert unused == set()
    learner.zero_grad()
    assert overfit(learner, made_batch) < 0.3


@pytest.mark.parametrize("adaptation", [n for n, one in ADAPTATIONS.items() if one.trains])
@pytest.mark.parametrize(
    ("family", "change"),
    [
        ("bert", {"norm": "pre", "positions": "none"}),
        ("gpt2", {"norm": "post", "positions": "sinusoidal"}),
    ],
)
def test_every_adaptation_is_trained(family: str, change: dict[str, Any], adaptation: str) -> None:
    """As far as the family supports it."""
    torch.manual_seed(0)
    method = ADAPTATIONS[adaptation]
    model = Classifier(made(family, **change), 2, Protocol(head_dropout=0.0), method).train()
    run = RECIPES[family].model_copy(update={"model": declared(family, **change), "size": NANO})
    if unsupported_reason(TASKS["micro-sst2"], Protocol(max_sequence_length=16), method, run):
        return
    adapt(model, method)
    first, last = learn(model, task_batch(), 1e-2)
    assert last < first


def test_layers_own_their_parameters() -> None:
    """The norm above the layers is of none of them, as GPT-2's."""
    backbone = made("bert", norm="pre")
    found = layer_of_parameters(backbone.network, backbone)
    assert found["bert.encoder.LayerNorm.weight"] == HEAD
    assert found["bert.encoder.layer.1.output.LayerNorm.weight"] == "layer 2"
    assert found["bert.embeddings.word_embeddings.weight"] == EMBEDDINGS


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_hidden_states_end_with_the_norm_above(family: str) -> None:
    out = made(family, norm="pre")(text(), output_hidden_states=True, output_attentions=False)
    assert len(out.hidden_states) == 3
    assert torch.equal(out.hidden_states[-1], out.last_hidden_state)


@pytest.mark.parametrize(("family", "activation"), ACTIVATIONS)
@torch.no_grad()
def test_another_activation_alone_is_of_transformers(
    family: str, activation: str, tmp_path: Path
) -> None:
    """So AutoModel builds the network."""
    backbone = made(family, activation=activation)
    assert backbone.name == family
    backbone.save(tmp_path)
    auto = AutoModel.from_pretrained(tmp_path).eval()
    assert torch.equal(auto(text()).last_hidden_state, backbone(text()).last_hidden_state)
    assert not torch.equal(made(family)(text()).last_hidden_state, auto(text()).last_hidden_state)


def test_the_published_block_is_transformers_own() -> None:
    for family, kind in (("bert", BertForMaskedLM), ("gpt2", GPT2LMHeadModel)):
        network = made(family).network
        assert type(network) is kind
        assert not [name for name in vars(network.config) if name.startswith("harness_")]


@pytest.mark.parametrize(
    ("family", "change", "message"),
    [
        ("bert", {"norm": "post"}, 'norm of a bert is "post" anyway; leave it out, or write null'),
        ("gpt2", {"norm": "pre"}, 'norm of a gpt2 is "pre" anyway'),
        ("roberta", {"residual": True}, "residual of a roberta is true anyway"),
        ("gpt2", {"activation": "gelu_new"}, 'activation of a gpt2 is "gelu_new" anyway'),
        ("llama", {"norm": "post"}, "norm belongs to bert, roberta, gpt2, but family is llama"),
        ("bert", {"positions": "rotary"}, "'learned', 'sinusoidal' or 'none'"),
    ],
)
def test_what_changes_nothing_is_refused(family: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        declared(family, **change)


def test_norms_that_are_missing_are_not_trained() -> None:
    bert = RECIPES["bert"]
    run = bert.model_copy(update={"model": bert.model.model_copy(update={"norm": "none"})})
    method = Selective(parts="layer_norms")
    why = unsupported_reason(TASKS["sst2"], Protocol(), method, run)
    assert why == "it has no layer norms, as its norm is none"
    model = Classifier(made("bert", norm="none"), 2, Protocol(), method)
    with pytest.raises(ValueError, match="the network has no layer norms to train"):
        adapt(model, method)


def test_detection_of_replaced_tokens_is_refused() -> None:
    fields = RECIPES["bert"].model_dump()
    fields["model"]["norm"] = "pre"
    fields["objective"] = OBJECTIVES["rtd"].model_dump()
    fields["packing"]["format"] = "doc_sentences"
    with pytest.raises(ValidationError, match="replaced_token needs the published block"):
        type(RECIPES["bert"]).model_validate(fields)
