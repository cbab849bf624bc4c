"""Placeholder network of baselines, which have no pretrained network."""

from pathlib import Path
from typing import Any

from transformers import PreTrainedConfig, PreTrainedModel

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens


class NoNetworkConfig(PreTrainedConfig):
    """A configuration without fields."""

    model_type = "harness_no_network"


class NoNetwork(PreTrainedModel):
    """A network without parameters; saving creates an empty folder."""

    config_class = NoNetworkConfig

    def __init__(self, config: NoNetworkConfig) -> None:
        super().__init__(config)
        self.post_init()

    def save_pretrained(self, save_directory: Any, *_: Any, **__: Any) -> None:
        """Creates the folder."""
        Path(save_directory).mkdir(parents=True, exist_ok=True)


def _config(architecture: Architecture, size: Size, tokens: Tokens) -> NoNetworkConfig:
    return NoNetworkConfig()


def _head(network: NoNetwork) -> Any:
    raise ValueError("a baseline has no pretrained network, so it cannot predict tokens")


_BLUEPRINT = Blueprint(_config, NoNetwork, _head)
BASELINES: dict[str, Blueprint] = dict.fromkeys(
    ("bag_of_words", "majority", "lead", "copy"), _BLUEPRINT
)
