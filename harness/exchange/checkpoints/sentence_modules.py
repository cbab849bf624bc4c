"""The modules by which sentence-transformers embeds texts with an exported network."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from harness.models.backbone import Backbone
from harness.models.checkpoints.dense_layers import MAKERS, PREFIX
from harness.models.checkpoints.sentence_embeddings import (
    LENGTH,
    MODULES,
    POOLINGS,
    SentenceEmbedding,
)

Module = tuple[str, dict[str, Any], dict[str, Tensor]]
"""Type, configuration and weights."""


def embeds_texts(backbone: Backbone) -> bool:
    """Whether sentence-transformers gives the embeddings of a network: those of an encoder-decoder
    are read from the states of its encoder there, but of its decoder here."""
    own = backbone.embedding
    return own is not None and not own.problem and backbone.representation != "encoder_decoder"


def write_modules(backbone: Backbone, out: Path) -> None:
    """Writes the modules of a network for which `embeds_texts` next to it in `out`."""
    own = backbone.embedding
    assert own is not None
    listed = []
    for number, (kind, config, weights) in enumerate(_modules(own, backbone)):
        path = f"{number}_{kind}" if number else ""
        kind = f"sentence_transformers.models.{kind}"
        listed.append({"idx": number, "name": str(number), "path": path, "type": kind})
        (out / path).mkdir(exist_ok=True)
        if config:
            _write(config, out / path / "config.json")
        if weights:
            save_file(weights, out / path / "model.safetensors")
    _write(listed, out / MODULES)
    if own.max_length:
        _write({"max_seq_length": own.max_length, "do_lower_case": False}, out / LENGTH)


def _modules(own: SentenceEmbedding, backbone: Backbone) -> Iterator[Module]:
    """The modules in order."""
    yield "Transformer", {}, {}
    modes = {mode: pooling in own.poolings for mode, pooling in POOLINGS.items()}
    yield "Pooling", {"word_embedding_dimension": backbone.hidden_size, **modes}, {}
    linear = [layer for one in backbone.projection for layer in one if isinstance(layer, nn.Linear)]
    for dense, layer in zip(own.dense, linear, strict=True):
        weights = {PREFIX + name: weight for name, weight in layer.state_dict().items()}
        made = MAKERS[dense.activation]
        config = dense.model_dump(exclude={"activation"})
        yield (
            "Dense",
            {**config, "activation_function": f"{made.__module__}.{made.__name__}"},
            weights,
        )
    if own.normalize:
        yield "Normalize", {}, {}


def _write(content: Any, file: Path) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
