"""Encoder-decoders and T5's one stack: published sizes, transformers' losses, what is shared."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5Stack

from harness.models import SIZES, Size
from harness.models.build import BLUEPRINTS
from harness.pretraining.learners.token_prediction import TokenPrediction
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes import RECIPES
from tests.models.networks import (
    TOKENS,
    mean_loss,
    meta_count,
    network,
    overfit,
    padding,
    saved,
    small,
    text,
    without_gradient,
)

PAIRS = ("t5", "t5_shared", "t5_v1_1", "bart", "transformer")
STACKS = ("bidirectional", "causal", "prefix")


@pytest.mark.parametrize(
    ("family", "size", "vocab_size", "count"),
    [
        ("t5", SIZES["t5_small"], 32_128, 60_506_624),  # Raffel et al. 2020
        ("t5", SIZES["t5_base"], 32_128, 222_903_552),
        ("t5", SIZES["t5_large"], 32_128, 737_668_096),
        ("t5", SIZES["t5_3b"], 32_128, 2_851_598_336),
        # google/t5-v1_1-small and -base: 77M and 248M
        (
            "t5_v1_1",
            Size(num_layers=8, hidden_size=512, num_heads=6, head_dim=64, intermediate_size=1024),
            32_128,
            76_961_152,
        ),
        ("t5_v1_1", RECIPES["t5_v1_1"].size, 32_128, 247_577_856),
        ("bart", SIZES["half_base"], 50_265, 139_420_416),  # Lewis et al. 2020
        ("bart", SIZES["half_large"], 50_265, 406_291_456),
    ],
)
def test_published_sizes(family: str, size: Size, vocab_size: int, count: int) -> None:
    built = meta_count(family, size, vocab_size, "encoder_decoder", max_position=1024)
    assert built == count


def test_sizes_of_the_t5_study() -> None:
    """Raffel et al. 2020, table 2, in parameters P of a stack of 12 layers with embeddings."""
    base = SIZES["t5_base"]
    half = base.model_copy(update={"num_layers": 6})
    both = meta_count("t5", base, 32_128, "encoder_decoder")
    stack = meta_count("t5", base, 32_128, "prefix")
    assert both / stack == pytest.approx(2, rel=0.05)
    assert meta_count("t5_shared", base, 32_128, "encoder_decoder") / stack < 1.3
    assert meta_count("t5", half, 32_128, "encoder_decoder") / stack < 1.15


def learner(name: str, representation: str = "encoder_decoder", **more: Any) -> TokenPrediction:
    objective = OBJECTIVES["span_corruption"].model_copy(update={"representation": representation})
    return TokenPrediction(small(name, representation, **more), (objective,), 0.02)  # type: ignore[arg-type]


def labels() -> Tensor:
    """[B, U], -100 at padding."""
    return text(length=8, seed=1).masked_fill(padding(length=8) == 0, -100)


def batch(start: int) -> dict[str, Tensor]:
    right = labels()
    predicted = right != -100
    before = torch.cat([torch.full((len(right), 1), start), right[:, :-1]], 1)
    return {
        "input_ids": text() * padding(),
        "attention_mask": padding(),
        "decoder_input_ids": before.clamp(min=0),
        "decoder_attention_mask": predicted.long(),
        "positions": predicted.flatten().nonzero().squeeze(1),
        "targets": right[predicted],
    }


def start(name: str) -> int:
    return TOKENS.end if name == "bart" else TOKENS.pad


@pytest.mark.parametrize("name", PAIRS)
def test_loss_is_that_of_transformers(name: str) -> None:
    """Which shifts the labels itself, and takes padding for unlabelled."""
    ours, made = learner(name).eval(), batch(start(name))
    theirs = network(ours.backbone)
    if name == "t5":  # apart from our class
        theirs = T5ForConditionalGeneration(theirs.config).eval()
        theirs.load_state_dict(network(ours.backbone).state_dict())
    if name in ("bart", "transformer"):  # not all zeros
        theirs.final_logits_bias.normal_()
    out = theirs(
        input_ids=made["input_ids"], attention_mask=made["attention_mask"], labels=labels()
    )
    torch.testing.assert_close(mean_loss(ours, made), out.loss, atol=1e-5, rtol=0)


def sines(length: int, width: int) -> Tensor:
    """[T, H] Vaswani et al. 2017, section 3.5, the sines before the cosines."""
    rate = 10_000 ** (-torch.arange(0, width, 2, dtype=torch.double) / width)
    angles = torch.arange(length, dtype=torch.double)[:, None] * rate
    return torch.cat((angles.sin(), angles.cos()), 1).float()


def as_torchs(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a layer of Marian under the names of torch's, queries, keys and values in one
    matrix."""
    names = {"fc1": "linear1", "fc2": "linear2", "encoder_attn.": "multihead_attn."}
    norms = ["self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"]
    there = [norm for norm in norms if f"{norm}.weight" in weights]
    names |= {norm: f"norm{number}" for number, norm in enumerate(there, 1)}
    found = {}
    for name, weight in weights.items():
        for ours, theirs in names.items():
            name = name.replace(ours, theirs) if name.startswith(ours) else name
        found[name] = weight
    for part in {name.split(".")[0] for name in found if "_proj" in name}:
        for kind in ("weight", "bias"):
            three = [found.pop(f"{part}.{one}_proj.{kind}") for one in "qkv"]
            found[f"{part}.in_proj_{kind}"] = torch.cat(three)
    return found


