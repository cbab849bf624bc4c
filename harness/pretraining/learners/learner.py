"""A network with what pretraining needs beside it, from a batch to its losses.

Shapes: B sequences, T tokens, H hidden size, M predictions, C alternatives.
"""

from pathlib import Path

from torch import Tensor, nn
from torch.nn import functional as F

from harness.models.backbone import Backbone
from harness.pretraining.objectives.loader import TensorBatch

Answers = dict[str, tuple[Tensor, Tensor]]
"""Loss to (logits [M, C], right answers [M])."""

READ = (
    "input_ids",
    "attention_mask",
    "token_type_ids",
    "decoder_input_ids",
    "decoder_attention_mask",
    "prefix_lengths",
)
"""What a network reads of a batch."""


class Learner(nn.Module):
    """Base of all paradigms: a backbone that answers questions; every loss is a cross-entropy.

    Attributes:
        backbone: what pretraining is for, and what is saved.
        weights: loss to its weight in the sum; a loss that is not named has weight 1.
        told: loss to its name among the held-out figures, null for none; its own if not named.
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.weights: dict[str, float] = {}
        self.told: dict[str, str | None] = {"token": ""}

    def answers(self, batch: TensorBatch, component: int = 0) -> Answers:
        """Logits and right answers of every loss of a batch; `component` of a mixture."""
        raise NotImplementedError

    def losses(self, batch: TensorBatch, component: int = 0) -> dict[str, Tensor]:
        """The summed losses of a batch, by name."""
        return cross_entropies(self.answers(batch, component))

    def forward(self, batch: TensorBatch, component: int = 0) -> dict[str, Tensor]:
        """As `losses`: the call that may be compiled."""
        return self.losses(batch, component)

    def init_from(self, weights: dict[str, Tensor]) -> None:
        """Takes the weights of a network that was saved before."""
        self.backbone.network.load_state_dict(weights)

    def save(self, folder: Path) -> None:
        """Writes what a task is fine-tuned on, in Hugging Face format."""
        self.backbone.save(folder)


def cross_entropies(answers: Answers) -> dict[str, Tensor]:
    """The summed losses of answers, by name."""
    return {
        name: F.cross_entropy(logits.float(), right, reduction="sum")
        for name, (logits, right) in answers.items()
    }


def gather(states: Tensor, positions: Tensor) -> Tensor:
    """[B, T, H] states to [M, H], those at the flattened positions [M]."""
    return states.flatten(0, 1)[positions]


def freeze_token_head(backbone: Backbone) -> None:
    """Takes a token head that no loss asks out of what is trained; a tied embedding stays."""
    read = {id(weight) for weight in backbone.network.base_model.parameters()}
    for weight in backbone.network.parameters():
        if id(weight) not in read:
            weight.requires_grad_(False)
