"""Networks built from declared values, loaded from folders, or wrapped."""

import inspect
from dataclasses import replace
from pathlib import Path

import torch
import transformers
from transformers import PreTrainedModel

from harness.models import Architecture, Size
from harness.models.backbone import Backbone, read_metadata
from harness.models.baselines import BASELINES
from harness.models.blueprints import Blueprint, Tokens, blueprint_name
from harness.models.checkpoints.networks import CHECKPOINTS
from harness.models.decoders import DECODERS
from harness.models.elmo import ELMO
from harness.models.encoder_decoders import ENCODER_DECODERS
from harness.models.encoders import ENCODERS
from harness.models.static_embeddings import STATIC
from harness.models.xlnet import XLNET

BLUEPRINTS: dict[str, Blueprint] = {
    **ENCODERS,
    **DECODERS,
    **ENCODER_DECODERS,
    **XLNET,
    **BASELINES,
    **CHECKPOINTS,
    "elmo": ELMO,
    "static": STATIC,
}


def build(
    architecture: Architecture, size: Size, tokens: Tokens, representation: str, seed: int
) -> Backbone:
    """A network with initial weights that are determined by the arguments.

    Raises:
        ValueError: architecture, size and tokenizer are incompatible.
    """
    name = blueprint_name(architecture, representation)
    blueprint = BLUEPRINTS[name]
    config = blueprint.config(architecture, size, tokens)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = blueprint.network._from_config(config)
    network.train()
    return Backbone(network, blueprint, name, architecture.family, representation)


def load(folder: Path) -> Backbone:
    """The network that `Backbone.save` wrote to `folder`."""
    metadata = read_metadata(folder)
    blueprint = BLUEPRINTS[metadata["blueprint"]]
    transformers.logging.disable_progress_bar()
    network = blueprint.network.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    backbone = wrap(network, metadata["blueprint"], metadata["family"], metadata["representation"])
    backbone.objective = metadata.get("objective", {})
    return backbone


def wrap(network: PreTrainedModel, name: str, family: str, representation: str) -> Backbone:
    """A backbone around `network`; the inputs of a checkpoint follow from its signature.

    Args:
        name: key of BLUEPRINTS.
    """
    backbone = Backbone(network, BLUEPRINTS[name], name, family, representation)
    if backbone.facts.kind == "checkpoint":
        accepted = inspect.signature(network.base_model.forward).parameters
        segments = (
            "token_type_ids" in accepted and getattr(network.config, "type_vocab_size", 2) > 0
        )
        facts = replace(backbone.facts, representations=(representation,), segments=segments)
        backbone.facts = facts
    return backbone
