"""Span boundary objective: a masked token is predicted from the two tokens around its span.

Shapes: M predictions, H hidden size, E width of the token embeddings, V vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.pretraining.training_flops import PLACE_SIZE

NUM_PLACES = 20
"""Embedded places in a span (SpanBERT's pair_bert.py, max_targets): the longest span has 10 words
(Joshi et al. 2020, section 3.1), and adjacent spans are merged. Later places share the last row,
while SpanBERT's code leaves them out of the loss."""


class SpanBoundary(nn.Module):
    """y = f(x_left, x_right, place): two layers of Linear, GELU and LayerNorm, then the token
    embeddings as output matrix (Joshi et al. 2020, section 3.2; SpanBERT's pair_bert.py)."""

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
