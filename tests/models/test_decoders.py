"""Decoders: published sizes, transformers' losses, padding, no look ahead."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from harness.models import SIZES, Architecture, Size
from harness.models.build import build
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

FAMILIES = ("gpt", "gpt2", "opt", "gpt_neo", "llama", "mistral", "qwen2", "gemma")


@pytest.mark.parametrize(
    ("family", "size", "vocab_size", "positions", "count"),
    [
        ("gpt", "base", 40_478, 512, 116_534_784),  # Radford et al. 2018
        ("gpt2", "base", 50_257, 1024, 124_439_808),  # openai/gpt-2, as the three below
        ("gpt2", "gpt2_medium", 50_257, 1024, 354_823_168),
        ("gpt2", "gpt2_large", 50_257, 1024, 774_030_080),
        ("gpt2", "gpt2_xl", 50_257, 1024, 1_557_611_200),
    ],
)
def test_published_sizes(
    family: str, size: str, vocab_size: int, positions: int, count: int
) -> None:
    built = meta_count(family, SIZES[size], vocab_size, "causal", max_position=positions)
    assert built == count


def test_llama_7b() -> None:
    """Touvron et al. 2023, table 2: 6.7B."""
    llama = RECIPES["llama"]
    count = meta_count("llama", llama.size, 32_000, "causal", tie_embeddings=False)
    assert count == 6_738_415_616


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("gpt3", 174_604_259_328),  # Brown et al. 2020, table D.1: 174,600M
        ("opt", 125_239_296),  # facebook/opt-125m
        ("llama2", 6_738_415_616),  # meta-llama/Llama-2-7b-hf
        ("llama3", 8_030_261_248),  # meta-llama/Meta-Llama-3-8B
        ("mistral", 7_241_732_096),  # mistralai/Mistral-7B-v0.1
        ("qwen", 7_721_324_544),  # Qwen/Qwen-7B
        ("gemma", 8_537_680_896),  # google/gemma-7b
    ],
)
def test_recipes_have_the_published_count(name: str, count: int) -> None:
    recipe = RECIPES[name]
    model = recipe.model.model_dump(exclude={"family"})
    vocab_size = recipe.tokenizer.vocab_size
    assert meta_count(recipe.model.family, recipe.size, vocab_size, "causal", **model) == count


def test_mistral_sees_a_window_in_each_layer() -> None:
    """Of 3 tokens: after two layers, a token depends on the 4 before it and no more."""
    tokens = text()
    changed = tokens.clone()
    changed[:, 2] = (tokens[:, 2] + 1) % 40 + 5
    for window, last in ((3, 6), (None, 11)):
        backbone = small("mistral", "causal", sliding_window=window).eval()
        before, after = (backbone(ids).last_hidden_state for ids in (tokens, changed))
        differs = ((before - after).abs() > 1e-6).any(2).any(0)
        assert differs.nonzero().flatten().tolist() == list(range(2, last + 1))


@pytest.mark.parametrize(("layers", "kinds"), [(1, "g"), (2, "gl"), (5, "glglg")])
def test_gpt_neo_is_global_and_local_in_turn(layers: int, kinds: str) -> None:
    size = SIZES["nano"].model_copy(update={"num_layers": layers})
    made = build(Architecture(family="gpt_neo", max_position=16), size, TOKENS, "causal", 0)
    assert [block.attn.attention_type[0] for block in network(made).transformer.h] == [*kinds]


def test_gpt_neo_sees_a_window_in_its_local_layers() -> None:
    """Itself and the two before it, and in the others all."""
    tokens, mask = text(), torch.ones(12, 12, dtype=torch.bool).tril()
    own = network(small("gpt_neo", "causal", sliding_window=3).eval()).transformer
    dense = network(small("gpt_neo", "causal").eval()).transformer
    for layer, expected in ((0, mask), (1, mask & ~mask.tril(-3))):
        attended = own(tokens, output_attentions=True).attentions[layer] > 0
        assert torch.equal(attended, expected.expand_as(attended))
    every = dense(tokens, output_attentions=True).attentions[1] > 0
    assert torch.equal(every, mask.expand_as(every))


def test_first_scores_of_gpt_neo_are_scaled() -> None:
    """By 1 / sqrt(32) in the weights of the queries, as Mesh TensorFlow's, and not in attention."""
    attention = network(small("gpt_neo", "causal")).transformer.h[0].attn.attention
    stds = [float(part.weight.detach().std()) for part in (attention.q_proj, attention.k_proj)]
    assert stds == pytest.approx([0.1 * 32**-0.5, 0.1], rel=0.05)
    states = torch.randn(1, 2, 64)
    query, key = attention.q_proj(states)[0, 1, :32], attention.k_proj(states)[0, :, :32]
    _, shares = attention(states)
    torch.testing.assert_close(shares[0, 0, 1], (key @ query).softmax(0))


