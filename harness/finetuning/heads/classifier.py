"""A pretrained backbone with a new output layer, used by most task heads.

Shapes: B rows, T tokens, H hidden size, V vocabulary, C outputs.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from harness.finetuning.adaptation import ADAPTATIONS, Adaptation, Frozen
from harness.finetuning.heads.task_networks import BiLstm, mlp
from harness.finetuning.inputs import Batch, orders
from harness.finetuning.length_groups import states_by_length
from harness.finetuning.pooling import ScalarMix, pooling_of
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.models.pooling import pool

STANDARD_RANGE = 0.02
"""Standard deviation of initial weights for configurations without one (T5)."""


class Classifier(TaskModel):
    """Backbone, pooling and a linear layer, or a linear layer on every token; below it the task
    network of `protocol.head`.

    The attention pattern is that of pretraining, except that `permuted` networks (XLNet) attend
    bidirectionally (Yang et al. 2019, section 2.2), as do `prefix` networks, for which the whole
    input is the prefix.
    """

    vectors_per_input = 1
    """Vectors of the width of a state that the layers above pooling read at once."""

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
        has_lstm = protocol.head in ("bilstm", "bilstm_attention")
        self.recurrent = BiLstm(backbone.hidden_size) if has_lstm else None
        family = "bilstm" if self.recurrent else backbone.family  # whose states are pooled
        self.pooling = pooling_of(protocol.pooling, self.reading, family)
        self.per_token = per_token
        self.reads_tokens = per_token
        self.has_segments = has_segments(backbone)
        self.dropout = nn.Dropout(protocol.head_dropout)
        width = self.recurrent.width if self.recurrent else backbone.hidden_size
        num_inputs = self.vectors_per_input * width
        self.hidden: nn.Module = nn.Identity()
        if protocol.head == "mlp":
            hidden = output_layer(backbone, num_inputs, width)
            self.hidden, num_inputs = mlp(hidden, protocol.head_dropout), width
        self.head: nn.Module = output_layer(backbone, num_inputs, num_outputs)
        self.mix: ScalarMix | None = None
        self.standardise: nn.Module = nn.Identity()
        self.layer: int | None = None
        if isinstance(adaptation, Frozen):
            if adaptation.layer is None:
                self.mix = ScalarMix(self._freeze())
            else:
                self.read_layer(adaptation.layer)
            # States share a large constant component, which slows a linear probe: batch norm
            # without affine weights, as in He et al. 2022 (MAE), appendix A.1.
            self.standardise = Standardise(backbone.hidden_size, affine=False)

    def read_layer(self, number: int) -> None:
        """Freezes the backbone, and takes the states of one layer, counted from either end.

        Raises:
            ValueError: there is no such layer.
        """
        self.layer = _layer(number, self._freeze())

    def _freeze(self) -> int:
        """Freezes the backbone; returns its number of hidden states (embeddings and layers)."""
        self.backbone.requires_grad_(False)
        device = next(self.backbone.parameters()).device
        one = torch.ones(1, 1, dtype=torch.int64, device=device)
        return len(self._layers({"input_ids": one, "token_type_ids": 0 * one}))

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, C] logits, or [B, T, C] per token.

        Args:
            states: [B, T, H] for each order of the texts.
        """
        logits: Tensor = self.head(self.dropout(self.hidden(self._read(batch, states))))
        return logits

    def _read(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, H], or [B, T, H] per token: what the layers above pooling read."""
        if self.recurrent:
            states = self._recurrent_states(self.recurrent, batch, states)
            return states[0] if self.per_token else self.features(batch, states)
        if self.per_token:
            (state,) = states
            return self._standardised(state, batch["attention_mask"])
        pooled: Tensor = self.standardise(self.features(batch, states))
        return pooled

    def _recurrent_states(
        self, network: BiLstm, batch: Batch, states: Sequence[Tensor]
    ) -> list[Tensor]:
        """[B, T, H] of the biLSTM, for each order of the texts."""
        masks = [one["attention_mask"] for one in orders(batch)]
        return [
            network(self.dropout(self._standardised(state, mask)), mask)
            for state, mask in zip(states, masks, strict=True)
        ]

    def _standardised(self, state: Tensor, mask: Tensor) -> Tensor:
        """[B, T, H] standardised states; zeros at padding, which must not enter the statistics."""
        real = mask.bool()
        features = torch.zeros_like(state)
        features[real] = self.standardise(state[real]).to(state.dtype)
        return features

    def features(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, H] pooled vectors, summed over the orders of the texts."""
        pooled = [
            pool(state, one["attention_mask"], self.pooling)
            for state, one in zip(states, orders(batch), strict=True)
        ]
        return torch.stack(pooled).sum(0)

    def states(self, batch: Batch) -> list[Tensor]:
        """[B, T, H] for each order of the texts."""
        if self.training:  # predictions are made in the order of length
            return [states_by_length(self._states, one) for one in orders(batch)]
        return [self._states(one) for one in orders(batch)]

    def _states(self, batch: Batch) -> Tensor:
        """[B, T, H] of the last layer; of a frozen backbone one layer or a mix of all."""
        states: Tensor
        if self.mix is not None:
            states = self.mix(self._layers(batch))
        elif self.layer is not None:
            states = self._layers(batch)[self.layer]
        else:
            states = self.backbone(**self._inputs(batch)).last_hidden_state
        if self.reads_tokens and self.reading == "encoder_decoder":
            return _shifted_back(states, batch["attention_mask"])
        return states

    @torch.no_grad()
    def _layers(self, batch: Batch) -> tuple[Tensor, ...]:
        """[B, T, H] of the embeddings and each layer of a frozen backbone."""
        self.backbone.eval()  # no dropout in a frozen backbone, even in training
        layers = self.backbone(**self._inputs(batch), output_hidden_states=True).hidden_states
        assert layers is not None
        return tuple(layers)

    def _inputs(self, batch: Batch) -> dict[str, object]:
        """Arguments of the backbone. The decoder of an encoder-decoder gets the same input shifted
        right, so that its last state depends on all of it (Lewis et al. 2020, section 3.1)."""
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
        """Scalar mean cross-entropy of each input token but the first, from causal `states`
        [B, T, H] of each order of the texts: L1 of Radford et al. 2018, equation 5."""
        logits, targets = [], []
        for state, one in zip(states, orders(batch), strict=True):
            real = one["attention_mask"][:, 1:].bool()
            logits.append(self.backbone.token_logits(state[:, :-1][real]))
            targets.append(one["input_ids"][:, 1:][real])
        return F.cross_entropy(torch.cat(logits).float(), torch.cat(targets))

    def token_loss(self, batch: Batch, representation: str) -> Tensor:
        """Scalar mean cross-entropy of the `targets` [M] of an auxiliary objective's batch."""
        inputs: dict[str, Any] = self._inputs(batch) | {"representation": representation}
        states = self.backbone(**inputs, for_token_head=True).last_hidden_state.flatten(0, 1)
        loss = self.backbone.token_loss(states[batch["positions"]], batch["targets"])
        return loss / max(1, len(batch["targets"]))


