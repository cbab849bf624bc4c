"""Encoder-decoders: T5 and BART."""

from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Head, Tokens
from harness.models.counts.shapes import decoder_layers
from harness.models.t5 import T5_BLUEPRINTS


def _bart(architecture: Architecture, size: Size, tokens: Tokens) -> BartConfig:
    """Lewis et al. 2020, section 2.1."""
    return BartConfig(
        vocab_size=tokens.vocab_size,
        max_position_embeddings=architecture.max_position,
        d_model=size.hidden_size,
        encoder_layers=size.num_layers,
        decoder_layers=decoder_layers(architecture, size),
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
    **T5_BLUEPRINTS,
    "bart": Blueprint(_bart, BartForConditionalGeneration, _bart_head),
}
