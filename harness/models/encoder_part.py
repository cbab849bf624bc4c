"""The encoder of an encoder-decoder as a network of its own."""

from pathlib import Path
from typing import Any

from harness.models import Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Blueprint, Head, Tokens


def _no_config(architecture: Architecture, size: Size, tokens: Tokens) -> Any:
    raise ValueError("an encoder without its decoder is taken from a network, not built")


def _no_head(network: Any) -> Head:
    raise ValueError("an encoder without its decoder has no token head")


class EncoderPart(Backbone):
    """The encoder of an encoder-decoder, which reads bidirectionally. Decoder and token head are no
    part of it, but are saved with it, as pretrained."""

    def __init__(self, whole: Backbone) -> None:
        """Shares the weights of `whole`.

        Raises:
            ValueError: the network has no decoder.
        """
        if whole.representation != "encoder_decoder":
            raise ValueError(
                "only an encoder-decoder has an encoder to use alone, but this network is "
                f"{whole.representation}; remove protocol.use"
            )
        network: Any = whole.network
        encoder = network.get_encoder()
        blueprint = Blueprint(_no_config, type(encoder), _no_head, stack=lambda stack: stack)
        super().__init__(encoder, blueprint, whole.name, whole.family, "bidirectional")
        self.facts = whole.facts
        self.objective, self.embedding = whole.objective, whole.embedding
        self.imported, self.projection = whole.imported, whole.projection
        self._whole = (whole,)  # a tuple, so not registered as a submodule

    def save(self, folder: Path, with_head: bool = True) -> None:
        """Writes the whole network, with the weights of this encoder."""
        self._whole[0].save(folder, with_head)
