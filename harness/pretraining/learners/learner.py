"""The base of learners: a network with its pretraining heads, from a batch to its losses.

Shapes: B sequences, T tokens, H hidden size, M predictions, C alternatives.
"""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.models.backbone import Backbone
from harness.models.token_heads import most_likely
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.vocabulary import Vocabulary

Predictions = dict[str, tuple[Tensor, Tensor]]
"""Loss name to (logits [M, C], targets [M])."""
Scores = dict[str, tuple[Tensor, Tensor]]
"""Loss name to the cross-entropy of each target, in nats, [M], and whether its prediction is
correct, [M] bool."""

INPUTS = (
    "input_ids",
    "attention_mask",
    "token_type_ids",
    "decoder_input_ids",
    "decoder_attention_mask",
    "prefix_lengths",
)
"""Arrays of a batch that the network takes as input."""


class Learner(nn.Module):
    """A backbone with its pretraining heads; by default every loss is a cross-entropy.

    Attributes:
        backbone: the network that is pretrained and saved.
        weights: loss name to its weight in the sum; 1 if missing.
        metric_prefixes: loss name to the prefix of its held-out metrics, None for no metrics; the
            loss name if missing.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.weights: dict[str, float] = {}
        self.metric_prefixes: dict[str, str | None] = {"token": ""}

    def predictions(self, batch: TensorBatch, component: int = 0) -> Predictions:
        """Logits and targets of every loss of a batch; `component` is the index in a mixture."""
        raise NotImplementedError

    def losses_of(self, predictions: Predictions, batch: TensorBatch) -> dict[str, Tensor]:
        """Loss name to its sum over the targets [M] of a batch, a scalar []."""
        return cross_entropies(predictions)

    def forward(
        self, batch: TensorBatch, component: int = 0, measured: bool = False
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The losses of a batch, and, if `measured`, loss name to whether each prediction is
        correct, [M] bool."""
        if measured:
            return self.losses_and_hits(batch, component)
        return self.losses(batch, component), {}

    def losses(self, batch: TensorBatch, component: int = 0) -> dict[str, Tensor]:
        """Loss name to its sum over the targets [M] of a batch, a scalar []; those of `predictions`
        up to rounding."""
        return self.losses_of(self.predictions(batch, component), batch)

    def losses_and_hits(
        self, batch: TensorBatch, component: int = 0
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """As `losses`, and loss name to whether each prediction is correct, [M] bool."""
        predictions = self.predictions(batch, component)
        return self.losses_of(predictions, batch), correct(predictions)

    @torch.no_grad()
    def scores(self, batch: TensorBatch, component: int = 0) -> Scores:
        """The scores of every loss of a batch, without gradients."""
        return {name: scores(*one) for name, one in self.predictions(batch, component).items()}

    def init_from(self, weights: dict[str, Tensor]) -> None:
        """Loads the weights of a saved network, by name."""
        self.backbone.network.load_state_dict(weights)

    def save(self, folder: Path) -> None:
        """Saves the backbone in Hugging Face format."""
        self.backbone.save(folder)


def cross_entropies(predictions: Predictions) -> dict[str, Tensor]:
    """Loss name to the cross-entropy summed over the targets [M], a scalar []."""
    return {
        name: F.cross_entropy(logits.float(), targets, reduction="sum")
        for name, (logits, targets) in predictions.items()
    }


def correct(predictions: Predictions) -> dict[str, Tensor]:
    """Loss name to whether the most likely alternative is the target, [M] bool."""
    return {name: most_likely(logits) == targets for name, (logits, targets) in predictions.items()}


def scores(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The cross-entropy of each target, [M] in float32, and whether it is the most likely one, [M]
    bool, from logits [M, C]."""
    nats = F.cross_entropy(logits.float(), targets, reduction="none")
    return nats, most_likely(logits) == targets


def network_inputs(batch: TensorBatch) -> TensorBatch:
    """The arrays of a batch that the network takes as input."""
    return {name: batch[name] for name in INPUTS if name in batch}


def gather(states: Tensor, positions: Tensor) -> Tensor:
    """[M, H] states at the flattened positions [M] of [B, T, H]."""
    return states.flatten(0, 1)[positions]


def decoder_start(backbone: Backbone, vocabulary: Vocabulary) -> int:
    """First token of a decoder's input; padding unless the network's config names another."""
    start = getattr(backbone.network.config, "decoder_start_token_id", None)
    return vocabulary.pad if start is None else int(start)


def freeze_token_head(backbone: Backbone) -> None:
    """Freezes a token head that no loss uses; a tied embedding remains trainable."""
    read = {id(weight) for weight in backbone.network.base_model.parameters()}
    for weight in backbone.network.parameters():
        if id(weight) not in read:
            weight.requires_grad_(False)
