"""XLNet, with its content stream as the stack."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from transformers import XLNetConfig, XLNetLMHeadModel
from transformers.modeling_outputs import BaseModelOutput

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens
from harness.models.token_heads import linear_head


def _config(architecture: Architecture, size: Size, tokens: Tokens) -> XLNetConfig:
    """Yang et al. 2019, appendix A.4.

    One dropout rate for states and attention; relative positions without a table. No memory and no
    reversed sequences, because sequences are sampled independently.
    """
    return XLNetConfig(
        **tokens.fields,
        d_model=size.hidden_size,
        n_layer=size.num_layers,
        n_head=size.num_heads,
        d_inner=size.intermediate_size,
        dropout=architecture.dropout,
        initializer_range=architecture.initializer_range,
        bi_data=False,
        mem_len=None,
        use_mems_eval=False,
        use_mems_train=False,
    )


def _stack(network: XLNetLMHeadModel) -> Callable[..., BaseModelOutput]:
    """The content stream, which accepts masks [B, T] or [B, 1, T, T]."""

    def read(input_ids: Tensor, attention_mask: Tensor | None = None, **more: Any) -> Any:
        if attention_mask is not None and attention_mask.ndim == 4:
            more["perm_mask"] = (~attention_mask[:, 0]).float()
            attention_mask = None
        return network.transformer(input_ids=input_ids, attention_mask=attention_mask, **more)

    return read


XLNET: dict[str, Blueprint] = {
    "xlnet": Blueprint(_config, XLNetLMHeadModel, lambda n: linear_head(n.lm_loss), _stack),
}
