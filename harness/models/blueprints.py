"""Blueprints: how a family is built from the classes of transformers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel

from harness.models import Architecture, Size


@dataclass(frozen=True)
class Tokens:
    """Properties of the tokenizer and the inputs that networks depend on."""

    vocab_size: int
    pad: int
    start: int
    """First token of an input ([CLS], <s>)."""
    end: int
    """Last token of an input ([SEP], </s>)."""
    pair_format: bool = False
    """Whether inputs are pairs of texts."""
    words: tuple[str, ...] = ()
    """[V] the word that each token represents, or "" (`Vocabulary.words`)."""
    pieces: tuple[str, ...] = ()
    """[V] each token as the tokenizer writes it (`Vocabulary.pieces`)."""
    special: tuple[int, ...] = ()
    """All special tokens (`Vocabulary.special`)."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of transformers' configurations with these tokens."""
        ids = {"pad_token_id": self.pad, "bos_token_id": self.start, "eos_token_id": self.end}
        return {"vocab_size": self.vocab_size} | ids


Head = Callable[[Tensor], Tensor]
"""[..., H] states to [..., V] logits."""


@dataclass(frozen=True)
class Blueprint:
    """The configuration, class and parts of a network of transformers."""

    config: Callable[[Architecture, Size, Tokens], PreTrainedConfig]
    network: type[PreTrainedModel]
    """The class, with a token head."""
    head: Callable[[Any], Head]
    """The token head of a network."""
    stack: Callable[[Any], Any] = lambda network: network.base_model
    """The network without its head: a function of input_ids and one attention mask that returns
    states."""
    token_stack: Callable[[Any], Any] | None = None
    """As `stack`, where the token head reads other states than those of the last layer."""


def blueprint_name(architecture: Architecture, representation: str) -> str:
    """Key of BLUEPRINTS: the family, or a variant of it with another architecture."""
    if architecture.family == "t5" and representation != "encoder_decoder":
        return "t5_stack"
    if not architecture.has_own_block:
        return f"{architecture.family}_variant"
    if architecture.mask_decoder:
        return f"{architecture.family}_{architecture.mask_decoder}"
    return "t5_shared" if architecture.share_decoder else architecture.family
