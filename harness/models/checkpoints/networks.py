"""Published checkpoints, loaded by the auto classes of transformers.

`harness.pretraining.checkpoint_import` chooses the token head, which must reproduce the logits of
the network.
"""

from typing import Any

from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    PreTrainedConfig,
    PreTrainedModel,
)

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Head, Tokens
from harness.models.decoders import DECODERS
from harness.models.encoder_decoders import ENCODER_DECODERS
from harness.models.encoders import ENCODERS
from harness.models.token_heads import linear_head
from harness.models.xlnet import XLNET

AUTO: dict[str, Any] = {
    "bidirectional": AutoModelForMaskedLM,
    "causal": AutoModelForCausalLM,
    "permuted": AutoModelForCausalLM,
    "encoder_decoder": AutoModelForSeq2SeqLM,
}
"""Representation to the auto class of transformers."""


def _none(network: Any) -> Head:
    raise ValueError(
        f"the {network.config.model_type} of this checkpoint has no known token head, so it cannot "
        "predict tokens"
    )


HEADS = {
    "output": lambda network: linear_head(network.get_output_embeddings()),
    "lm_head": lambda network: linear_head(network.lm_head),
    "cls": lambda network: network.cls,
    **{
        name: blueprint.head
        for family in (ENCODERS, DECODERS, ENCODER_DECODERS, XLNET)
        for name, blueprint in family.items()
    },
    "none": _none,
}
"""Name to a function that returns the token head of a network; those of blueprints also apply to
related networks."""


class AnyNetwork(PreTrainedModel):
    """The class that the configuration of a checkpoint determines."""

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, folder: Any, *_: Any, **options: Any
    ) -> Any:
        """The network that `harness.pretraining.checkpoint_import` wrote to `folder`."""
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return AUTO[config.harness_reading].from_pretrained(
            folder, trust_remote_code=False, **options
        )

    @classmethod
    def _from_config(cls, config: Any, **options: Any) -> Any:
        return AUTO[config.harness_reading].from_config(config, **options)


def _config(architecture: Architecture, size: Size, tokens: Tokens) -> PreTrainedConfig:
    raise ValueError("a checkpoint is imported, not built from a configuration")


def _head(network: Any) -> Head:
    head: Head = HEADS[network.config.harness_head](network)
    return head


CHECKPOINTS: dict[str, Blueprint] = {"checkpoint": Blueprint(_config, AnyNetwork, _head)}
