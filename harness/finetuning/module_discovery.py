"""Module names of networks whose type `MODULE_NAMES` does not list, found in the network itself by
the names that transformers gives such modules."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from harness.finetuning.module_names import MODULE_NAMES, ModuleNames
from harness.models.checkpoints.loading import UNREADABLE, described
from harness.models.checkpoints.networks import AUTO
from harness.models.checkpoints.objectives import representations

SEPARATE = (
    ("query", "key", "value"),
    ("q_proj", "k_proj", "v_proj"),
    ("query_proj", "key_proj", "value_proj"),
    ("q_lin", "k_lin", "v_lin"),
    ("q", "k", "v"),
)
"""Names of the projections of queries, keys and values."""
FUSED = ("query_key_value", "qkv_proj", "Wqkv", "c_attn", "in_proj", "qkv")
"""Names of one projection for all three."""
FEED_FORWARD = (
    *("down_proj", "fc2", "lin2", "dense_4h_to_h", "fc_out", "wo"),
    *(r"mlp\.(c_proj|Wo)", r"layer\.\d+\.output\.dense"),
)
"""Regular expressions of the second feed-forward projection."""
ATTENTION_OUTPUT = (
    *("o_proj", "out_proj", "out_lin", "o"),
    *(r"attention\.output\.dense", r"(self_)?(attention|attn)\.(dense|c_proj)"),
)
"""Regular expressions of the output projection of an attention."""
CROSS = ("cross", "encoder_attn", "EncDec")
"""Parts of the names of attentions over another stack."""


def names_of(network: nn.Module) -> ModuleNames:
    """The module names of a network of transformers; fields without such a module are empty."""
    listed = MODULE_NAMES.get(getattr(network.config, "model_type", ""))
    return listed or discovered(network)


@cache
def names_in(folder: Path) -> ModuleNames | None:
    """The module names of the checkpoint in `folder`, built without weights; null if it cannot be
    built that way."""
    try:
        config = described(folder)
        with torch.device("meta"):
            network = AUTO[representations(folder)[0]].from_config(config)
    except UNREADABLE:
        return None  # its code computes with weights: found when it is trained
    return names_of(network)


def discovered(network: nn.Module) -> ModuleNames:
    """The module names of a network, by its modules alone."""
    linear = [n for n, m in network.named_modules() if isinstance(m, (nn.Linear, Conv1D))]
    three = next((three for three in SEPARATE if all(_first(one, linear) for one in three)), None)
    fused = _first(FUSED, linear)
    query_value = _any(three[0], three[2]) if three else fused
    key_value = _any(three[1], three[2]) if three else fused
    feed_forward, after = _first(FEED_FORWARD, linear), _first(ATTENTION_OUTPUT, linear)
    parameters = [name.split(".")[-1] for name, _ in network.named_parameters()]
    return ModuleNames(
        query_value=query_value,
        key_value=key_value,
        feed_forward=feed_forward,
        outputs=f"{after}|{feed_forward}" if after and feed_forward else "",
        attention=_attention(network, key_value),
        projections=" ".join(sorted({name.split(".")[-1] for name in linear})),
        transposed=any(isinstance(part, Conv1D) for part in network.modules()),
        has_norms=any("norm" in type(part).__name__.lower() for part in network.modules()),
        has_biases="bias" in parameters,
        has_layers=any(isinstance(part, nn.ModuleList) for part in network.modules()),
    )


def _first(candidates: str | Iterable[str], names: Iterable[str]) -> str:
    """The expression of the first candidate that is the end of a name; empty if none is."""
    for one in (candidates,) if isinstance(candidates, str) else candidates:
        pattern = rf".*\.{one}"
        if any(re.fullmatch(pattern, name) for name in names):
            return pattern
    return ""


def _any(*names: str) -> str:
    return rf".*\.({'|'.join(names)})"


def _attention(network: nn.Module, projection: str) -> str:
    """The modules around the key projections, if they use transformers' interface of attention
    functions."""
    if not getattr(network, "_supports_attention_backend", False) or not projection:
        return ""
    paths = [n.split(".") for n, _ in network.named_modules() if re.fullmatch(projection, n)]
    parents = {path[-2] for path in paths if not any(part in path[-2] for part in CROSS)}
    return _any(*sorted(parents)) if parents else ""
