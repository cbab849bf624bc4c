"""Decoders: GPT, GPT-2 and LLaMA."""

from typing import Any

from torch import nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
)
from transformers.pytorch_utils import Conv1D

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens
from harness.models.token_heads import LinearHead


class GPT(OpenAIGPTLMHeadModel):
    """GPT with `initializer_range`, which transformers ignores in attention and feed-forward
    layers."""

    def __init__(self, config: OpenAIGPTConfig) -> None:
        super().__init__(config)
        for module in self.modules():
            if isinstance(module, Conv1D):
                nn.init.normal_(module.weight, std=config.initializer_range)


GPT_WIDENING = 4
"""Ratio of GPT's feed-forward and hidden sizes, which is fixed in transformers."""


def _gpt_fields(architecture: Architecture, size: Size, tokens: Tokens) -> dict[str, Any]:
    """The fields that the configurations of GPT and GPT-2 share."""
    return {
        **tokens.fields,
        "n_positions": architecture.max_position,
        "n_embd": size.hidden_size,
        "n_layer": size.num_layers,
        "n_head": size.num_heads,
        "resid_pdrop": architecture.dropout,
        "embd_pdrop": architecture.dropout,
        "attn_pdrop": architecture.attention_dropout,
        "initializer_range": architecture.initializer_range,
    }


def _gpt(architecture: Architecture, size: Size, tokens: Tokens) -> OpenAIGPTConfig:
    """Radford et al. 2018, section 4.1: post-norm, GELU, learned positions."""
    if size.intermediate_size != GPT_WIDENING * size.hidden_size:
        raise ValueError(
            f"the intermediate_size of a gpt must be {GPT_WIDENING} x hidden_size = "
            f"{GPT_WIDENING * size.hidden_size}, but is {size.intermediate_size}"
        )
    return OpenAIGPTConfig(**_gpt_fields(architecture, size, tokens))


def _gpt2(architecture: Architecture, size: Size, tokens: Tokens) -> GPT2Config:
    """Radford et al. 2019, section 2.3."""
    fields = _gpt_fields(architecture, size, tokens)
    fields["activation_function"] = architecture.activation or "gelu_new"
    return GPT2Config(n_inner=size.intermediate_size, use_cache=False, **fields)


def _llama(architecture: Architecture, size: Size, tokens: Tokens) -> LlamaConfig:
    """Touvron et al. 2023, section 2.2: RMSNorm, SwiGLU, rotary positions, no biases, and dropout
    in the attention only."""
    return LlamaConfig(
        **tokens.fields,
        hidden_size=size.hidden_size,
        intermediate_size=size.intermediate_size,
        num_hidden_layers=size.num_layers,
        num_attention_heads=size.num_heads,
        num_key_value_heads=architecture.num_kv_heads or size.num_heads,
        head_dim=size.attention_size // size.num_heads,
        max_position_embeddings=architecture.max_position,
        initializer_range=architecture.initializer_range,
        attention_dropout=architecture.attention_dropout,
        tie_word_embeddings=architecture.tie_embeddings,
        use_cache=False,
    )


DECODERS: dict[str, Blueprint] = {
    "gpt": Blueprint(_gpt, GPT, lambda n: LinearHead(n.lm_head)),
    "gpt2": Blueprint(_gpt2, GPT2LMHeadModel, lambda n: LinearHead(n.lm_head)),
    "llama": Blueprint(_llama, LlamaForCausalLM, lambda n: LinearHead(n.lm_head)),
}
