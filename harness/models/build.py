"""All blueprints; networks built from declared values, loaded from folders, or wrapped."""

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from harness.models import Architecture, Size
from harness.models.backbone import Backbone
from harness.models.block_variants import VARIANTS
from harness.models.blueprints import Blueprint, Tokens, blueprint_name
from harness.models.checkpoints.dense_layers import load_dense
from harness.models.checkpoints.files import METADATA, read_metadata
from harness.models.checkpoints.loading import of_the_body, read_network
from harness.models.checkpoints.networks import CHECKPOINTS
from harness.models.checkpoints.sentence_embeddings import SentenceEmbedding
from harness.models.decoders import DECODERS
from harness.models.deep_averaging import DAN
from harness.models.encoder_decoders import ENCODER_DECODERS
from harness.models.encoders import ENCODERS
from harness.models.mask_decoder import MASK_DECODERS
from harness.models.recurrent import RECURRENT
from harness.models.static_embeddings import STATIC
from harness.models.two_way import TWO_WAY
from harness.models.xlnet import XLNET


class NoNetworkConfig(PreTrainedConfig):
    """A configuration without fields."""

    model_type = "harness_no_network"


class NoNetwork(PreTrainedModel):
    """The placeholder of a baseline: without parameters; saving creates an empty folder."""

    config_class = NoNetworkConfig

    def __init__(self, config: NoNetworkConfig) -> None:
        super().__init__(config)
        self.post_init()

    def save_pretrained(self, save_directory: Any, *_: Any, **__: Any) -> None:
        """Creates the folder."""
        Path(save_directory).mkdir(parents=True, exist_ok=True)


def _no_config(architecture: Architecture, size: Size, tokens: Tokens) -> NoNetworkConfig:
    return NoNetworkConfig()


def _no_head(network: NoNetwork) -> Any:
    raise ValueError("a baseline has no pretrained network, so it cannot predict tokens")


BASELINE = Blueprint(_no_config, NoNetwork, _no_head)
BLUEPRINTS: dict[str, Blueprint] = {
    **ENCODERS,
    **DECODERS,
    **ENCODER_DECODERS,
    **XLNET,
    **VARIANTS,
    **MASK_DECODERS,
    **dict.fromkeys(("bag_of_words", "majority", "lead", "copy"), BASELINE),
    **CHECKPOINTS,
    **RECURRENT,
    "two_way_gpt2": TWO_WAY,
    "dan": DAN,
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
        network: Any = blueprint.network._from_config(config)
    if architecture.characters:
        network.get_input_embeddings().spell(tokens.pieces)
    network.train()
    return Backbone(network, blueprint, name, architecture.family, representation)


def load(folder: Path) -> Backbone:
    """The network that `Backbone.save` wrote to `folder`.

    Raises:
        ValueError: the files are damaged, or have not exactly the weights of the network.
    """
    metadata = read_metadata(folder)
    loaded = read_network(blueprint_in(folder).network, folder, use_safetensors=True)
    names = [metadata[name] for name in ("blueprint", "family", "representation")]
    backbone = wrap(loaded.network, *names)
    backbone.objective = metadata.get("objective", {})
    if own := metadata.get("embedding"):
        backbone.embedding = SentenceEmbedding.read(own)
        if layers := backbone.embedding.dense:
            backbone.projection = (load_dense(folder, layers),)
    backbone.imported = metadata.get("imported", {})
    required = {*loaded.missing}
    if not backbone.has_trained_head:
        required = {n for n in required if of_the_body(n, loaded.network, names[-1])}
    network = f"the {metadata['family']} that its {METADATA} names"
    differences = {
        f"lacks weights of {network}": required,
        f"has weights that are not of {network}": loaded.unexpected,
    }
    for what, weights in differences.items():
        if weights:
            raise ValueError(
                f"{folder} {what}, such as {min(weights)}: copy the files again from where they "
                "were saved"
            )
    return backbone


def blueprint_in(folder: Path) -> Blueprint:
    """The blueprint of the network that `Backbone.save` wrote to `folder`.

    Raises:
        ValueError: there is no such blueprint.
    """
    name = read_metadata(folder).get("blueprint")
    if name not in [*BLUEPRINTS]:
        raise ValueError(
            f"{folder / METADATA}: blueprint must be one of {', '.join(BLUEPRINTS)}, but is "
            f"{name!r}"
        )
    return BLUEPRINTS[name]


def wrap(network: PreTrainedModel, name: str, family: str, representation: str) -> Backbone:
    """A backbone around `network`; the inputs of a checkpoint follow from its signature.

    Args:
        name: key of BLUEPRINTS.
    """
    backbone = Backbone(network, BLUEPRINTS[name], name, family, representation)
    if backbone.facts.kind == "checkpoint":
        accepted = inspect.signature(network.base_model.forward).parameters
        # Others without this field, such as GPT-J, add the embeddings of tokens 0 and 1.
        types = getattr(
            network.config, "type_vocab_size", 2 * (network.config.model_type == "xlnet")
        )
        backbone.facts = replace(
            backbone.facts,
            representations=(representation,),
            segments="token_type_ids" in accepted and types > 0,
        )
    return backbone
