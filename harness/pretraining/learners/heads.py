"""Heads that pretraining alone needs.

Shapes: B sequences, M predictions, H hidden size.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class _Head(nn.Module):
    """A dense layer, and a linear layer to the logits."""

    def __init__(self, hidden_size: int, initializer_range: float, num_logits: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, num_logits)
        for linear in (self.dense, self.out):
            nn.init.normal_(linear.weight, std=initializer_range)
            nn.init.zeros_(linear.bias)


class PairHead(_Head):
    """BERT's pooler and classifier of sentence pairs (Devlin et al. 2019, section 3.1, and
    google-research/bert modeling.py), for any family."""

    def __init__(self, hidden_size: int, initializer_range: float) -> None:
        super().__init__(hidden_size, initializer_range, num_logits=2)

    def forward(self, first: Tensor) -> Tensor:
        """[B, 2] logits of the states [B, H] of the first tokens."""
        logits: Tensor = self.out(torch.tanh(self.dense(first)))
        return logits


class DetectionHead(_Head):
    """Detector of replaced tokens: ElectraDiscriminatorPredictions of transformers, and
    google-research/electra, run_pretraining.py."""

    def __init__(self, hidden_size: int, initializer_range: float) -> None:
        super().__init__(hidden_size, initializer_range, num_logits=1)

    def forward(self, states: Tensor) -> Tensor:
        """[..] logits of being replaced, of states [.., H]."""
        logits: Tensor = self.out(F.gelu(self.dense(states)))
        return logits.squeeze(-1)
