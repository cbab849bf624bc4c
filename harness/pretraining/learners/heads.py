"""Heads that pretraining alone needs.

Shapes: B sequences, M predictions, H hidden size.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class PairHead(nn.Module):
    """[B, H] first tokens to logits [B, 2]: BERT's pooler and linear layer (Devlin et al. 2019,
    section 3.1, and google-research/bert modeling.py), for any family."""

    def __init__(self, hidden_size: int, initializer_range: float) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, 2)
        for linear in (self.dense, self.out):
            nn.init.normal_(linear.weight, std=initializer_range)
            nn.init.zeros_(linear.bias)

    def forward(self, first: Tensor) -> Tensor:
        logits: Tensor = self.out(torch.tanh(self.dense(first)))
        return logits


class DetectionHead(nn.Module):
    """[.., H] states to [..] logits of being replaced: ElectraDiscriminatorPredictions of
    transformers, and google-research/electra, run_pretraining.py."""

    def __init__(self, hidden_size: int, initializer_range: float) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, 1)
        for linear in (self.dense, self.out):
            nn.init.normal_(linear.weight, std=initializer_range)
            nn.init.zeros_(linear.bias)

    def forward(self, states: Tensor) -> Tensor:
        logits: Tensor = self.out(F.gelu(self.dense(states)))
        return logits.squeeze(-1)