@torch.no_grad()
def test_the_transformer_is_that_of_torch_on_scaled_embeddings() -> None:
    """Vaswani et al. 2017: torch's encoder and decoder layers, post-norm with ReLU, with the same
    weights, on embeddings times sqrt(H) and sines (sections 3.4 and 3.5)."""
    backbone, source, target = small("transformer", "encoder_decoder").eval(), text(), text(seed=1)
    own = network(backbone).model
    embedded = [own.shared(x) * 8 + sines(12, 64) for x in (source, target)]
    fields: Any = {"d_model": 64, "nhead": 2, "dim_feedforward": 256, "batch_first": True}
    states, decoded = embedded
    for ours in own.encoder.layers:
        layer = nn.TransformerEncoderLayer(**fields).eval()
        layer.load_state_dict(as_torchs(ours.state_dict()))
        states = layer(states)
    ahead = torch.ones(12, 12, dtype=torch.bool).triu(1)
    for ours in own.decoder.layers:
        above = nn.TransformerDecoderLayer(**fields).eval()
        above.load_state_dict(as_torchs(ours.state_dict()))
        decoded = above(decoded, states, tgt_mask=ahead)
    found = backbone(source, decoder_input_ids=target).last_hidden_state
    torch.testing.assert_close(found, decoded, atol=1e-5, rtol=1e-5)
    logits = backbone.token_logits(found)
    torch.testing.assert_close(logits, found @ own.shared.weight.T, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("representation", STACKS)
def test_one_stack_is_t5s_encoder(representation: str) -> None:
    """Under the mask of its representation, and with T5's output matrix."""
    backbone, tokens = small("t5", representation).eval(), text()
    prefix = torch.tensor([2, 3, 4, 5])
    place = torch.arange(12)
    visible = {
        "bidirectional": torch.ones(4, 12, 12, dtype=torch.bool),
        "causal": (place <= place[:, None]).expand(4, 12, 12),
        "prefix": (place <= place[:, None]) | (place < prefix[:, None, None]),
    }[representation]
    own = network(backbone)
    stack = T5Stack(own.config).eval()
    stack.load_state_dict(own.encoder.state_dict())
    with torch.no_grad():
        states = backbone(tokens, prefix_lengths=prefix).last_hidden_state
        expected = stack(input_ids=tokens, attention_mask=visible[:, None]).last_hidden_state
        torch.testing.assert_close(states, expected, atol=1e-5, rtol=1e-5)
        scores = states @ own.shared.weight.T * own.config.d_model**-0.5
        torch.testing.assert_close(backbone.token_logits(states), scores, atol=1e-5, rtol=1e-5)


def differs(before: Tensor, after: Tensor) -> list[bool]:
    """[T] whether the states of a position are others."""
    return ((before - after).abs() > 1e-6).any(2).any(0).tolist()


@pytest.mark.parametrize("name", PAIRS)
def test_decoders_do_not_look_ahead(name: str) -> None:
    backbone, source, target = small(name, "encoder_decoder").eval(), text(), text(seed=1)
    changed = target.clone()
    changed[:, 6] = 5 + (target[:, 6] + 1) % 40
    read = [backbone(source, decoder_input_ids=x).last_hidden_state for x in (target, changed)]
    assert differs(*read) == [False] * 6 + [True] * 6
    padded = source.clone()
    padded[:, -1] = 5 + (source[:, -1] + 1) % 40
    mask = torch.ones_like(source)
    mask[:, -1] = 0
    read = [backbone(x, mask, decoder_input_ids=target).last_hidden_state for x in (source, padded)]
    assert not any(differs(*read))


@pytest.mark.parametrize("name", ["t5", "t5_v1_1"])
@pytest.mark.parametrize("padded", [False, True])
def test_one_stack_does_not_look_ahead(name: str, padded: bool) -> None:
    tokens = text()
    changed, mask = tokens.clone(), padding() if padded else None
    changed[:, 6] = 5 + (tokens[:, 6] + 1) % 40
    for representation, more in (
        ("causal", {}),
        ("prefix", {"prefix_lengths": torch.tensor([3] * 4)}),
    ):
        backbone = small(name, representation).eval()
        read = [backbone(x, mask, **more).last_hidden_state for x in (tokens, changed)]
        assert differs(*read)[:9] == [False] * 6 + [True] * 3


@pytest.mark.parametrize("name", PAIRS)
def test_read_back_and_trained_whole(name: str, tmp_path: Path) -> None:
    ours, made = learner(name), batch(start(name))
    again = learner(name)
    again.backbone = saved(ours.backbone, tmp_path)
    assert torch.equal(mean_loss(ours.eval(), made), mean_loss(again.eval(), made))
    assert not without_gradient(ours, made)


@pytest.mark.parametrize("name", ["t5", "t5_v1_1"])
@pytest.mark.parametrize("representation", STACKS)
def test_one_stack_is_read_back(name: str, representation: str, tmp_path: Path) -> None:
    backbone = small(name, representation)
    again = saved(backbone, tmp_path)
    ours, theirs = (b.eval()(text()).last_hidden_state for b in (backbone, again))
    assert torch.equal(backbone.token_logits(ours), again.token_logits(theirs))


def test_shared_layers_stay_shared(tmp_path: Path) -> None:
    """Raffel et al. 2020, section 3.2.2: all but the attention to the source."""
    again = network(saved(small("t5_shared", "encoder_decoder"), tmp_path))
    for encoder, decoder in zip(again.encoder.block, again.decoder.block, strict=True):
        for ours, theirs in ((0, 0), (1, 2)):
            pairs = zip(
                encoder.layer[ours].parameters(), decoder.layer[theirs].parameters(), strict=True
            )
            assert all(one is other for one, other in pairs)
        own = {id(parameter) for parameter in decoder.layer[1].parameters()}
        assert not own & {id(parameter) for parameter in again.encoder.parameters()}
    assert again.encoder.final_layer_norm.weight is again.decoder.final_layer_norm.weight
    assert again.decoder.block[0].layer[0].SelfAttention.is_decoder, "distances of a decoder"


def test_shared_layers_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="share_decoder needs as many decoder layers"):
        small("t5_shared", "encoder_decoder", num_decoder_layers=1)


