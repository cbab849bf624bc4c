"""The modules of a network that embed tokens."""

from typing import Any

from torch import nn


def token_tables(network: Any) -> list[nn.Module]:
    """The modules that make the token embeddings [B, T, E] of inputs; T5's stacks have tables of
    their own with one weight."""
    own = network.get_input_embeddings()
    return [module for module in network.modules() if module is own or _same_table(module, own)]


def _same_table(module: nn.Module, own: nn.Module) -> bool:
    both = isinstance(module, nn.Embedding) and isinstance(own, nn.Embedding)
    return both and module.weight is own.weight
