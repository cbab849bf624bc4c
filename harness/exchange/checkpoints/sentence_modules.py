"""The modules by which sentence-transformers embeds texts with an exported network."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from harness.core.files import usual_mode
from harness.data.tokenizers.saved_class import OVERRULED
from harness.finetuning.pooling import pooling_of
from harness.finetuning.protocol import Protocol
from harness.models.backbone import Backbone
from harness.models.checkpoints.dense_layers import MAKERS, PREFIX
from harness.models.checkpoints.sentence_embeddings import (
    LENGTH,
    MODULES,
    NEW_MODES,
    POOLINGS,
    SentenceEmbedding,
)

Module = tuple[str, dict[str, Any], dict[str, Tensor]]
"""Type, configuration and weights."""


def embeds_texts(backbone: Backbone) -> bool:
    """Whether sentence-transformers gives the embeddings of a network."""
    own = backbone.embedding
    return own is not None and not own.problem and _is_read_alike(backbone)


def _is_read_alike(backbone: Backbone) -> bool:
    """Whether sentence-transformers reads the states that are read here: of an encoder-decoder,
    those of its encoder are read there, but of its decoder here, and a Qwen has another tokenizer
    there, that of AutoTokenizer."""
    overruled = backbone.network.config.model_type in OVERRULED
    return backbone.representation != "encoder_decoder" and not overruled


def define_embedding(backbone: Backbone, protocol: Protocol) -> None:
    """Gives a network the embedding by which a protocol compares texts: its own, if a checkpoint
    defined one and the pooling is `native`; none if `_is_read_alike` does not hold, or if single
    words are pooled."""
    keeps_own = backbone.embedding is not None and protocol.pooling == "native"
    if keeps_own or not _is_read_alike(backbone) or protocol.pooling == "word":
        return
    pooling = pooling_of(protocol.pooling, backbone.representation, backbone.family)
    backbone.embedding = SentenceEmbedding.read(
        {"pooling": pooling, "max_length": protocol.max_sequence_length}
    )
    backbone.projection = ()


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
            usual_mode(out / path / "model.safetensors")
    _write(listed, out / MODULES)
    if own.max_length:
        _write({"max_seq_length": own.max_length, "do_lower_case": False}, out / LENGTH)


def _modules(own: SentenceEmbedding, backbone: Backbone) -> Iterator[Module]:
    """The modules in order."""
    yield "Transformer", {}, {}
    yield "Pooling", {"word_embedding_dimension": backbone.hidden_size, **_modes(own)}, {}
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


def _modes(own: SentenceEmbedding) -> dict[str, Any]:
    """The poolings as all versions read them; in another order, as versions from 6 on."""
    modes = {mode: pooling in own.poolings for mode, pooling in POOLINGS.items()}
    if own.poolings == tuple(POOLINGS[mode] for mode, used in modes.items() if used):
        return modes
    new = {POOLINGS[mode]: name for name, mode in NEW_MODES.items()}
    return {"pooling_mode": [new[pooling] for pooling in own.poolings]}


def _write(content: Any, file: Path) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
