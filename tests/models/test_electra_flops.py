"""ELECTRA's own count of FLOPs against the figures that its script prints."""

import pytest

from harness.models import SIZES, Size
from harness.models.electra_flops import electra_flops, electra_pair_flops
from harness.pretraining.generator import generator_size
from harness.pretraining.objectives.outputs import ReplacedToken

T5_11B = Size(
    num_layers=24, hidden_size=1024, num_heads=128, intermediate_size=65_536, head_dim=128
)
QUARTER = ReplacedToken(generator_width=1 / 4)

# (FLOPs of a sequence, batch size, updates, figure that google-research/electra's
# flops_computation.py prints). Its ELMo and XLNet are measured by TensorFlow, not computed.
PUBLISHED = {
    "bert_small": (
        electra_flops(SIZES["electra_small"], sequence_length=128, embedding_size=128),
        128,
        1.45e6,
        1.419e18,
    ),
    "bert_base": (electra_flops(SIZES["base"]), 256, 1e6, 6.428e19),
    "bert_large": (electra_flops(SIZES["large"]), 256, 1e6, 1.917e20),
    "gpt": (
        electra_flops(SIZES["base"], vocab_size=40_000, predicted_share=1.0),
        128,
        960_800,
        3.969e19,
    ),
    "roberta": (electra_flops(SIZES["large"], vocab_size=50_265), 8000, 500_000, 3.187e21),
    "albert": (
        electra_flops(SIZES["albert_xxlarge"], vocab_size=30_000, embedding_size=128),
        4096,
        1.5e6,
        3.114e22,
    ),
    "t5_11b": (
        electra_flops(T5_11B, vocab_size=32_000, predicted_share=0.0)
        + electra_flops(T5_11B, vocab_size=32_000, predicted_share=1.0, cross_attention=True),
        2048,
        1e6,
        4.582e22,
    ),
    "electra_small": (
        electra_pair_flops(
            SIZES["electra_small"],
            generator_size(SIZES["electra_small"], QUARTER),
            sequence_length=128,
            embedding_size=128,
        ),
        128,
        1e6,
        1.294e18,
    ),
    "electra_base": (
        electra_pair_flops(SIZES["base"], generator_size(SIZES["base"], ReplacedToken())),
        256,
        766_000,
        6.425e19,
    ),
    "electra_400k": (
        electra_pair_flops(SIZES["large"], generator_size(SIZES["large"], QUARTER)),
        2048,
        400_000,
        7.118e20,
    ),
    "electra_1.75M": (
        electra_pair_flops(SIZES["large"], generator_size(SIZES["large"], QUARTER)),
        2048,
        1_750_000,
        3.114e21,
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures(name: str) -> None:
    sequence, batch_size, updates, figure = PUBLISHED[name]
    assert sequence * batch_size * updates == pytest.approx(figure, rel=5e-4)


def test_inference() -> None:
    """The script's figures of a classification of 128 tokens: half of training's."""
    base = electra_flops(SIZES["base"], sequence_length=128, discriminator=True) / 2
    small = electra_flops(
        SIZES["electra_small"], sequence_length=128, embedding_size=128, discriminator=True
    )
    assert base == pytest.approx(2.862e10, rel=5e-4)
    assert small / 2 == pytest.approx(3.677e9, rel=5e-4)
