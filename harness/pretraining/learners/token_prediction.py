"""Prediction of tokens from the states of one network: masked, next, or told by a decoder."""

from collections.abc import Sequence

from torch import Tensor, nn

from harness.models.backbone import Backbone
from harness.pretraining.learners.heads import PairHead
from harness.pretraining.learners.learner import READ, Answers, Learner, gather
from harness.pretraining.learners.span_boundary import SpanBoundary
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.objective import Objective


class TokenPrediction(Learner):
    """Masked LM, causal LM, prefix LM and sequence to sequence, with optional losses
    `pair` (NSP or SOP) and `boundary` (SpanBERT's).

    They differ in what the batch holds and in how the network is read; a mixture reads it anew for
    each of its components.
    """

    def __init__(
        self, backbone: Backbone, objectives: Sequence[Objective], initializer_range: float
    ) -> None:
        super().__init__(backbone)
        self.representations = [objective.representation for objective in objectives]
        self.pair_head = None
        if objectives[0].sentence_pair != "none":
            self.pair_head = PairHead(backbone.hidden_size, initializer_range)
        self.span_boundary = None
        if any(objective.span_boundary for objective in objectives):
            vocab_size, width = self._embeddings().shape
            self.span_boundary = SpanBoundary(
                backbone.hidden_size, vocab_size, width, initializer_range
            )

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        inputs = {name: batch[name] for name in READ if name in batch}
        states = self.backbone(
            **inputs, representation=self.representations[component]
        ).last_hidden_state
        logits = self.backbone.token_logits(gather(states, batch["positions"]))
        answers = {"token": (logits, batch["targets"])}
        if self.pair_head is not None and "pair_label" in batch:
            answers["pair"] = (self.pair_head(states[:, 0]), batch["pair_label"])
        if self.span_boundary is not None and "span_left" in batch:
            answers["boundary"] = (self._boundary(states, batch), batch["targets"])
        return answers

    def _boundary(self, states: Tensor, batch: TensorBatch) -> Tensor:
        """[M, V] logits of the hidden tokens, told from the states [B, T, H] around their spans."""
        assert self.span_boundary is not None
        left, right = (gather(states, batch[side]) for side in ("span_left", "span_right"))
        logits: Tensor = self.span_boundary(left, right, batch["span_offset"], self._embeddings())
        return logits

    def _embeddings(self) -> Tensor:
        """[V, E], the matrix of the token embeddings."""
        embedding = self.backbone.network.get_input_embeddings()
        assert isinstance(embedding, nn.Embedding)
        return embedding.weight
