"""Decoders: published sizes, transformers' losses, padding, no look ahead."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from harness.models import SIZES, Size
from harness.pretraining.learners.token_prediction import TokenPrediction
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes import RECIPES
from tests.models.networks import (
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

FAMILIES = ("gpt", "gpt2", "llama")


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
