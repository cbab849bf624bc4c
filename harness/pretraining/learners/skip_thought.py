"""Skip-Thought: the sentences around a sentence, from its vector (Kiros et al. 2015, section 2.1).

Shapes: N sentences, U decoder positions, E width of the token embeddings, H hidden size, M
predictions.
"""

from typing import Any

import torch
from torch import Tensor, nn

from harness.models.backbone import Backbone
from harness.models.pooling import native_pooling, pool
from harness.pretraining.learners.learner import Predictions, gather
from harness.pretraining.learners.token_learner import TokenLearner, TokenStates
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.outputs import NeighbourSentences


class ConditionalGRU(nn.Module):
    """A GRU that reads a vector beside each token: its input matrices are W and C of Kiros et al.
    2015, section 2.1, one beside the other. The reset gate is that of torch, behind the product of
    U and the state."""

    def __init__(self, embedding_size: int, hidden_size: int) -> None:
        super().__init__()
        self.gru = nn.GRU(embedding_size + hidden_size, hidden_size, batch_first=True)

    def forward(self, embedded: Tensor, vectors: Tensor) -> Tensor:
        """[N, U, H] states.

        Args:
            embedded: [N, U, E] tokens.
            vectors: [N, H], the condition.
        """
        condition = vectors.unsqueeze(1).expand(-1, embedded.shape[1], -1)
        states: Tensor = self.gru(torch.cat((embedded, condition), -1))[0]
        return states


class SkipThought(TokenLearner):
    """A decoder for the next sentence and one for the previous one, which see of a sentence its
    vector alone. They share the token embeddings of the network, and its token head, the paper's V;
    they are trained with the network, but not saved."""

    def __init__(self, backbone: Backbone, output: NeighbourSentences) -> None:
        super().__init__(backbone)
        own = native_pooling(backbone.representation, backbone.family)
        self.pooling = own if output.pooling == "native" else output.pooling
        embedding: Any = backbone.network.get_input_embeddings()
        widths = embedding.embedding_dim, backbone.hidden_size
        self.next, self.previous = ConditionalGRU(*widths), ConditionalGRU(*widths)

    def vectors(self, batch: TensorBatch) -> Tensor:
        """[N, H] of the sentences of a batch."""
        ids, mask = batch["input_ids"], batch.get("attention_mask")
        states = self.backbone(ids, mask, batch["token_type_ids"]).last_hidden_state
        return pool(states, torch.ones_like(ids) if mask is None else mask, self.pooling)

    def states(self, batch: TensorBatch, component: int) -> tuple[TokenStates, Predictions]:
        """Of the tokens of the next sentences (`token`) and of the previous ones (`previous`)."""
        vectors = self.vectors(batch)
        after = self._states(self.next, batch["decoder_input_ids"], vectors)
        before = self._states(self.previous, batch["previous_input_ids"], vectors)
        both = {
            "token": (gather(after, batch["positions"]), batch["targets"]),
            "previous": (gather(before, batch["previous_positions"]), batch["previous_targets"]),
        }
        return both, {}

    def _states(self, decoder: nn.Module, tokens: Tensor, vectors: Tensor) -> Tensor:
        """[N, U, H] of the tokens [N, U] of a neighbouring sentence."""
        states: Tensor = decoder(self.backbone.network.get_input_embeddings()(tokens), vectors)
        return states
