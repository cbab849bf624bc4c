"""BERT, RoBERTa and GPT-2 with other positions or norms, or without residual connections.

Shapes: B sequences, T tokens, P positions, H hidden size.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import (
    BertForMaskedLM,
    GPT2LMHeadModel,
    PreTrainedConfig,
    RobertaForMaskedLM,
)
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.bert.modeling_bert import BertEncoder, BertLayer
from transformers.models.gpt2.modeling_gpt2 import GPT2Block
from transformers.models.roberta.modeling_roberta import RobertaEncoder, RobertaLayer

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens
from harness.models.decoders import DECODERS
from harness.models.encoders import ENCODERS

FIELDS = ("positions", "norm", "residual")
"""Fields of `Architecture` that a configuration holds with `harness_` before their names."""
LONGEST_WAVE = 10_000.0
"""Ratio of the longest wave to the shortest (Vaswani et al. 2017, section 3.5)."""


def sinusoids(num_positions: int, width: int) -> Tensor:
    """[P, H] sin(p / 10000^(2i / H)) in column 2i, the cosine in column 2i + 1 (Vaswani et al.
    2017, section 3.5)."""
    column = torch.arange(0, width, 2, dtype=torch.float64)
    angles = torch.arange(num_positions)[:, None] / LONGEST_WAVE ** (column / width)
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)[:, :width].float()


class Sinusoids(nn.Module):
    """Fixed positions in place of a trained table.

    The paper multiplies the token embeddings by sqrt(H) (section 3.4); here the table is divided by
    it, so that the sum is the same but for its scale, and token embeddings are as large as without.
    """

    def __init__(self, num_positions: int, width: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(num_positions, width) * width**-0.5)

    def forward(self, positions: Tensor) -> Tensor:
        """[..., H] vectors of positions [...]."""
        return F.embedding(positions, self.get_buffer("table"))


class NoPositions(nn.Module):
    """Zero in place of a trained table."""

    def forward(self, positions: Tensor) -> Tensor:
        """[], which adds nothing."""
        return torch.zeros((), device=positions.device)


def _sublayer(
    config: Any, states: Tensor, norm: nn.Module, function: Callable[[Tensor], Tensor]
) -> Tensor:
    """[B, T, H] norm(x + f(x)), or x + f(norm(x)) if pre (Xiong et al. 2020, figure 1), without x +
    if the network has no residual connections."""
    out = function(norm(states) if config.harness_norm == "pre" else states)
    out = states + out if config.harness_residual else out
    return norm(out) if config.harness_norm == "post" else out


class _BertForward:
    """The forward pass of a layer of BERT or RoBERTa as two sublayers."""

    def forward(
        self: Any,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: None = None,
        encoder_attention_mask: None = None,
        **more: Any,
    ) -> Tensor:
        """[B, T, H] states above the layer."""
        attention, config = self.attention, self.attention.self.config

        def attend(states: Tensor) -> Tensor:
            mixed = attention.self(states, attention_mask, **more)[0]
            out: Tensor = attention.output.dropout(attention.output.dense(mixed))
            return out

        def feed_forward(states: Tensor) -> Tensor:
            out: Tensor = self.output.dropout(self.output.dense(self.intermediate(states)))
            return out

        states = _sublayer(config, hidden_states, attention.output.LayerNorm, attend)
        return _sublayer(config, states, self.output.LayerNorm, feed_forward)


class _NormAbove:
    """A stack of layers with a norm above the last one."""

    def forward(self: Any, *args: Any, **more: Any) -> BaseModelOutput:
        """As transformers' encoder."""
        out: BaseModelOutput = super().forward(*args, **more)  # type: ignore[misc]
        out.last_hidden_state = self.LayerNorm(out.last_hidden_state)
        return out


class BertBlock(_BertForward, BertLayer):  # type: ignore[misc]
    """A layer of BERT with the norm and the residual connections of its configuration."""


class RobertaBlock(_BertForward, RobertaLayer):  # type: ignore[misc]
    """The same of RoBERTa."""


class BertStack(_NormAbove, BertEncoder):  # type: ignore[misc]
    """The layers of BERT and a norm."""


