"""Encoder-decoders: T5 (Raffel et al. 2020), optionally with shared layers or as a single stack,
BART, and the original Transformer."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    T5Config,
    T5ForConditionalGeneration,
    T5PreTrainedModel,
)
from transformers import initialization as init
from transformers.models.t5.modeling_t5 import T5Stack

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Head, Tokens
from harness.models.counts.shapes import decoder_layers
from harness.models.token_heads import linear_head

STANDARD_RANGE = 0.02
"""The initializer_range at which T5's factor is 1."""

# Tied parameter to source. Only the cross-attention of the decoder and its norm are not shared:
# layer.1 of its blocks, which in the encoder is the feed-forward layer.
SHARED_LAYERS = {
    r"decoder\.block\.\d+\.layer\.0\.": r"encoder\.block\.\d+\.layer\.0\.",
    r"decoder\.block\.\d+\.layer\.2\.": r"encoder\.block\.\d+\.layer\.1\.",
    r"decoder\.final_layer_norm\.": r"encoder\.final_layer_norm\.",
}


def _t5(architecture: Architecture, size: Size, tokens: Tokens) -> T5Config:
    """Section 2.1; v1.1 has gated GELU (Shazeer 2020) and an untied output matrix."""
    layers = decoder_layers(architecture, size)
    if architecture.share_decoder and layers != size.num_layers:
        raise ValueError(
            f"share_decoder needs as many decoder layers as encoder layers = {size.num_layers}, "
            f"but num_decoder_layers is {layers}"
        )
    return T5Config(  # type: ignore[call-arg]  # fields of its base class
        vocab_size=tokens.vocab_size,
        d_model=size.hidden_size,
        d_kv=size.attention_size // size.num_heads,
        d_ff=size.intermediate_size,
        num_layers=size.num_layers,
        num_decoder_layers=layers,
        num_heads=size.num_heads,
        dropout_rate=architecture.dropout,
        initializer_factor=architecture.initializer_range / STANDARD_RANGE,
        feed_forward_proj="gated-gelu" if architecture.gated_feed_forward else "relu",
        tie_word_embeddings=architecture.tie_embeddings,  # becomes `scale_decoder_outputs`
        share_decoder=architecture.share_decoder,
        pad_token_id=tokens.pad,
        eos_token_id=tokens.end,
        decoder_start_token_id=tokens.pad,
        use_cache=False,
    )


def _init_head(network: Any, module: Any) -> None:
    """Initialises an untied output matrix with variance 1 / fan-in, as Mesh TensorFlow's dense
    layers.

    With the variance 1 of transformers, logits would be larger than scaled tied ones. transformers
    does not initialise submodules through subclasses, so this runs for the matrix itself.
    """
    config = network.config
    if module is network.lm_head and not config.scale_decoder_outputs:
        std = config.initializer_factor * config.d_model**-0.5
        init.normal_(module.weight, mean=0.0, std=std)


class T5(T5ForConditionalGeneration):
    """T5 with tied embeddings and layers according to its configuration.

    transformers always ties the output matrix; its `tie_word_embeddings` only controls the scaling
    of the output.
    """

    @property
    def _tied_weights_keys(self) -> dict[str, str]:  # type: ignore[override]
        tied = dict(T5ForConditionalGeneration._tied_weights_keys)
        if not self.config.scale_decoder_outputs:
            del tied["lm_head.weight"]
        return tied | (SHARED_LAYERS if getattr(self.config, "share_decoder", False) else {})

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        _init_head(self, module)


