"""Encoders: published counts, representations, and what is saved."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from harness.models import FAMILIES, MODELS, SIZES, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.encoders import ENCODERS, LOCAL_ATTENTION
from harness.pretraining.recipes import RECIPES
from tests.models.counts.head_parameters import count_trained_parameters

BERT_VOCAB = 30_522
MODERN = Size(num_layers=22, hidden_size=768, num_heads=12, intermediate_size=1152)
GENERATOR = Size(num_layers=12, hidden_size=64, num_heads=1, intermediate_size=256)

# With the masked-LM head and without the pooler, which pretraining without pairs does not move
PUBLISHED = [
    ("bert", SIZES["base"], BERT_VOCAB, 109_514_298),  # BertForMaskedLM, bert-base-uncased
    ("distilbert", SIZES["half_base"], BERT_VOCAB, 66_985_530),  # distilbert-base-uncased
    ("electra_small", GENERATOR, BERT_VOCAB, 4_620_026),  # google/electra-small-generator
    ("modernbert", MODERN, 50_368, 149_655_232),  # ModernBERT-base; Warner et al. 2024: 149M
]
# Without any head, and without the pooler of RoBERTa and ALBERT
WITHOUT_HEAD = [
    ("roberta", SIZES["base"], 50_265, 124_645_632 - 590_592),  # the pooler's 768 x 769
    ("albert", SIZES["base"], 30_000, 11_683_584 - 590_592),  # Lan et al. 2020: 12M
    ("albert", SIZES["albert_xxlarge"], 30_000, 222_595_584 - 4_096 * 4_097),
    ("electra_small", SIZES["electra_small"], BERT_VOCAB, 13_483_008),  # Clark et al. 2020: 14M,
    ("electra", SIZES["base"], BERT_VOCAB, 108_891_648),  # 110M
    ("deberta", SIZES["base"], 50_265, 138_601_728),  # He et al. 2021: 134M
    ("deberta_v3", SIZES["base"], 128_100, 183_831_552),  # He et al. 2023: 86M + 98M
    ("distilbert", SIZES["half_base"], BERT_VOCAB, 66_362_880),  # Sanh et al. 2019: 66M
]
REPRESENTATIONS = [
    (name, representation) for name in ENCODERS for representation in FAMILIES[name].representations
]
PREFIX = 4


def numbers(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def on_meta(name: str, size: Size, vocab_size: int) -> Backbone:
    with torch.device("meta"):
        return build(MODELS[name], size, Tokens(vocab_size, 0, 2, 3), "bidirectional", 0)


@pytest.mark.parametrize(("name", "size", "vocab_size", "count"), PUBLISHED)
def test_published_counts(name: str, size: Size, vocab_size: int, count: int) -> None:
    assert numbers(on_meta(name, size, vocab_size).network) == count


@pytest.mark.parametrize(("name", "size", "vocab_size", "count"), WITHOUT_HEAD)
def test_published_counts_without_head(name: str, size: Size, vocab_size: int, count: int) -> None:
    assert numbers(on_meta(name, size, vocab_size).network.base_model) == count


@pytest.mark.parametrize("name", ENCODERS)
def test_counts_are_those_of_the_network(name: str) -> None:
    counted = count_trained_parameters(MODELS[name], SIZES["nano"], 100)
    assert numbers(on_meta(name, SIZES["nano"], 100).network) == counted


def tiny(name: str, representation: str = "bidirectional") -> Backbone:
    wide = MODELS[name].model_copy(update={"initializer_range": 0.1})
    return build(wide, SIZES["nano"], Tokens(100, 0, 2, 3), representation, 0).eval()


def tokens(length: int = 9) -> Tensor:
    torch.manual_seed(0)
    return torch.randint(5, 100, (2, length))


def changed(backbone: Backbone, ids: Tensor, column: int, **inputs: Tensor) -> list[bool]:
    """Whether the state at each place depends on the token at `column`."""
    other = ids.clone()
    other[:, column] = 4
    with torch.inference_mode():
        states, others = (backbone(each, **inputs).last_hidden_state for each in (ids, other))
    return [bool(moved) for moved in (states - others).abs().amax((0, 2)) > 1e-6]


@pytest.mark.parametrize(("name", "representation"), REPRESENTATIONS)
@pytest.mark.parametrize("padded", [False, True])
def test_who_sees_whom(name: str, representation: str, padded: bool) -> None:
    """Under each representation the token at 6 is seen by no place that it must not be seen by."""
    inputs = {}
    if padded:
        inputs["attention_mask"] = torch.tensor([[1] * 9, [1] * 8 + [0]])
    if representation == "prefix":
        inputs["prefix_lengths"] = torch.tensor([PREFIX, PREFIX])
    backbone, ids = tiny(name, representation), tokens()
    before = representation in ("bidirectional", "right_to_left")
    after = representation != "right_to_left"
    assert changed(backbone, ids, 6, **inputs) == [before] * 6 + [True] + [after] * 2
    if representation == "prefix":  # what stands in the prefix is seen from everywhere
        assert all(changed(backbone, ids, PREFIX - 1, **inputs))


@pytest.mark.parametrize("name", ENCODERS)
def test_padding_changes_nothing(name: str) -> None:
    backbone, ids = tiny(name), tokens()
    wide = torch.cat([ids, torch.zeros(2, 3, dtype=ids.dtype)], 1)
    with torch.inference_mode():
        states = backbone(ids).last_hidden_state
        padded = backbone(wide, attention_mask=(wide > 0).long()).last_hidden_state
    torch.testing.assert_close(padded[:, :9], states, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ENCODERS)
def test_half_precision_is_near(name: str) -> None:
    """As `precision: bf16-mixed` trains, with padding."""
    backbone, ids = tiny(name), tokens()
    mask = torch.tensor([[1] * 9, [1] * 7 + [0] * 2])
    with torch.inference_mode():
        states = backbone(ids, attention_mask=mask).last_hidden_state
        with torch.autocast("cpu", torch.bfloat16):
            rough = backbone(ids, attention_mask=mask).last_hidden_state
    assert (states - rough)[:, :7].abs().max() < 0.1


@pytest.mark.parametrize("name", ENCODERS)
def test_saved_network_is_the_same(name: str, tmp_path: Path) -> None:
    backbone, ids = tiny(name), tokens()
    backbone.save(tmp_path)
    loaded = load(tmp_path).eval()
    with torch.inference_mode():
        states, again = (each(ids).last_hidden_state for each in (backbone, loaded))
        assert torch.equal(states, again)
        assert torch.equal(backbone.token_logits(states), loaded.token_logits(again))
    assert (loaded.family, loaded.representation) == (backbone.family, "bidirectional")


@pytest.mark.parametrize("representation", ["bidirectional", "causal"])
def test_local_layers_of_modernbert_see_near_tokens_alone(representation: str) -> None:
    """Warner et al. 2024, section 2.1.2: layer 0 sees everything, layer 1 half a window around."""
    size = Size(num_layers=2, hidden_size=16, num_heads=2, intermediate_size=16)
    backbone = build(MODELS["modernbert"], size, Tokens(100, 0, 2, 3), representation, 0).eval()
    network = backbone.network.base_model
    seen: list[Tensor] = []
    hook = network.layers[1].attn.register_forward_pre_hook(  # type: ignore[union-attr, index]
        lambda module, args, kwargs: seen.append(kwargs["attention_mask"]), with_kwargs=True
    )
    length = LOCAL_ATTENTION + 2
    with torch.inference_mode():
        backbone(tokens(length))
    hook.remove()
    row = seen[0][0, 0, length - 1]
    assert row.nonzero().flatten().tolist() == [*range(length - 1 - LOCAL_ATTENTION // 2, length)]


@pytest.mark.parametrize(("base", "of_all_tokens"), [(None, 160_000.0), (10_000.0, 10_000.0)])
def test_the_bases_of_rotary_positions_of_modernbert(
    base: float | None, of_all_tokens: float
) -> None:
    """Su et al. 2021, section 3.2.2: base^(-2i/d) radians a position."""
    architecture = MODELS["modernbert"].model_copy(update={"rope_base": base})
    size = Size(num_layers=2, hidden_size=16, num_heads=2, intermediate_size=16)
    network: Any = build(architecture, size, Tokens(100, 0, 2, 3), "bidirectional", 0).network
    found = dict(network.base_model.rotary_emb.named_buffers())
    halves = torch.arange(4) / 4
    torch.testing.assert_close(found["full_attention_inv_freq"], of_all_tokens**-halves)
    torch.testing.assert_close(found["sliding_attention_inv_freq"], 10_000.0**-halves)


def test_the_recipe_of_modernbert_is_that_before_its_context_is_extended() -> None:
    """AnswerDotAI/ModernBERT, modernbert-base-pretrain.yaml: rotary_emb_base 10000.0."""
    assert RECIPES["modernbert"].model.rope_base == 10_000
