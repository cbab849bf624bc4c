"""The two losses of bidirectional language models, from batches as they are made."""

import pytest
import torch
from torch.nn import functional as F

from harness.models import Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.recurrent import Elmo
from harness.models.two_way import TwoWay
from harness.pretraining.learners.token_prediction import BiLM

SIZE = Size(num_layers=2, hidden_size=16, num_heads=2, intermediate_size=8)
ROWS = torch.tensor([[1, 5, 6, 7, 2], [1, 9, 2, 0, 0]])
LENGTHS = (5, 3)
BOTH = pytest.mark.parametrize("family", ["elmo", "elmo/gru", "elmo/rnn", "two_way_gpt2"])


def make(family: str) -> Backbone:
    """Of a family, or of a family and a cell."""
    architecture = Architecture.model_validate(
        dict(zip(("family", "cell"), family.split("/"), strict=False))
    )
    return build(architecture, SIZE, Tokens(30, 0, 1, 2), "bilm", seed=0)


@BOTH
def test_losses_are_those_of_two_language_models(family: str) -> None:
    backbone = make(family)
    learner, network = BiLM(backbone).eval(), backbone.network
    assert isinstance(network, Elmo | TwoWay)
    # Position t of row b is 5 b + t: each predicts the next token, or the previous one.
    batch = {
        "input_ids": ROWS,
        "attention_mask": (ROWS != 0).long(),
        "positions": torch.tensor([0, 1, 2, 3, 5, 6]),
        "targets": torch.tensor([5, 6, 7, 2, 9, 2]),
        "backward_positions": torch.tensor([1, 2, 3, 4, 6, 7]),
        "backward_targets": torch.tensor([1, 5, 6, 7, 1, 9]),
    }
    ahead, back = [], []
    for row, length in zip(ROWS, LENGTHS, strict=True):
        states = backbone(row[None, :length]).last_hidden_state[0]
        real = row[:length]
        ahead.append(
            F.cross_entropy(backbone.token_logits(states[:-1, :8]), real[1:], reduction="sum")
        )
        back.append(
            F.cross_entropy(backbone.token_logits(states[1:, 8:]), real[:-1], reduction="sum")
        )
    losses = learner(batch)[0]
    torch.testing.assert_close(losses["token"], torch.stack(ahead).sum())
    torch.testing.assert_close(losses["backward"], torch.stack(back).sum())


@BOTH
def test_both_directions_learn(family: str) -> None:
    backbone = make(family)
    batch = {
        "input_ids": ROWS[:1],
        "positions": torch.tensor([0, 1]),
        "targets": torch.tensor([5, 6]),
        "backward_positions": torch.tensor([1, 2]),
        "backward_targets": torch.tensor([1, 5]),
    }
    torch.stack(list(BiLM(backbone)(batch)[0].values())).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in backbone.parameters())