def test_gemma_scales_embeddings_and_has_norms_around_one() -> None:
    model = network(small("gemma", "causal").eval())
    layer = model.model.layers[0]
    assert not layer.input_layernorm.weight.any()
    tokens = text()
    embedded = model.model.embed_tokens(tokens)
    torch.testing.assert_close(embedded, model.lm_head.weight[tokens] * 64**0.5)
    squares = embedded.pow(2).mean(-1, keepdim=True)
    torch.testing.assert_close(layer.input_layernorm(embedded), embedded / (squares + 1e-6).sqrt())


def test_qwen_has_biases_of_queries_keys_and_values_alone() -> None:
    names = [name for name, _ in network(small("qwen2", "causal")).named_parameters()]
    biases = {name.split(".")[-2] for name in names if name.endswith("bias")}
    assert biases == {"q_proj", "k_proj", "v_proj"}


@pytest.mark.parametrize("base", [None, 500_000.0])
def test_the_base_of_rotary_positions(base: float | None) -> None:
    """Su et al. 2021, section 3.2.2: base^(-2i/d) radians a position."""
    found = network(small("llama", "causal", rope_base=base)).model.rotary_emb.inv_freq
    halves = torch.arange(16) / 16
    torch.testing.assert_close(found, (base or 10_000.0) ** -halves)


def learner(family: str) -> TokenPrediction:
    return TokenPrediction(small(family, "causal"), (OBJECTIVES["clm"],), 0.02)  # type: ignore[arg-type]


def batch(mask: Tensor) -> dict[str, Tensor]:
    """Every token after the first is predicted from the one before."""
    tokens, predicted = text() * mask, mask.bool().clone()
    predicted[:, 0] = False
    flat = predicted.flatten().nonzero().squeeze(1)
    return {
        "input_ids": tokens,
        "attention_mask": mask,
        "positions": flat - 1,
        "targets": tokens[predicted],
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_loss_is_that_of_transformers(family: str) -> None:
    """On rows padded on the right, whose padding has no label."""
    ours, made = learner(family).eval(), batch(padding())
    labels = made["input_ids"].masked_fill(made["attention_mask"] == 0, -100)
    theirs = network(ours.backbone)(
        input_ids=made["input_ids"], attention_mask=made["attention_mask"], labels=labels
    )
    torch.testing.assert_close(mean_loss(ours, made), theirs.loss, atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_changes_nothing(family: str) -> None:
    backbone, tokens, mask = small(family, "causal").eval(), text(), padding()
    padded = backbone(tokens, attention_mask=mask).last_hidden_state
    for row, length in enumerate(mask.sum(1).tolist()):
        alone = backbone(tokens[row : row + 1, :length]).last_hidden_state[0]
        torch.testing.assert_close(padded[row, :length], alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("padded", [False, True])
def test_nothing_is_seen_ahead(family: str, padded: bool) -> None:
    backbone, tokens = small(family, "causal").eval(), text()
    changed, mask = tokens.clone(), padding() if padded else None
    changed[:, 6] = (tokens[:, 6] + 1) % 40 + 5
    before = backbone(tokens, attention_mask=mask).last_hidden_state
    after = backbone(changed, attention_mask=mask).last_hidden_state
    differs = ((before - after).abs() > 1e-6).any(2).any(0)
    assert not differs[:6].any()
    assert differs[6:9].all()


@pytest.mark.parametrize("family", FAMILIES)
def test_read_back_and_trained_whole(family: str, tmp_path: Path) -> None:
    ours = learner(family)
    again = saved(ours.backbone, tmp_path).eval()
    tokens = text()
    states = ours.backbone.eval()(tokens).last_hidden_state
    assert torch.equal(states, again(tokens).last_hidden_state)
    assert not without_gradient(ours, batch(padding()))


@pytest.mark.parametrize("family", FAMILIES)
def test_one_batch_is_learned_by_heart(family: str) -> None:
    """But for the second tokens, which nothing but the first foretells."""
    assert overfit(learner(family), batch(padding())) < 0.2


def test_gpt_widens_four_times() -> None:
    size = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32)
    with pytest.raises(ValueError, match="intermediate_size of a gpt must be 4 x hidden_size = 64"):
        meta_count("gpt", size, 50, "causal")
