"""Import of third-party checkpoints as backbones, without running their code.

Weights are safetensors, or pickles restricted to tensors (`weights_only`).
"""

import pickle
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from transformers import PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from harness.models import FAMILIES
from harness.models.backbone import Backbone
from harness.models.build import load, wrap
from harness.models.checkpoints.files import (
    CONFIG,
    METADATA,
    largest_token,
    positions,
    read_config,
)
from harness.models.checkpoints.networks import AUTO, HEADS
from harness.models.checkpoints.objectives import TYPES, objective_name
from harness.models.checkpoints.sentence_embeddings import SentenceEmbedding, read_embedding
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import Objective

TOLERANCE = 1e-4


def adopt(folder: Path) -> Backbone:
    """The network in `folder`, with the representation and the objective given by its files.

    Raises:
        ValueError: transformers has no such text model, or the weights are damaged.
    """
    if (folder / METADATA).is_file():
        return load(folder)
    check_type(folder)
    objective = OBJECTIVES[objective_name(read_config(folder))]
    assert isinstance(objective, Objective)
    representation = objective.representation
    torch.manual_seed(
        0
    )  # for weights that the checkpoint lacks, such as a discriminator's token head
    network, headless = _read(folder, representation)
    replaced = objective.output.kind == "replaced_token"
    backbone = _fitted(network, representation, headless and not replaced)
    backbone.objective = objective.model_dump(mode="json")
    backbone.embedding = _embedding(folder)
    return backbone


def _embedding(folder: Path) -> SentenceEmbedding | None:
    """The embedding of a sentence-transformers model, no longer than its positions."""
    own, most = read_embedding(folder), positions(read_config(folder))
    if own is None or (own.max_length or 0) <= most:
        return own
    return own.model_copy(update={"max_length": int(most)})


def check_type(folder: Path) -> None:
    """Checks that transformers has the model type of a checkpoint, before weights are loaded.

    Raises:
        ValueError: the model_type is unknown, needs custom code, or is not a text model.
    """
    if (folder / METADATA).is_file():
        return  # saved by this harness
    config = read_config(folder)
    kind = str(config.get("model_type"))
    if kind not in CONFIG_MAPPING_NAMES:
        why = "needs code of its own, which is never run" if "auto_map" in config else "is unknown"
        raise ValueError(
            f"{folder / CONFIG}: the model_type {kind!r} {why}; it must be one that transformers "
            f"{transformers.__version__} has"
        )
    known = AUTO[OBJECTIVES[objective_name(config)].components[-1][1].representation]
    if transformers.CONFIG_MAPPING[kind] not in known._model_mapping:
        raise ValueError(f"{folder / CONFIG}: a {kind} is no model of text with a token head")


def _read(folder: Path, representation: str) -> tuple[PreTrainedModel, bool]:
    """The network in float32, and whether the checkpoint lacks a token head."""
    transformers.logging.set_verbosity_error()  # missing weights are checked below
    transformers.logging.disable_progress_bar()
    try:
        network, info = AUTO[representation].from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            weights_only=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, SafetensorError, pickle.UnpicklingError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ValueError(f"{folder} cannot be loaded: {reason}") from error
    missing = {name for name in info["missing_keys"] if ".pooler." not in name}
    body = {name for name in missing if _of_the_body(name, network, representation)}
    if body:
        raise ValueError(f"{folder} lacks weights of the network, such as {sorted(body)[0]}")
    network.config.use_cache = False
    return network.eval(), bool(missing)


def _of_the_body(name: str, network: PreTrainedModel, representation: str) -> bool:
    """Whether a parameter is outside the token head, which ModernBERT calls `decoder`."""
    stacks = ("encoder", "decoder", "shared") if representation == "encoder_decoder" else ()
    return name.startswith(tuple(f"{part}." for part in (network.base_model_prefix, *stacks)))


def _fitted(network: PreTrainedModel, representation: str, headless: bool) -> Backbone:
    """A backbone with the first blueprint, or else the first head, that reproduces the logits."""
    config: Any = network.config
    if config.is_encoder_decoder and config.decoder_start_token_id is None:
        config.decoder_start_token_id = config.bos_token_id or config.pad_token_id or 0
    family = TYPES.get(config.model_type)
    if family and not headless and representation == FAMILIES[family].representations[0]:
        backbone = wrap(network, family, family, representation)
        if agrees(backbone):
            return backbone
    config.harness_reading = representation
    for head in () if headless else HEADS:
        config.harness_head = head
        if agrees(backbone := wrap(network, "checkpoint", "checkpoint", representation)):
            return backbone
    config.harness_head = "none"
    return wrap(network, "checkpoint", "checkpoint", representation)


@torch.no_grad()
def agrees(backbone: Backbone) -> bool:
    """Whether states and token head of the backbone give the logits of the network's forward."""
    rows = torch.arange(5, 17).view(2, 6) % int(backbone.network.config.vocab_size)
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
    inputs = {"input_ids": rows, "attention_mask": mask}
    if backbone.representation == "encoder_decoder":
        inputs["decoder_input_ids"] = rows
    try:
        theirs = backbone.network(**inputs).logits
        ours = backbone.token_logits(backbone(**inputs).last_hidden_state)
    except (AttributeError, KeyError, TypeError, RuntimeError, ValueError):
        return False
    if ours.shape != theirs.shape:
        return False
    real = mask.bool()
    return torch.allclose(ours[real], theirs[real], rtol=TOLERANCE, atol=TOLERANCE)


def check_tokens(backbone: Backbone, tokenizer: Path) -> None:
    """Checks that the network has an embedding for every token of a tokenizer.

    Raises:
        ValueError: the tokenizer has larger ids.
    """
    largest = largest_token(tokenizer / "tokenizer.json")
    embeddings: Any = backbone.network.get_input_embeddings()
    if largest >= embeddings.num_embeddings:
        raise ValueError(
            f"the tokenizer has a token of number {largest}, but the network embeds "
            f"{embeddings.num_embeddings}: they do not belong together"
        )
