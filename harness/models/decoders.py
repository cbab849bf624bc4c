"""Decoders: GPT, GPT-2, OPT and GPT-Neo; LLaMA, Mistral, Qwen and Gemma."""

from typing import Any

from torch import nn
from transformers import (
    GemmaConfig,
    GemmaForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
    OPTConfig,
    OPTForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)
from transformers.models.gpt_neo.modeling_gpt_neo import GPTNeoSelfAttention
from transformers.pytorch_utils import Conv1D

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens
from harness.models.counts.shapes import GPT_WIDENING
from harness.models.token_heads import linear_head


class GPT(OpenAIGPTLMHeadModel):
    """GPT with `initializer_range`, which transformers ignores in attention and feed-forward
    layers."""

    def __init__(self, config: OpenAIGPTConfig) -> None:
        super().__init__(config)
        for module in self.modules():
            if isinstance(module, Conv1D):
                nn.init.normal_(module.weight, std=config.initializer_range)


class GPTNeo(GPTNeoForCausalLM):
    """GPT-Neo, whose first queries are divided by the square root of the head size.

    Its attention does not divide the scores by it. Mesh TensorFlow, in which it was trained, does
    so in the initial weights of the queries (mesh_tensorflow/transformer/attention.py,
    `fold_scaling_into_initializer`), and transformers does not. With its weights, the scores of new
    networks would be larger by this factor than those of GPT-2.
    """

    def __init__(self, config: GPTNeoConfig) -> None:
        super().__init__(config)
        for module in self.modules():
            if isinstance(module, GPTNeoSelfAttention):
                std = config.initializer_range * module.head_dim**-0.5
                nn.init.normal_(module.q_proj.weight, std=std)


ROPE_BASE = 10_000.0
"""Base of the angles of rotary positions (Su et al. 2021, section 3.2.2)."""
WINDOW = 4096
"""Tokens that a token of Mistral 7B sees in a layer, itself included (Jiang et al. 2023, table
1)."""
LOCAL_WINDOW = 256
"""The same of GPT-Neo's local layers (EleutherAI/gpt-neo, models/gpt2/gpt2.py). GPT-3's band is not
published."""


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


def _opt(architecture: Architecture, size: Size, tokens: Tokens) -> OPTConfig:
    """Zhang et al. 2022, sections 2.1 and 2.2: ReLU, pre-norm, learned positions, no dropout of
    embeddings."""
    return OPTConfig(
        **tokens.fields,
        hidden_size=size.hidden_size,
        ffn_dim=size.intermediate_size,
        num_hidden_layers=size.num_layers,
        num_attention_heads=size.num_heads,
        max_position_embeddings=architecture.max_position,
        init_std=architecture.initializer_range,
        dropout=architecture.dropout,
        attention_dropout=architecture.attention_dropout,
        use_cache=False,
    )


def _gpt_neo(architecture: Architecture, size: Size, tokens: Tokens) -> GPTNeoConfig:
    """Brown et al. 2020, section 2.1: GPT-2 whose layers see all earlier tokens and a band of them
    in turn. Which of them are first is not published; in GPT-Neo, those that see all. Projections
    of queries, keys and values have no biases."""
    pairs, rest = divmod(size.num_layers, 2)
    return GPTNeoConfig(
        **tokens.fields,
        hidden_size=size.hidden_size,
        intermediate_size=size.intermediate_size,
        num_layers=size.num_layers,
        num_heads=size.num_heads,
        attention_types=[[["global", "local"], pairs], [["global"], rest]],
        window_size=architecture.sliding_window or LOCAL_WINDOW,
        max_position_embeddings=architecture.max_position,
        resid_dropout=architecture.dropout,
        embed_dropout=architecture.dropout,
        attention_dropout=architecture.attention_dropout,
        initializer_range=architecture.initializer_range,
        use_cache=False,
    )


def _rotary_fields(architecture: Architecture, size: Size, tokens: Tokens) -> dict[str, Any]:
    """The fields that the configurations of the families ROTARY share."""
    base = architecture.rope_base or ROPE_BASE
    return {
        **tokens.fields,
        "hidden_size": size.hidden_size,
        "intermediate_size": size.intermediate_size,
        "num_hidden_layers": size.num_layers,
        "num_attention_heads": size.num_heads,
        "num_key_value_heads": architecture.num_kv_heads or size.num_heads,
        "head_dim": size.attention_size // size.num_heads,
        "max_position_embeddings": architecture.max_position,
        "rope_parameters": {"rope_type": "default", "rope_theta": base},
        "initializer_range": architecture.initializer_range,
        "attention_dropout": architecture.attention_dropout,
        "tie_word_embeddings": architecture.tie_embeddings,
        "use_cache": False,
    }


def _llama(architecture: Architecture, size: Size, tokens: Tokens) -> LlamaConfig:
    """Touvron et al. 2023, section 2.2: RMSNorm, SwiGLU, rotary positions, no biases, and dropout
    in the attention only."""
    return LlamaConfig(**_rotary_fields(architecture, size, tokens))


def _mistral(architecture: Architecture, size: Size, tokens: Tokens) -> MistralConfig:
    """Jiang et al. 2023, section 2: LLaMA whose attention reaches back over a window."""
    window = architecture.sliding_window or WINDOW
    return MistralConfig(sliding_window=window, **_rotary_fields(architecture, size, tokens))


def _qwen2(architecture: Architecture, size: Size, tokens: Tokens) -> Qwen2Config:
    """Bai et al. 2023, section 2.3: LLaMA with biases of queries, keys and values."""
    return Qwen2Config(**_rotary_fields(architecture, size, tokens))


def _gemma(architecture: Architecture, size: Size, tokens: Tokens) -> GemmaConfig:
    """Gemma Team 2024, section 2: LLaMA with GeGLU; embeddings are multiplied by the square root of
    the hidden size, and the weights of norms are around 1 (google-deepmind/gemma, layers.py)."""
    return GemmaConfig(**_rotary_fields(architecture, size, tokens))


DECODERS: dict[str, Blueprint] = {
    "gpt": Blueprint(_gpt, GPT, lambda n: linear_head(n.lm_head)),
    "gpt2": Blueprint(_gpt2, GPT2LMHeadModel, lambda n: linear_head(n.lm_head)),
    "opt": Blueprint(_opt, OPTForCausalLM, lambda n: linear_head(n.lm_head)),
    "gpt_neo": Blueprint(_gpt_neo, GPTNeo, lambda n: linear_head(n.lm_head)),
    "llama": Blueprint(_llama, LlamaForCausalLM, lambda n: linear_head(n.lm_head)),
    "mistral": Blueprint(_mistral, MistralForCausalLM, lambda n: linear_head(n.lm_head)),
    "qwen2": Blueprint(_qwen2, Qwen2ForCausalLM, lambda n: linear_head(n.lm_head)),
    "gemma": Blueprint(_gemma, GemmaForCausalLM, lambda n: linear_head(n.lm_head)),
}
