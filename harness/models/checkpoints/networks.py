"""Networks of transformers that have no blueprint here: read by their own classes, and the token
head is one that was proved to give the network's own logits
(`harness.pretraining.checkpoint_import`)."""

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
from harness.models.xlnet import XLNET

AUTO: dict[str, Any] = {
    "bidirectional": AutoModelForMaskedLM,
    "causal": AutoModelForCausalLM,
    "permuted": AutoModelForCausalLM,
    "encoder_decoder": AutoModelForSeq2SeqLM,
}
"""Reading to the class of transformers that knows all such networks."""


def _none(network: Any) -> Head:
    raise ValueError(
        f"a {network.config.model_type} of this checkpoint has no token head that is known here, "
        "so it names no tokens"
    )


HEADS = {
    "output": lambda network: network.get_output_embeddings(),
    "lm_head": lambda network: network.lm_head,
    "cls": lambda network: network.cls,
    **{
        name: blueprint.head
        for family in (ENCODERS, DECODERS, ENCODER_DECODERS, XLNET)
        for name, blueprint in family.items()
    },
    "none": _none,
}
"""Where networks have their token heads; those of the blueprints serve their kin, too."""


class AnyNetwork(PreTrainedModel):
    """Stands for the class that a checkpoint's configuration asks for."""

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, folder: Any, *_: Any, **options: Any
    ) -> Any:
        """The network in `folder`, which `harness.pretraining.checkpoint_import` left there."""
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return AUTO[config.harness_reading].from_pretrained(
            folder, trust_remote_code=False, **options
        )


def _config(architecture: Architecture, size: Size, tokens: Tokens) -> PreTrainedConfig:
    raise ValueError("a checkpoint is imported, never built anew")


def _head(network: Any) -> Head:
    head: Head = HEADS[network.config.harness_head](network)
    return head


CHECKPOINTS: dict[str, Blueprint] = {"checkpoint": Blueprint(_config, AnyNetwork, _head)}
