"""A pretrained backbone with a new head: what most heads of a task train.

Shapes: B rows, T tokens, H hidden size, V vocabulary, C outputs.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.finetuning.adaptation import ADAPTATIONS, Adaptation, Frozen
from harness.finetuning.inputs import Batch, orders
from harness.finetuning.pooling import ScalarMix, pool, pooling_of
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone

STANDARD_RANGE = 0.02
"""Standard deviation of the head's weights where a network's configuration names none (T5)."""


class Classifier(TaskModel):
    """Backbone, pooling, linear head; or a head on the state of every token.

    Every network is read as it was pretrained, but for a permuted one (XLNet), which reads its
    inputs bidirectionally (Yang et al. 2019, section 2.2), and for `prefix`, where the whole input
    is the prefix.
    """

    def __init__(
        self,
        backbone: Backbone,
        num_outputs: int,
        protocol: Protocol,
        adaptation: Adaptation = ADAPTATIONS["full"],
        per_token: bool = False,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        own = backbone.representation
        self.reading = "bidirectional" if own == "permuted" else own
        self.pooling = pooling_of(protocol.pooling, self.reading)
        self.per_token = per_token
        # A network pretrained without pairs has one segment only.
        self.has_segments = getattr(backbone.network.config, "type_vocab_size", 2) > 1
        self.dropout = nn.Dropout(protocol.head_dropout)
        self.head = nn.Linear(backbone.hidden_size, num_outputs)
        nn.init.normal_(self.head.weight, std=initial_range(backbone))
        nn.init.zeros_(self.head.bias)
        self.mix: ScalarMix | None = None
        self.standardise: nn.Module = nn.Identity()
        self.layer: int | None = None
        if isinstance(adaptation, Frozen):
            num_layers = self._freeze()
            if adaptation.layer is None:
                self.mix = ScalarMix(num_layers)
            else:
                self.layer = _layer(adaptation.layer, num_layers)
            # States of all texts share a large constant part, beside which a linear head learns
            # little: batch norm without weights, as He et al. 2022 (MAE), appendix A.1.
            self.standardise = Standardise(backbone.hidden_size, affine=False)

    def _freeze(self) -> int:
        """Trains the backbone no more; returns how many layers of states it has."""
        self.backbone.requires_grad_(False)
        one = torch.ones(1, 1, dtype=torch.int64, device=self.head.weight.device)
        return len(self._layers({"input_ids": one, "token_type_ids": 0 * one}))

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, C], or [B, T, C] of a head on every token, from the states [B, T, H] of each order of
        the texts."""
        if self.per_token:
            features = self.token_features(batch, states)
        else:
            features = self.standardise(self.features(batch, states))
        logits: Tensor = self.head(self.dropout(features))
        return logits

    def token_features(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, T, H] one vector a token; padding, of which nothing may be learned, has zeros."""
        (state,) = states
        real = batch["attention_mask"].bool()
        features = torch.zeros_like(state)
        features[real] = self.standardise(state[real]).to(state.dtype)
        return features

    def features(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, H] one vector a row: those of the orders of its texts are added."""
        pooled = [
            pool(state, one["attention_mask"], self.pooling)
            for state, one in zip(states, orders(batch), strict=True)
        ]
        return torch.stack(pooled).sum(0)

    def states(self, batch: Batch) -> list[Tensor]:
        """[B, T, H] for each order of the texts."""
        return [self._states(one) for one in orders(batch)]

    def _states(self, batch: Batch) -> Tensor:
        """[B, T, H] of the last layer; if frozen, of one layer or mixed of all."""
        states: Tensor
        if self.mix is not None:
            states = self.mix(self._layers(batch))
        elif self.layer is not None:
            states = self._layers(batch)[self.layer]
        else:
            states = self.backbone(**self._inputs(batch)).last_hidden_state
        if self.per_token and self.reading == "encoder_decoder":
            return _moved_back(states, batch["attention_mask"])
        return states

    @torch.no_grad()
    def _layers(self, batch: Batch) -> tuple[Tensor, ...]:
        """Embeddings and states [B, T, H] of every layer of a frozen backbone."""
        self.backbone.eval()  # also while the head is trained: no dropout
        layers = self.backbone(**self._inputs(batch), output_hidden_states=True).hidden_states
        assert layers is not None
        return tuple(layers)

    def _inputs(self, batch: Batch) -> dict[str, object]:
        """An encoder-decoder reads the same input twice, the second time one place to the right,
        so that its last state has seen all of it (Lewis et al. 2020, section 3.1, and fairseq)."""
        mask = batch.get("attention_mask")
        inputs: dict[str, object] = {
            "input_ids": batch["input_ids"],
            "attention_mask": mask,
            "token_type_ids": batch["token_type_ids"] if self.has_segments else None,
            "representation": self.reading,
        }
        if self.reading == "encoder_decoder":
            start = self.backbone.network.config.decoder_start_token_id
            inputs["decoder_input_ids"] = F.pad(batch["input_ids"], (1, -1), value=start)
            inputs["decoder_attention_mask"] = mask
        return inputs

    def next_token_loss(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """Mean cross-entropy of naming each token of the inputs but the first, from `states` of a
        causal reading: L1 of Radford et al. 2018, equation 5."""
        logits, right = [], []
        for state, one in zip(states, orders(batch), strict=True):
            told = one["attention_mask"][:, 1:].bool()
            logits.append(self.backbone.token_logits(state[:, :-1][told]))
            right.append(one["input_ids"][:, 1:][told])
        return F.cross_entropy(torch.cat(logits).float(), torch.cat(right))


def _moved_back(states: Tensor, mask: Tensor) -> Tensor:
    """[B, T, H] states where the decoder has just read token i, in place i.

    Its input is moved one place to the right, so that is its state at i + 1. The last real token
    of a row, an end mark, is never read; it keeps the last state, that of all before it.
    """
    places = torch.arange(states.shape[1], device=states.device) + 1
    places = torch.minimum(places, mask.sum(1, keepdim=True) - 1)
    return states.gather(1, places.unsqueeze(-1).expand_as(states))


def _layer(number: int, num_layers: int) -> int:
    """Place of a layer that may be counted from the end."""
    if not -num_layers <= number < num_layers:
        raise ValueError(
            f"evaluate.adaptation.layer must be {-num_layers} to {num_layers - 1} for a network of "
            f"{num_layers - 1} layers and embeddings, but is {number}"
        )
    return number % num_layers


class Standardise(nn.BatchNorm1d):
    """Batch norm that takes a batch of one example, whose own mean and variance say nothing, by the
    running ones."""

    def forward(self, input: Tensor) -> Tensor:
        if self.training and len(input) == 1:
            return F.batch_norm(input, self.running_mean, self.running_var, eps=self.eps)
        return super().forward(input)


def initial_range(backbone: Backbone) -> float:
    """Standard deviation of a new head's weights: that of the network's own."""
    config = backbone.network.config
    for name in ("initializer_range", "init_std"):
        if getattr(config, name, None):
            return float(getattr(config, name))
    return STANDARD_RANGE * float(getattr(config, "initializer_factor", 1.0))
