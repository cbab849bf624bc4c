"""How each family is built of transformers' classes: configuration, network, and its token head."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

from harness.models import Architecture, Size


@dataclass(frozen=True)
class Tokens:
    """What a network must know of a tokenizer, and of the inputs."""

    vocab_size: int
    pad: int
    start: int
    """First token of an input ([CLS], <s>)."""
    end: int
    """Last token of an input ([SEP], </s>)."""
    pair_format: bool = False
    """Whether inputs are pairs of texts."""
    words: tuple[str, ...] = ()
    """[V] the word that each token is, or "" (`Vocabulary.words`)."""


Head = Callable[[Tensor], Tensor]
"""[..., H] states to [..., V] logits."""


@dataclass(frozen=True)
class Blueprint:
    """A network of transformers, and where its parts are."""

    config: Callable[[Architecture, Size, Tokens], PreTrainedConfig]
    network: type[PreTrainedModel]
    """With a token head."""
    head: Callable[[Any], Head]
    """The token head of a network."""
    stack: Callable[[Any], Any] = lambda network: network.base_model
    """What turns input_ids into states under one mask: the network without its head."""


def blueprint_name(architecture: Architecture, representation: str) -> str:
    """Key into BLUEPRINTS: the family, or the variant of it that is built otherwise."""
    if architecture.family == "t5" and representation != "encoder_decoder":
        return "t5_stack"
    return "t5_shared" if architecture.share_decoder else architecture.family
