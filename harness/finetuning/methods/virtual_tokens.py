"""Trained virtual tokens: prefix-tuning (Li and Liang 2021), keys and values prepended in every
self-attention, and prompt tuning (Lester et al. 2021), vectors prepended to the embedded input.

Shapes: B sequences, T tokens, H hidden size, A heads of keys, Q queries, K keys, P virtual tokens,
D width of a head.
"""

import re
from typing import Any

import torch
from peft import PrefixEncoder, PrefixTuningConfig
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from harness.finetuning.adaptation import Prefix, PromptTuning
from harness.finetuning.methods.parts import modules_called
from harness.finetuning.module_discovery import names_of
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import SoftPrompt
from harness.models.token_tables import token_tables

ATTENTION = "harness_prefix"
"""Name in transformers' registries of attention functions and masks."""
STANDARD_DEVIATION = 0.02
"""Of the initial keys and values without reparameterisation."""
COMMONEST = 5000
"""Vectors are initialised with embeddings of tokens among the first of the vocabulary, the most
common ones (Lester et al. 2021, section 3.2)."""
TIME_FIRST = ("xlnet",)
"""Networks whose embeddings are [T, B, H]."""


class Prefixes(nn.Module):
    """Keys and values for all layers of one stack."""

    def __init__(self, num_layers: int, heads: int, width: int, adaptation: Prefix) -> None:
        super().__init__()
        self.shape = (adaptation.length, num_layers, 2, heads, width)
        config = PrefixTuningConfig(
            num_virtual_tokens=adaptation.length,
            token_dim=heads * width,
            num_layers=num_layers,
            prefix_projection=adaptation.projection is not None,
            encoder_hidden_size=adaptation.projection or heads * width,
        )
        self.maker = PrefixEncoder(config)
        if adaptation.projection is None:
            nn.init.normal_(self.maker.embedding.weight, std=STANDARD_DEVIATION)
        self.made: Tensor | None = None

    def layer(self, number: int) -> tuple[Tensor, Tensor]:
        """[A, P, D] keys and values of a layer; recomputed for layer 0, the first of a forward
        pass."""
        if number == 0 or self.made is None:
            tokens = torch.arange(self.shape[0], device=self.maker.embedding.weight.device)
            self.made = self.maker(tokens).view(self.shape).permute(1, 2, 3, 0, 4)
        keys, values = self.made[number]
        if number == len(self.made) - 1:
            self.made = None  # a copied model must not hold a graph
        return keys, values


def prefix(model: TaskModel, adaptation: Prefix) -> None:
    """Adds a prefix to the self-attention of every layer of encoder and decoder; layers with shared
    weights share it. Only prefixes and the output layer are trained."""
    network = model.backbone.network
    network.requires_grad_(False)
    AttentionInterface.register(ATTENTION, attend)
    AttentionMaskInterface.register(ATTENTION, sdpa_mask)
    stacks: dict[str, list[Any]] = {}
    for name, module in modules_called(network, names_of(network).attention):
        stacks.setdefault(re.split(r"\.\d+\.", name)[0], []).append(module)
    for number, modules in enumerate(stacks.values()):
        prefixes = Prefixes(len(modules), *_heads(modules[0]), adaptation)
        network.add_module(f"prefixes_{number}", prefixes.to(network.device))
        for layer, module in enumerate(modules):
            module.prefix = (prefixes, layer)  # a tuple, so not registered as a submodule
    for part in network.modules():
        if hasattr(part, "config"):
            config: Any = part.config
            config._attn_implementation = ATTENTION


def _heads(attention: Any) -> tuple[int, int]:
    """Number of key heads, and the width of one."""
    config = attention.config
    all_heads = int(config.num_attention_heads)
    width = getattr(config, "d_kv", None) or getattr(config, "head_dim", None)
    heads = getattr(config, "num_key_value_heads", None) or all_heads
    return int(heads), int(width or config.hidden_size // all_heads)


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    position_bias: Tensor | None = None,
    is_causal: bool | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """[B, Q, A, D] attention output over the prefix and the visible keys.

    Args:
        query: [B, heads, Q, D].
        key: [B, A, K, D], as `value`.
        attention_mask: [B, 1, Q, K], bool or additive; null: all keys, or the causal ones.
        position_bias: [1 or B, heads, Q, K] of T5; 0 for the prefix.
    """
    causal = bool(getattr(module, "is_causal", True)) if is_causal is None else is_causal
    if hasattr(module, "prefix"):
        prefixes, layer = module.prefix
        keys, values = (
            part.to(key.dtype).expand(len(key), -1, -1, -1) for part in prefixes.layer(layer)
        )
        if attention_mask is None and causal and query.shape[2] > 1:
            ones = query.new_ones(query.shape[2], key.shape[2], dtype=torch.bool)
            attention_mask = ones.tril()[None, None]
        key, value = torch.cat((keys, key), 2), torch.cat((values, value), 2)
        length = keys.shape[2]
        if attention_mask is not None:
            seen = 1 if attention_mask.dtype == torch.bool else 0
            attention_mask = F.pad(attention_mask, (length, 0), value=seen)
        if position_bias is not None:
            position_bias = F.pad(position_bias, (length, 0))
        causal = False
    output: tuple[Tensor, None] = sdpa_attention_forward(
        module,
        query,
        key,
        value,
        attention_mask,
        is_causal=causal,
        position_bias=position_bias,
        **more,
    )
    return output


@torch.no_grad()
def prompt_tuning(model: TaskModel, adaptation: PromptTuning) -> None:
    """Prepends trained vectors to the embedded input (of the encoder, if there is one). Only they
    and the output layer are trained.

    Raises:
        ValueError: the model uses beam search, which ignores the vectors.
    """
    if getattr(model, "num_beams", 1) > 1:
        raise ValueError(
            "protocol.num_beams must be 1 for prompt_tuning, which decodes greedily, but is "
            f"{getattr(model, 'num_beams', 1)}"
        )
    backbone = model.backbone
    network: Any = backbone.network
    network.requires_grad_(False)
    tables, device = token_tables(network), next(network.parameters()).device
    num_tokens = network.get_input_embeddings().num_embeddings
    drawn = torch.randint(min(COMMONEST, num_tokens), (adaptation.length,), device=device)
    pad = int(network.config.pad_token_id or 0)
    backbone.soft_prompt = SoftPrompt(
        tables[0](drawn).clone(), 0 if pad else 1, network.config.model_type in TIME_FIRST
    )
    for table in tables:
        table.register_forward_hook(backbone.soft_prompt.replace)