def _shifted_back(states: Tensor, mask: Tensor) -> Tensor:
    """[B, T, H] decoder states aligned with the tokens: at i the state after reading token i.

    The decoder input is shifted right, so this is its state at i + 1. The last real token of a row,
    an end token, is not read; its state is the last one, after all tokens before it.
    """
    positions = torch.arange(states.shape[1], device=states.device) + 1
    positions = torch.minimum(positions, mask.sum(1, keepdim=True) - 1)
    return states.gather(1, positions.unsqueeze(-1).expand_as(states))


def _layer(number: int, num_layers: int) -> int:
    """Index of a layer given from either end."""
    if not -num_layers <= number < num_layers:
        raise ValueError(
            f"evaluate.adaptation.layer must be {-num_layers} to {num_layers - 1} for a network of "
            f"{num_layers - 1} layers and embeddings, but is {number}"
        )
    return number % num_layers


class Standardise(nn.BatchNorm1d):
    """Batch norm that uses the running statistics for a batch of one example, which has no variance
    of its own."""

    def forward(self, input: Tensor) -> Tensor:
        """[N, H] standardised features."""
        if self.training and len(input) == 1:
            return F.batch_norm(input, self.running_mean, self.running_var, eps=self.eps)
        return super().forward(input)


def has_segments(backbone: Backbone) -> bool:
    """Whether a network tells the texts of a pair apart; those pretrained without pairs have a
    single segment."""
    return bool(getattr(backbone.network.config, "type_vocab_size", 2) > 1)


def output_layer(backbone: Backbone, num_inputs: int, num_outputs: int) -> nn.Linear:
    """A linear layer initialised like the backbone, with zero biases."""
    layer = nn.Linear(num_inputs, num_outputs)
    nn.init.normal_(layer.weight, std=initial_range(backbone))
    nn.init.zeros_(layer.bias)
    return layer


def initial_range(backbone: Backbone) -> float:
    """Standard deviation of the backbone's initial weights."""
    config = backbone.network.config
    for name in ("initializer_range", "init_std"):
        if getattr(config, name, None):
            return float(getattr(config, name))
    return STANDARD_RANGE * float(getattr(config, "initializer_factor", 1.0))