class T5LanguageModel(T5PreTrainedModel):
    """A single stack of T5's self-attention layers with a token head.

    The attention mask makes it the "language model" or "prefix LM" of section 3.2.1, or an encoder.
    Relative positions are bidirectional for every representation. Mesh TensorFlow is the same
    except for the causal language model, all of whose buckets are to the left
    (transformer_layers.py); half of the buckets are unused there.
    """

    def __init__(self, config: T5Config) -> None:
        super().__init__(config)
        self.shared = nn.Embedding(config.vocab_size, config.d_model)
        self.encoder = T5Stack(config)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.post_init()

    @property
    def _tied_weights_keys(self) -> dict[str, str]:  # type: ignore[override]
        tied = {"encoder.embed_tokens.weight": "shared.weight"}
        is_tied = self.config.scale_decoder_outputs
        return tied | ({"lm_head.weight": "shared.weight"} if is_tied else {})

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        _init_head(self, module)

    def get_input_embeddings(self) -> nn.Embedding:
        """The token embeddings."""
        return self.shared

    def set_input_embeddings(self, new_embeddings: nn.Module) -> None:
        """Replaces the token embeddings."""
        self.shared = self.encoder.embed_tokens = cast(nn.Embedding, new_embeddings)

    def get_output_embeddings(self) -> nn.Linear:
        """The output matrix."""
        return self.lm_head

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **more: Any) -> Any:
        """States [B, T, H] of tokens [B, T].

        Args:
            attention_mask: [B, T] or [B, 1, T, T].
        """
        return self.encoder(input_ids=input_ids, attention_mask=attention_mask, **more)


def _t5_head(network: Any) -> Head:
    """The token head; tied embeddings scale the states by d_model^-0.5 (mesh_tensorflow,
    transformer.py)."""

    def scaled(states: Tensor) -> Tensor:
        is_tied = network.config.scale_decoder_outputs
        return states * network.config.d_model**-0.5 if is_tied else states

    return linear_head(network.lm_head, scaled)


def _bart_fields(architecture: Architecture, size: Size, tokens: Tokens) -> dict[str, Any]:
    """The fields that the configurations of BART and Marian share."""
    return {
        **tokens.fields,
        "max_position_embeddings": architecture.max_position,
        "d_model": size.hidden_size,
        "encoder_layers": size.num_layers,
        "decoder_layers": decoder_layers(architecture, size),
        "encoder_attention_heads": size.num_heads,
        "decoder_attention_heads": size.num_heads,
        "encoder_ffn_dim": size.intermediate_size,
        "decoder_ffn_dim": size.intermediate_size,
        "dropout": architecture.dropout,
        "attention_dropout": architecture.attention_dropout,
        "init_std": architecture.initializer_range,
        "forced_eos_token_id": tokens.end,
        "use_cache": False,
    }


def _bart(architecture: Architecture, size: Size, tokens: Tokens) -> BartConfig:
    """Lewis et al. 2020, section 2.1."""
    fields = _bart_fields(architecture, size, tokens)
    return BartConfig(decoder_start_token_id=tokens.end, **fields)


class Transformer(MarianMTModel):
    """Marian, whose fixed positions are buffers, so that its parameters are those that are trained,
    and are saved, so that AutoModel does not miss them."""

    _keys_to_ignore_on_save: list[str] = []  # noqa: RUF012 - as transformers declares it

    def __init__(self, config: MarianConfig) -> None:
        super().__init__(config)
        for half in (self.model.encoder, self.model.decoder):
            table = half.embed_positions.weight
            del half.embed_positions.weight
            half.embed_positions.register_buffer("weight", table.data)


def _transformer(architecture: Architecture, size: Size, tokens: Tokens) -> MarianConfig:
    """Vaswani et al. 2017, sections 3.1 to 3.5, by the classes of Marian: post-norm, ReLU,
    embeddings scaled by the square root of their width and shared with the output layer, and fixed
    sines and cosines, the sines in the lower half of a vector and not in its even places.

    Targets begin with padding, as Marian's. The bias of its output layer is a constant of zeros.
    """
    fields = _bart_fields(architecture, size, tokens)
    return MarianConfig(
        activation_function="relu",
        scale_embedding=True,
        decoder_start_token_id=tokens.pad,
        **fields,
    )


def _bart_head(network: Any) -> Head:
    return linear_head(network.lm_head, bias=network.final_logits_bias[0])


ENCODER_DECODERS: dict[str, Blueprint] = {
    "t5": Blueprint(_t5, T5, _t5_head, stack=lambda network: network.encoder),
    # Section 3.2.2, "enc-dec, shared".
    "t5_shared": Blueprint(_t5, T5, _t5_head, stack=lambda network: network.encoder),
    "t5_stack": Blueprint(_t5, T5LanguageModel, _t5_head, stack=lambda network: network.encoder),
    "bart": Blueprint(_bart, BartForConditionalGeneration, _bart_head),
    "transformer": Blueprint(_transformer, Transformer, _bart_head),
}
