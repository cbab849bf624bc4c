"""word2vec: CBOW (Mikolov et al. 2013a) and negative sampling (Mikolov et al. 2013b); GloVe
(Pennington et al. 2014).

Shapes: B sequences, T tokens, H hidden size, V vocabulary, M predictions, k negative samples.
"""

from copy import deepcopy
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.models.backbone import Backbone
from harness.models.static_embeddings import StaticVectors
from harness.pretraining.learners.learner import Learner, Predictions, gather
from harness.pretraining.learners.token_learner import TokenLearner, TokenStates
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.outputs import Cooccurrence


class CBOW(TokenLearner):
    """Predicts a token from the mean of the vectors around it (Mikolov et al. 2013a, 3.1)."""

    def states(self, batch: TensorBatch, component: int) -> tuple[TokenStates, Predictions]:
        """Of all tokens of the text."""
        network = cast(StaticVectors, self.backbone.network)
        context = network.context(batch["input_ids"], batch.get("attention_mask"))
        return {"token": (gather(context, batch["positions"]), batch["targets"])}, {}


class SampledTokens(Learner):
    """Tells each target from k sampled tokens (Mikolov et al. 2013b, equation 4).

    With an input vector v, that of a token (skip-gram) or the mean of its context (CBOW), and the
    output vectors u of the target and u_1 to u_k of the samples, the loss is

        - log sigmoid(u v) - sum_i log sigmoid(- u_i v)

    which is the cross-entropy of 1 + k binary decisions. Losses are means over all of these.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.metric_prefixes = {"sampled": ""}

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Of targets (1) and samples (0), [M (1 + k), 2] logits."""
        network = cast(StaticVectors, self.backbone.network)
        tokens = torch.cat((batch["targets"][:, None], batch["negatives"]), 1)
        scores = network.scores(gather(self._inputs(batch), batch["positions"]), tokens)
        of_text = torch.zeros_like(tokens)
        of_text[:, 0] = 1
        logits = torch.stack((torch.zeros_like(scores), scores), -1)
        return {"sampled": (logits.flatten(0, 1), of_text.flatten())}

    def _inputs(self, batch: TensorBatch) -> Tensor:
        """[B, T, H] vectors that predict."""
        network = cast(StaticVectors, self.backbone.network)
        if self.backbone.representation == "cbow":
            return network.context(batch["input_ids"], batch.get("attention_mask"))
        return network.embeddings(batch["input_ids"])


class GloVe(Learner):
    """Fits the logarithm of counts of co-occurrence (Pennington et al. 2014, equation 8).

    With the vectors w of words and w~ of contexts, their biases b and b~, and a count X_ij, the
    loss is

        f(X_ij) (w_i w~_j + b_i + b~_j - log X_ij)^2

    It is no cross-entropy, so that there are no metrics. Saved are the sums w + w~ (section 4.2).
    """

    def __init__(self, backbone: Backbone, output: Cooccurrence) -> None:
        super().__init__(backbone)
        self.output = output
        self.word_biases, self.context_biases = (
            nn.Parameter(torch.zeros(self._network.config.vocab_size)) for _ in range(2)
        )

    @property
    def _network(self) -> StaticVectors:
        return cast(StaticVectors, self.backbone.network)

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """None: a count is no alternative of several."""
        return {}

    def losses_of(self, predictions: Predictions, batch: TensorBatch) -> dict[str, Tensor]:
        """The squared errors of a batch, weighted and summed, a scalar []."""
        errors = self.log_counts(batch) - batch["counts"].log()
        return {"cooccurrence": (self.importance(batch["counts"]) * errors**2).sum()}

    def log_counts(self, batch: TensorBatch) -> Tensor:
        """[M] logarithms of the counts of a batch, as estimated."""
        words, contexts = batch["input_ids"].flatten()[batch["positions"]], batch["targets"]
        products = self._network.scores(self._network.embeddings(words), contexts[:, None])
        biases = (
            F.embedding(tokens, bias[:, None])
            for tokens, bias in ((words, self.word_biases), (contexts, self.context_biases))
        )
        return sum(biases, products)[:, 0]

    def importance(self, counts: Tensor) -> Tensor:
        """[M] weights f of counts [M]: (x / x_max)^alpha below x_max, else 1 (equation 9)."""
        return (counts / self.output.x_max).clamp(max=1) ** self.output.alpha

    @torch.no_grad()
    def save(self, folder: Path) -> None:
        """Saves the network with the sum of both vectors of each token in place of the first; the
        biases are not kept."""
        summed = deepcopy(self.backbone)
        network = cast(StaticVectors, summed.network)
        network.embeddings.weight += network.output.weight
        summed.save(folder)