@pytest.mark.parametrize("representation", ["encoder_decoder", "prefix"])
def test_untied_output_matrix(representation: str, tmp_path: Path) -> None:
    """As T5 v1.1: neither tied nor scaled, however it is read back."""
    backbone = small("t5_v1_1", representation)
    network(backbone).lm_head.weight.data.mul_(2)
    again = network(saved(backbone, tmp_path))
    assert again.lm_head.weight is not again.shared.weight
    assert not again.config.scale_decoder_outputs
    states = torch.randn(3, 64)
    logits = BLUEPRINTS["t5"].head(again)(states)
    torch.testing.assert_close(logits, states @ again.lm_head.weight.T)
    tied = network(saved(small("t5", representation), tmp_path / "tied"))
    assert tied.lm_head.weight is tied.shared.weight is tied.encoder.embed_tokens.weight


@pytest.mark.parametrize("name", ["t5", "t5_shared", "t5_v1_1"])
@pytest.mark.parametrize("representation", ["encoder_decoder", "prefix"])
def test_initial_weights_are_scaled_by_their_shapes(name: str, representation: str) -> None:
    """As Mesh TensorFlow's: embeddings 1, queries (d_model d_kv)^-1/2, else fan-in^-1/2."""
    own = network(small(name, representation))
    attention = own.encoder.block[0].layer[0].SelfAttention
    dense = own.encoder.block[0].layer[-1].DenseReluDense
    expected = {
        own.shared.weight: 1,
        attention.q.weight: (64 * 32) ** -0.5,
        attention.k.weight: 64**-0.5,
        attention.v.weight: 64**-0.5,
        attention.o.weight: 64**-0.5,
        dense.wo.weight: 256**-0.5,
        own.lm_head.weight: 64**-0.5 if name == "t5_v1_1" else 1,
    }
    for weight, std in expected.items():
        assert float(weight.detach().std()) == pytest.approx(std, rel=0.05)


@pytest.mark.parametrize("name", PAIRS)
def test_one_batch_is_learned_by_heart(name: str) -> None:
    assert overfit(learner(name), batch(start(name))) < 0.2
