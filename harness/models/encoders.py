"""Encoders of the BERT family."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    DebertaConfig,
    DebertaForMaskedLM,
    DebertaV2Config,
    DebertaV2ForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    ElectraConfig,
    ElectraForMaskedLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedConfig,
    RobertaConfig,
    RobertaForMaskedLM,
)
from transformers.modeling_outputs import BaseModelOutput

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Head, Tokens
from harness.models.counts.shapes import (
    embedding_width,
    position_buckets,
    position_rows,
    segment_types,
)
from harness.models.token_heads import linear_head

MAX_PAD_ID = 1
"""RoBERTa's positions start after the padding token's id, and its table has 2 extra rows."""
LOCAL_ATTENTION = 128
"""Window of ModernBERT's local attention, 64 tokens on each side (Warner et al. 2024, 2.1.2)."""
GLOBAL_EVERY = 3
"""The first of every GLOBAL_EVERY layers has global attention (same section)."""

Config = Callable[..., PreTrainedConfig]


def _bert_like(
    config: Config, eps: float, architecture: Architecture, size: Size, tokens: Tokens, **more: Any
) -> PreTrainedConfig:
    """A configuration with the field names of BERT, and with `more` fields."""
    return config(
        vocab_size=tokens.vocab_size,
        pad_token_id=tokens.pad,
        num_hidden_layers=size.num_layers,
        hidden_size=size.hidden_size,
        num_attention_heads=size.num_heads,
        intermediate_size=size.intermediate_size,
        max_position_embeddings=position_rows(architecture),
        type_vocab_size=segment_types(architecture, tokens.pair_format),
        hidden_dropout_prob=architecture.dropout,
        attention_probs_dropout_prob=architecture.attention_dropout,
        initializer_range=architecture.initializer_range,
        layer_norm_eps=eps,
        hidden_act=architecture.activation or "gelu",
        **more,
    )


def _factorised(
    config: Config, architecture: Architecture, size: Size, tokens: Tokens
) -> PreTrainedConfig:
    """ALBERT and ELECTRA: factorised token embeddings."""
    width = embedding_width(architecture, size)
    return _bert_like(config, 1e-12, architecture, size, tokens, embedding_size=width)


def _roberta(architecture: Architecture, size: Size, tokens: Tokens) -> PreTrainedConfig:
    if tokens.pad > MAX_PAD_ID:
        raise ValueError(
            f"the padding token of a RoBERTa must have an id up to {MAX_PAD_ID}, but has "
            f"{tokens.pad}; train the tokenizer here, or use family: bert"
        )
    return _bert_like(RobertaConfig, 1e-5, architecture, size, tokens)


def _deberta(
    config: Config, architecture: Architecture, size: Size, tokens: Tokens, **more: Any
) -> PreTrainedConfig:
    """He et al. 2021, section 3.1: content-to-content, content-to-position and position-to-content
    attention, with all distances up to max_position distinguished.

    Absolute positions are those of the enhanced mask decoder alone: see `models.mask_decoder`.
    """
    relative = {
        "relative_attention": True,
        "position_biased_input": False,
        "pos_att_type": ["c2p", "p2c"],
        "max_relative_positions": architecture.max_position,
    }
    return _bert_like(config, 1e-7, architecture, size, tokens, **relative, **more)


def _deberta_v3(architecture: Architecture, size: Size, tokens: Tokens) -> PreTrainedConfig:
    """He et al. 2023, and microsoft/deberta-v3-base."""
    own = {"norm_rel_ebd": "layer_norm", "share_att_key": True}
    buckets = position_buckets(architecture)
    return _deberta(DebertaV2Config, architecture, size, tokens, position_buckets=buckets, **own)


def _distilbert(architecture: Architecture, size: Size, tokens: Tokens) -> DistilBertConfig:
    """Sanh et al. 2019, section 3: BERT without segment embeddings and pooler."""
    return DistilBertConfig(
        vocab_size=tokens.vocab_size,
        pad_token_id=tokens.pad,
        n_layers=size.num_layers,
        dim=size.hidden_size,
        n_heads=size.num_heads,
        hidden_dim=size.intermediate_size,
        max_position_embeddings=position_rows(architecture),
        dropout=architecture.dropout,
        attention_dropout=architecture.attention_dropout,
        initializer_range=architecture.initializer_range,
        activation="gelu",
    )


