"""Rows beyond a table of positions: refused exactly where the network would fail."""

from typing import Any

import pytest
import torch

from harness.data.tokenizers import Tokenizer
from harness.models import FAMILIES, Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.layout import padded_width
from harness.pretraining.objectives.objective import AnyObjective, Component, Mixture, Objective
from harness.pretraining.objectives.transforms.masking import SpanMasking
from harness.pretraining.recipes.pretrain import Pretrain

SIZE = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=64)
ODD = 60
"""No multiple of 8."""
OF_REPRESENTATION = {
    "bidirectional": "mlm",
    "causal": "clm",
    "bilm": "bilm",
    "permuted": "plm",
    "encoder_decoder": "denoising",
}
NETWORKS = sorted(
    name for name, facts in FAMILIES.items() if facts.kind not in ("baseline", "checkpoint")
)
MARKS = ("[A]", "[B]")
MARKED = Mixture(
    mixture=tuple(
        Component(objective=Objective(transform=transform), mode_token=mark)
        for transform, mark in zip(("token_masking", SpanMasking()), MARKS, strict=True)
    )
)


def spec(family: str, objective: AnyObjective, length: int, most: int, **changes: Any) -> Pretrain:
    model = Architecture.model_validate({"family": family, "max_position": most} | changes)
    return Pretrain(
        model=model,
        size=SIZE,
        objective=objective,
        tokenizer=Tokenizer(vocab_size=64, sentinels=20, extra_tokens=MARKS),
        phases=(Phase(fraction=1, sequence_length=length),),
        budget=Budget(steps=1),
    )


def reads(family: str, width: int, **changes: Any) -> bool:
    """Whether a network with a table of ODD positions reads a row of ODD tokens and padding."""
    model = Architecture.model_validate({"family": family, "max_position": ODD} | changes)
    representation = FAMILIES[family].representations[0]
    network = build(model, SIZE, Tokens(40, 0, 1, 2), representation, seed=0).eval()
    mask = (torch.arange(width) < ODD).long()[None]
    batch = {"input_ids": 5 * mask, "attention_mask": mask, "token_type_ids": 0 * mask}
    if representation == "encoder_decoder":
        batch |= {"decoder_input_ids": 5 * mask, "decoder_attention_mask": mask}
    try:
        network(**batch, representation=representation, for_token_head=True)
    except (IndexError, RuntimeError):
        return False
    return True


@pytest.mark.parametrize("family", NETWORKS)
def test_padding_beyond_the_table_is_refused_where_it_fails(family: str) -> None:
    name = OF_REPRESENTATION.get(FAMILIES[family].representations[0])
    if name is None or family == "dan":
        pytest.skip("no positions")
    objective = OBJECTIVES[name]
    if reads(family, padded_width(ODD)):
        spec(family, objective, ODD, ODD)
        return
    with pytest.raises(ValueError, match="max_position must be at least 64, as rows of 60"):
        spec(family, objective, ODD, ODD)
    spec(family, objective, ODD, 64)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_network_without_positions_has_no_table(family: str) -> None:
    assert reads(family, padded_width(ODD), positions="none")
    objective = OBJECTIVES[OF_REPRESENTATION[FAMILIES[family].representations[0]]]
    spec(family, objective, ODD, ODD, positions="none")


def test_a_mask_decoder_has_a_table_of_its_own() -> None:
    assert not reads("deberta", padded_width(ODD), mask_decoder="enhanced")
    with pytest.raises(ValueError, match="at least 64"):
        spec("deberta", OBJECTIVES["mlm"], ODD, ODD, mask_decoder="enhanced")


def test_a_mode_token_takes_a_position_before_the_padding() -> None:
    with pytest.raises(ValueError, match="max_position must be at least 65, as rows of 64"):
        spec("bert", MARKED, 64, 64)
    spec("bert", MARKED, 64, 65)
    spec("roberta", MARKED, 64, 64)


def test_source_and_target_are_padded_in_one_row() -> None:
    prefix = Objective(transform="prefix", representation="causal", output="dropped_spans")
    assert padded_width(2 * 62) == 128
    with pytest.raises(ValueError, match="max_position must be at least 128, twice"):
        spec("gpt2", prefix, 62, 124)
    spec("gpt2", prefix, 62, 128)
    spec("llama", prefix, 62, 124)


def test_a_source_of_sentinels_is_shorter_than_its_row() -> None:
    spec("bart", OBJECTIVES["span_corruption"], ODD, ODD)
    with pytest.raises(ValueError, match="at least 64"):
        spec("bart", OBJECTIVES["mass"], ODD, ODD)


def test_without_a_budget_no_mode_token_is_read() -> None:
    fields = spec("bert", MARKED, 64, 65).model_dump()
    fields["model"]["max_position"], fields["budget"] = 64, {"tokens": 0}
    assert Pretrain.model_validate(fields).budget.is_zero
