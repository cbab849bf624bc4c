"""T5: encoder-decoder, with layers of its own or shared, and its one stack (Raffel et al. 2020)."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import T5Config, T5ForConditionalGeneration, T5PreTrainedModel
from transformers import initialization as init
from transformers.models.t5.modeling_t5 import T5Stack

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Head, Tokens
from harness.models.counts.shapes import decoder_layers

STANDARD_RANGE = 0.02
"""The initializer_range at which T5's factor is 1."""

# Target to source, as transformers ties them. Only the attention to the source stays the decoder's
# own, with its norm: layer.1 of its blocks, where an encoder's block has its feed-forward layer.
SHARED_LAYERS = {
    r"decoder\.block\.\d+\.layer\.0\.": r"encoder\.block\.\d+\.layer\.0\.",
    r"decoder\.block\.\d+\.layer\.2\.": r"encoder\.block\.\d+\.layer\.1\.",
    r"decoder\.final_layer_norm\.": r"encoder\.final_layer_norm\.",
}


def _config(architecture: Architecture, size: Size, tokens: Tokens) -> T5Config:
    """Section 2.1; v1.1 with gated GELU (Shazeer 2020) and an output matrix of its own."""
    layers = decoder_layers(architecture, size)
    if architecture.share_decoder and layers != size.num_layers:
        raise ValueError(
            f"share_decoder needs as many decoder layers as encoder layers = {size.num_layers}, "
            f"but num_decoder_layers is {layers}"
        )
    return T5Config(  # type: ignore[call-arg]  # what it leaves to its base
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
        tie_word_embeddings=architecture.tie_embeddings,  # read as `scale_decoder_outputs`
        share_decoder=architecture.share_decoder,
        pad_token_id=tokens.pad,
        eos_token_id=tokens.end,
        decoder_start_token_id=tokens.pad,
        use_cache=False,
    )


def _init_head(network: Any, module: Any) -> None:
    """An output matrix of its own starts at variance 1 / fan-in, as Mesh TensorFlow's dense layers,
    where transformers takes 1: logits are then as large as tied ones after their scaling.

    transformers asks no module of a class that is not its own about weights below it, so that this
    must be done when it asks about the matrix itself.
    """
    config = network.config
    if module is network.lm_head and not config.scale_decoder_outputs:
        std = config.initializer_factor * config.d_model**-0.5
        init.normal_(module.weight, mean=0.0, std=std)


class T5(T5ForConditionalGeneration):
    """T5 whose embeddings and layers are tied as its configuration says: transformers' own always
    ties the output matrix, and `tie_word_embeddings` turns nothing off but the output's scaling."""

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
    """One stack of T5's self-attention layers that tells tokens: the study's "language model" and
    "prefix LM" (section 3.2.1), or an encoder alone, by the mask that it is read under.

    It tells distances to either side apart under every reading, so that one network can be read
    in several ways. Mesh TensorFlow does so, too, but for the purely causal language model, all
    of whose buckets are to the left (transformer_layers.py); half of ours lie idle there.
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
        return self.shared

    def set_input_embeddings(self, new_embeddings: nn.Module) -> None:
        self.shared = self.encoder.embed_tokens = cast(nn.Embedding, new_embeddings)

    def get_output_embeddings(self) -> nn.Linear:
        return self.lm_head

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **more: Any) -> Any:
        """[B, T] tokens to the stack's states [B, T, H]; the mask may be [B, 1, T, T]."""
        return self.encoder(input_ids=input_ids, attention_mask=attention_mask, **more)


def _head(network: Any) -> Head:
    """Tied embeddings take states scaled by d_model^-0.5 (mesh_tensorflow, transformer.py)."""

    def logits(states: Tensor) -> Tensor:
        if network.config.scale_decoder_outputs:
            states = states * network.config.d_model**-0.5
        out: Tensor = network.lm_head(states)
        return out

    return logits


T5S: dict[str, Blueprint] = {
    "t5": Blueprint(_config, T5, _head, stack=lambda network: network.encoder),
    # Section 3.2.2, "enc-dec, shared".
    "t5_shared": Blueprint(_config, T5, _head, stack=lambda network: network.encoder),
    "t5_stack": Blueprint(_config, T5LanguageModel, _head, stack=lambda network: network.encoder),
}
