"""Token prediction with one network: masked, causal, prefix and bidirectional LM, sequence to
sequence; and baselines, which predict nothing."""

from collections.abc import Sequence

from torch import Tensor, nn

from harness.models.backbone import Backbone
from harness.pretraining.learners.heads import PairHead, SpanBoundary
from harness.pretraining.learners.learner import Learner, Predictions, gather, network_inputs
from harness.pretraining.learners.token_learner import TokenLearner, TokenStates
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.objective import Objective


class TokenPrediction(TokenLearner):
    """Token prediction, with optional losses `pair` (NSP or SOP) and `boundary` (SpanBERT).

    Objectives differ in the arrays of the batch and in the representation, which a mixture sets for
    each component.
    """

    def __init__(
        self, backbone: Backbone, objectives: Sequence[Objective], initializer_range: float
    ) -> None:
        super().__init__(backbone)
        self.representations = [objective.representation for objective in objectives]
        self.pair_head = None
        if any(objective.sentence_pair != "none" for objective in objectives):
            self.pair_head = PairHead(backbone.hidden_size, initializer_range)
        self.span_boundary = None
        if any(objective.span_boundary for objective in objectives):
            vocab_size, width = self._embeddings().shape
            self.span_boundary = SpanBoundary(
                backbone.hidden_size, vocab_size, width, initializer_range
            )

    def states(self, batch: TensorBatch, component: int) -> tuple[TokenStates, Predictions]:
        """Of tokens, and the predictions of pairs and span boundaries if the batch has them."""
        states: Tensor = self.backbone(
            **network_inputs(batch),
            representation=self.representations[component],
            for_token_head=True,
        ).last_hidden_state
        token = gather(states, batch["positions"]), batch["targets"]
        return {"token": token}, self._of_others(states, batch)

    def _of_others(self, states: Tensor, batch: TensorBatch) -> Predictions:
        """Of pairs and span boundaries, from the states [B, T, H]."""
        predictions: Predictions = {}
        if self.pair_head is not None and "pair_label" in batch:
            predictions["pair"] = (self.pair_head(states[:, 0]), batch["pair_label"])
        if self.span_boundary is not None and "span_left" in batch:
            predictions["boundary"] = (self._boundary(states, batch), batch["targets"])
        return predictions

    def _boundary(self, states: Tensor, batch: TensorBatch) -> Tensor:
        """[M, V] logits of the masked tokens, from the states [B, T, H] around their spans."""
        assert self.span_boundary is not None
        left, right = (gather(states, batch[side]) for side in ("span_left", "span_right"))
        logits: Tensor = self.span_boundary(left, right, batch["span_offset"], self._embeddings())
        return logits

    def _embeddings(self) -> Tensor:
        """[V, E] token embeddings."""
        embedding = self.backbone.network.get_input_embeddings()
        assert isinstance(embedding, nn.Embedding)
        return embedding.weight


class BiLM(TokenLearner):
    """Predicts the next token from the forward half of a state, the previous one from the other
    (Peters et al. 2018, section 3.1)."""

    def states(self, batch: TensorBatch, component: int) -> tuple[TokenStates, Predictions]:
        """Of the next tokens (`token`) and of the previous ones (`backward`)."""
        states = self.backbone(**network_inputs(batch)).last_hidden_state
        forward, backward = states.chunk(2, dim=-1)
        ahead = gather(forward, batch["positions"])
        back = gather(backward, batch["backward_positions"])
        both = {
            "token": (ahead, batch["targets"]),
            "backward": (back, batch["backward_targets"]),
        }
        return both, {}


class Baseline(Learner):
    """A baseline without weights; only its metadata is saved."""

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """None."""
        return {}