class RobertaStack(_NormAbove, RobertaEncoder):  # type: ignore[misc]
    """The layers of RoBERTa and a norm."""


class Gpt2VariantBlock(GPT2Block):
    """A layer of GPT-2 with the norm and the residual connections of its configuration."""

    def forward(  # type: ignore[override]
        self,
        hidden_states: Tensor,
        past_key_values: Any = None,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: None = None,
        encoder_attention_mask: None = None,
        **more: Any,
    ) -> Tensor:
        """[B, T, H] states above the layer."""

        def attend(states: Tensor) -> Tensor:
            out: Tensor = self.attn(states, past_key_values, attention_mask, **more)[0]
            return out

        config = self.attn.config
        states = _sublayer(config, hidden_states, self.ln_1, attend)
        return _sublayer(config, states, self.ln_2, self.mlp)


CLASSES: dict[type[nn.Module], type[nn.Module]] = {
    BertLayer: BertBlock,
    RobertaLayer: RobertaBlock,
    BertEncoder: BertStack,
    RobertaEncoder: RobertaStack,
    GPT2Block: Gpt2VariantBlock,
}
"""Class of a part to that which replaces it."""


def _use_own_classes(stack: nn.Module) -> None:
    """transformers names the classes of layers in its code, so they are replaced afterwards; their
    weights remain."""
    for module in stack.modules():
        module.__class__ = CLASSES.get(type(module), type(module))


def _without_norms(stack: nn.Module) -> None:
    for module in [*stack.modules()]:
        for name, part in module.named_children():
            if isinstance(part, nn.LayerNorm):
                setattr(module, name, nn.Identity())


def _positions(config: Any, table: nn.Embedding) -> nn.Module:
    """What stands in the place of the trained `table`, which may be itself."""
    if config.harness_positions == "sinusoidal":
        return Sinusoids(table.num_embeddings, table.embedding_dim)
    return NoPositions() if config.harness_positions == "none" else table


def _change_encoder(stack: Any) -> None:
    """Changes the layers of BERT or RoBERTa. With `pre`, the norm of the embeddings moves above
    the layers, so that nothing but the input of sublayers and of heads is normalised."""
    config, embeddings = stack.config, stack.embeddings
    _use_own_classes(stack)
    stack.encoder.LayerNorm = nn.Identity()
    if config.harness_norm == "pre":
        stack.encoder.LayerNorm, embeddings.LayerNorm = embeddings.LayerNorm, nn.Identity()
    if config.harness_norm == "none":
        _without_norms(stack)
    embeddings.position_embeddings = _positions(config, embeddings.position_embeddings)


class BertVariant(BertForMaskedLM):
    """BERT, changed as its configuration says."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        _change_encoder(self.bert)


class RobertaVariant(RobertaForMaskedLM):
    """RoBERTa, changed as its configuration says; the first position of a table is that after the
    padding token's id, as fairseq's sinusoidal one."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        _change_encoder(self.roberta)


class Gpt2Variant(GPT2LMHeadModel):
    """GPT-2, changed as its configuration says. With `post`, it has no norm above the layers, as
    GPT (Radford et al. 2018, figure 1)."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        stack: Any = self.transformer
        _use_own_classes(stack)
        if config.harness_norm == "post":
            stack.ln_f = nn.Identity()
        if config.harness_norm == "none":
            _without_norms(stack)
        stack.wpe = _positions(config, stack.wpe)


def _variant(original: Blueprint, network: type[Any]) -> Blueprint:
    """The blueprint of a network whose configuration holds FIELDS."""

    def config(architecture: Architecture, size: Size, tokens: Tokens) -> PreTrainedConfig:
        made = original.config(architecture, size, tokens)
        for name in FIELDS:
            setattr(made, f"harness_{name}", architecture.block[name])
        return made

    return replace(original, config=config, network=network)


VARIANTS: dict[str, Blueprint] = {
    "bert_variant": _variant(ENCODERS["bert"], BertVariant),
    "roberta_variant": _variant(ENCODERS["roberta"], RobertaVariant),
    "gpt2_variant": _variant(DECODERS["gpt2"], Gpt2Variant),
}
