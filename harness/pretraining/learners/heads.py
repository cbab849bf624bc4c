"""Heads that pretraining alone needs.

Shapes: B sequences, M predictions, H hidden size, E width of the token embeddings, V vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.pretraining.training_flops import PLACE_SIZE

NUM_PLACES = 20
"""Embedded places in a span (SpanBERT's pair_bert.py, max_targets): the longest span has 10 words
(Joshi et al. 2020, section 3.1), and adjacent spans are merged. Later places share the last row,
while SpanBERT's code leaves them out of the loss."""


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


class SequenceHead(nn.Module):
    """COCO-LM's representation of a sequence for its contrast: a dense layer, GELU and LayerNorm
    (microsoft/COCO-LM, models/cocolm/model.py, SCLHead)."""

    def __init__(self, hidden_size: int, initializer_range: float) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size)
        nn.init.normal_(self.dense.weight, std=initializer_range)
        nn.init.zeros_(self.dense.bias)

    def forward(self, first: Tensor) -> Tensor:
        """[B, H] representations, of the states [B, H] of the first tokens."""
        representations: Tensor = self.norm(F.gelu(self.dense(first)))
        return representations


class SpanBoundary(nn.Module):
    """Span boundary objective: a masked token from the two tokens around its span.

    y = f(x_left, x_right, place): two layers of Linear, GELU and LayerNorm, then the token
    embeddings as output matrix (Joshi et al. 2020, section 3.2; SpanBERT's pair_bert.py).
    """

    def __init__(
        self, hidden_size: int, vocab_size: int, embedding_size: int, initializer_range: float
    ) -> None:
        super().__init__()
        self.places = nn.Embedding(NUM_PLACES, PLACE_SIZE)
        self.first = nn.Linear(2 * hidden_size + PLACE_SIZE, hidden_size)
        self.first_norm = nn.LayerNorm(hidden_size, eps=1e-12)
        self.second = nn.Linear(hidden_size, embedding_size)
        self.second_norm = nn.LayerNorm(embedding_size, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        for matrix in (self.places.weight, self.first.weight, self.second.weight):
            nn.init.normal_(matrix, std=initializer_range)
        for linear in (self.first, self.second):
            nn.init.zeros_(linear.bias)

    def forward(self, left: Tensor, right: Tensor, place: Tensor, embeddings: Tensor) -> Tensor:
        """[M, V] logits.

        Args:
            left: [M, H] states of the token before each span; `right` [M, H] of that after it.
            place: [M] of the prediction in its span, from 0.
            embeddings: [V, E], the token embeddings.
        """
        row = self.places(place.clamp(max=NUM_PLACES - 1))
        hidden = self.first_norm(F.gelu(self.first(torch.cat([left, right, row], dim=-1))))
        hidden = self.second_norm(F.gelu(self.second(hidden)))
        return F.linear(hidden, embeddings, self.bias)
