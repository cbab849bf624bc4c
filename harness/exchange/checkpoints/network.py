"""Network and tokenizer as files for transformers' AutoModel and AutoTokenizer."""

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import transformers
from transformers import AutoConfig, PreTrainedTokenizerFast

from harness.data.tokenizers.saved_class import OVERRULED
from harness.exchange.checkpoints.sentence_modules import (
    define_embedding,
    embeds_texts,
    write_modules,
)
from harness.finetuning.heads.classifier import has_segments
from harness.finetuning.protocol import Protocol
from harness.models import FAMILIES
from harness.models.backbone import Backbone
from harness.models.block_variants import FIELDS, VARIANTS
from harness.models.build import load, wrap
from harness.models.checkpoints.files import positions, read_config, read_metadata
from harness.models.encoder_decoders import T5

NO_HEAD = "There is no token head in these files, because none was trained for its states."
HEAD_UNTIED = (
    "The token head is not tied to the embedding, as in T5 v1.1; transformers 5 warns that its "
    "configuration ties them, and leaves them as they are."
)

HEAD_DECODES = (
    "The token head reads the states of DeBERTa's enhanced mask decoder (He et al. 2021, section "
    "3.2), which transformers lacks, so only AutoModel gives this network."
)
OF_OUR_OWN = ("recurrent", "averaging", "static", "baseline")
"""Kinds of families that transformers does not have."""
OTHER_TOKENIZER = (
    "For this type of network, AutoTokenizer builds Qwen's published tokenizer, whatever the files "
    "hold: load them by `PreTrainedTokenizerFast.from_pretrained`."
)


def write_network(
    model: Path, tokenizer: Path, out: Path, embeds: Protocol | None = None
) -> list[str]:
    """Writes weights, configuration, tokenizer and the harness's metadata to `out`.

    Args:
        model: folder that `Backbone.save` wrote.
        tokenizer: folder of its tokenizer.
        embeds: how it embeds texts; null: not at all, or as a checkpoint defined it.

    Returns:
        What users of the files must know, a sentence each.

    Raises:
        ValueError: transformers has no equivalent class.
    """
    metadata = read_metadata(model)
    if why := unsupported_reason(metadata["family"], metadata["representation"]):
        raise ValueError(why)
    if metadata.get("blueprint") in [*VARIANTS]:
        config = read_config(model)
        own = ", ".join(f"{name} = {json.dumps(config.get(f'harness_{name}'))}" for name in FIELDS)
        raise ValueError(
            "export needs a network for which transformers' AutoModel has a class, but it has none "
            f"for a {metadata['family']} with {own}: fine-tune it here"
        )
    transformers.logging.disable_progress_bar()
    backbone = untied(load(model))
    if embeds:
        define_embedding(backbone, embeds)
    backbone.save(out, with_head=backbone.has_trained_head)
    _name_class(backbone, out)
    _write_tokenizer(backbone, tokenizer, out)
    if embeds_texts(backbone):
        write_modules(backbone, out)
    return notes(backbone)


def unsupported_reason(family: str, representation: str) -> str:
    """Why a network cannot be exported; empty if it can."""
    facts = FAMILIES[family]
    if facts.kind in OF_OUR_OWN or family == "two_way_gpt2":
        return (
            "export needs a network for which transformers' AutoModel has a class, but it has none "
            f"for {family}: fine-tune it here"
        )
    # XLNet's content stream is bidirectional as it is; other changes need the harness's mask.
    every = facts.kind == "checkpoint" or family == "xlnet"
    allowed = facts.representations if every else facts.representations[:1]
    if representation not in allowed:
        return (
            f"export needs a network that AutoModel runs as it was trained, but this {family} was "
            f"trained {representation} and AutoModel runs it {allowed[0]}: fine-tune it here"
        )
    return ""


def untied(backbone: Backbone) -> Backbone:
    """A T5 whose encoder and decoder share layers, with a copy of them in each half; any other
    network unchanged."""
    if backbone.name != "t5_shared":
        return backbone
    config: Any = deepcopy(backbone.network.config)
    config.share_decoder = False
    network = T5(config)
    network.load_state_dict(backbone.network.state_dict())
    separate = wrap(network.eval(), "t5", backbone.family, backbone.representation)
    separate.objective = backbone.objective
    return separate


def notes(backbone: Backbone) -> list[str]:
    """What users cannot see from the files, a sentence each."""
    found = []
    if not backbone.has_trained_head:
        found.append(NO_HEAD)
    if backbone.embedding and not embeds_texts(backbone):
        found.append("The checkpoint defines embeddings of texts, which these files do not state.")
    if backbone.family == "t5" and not backbone.network.config.scale_decoder_outputs:
        found.append(HEAD_UNTIED)
    if backbone.blueprint.token_stack:
        found.append(HEAD_DECODES)
    if backbone.network.config.model_type in OVERRULED:
        found.append(OTHER_TOKENIZER)
    if getattr(backbone.network.base_model, "pooler", ...) is None:  # others have no such part
        found.append(
            "There is no trained pooler: AutoModel adds one with random weights, so use "
            "`last_hidden_state`, or pass `add_pooling_layer=False`."
        )
    return found


def _name_class(backbone: Backbone, out: Path) -> None:
    """Names transformers' class in the configuration, where the network's is a subclass of it."""
    network = backbone.network
    with_head = backbone.has_trained_head and not backbone.blueprint.token_stack
    classes = type(network if with_head else network.base_model).__mro__
    base = next(c for c in classes if c.__module__.startswith("transformers"))
    config = AutoConfig.from_pretrained(out)
    config.architectures = [base.__name__]
    config.save_pretrained(out)


def _write_tokenizer(backbone: Backbone, folder: Path, out: Path) -> None:
    """Writes the tokenizer with the network's inputs and maximum length."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    longest = positions(read_config(out))
    if math.isfinite(longest):
        tokenizer.model_max_length = int(longest)
    tokenizer.save_pretrained(out)
    path = out / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    has_types = backbone.facts.segments and has_segments(backbone)
    segments = ["token_type_ids"] if has_types else []
    # transformers omits this field
    settings["model_input_names"] = ["input_ids", *segments, "attention_mask"]
    path.write_text(json.dumps(settings, indent=2) + "\n")
