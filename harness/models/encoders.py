"""Encoders of transformers."""

from collections.abc import Callable

from transformers import BertConfig, BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens
from harness.models.counts import position_rows, segment_types

MAX_PAD_ID = 1
"""RoBERTa's positions start after the padding token's number, and its table has 2 spare rows."""


def _bert_like(
    config: Callable[..., BertConfig | RobertaConfig], layer_norm_eps: float
) -> Callable[[Architecture, Size, Tokens], BertConfig | RobertaConfig]:
    def make(architecture: Architecture, size: Size, tokens: Tokens) -> BertConfig | RobertaConfig:
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
            layer_norm_eps=layer_norm_eps,
            hidden_act="gelu",
        )

    return make


def _roberta(architecture: Architecture, size: Size, tokens: Tokens) -> RobertaConfig:
    if tokens.pad > MAX_PAD_ID:
        raise ValueError(
            f"the padding token of a RoBERTa must have a number up to {MAX_PAD_ID}, but has "
            f"{tokens.pad}; train the tokenizer here, or use family: bert"
        )
    made = _bert_like(RobertaConfig, 1e-5)(architecture, size, tokens)
    assert isinstance(made, RobertaConfig)
    return made


ENCODERS: dict[str, Blueprint] = {
    # Devlin et al. 2019; layer_norm_eps as published with each
    "bert": Blueprint(_bert_like(BertConfig, 1e-12), BertForMaskedLM, lambda n: n.cls.predictions),
    "roberta": Blueprint(_roberta, RobertaForMaskedLM, lambda n: n.lm_head),  # Liu et al. 2019
}
