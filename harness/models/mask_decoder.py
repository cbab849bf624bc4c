"""DeBERTa's enhanced mask decoder (He et al. 2021, section 3.2).

The layers know relative positions alone. Before tokens are named, absolute positions are added to
the states below the last layer, which make queries of the last layer: as often as
MASK_DECODER_STEPS, each time with the output before as query, and with the states below as keys and
values. As in microsoft/DeBERTa, apps/models/masked_language_model.py, `EnhancedMaskDecoder`, which
also applies the last layer as usual, without a use for its output.

Shapes: B sequences, T tokens, A heads, D head width, H hidden size.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import DebertaForMaskedLM, DebertaV2ForMaskedLM
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.deberta.modeling_deberta import DisentangledSelfAttention

from harness.models.blueprints import Blueprint
from harness.models.counts.shapes import MASK_DECODER_STEPS
from harness.models.encoders import ENCODERS, without_autocast


class MaskDecoder(nn.Module):
    """The absolute positions, which are a part of the token head: fine-tuning does not use them."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        rows, width = config.max_position_embeddings, config.hidden_size
        self.position_embeddings = nn.Embedding(rows, width)
        nn.init.normal_(self.position_embeddings.weight, std=config.initializer_range)

    def forward(self, stack: Any, input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        """[B, T, H] states for the token head.

        Args:
            stack: the network without its head.
            input_ids: [B, T].
            attention_mask: [B, T], 0 at padding; None without padding.
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        states = stack.embeddings(input_ids=input_ids, mask=mask)
        encoder = stack.encoder
        inputs = {
            "attention_mask": encoder.get_attention_mask(mask),
            "relative_pos": encoder.get_rel_pos(states),
            "rel_embeddings": encoder.get_rel_embedding(),
        }
        *lower, last = encoder.layer
        for layer in lower:
            states, _ = layer(states, **inputs)
        queries = states + self.position_embeddings.weight[: states.shape[1]]
        for _ in range(MASK_DECODER_STEPS):
            queries, _ = last(states, query_states=queries, **inputs)
        return queries


class QueriedAttention(DisentangledSelfAttention):
    """Attention of DeBERTa (He et al. 2021, section 3.1) whose queries may be of other states than
    keys and values: transformers 5 has this in its code, but it fails on inputs of three
    dimensions."""

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor,
        output_attentions: bool = False,
        query_states: Tensor | None = None,
        relative_pos: Tensor | None = None,
        rel_embeddings: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """[B, T, H] mixed values, and the probabilities [B, A, T, T] of self-attention, on request.

        Args:
            hidden_states: [B, T, H]; `query_states` [B, T, H] are null in self-attention.
            attention_mask: [B, 1, T, T].
            relative_pos: [1, T, T] distances; `rel_embeddings` [2 K, H] of up to K on each side.
        """
        more = {"relative_pos": relative_pos, "rel_embeddings": rel_embeddings}
        if query_states is None:
            own: tuple[Tensor, Tensor | None] = super().forward(
                hidden_states, attention_mask, output_attentions, **more
            )
            return own
        assert relative_pos is not None and rel_embeddings is not None
        # [A, 3, D, H]: each head has its queries, keys and values side by side
        weights = self.in_proj.weight.view(self.num_attention_heads, 3, -1, hidden_states.shape[-1])
        query_weight, key_weight, value_weight = (one.flatten(0, 1) for one in weights.unbind(1))
        query, key, value = map(
            self.transpose_for_scores,
            (
                F.linear(query_states, query_weight, self.q_bias),
                F.linear(hidden_states, key_weight),
                F.linear(hidden_states, value_weight, self.v_bias),
            ),
        )
        terms = 1 + len(self.pos_att_type)
        query = query / math.sqrt(query.shape[-1] * terms)
        distances = self.pos_dropout(rel_embeddings)
        scores = query @ key.transpose(-1, -2)
        scores = scores + self.disentangled_att_bias(query, key, relative_pos, distances, terms)
        scores = scores.masked_fill(~attention_mask.bool(), torch.finfo(scores.dtype).min)
        mixed = self.dropout(scores.softmax(-1)) @ value
        return mixed.transpose(1, 2).flatten(2), None


class _Decoding:
    """The states that the token head of a DeBERTa reads."""

    def decoded(
        self: Any, *, input_ids: Tensor, attention_mask: Tensor | None = None
    ) -> BaseModelOutput:
        """[B, T, H] `last_hidden_state`."""
        states = self.mask_decoder(self.deberta, input_ids, attention_mask)
        return BaseModelOutput(last_hidden_state=states)


class DebertaDecoding(_Decoding, DebertaForMaskedLM):
    """DeBERTa with its enhanced mask decoder; other weights are initialised as without it."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.mask_decoder = MaskDecoder(config)
        last: Any = self.deberta.encoder.layer[-1]
        last.attention.self.__class__ = QueriedAttention  # with the weights as they are


class DebertaV3Decoding(_Decoding, DebertaV2ForMaskedLM):
    """The same of DeBERTaV3's layers."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.mask_decoder = MaskDecoder(config)


MASK_DECODERS: dict[str, Blueprint] = {
    "deberta_enhanced": replace(
        ENCODERS["deberta"],
        network=DebertaDecoding,
        token_stack=lambda n: partial(without_autocast, n.decoded),
    ),
    "deberta_v3_enhanced": replace(
        ENCODERS["deberta_v3"], network=DebertaV3Decoding, token_stack=lambda n: n.decoded
    ),
}
