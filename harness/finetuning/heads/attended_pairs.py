"""Pairs of texts that a network reads separately, compared by a task network with attention.

Shapes: B pairs, T tokens, H hidden size, W width of the task network, C outputs.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads.classification import Classification, Regression
from harness.finetuning.heads.classifier import Classifier, output_layer
from harness.finetuning.heads.siamese import SeparateTexts
from harness.finetuning.heads.task_networks import BiLstm
from harness.finetuning.inputs import Batch
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.models.pooling import pool


class PairAttention(nn.Module):
    """The baseline of GLUE (Wang et al. 2019, GLUE; nyu-mll/GLUE-baselines, models.py,
    `HeadlessPairAttnEncoder`), after BiDAF (Seo et al. 2017): a biLSTM reads each text; each word
    attends to the words of the other text by dot products; a second biLSTM reads both."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.lower = BiLstm(hidden_size)
        self.upper = BiLstm(2 * self.lower.width, self.lower.width)
        self.width = 4 * self.upper.width

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """[2 B, T, H] states to the features (u, v, |u - v|, u * v) of pairs, [B, 4 W], of the
        maxima u and v over the words of both texts.

        Args:
            mask: [2 B, T], 1 for real tokens, padded on the right.
        """
        read = self.lower.forward(states, mask)
        partners = torch.arange(len(read), device=read.device) ^ 1  # of the rows 2 i and 2 i + 1
        others, real = read[partners], mask[partners].bool()
        similarities = (read @ others.mT).masked_fill(~real.unsqueeze(1), -torch.inf)
        attended = similarities.softmax(-1) @ others
        upper = self.upper.forward(torch.cat((read, attended), -1), mask)
        u, v = pool(upper, mask, "max").unflatten(0, (-1, 2)).unbind(1)
        return torch.cat((u, v, (u - v).abs(), u * v), -1)


class PairAttentionClassifier(Classifier):
    """A linear layer on the features of `PairAttention`."""

    def __init__(
        self, backbone: Backbone, num_outputs: int, protocol: Protocol, adaptation: Adaptation
    ) -> None:
        super().__init__(backbone, num_outputs, protocol, adaptation)
        self.recurrent = None  # that of a single text
        self.attention = PairAttention(backbone.hidden_size)
        self.head = output_layer(backbone, self.attention.width, num_outputs)

    def _read(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, 4 W], from the states [2 B, T, H]."""
        (state,), mask = states, batch["attention_mask"]
        return self.attention.forward(self.dropout(self._standardised(state, mask)), mask)


class AttendedPairs(SeparateTexts, Classification):
    """Cross-entropy over the classes of a pair."""

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The backbone with the task network."""
        return PairAttentionClassifier(backbone, self.num_outputs, self.protocol, adaptation)


class AttendedPairValues(AttendedPairs, Regression):
    """Mean squared error of one value per pair."""

    num_outputs = Regression.num_outputs
    loss = Regression.loss
    divergences = Regression.divergences
    decode = Regression.decode


ATTENDED: dict[str, type[AttendedPairs]] = {
    "classification": AttendedPairs,
    "regression": AttendedPairValues,
}
"""Kind of a task of pairs to its head under `protocol.head: bilstm_attention`."""
