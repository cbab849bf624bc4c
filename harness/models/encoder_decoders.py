"""Encoder-decoders of transformers."""

from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
)

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Head, Tokens

STANDARD_RANGE = 0.02
"""The initializer_range at which T5's factor is 1."""


def t5_config(architecture: Architecture, size: Size, tokens: Tokens) -> T5Config:
    """Raffel et al. 2020, section 2.1; v1.1 with gated GELU."""
    return T5Config(
        vocab_size=tokens.vocab_size,
        d_model=size.hidden_size,
        d_kv=size.attention_size // size.num_heads,
        d_ff=size.intermediate_size,
        num_layers=size.num_layers,
        num_decoder_layers=architecture.num_decoder_layers or size.num_layers,
        num_heads=size.num_heads,
        dropout_rate=architecture.dropout,
        initializer_factor=architecture.initializer_range / STANDARD_RANGE,
        feed_forward_proj="gated-gelu" if architecture.gated_feed_forward else "relu",
        pad_token_id=tokens.pad,
        eos_token_id=tokens.end,
        decoder_start_token_id=tokens.pad,
        use_cache=False,
    )


def _t5_head(network: T5ForConditionalGeneration) -> Head:
    """With tied embeddings, states are scaled as Raffel et al.'s code does (Mesh TensorFlow)."""

    def logits(states: Tensor) -> Tensor:
        if network.config.scale_decoder_outputs:
            states = states * network.model_dim**-0.5
        out: Tensor = network.lm_head(states)
        return out

    return logits


def _bart(architecture: Architecture, size: Size, tokens: Tokens) -> BartConfig:
    """Lewis et al. 2020, section 2.1."""
    layers = architecture.num_decoder_layers or size.num_layers
    return BartConfig(
        vocab_size=tokens.vocab_size,
        max_position_embeddings=architecture.max_position,
        d_model=size.hidden_size,
        encoder_layers=size.num_layers,
        decoder_layers=layers,
        encoder_attention_heads=size.num_heads,
        decoder_attention_heads=size.num_heads,
        encoder_ffn_dim=size.intermediate_size,
        decoder_ffn_dim=size.intermediate_size,
        dropout=architecture.dropout,
        attention_dropout=architecture.attention_dropout,
        init_std=architecture.initializer_range,
        pad_token_id=tokens.pad,
        bos_token_id=tokens.start,
        eos_token_id=tokens.end,
        decoder_start_token_id=tokens.end,
        forced_eos_token_id=tokens.end,
        use_cache=False,
    )


def _bart_head(network: BartForConditionalGeneration) -> Head:
    def logits(states: Tensor) -> Tensor:
        out: Tensor = network.lm_head(states) + network.final_logits_bias
        return out

    return logits


ENCODER_DECODERS: dict[str, Blueprint] = {
    "t5": Blueprint(t5_config, T5ForConditionalGeneration, _t5_head),
    "bart": Blueprint(_bart, BartForConditionalGeneration, _bart_head),
}