def _modernbert(architecture: Architecture, size: Size, tokens: Tokens) -> ModernBertConfig:
    """Warner et al. 2024, section 2.1: rotary positions, gated GELU, pre-norm, alternating local
    and global attention."""
    rotary: Any = None  # the defaults of transformers
    if base := architecture.rope_base:
        every = {"rope_type": "default", "rope_theta": base}
        rotary = {"full_attention": every, "sliding_attention": every}
    return ModernBertConfig(
        **tokens.fields,
        num_hidden_layers=size.num_layers,
        hidden_size=size.hidden_size,
        num_attention_heads=size.num_heads,
        intermediate_size=size.intermediate_size,
        max_position_embeddings=architecture.max_position,
        embedding_dropout=architecture.dropout,
        mlp_dropout=architecture.dropout,
        attention_dropout=architecture.attention_dropout,
        initializer_range=architecture.initializer_range,
        local_attention=LOCAL_ATTENTION,
        layer_types=[
            "sliding_attention" if layer % GLOBAL_EVERY else "full_attention"
            for layer in range(size.num_layers)
        ],
        rope_parameters=rotary,
        cls_token_id=tokens.start,
        sep_token_id=tokens.end,
    )


def _local_and_global(
    stack: Any, *, attention_mask: Tensor | None, **inputs: Any
) -> BaseModelOutput:
    """ModernBERT with any mask: transformers applies the local window to padding masks [B, T], but
    not to masks [B, 1, T, T]."""
    masks: Any = attention_mask
    if attention_mask is not None and attention_mask.ndim == 4:
        position = torch.arange(attention_mask.shape[-1], device=attention_mask.device)
        near = (position - position[:, None]).abs() <= stack.config.sliding_window
        masks = {"full_attention": attention_mask, "sliding_attention": attention_mask & near}
    output: BaseModelOutput = stack(attention_mask=masks, **inputs)
    return output


def without_autocast(stack: Any, *, input_ids: Tensor, **inputs: Any) -> BaseModelOutput:
    """States of `input_ids` [B, T] by DeBERTa v1, in the precision of its weights: with autocast,
    the constant with which transformers masks padding overflows 16 bits."""
    with torch.autocast(input_ids.device.type, enabled=False):
        output: BaseModelOutput = stack(input_ids=input_ids, **inputs)
    return output


def _bert_head(network: Any) -> Head:
    head = network.cls.predictions
    return linear_head(head.decoder, head.transform)


def _roberta_head(network: RobertaForMaskedLM) -> Head:
    head = network.lm_head
    return linear_head(head.decoder, nn.Sequential(head.dense, nn.GELU(), head.layer_norm))


def _albert_head(network: AlbertForMaskedLM) -> Head:
    head = network.predictions
    steps = nn.Sequential(head.dense, head.activation, head.LayerNorm)
    return linear_head(head.decoder, steps)


ENCODERS: dict[str, Blueprint] = {
    # Devlin et al. 2019; layer_norm_eps as published with each
    "bert": Blueprint(partial(_bert_like, BertConfig, 1e-12), BertForMaskedLM, _bert_head),
    "roberta": Blueprint(_roberta, RobertaForMaskedLM, _roberta_head),  # Liu et al. 2019
    # Lan et al. 2020, section 3.1: all layers share their weights
    "albert": Blueprint(partial(_factorised, AlbertConfig), AlbertForMaskedLM, _albert_head),
    "electra": Blueprint(  # Clark et al. 2020, with the head of the generator
        partial(_factorised, ElectraConfig),
        ElectraForMaskedLM,
        lambda n: linear_head(n.generator_lm_head, n.generator_predictions),
    ),
    "deberta": Blueprint(  # He et al. 2021
        partial(_deberta, DebertaConfig),
        DebertaForMaskedLM,
        _bert_head,
        stack=lambda n: partial(without_autocast, n.base_model),
    ),
    "deberta_v3": Blueprint(_deberta_v3, DebertaV2ForMaskedLM, _bert_head),
    "distilbert": Blueprint(
        _distilbert,
        DistilBertForMaskedLM,
        lambda n: linear_head(
            n.vocab_projector, nn.Sequential(n.vocab_transform, nn.GELU(), n.vocab_layer_norm)
        ),
    ),
    "modernbert": Blueprint(
        _modernbert,
        ModernBertForMaskedLM,
        lambda n: linear_head(n.decoder, n.head),
        stack=lambda n: partial(_local_and_global, n.base_model),
    ),
}
