"""Import of third-party checkpoints as backbones, without running their code.

Weights are safetensors, or pickles restricted to tensors (`weights_only`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from harness.models import FAMILIES
from harness.models.backbone import Backbone
from harness.models.build import blueprint_in, load, wrap
from harness.models.checkpoints.configuration import check_config
from harness.models.checkpoints.dense_layers import read_dense
from harness.models.checkpoints.files import (
    CONFIG,
    METADATA,
    largest_token,
    positions,
    read_config,
)
from harness.models.checkpoints.loading import (
    UNREADABLE,
    Loaded,
    check_finite,
    check_shapes,
    described,
    of_the_body,
    read_network,
    reason,
)
from harness.models.checkpoints.networks import AUTO, HEADS
from harness.models.checkpoints.objectives import TYPES, objective_name
from harness.models.checkpoints.sentence_embeddings import SentenceEmbedding, read_embedding
from harness.models.checkpoints.weight_files import index_damage, weights_digest
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import Objective

TOLERANCE = 1e-4


def adopt(folder: Path) -> Backbone:
    """The network in `folder`, with the representation and the objective given by its files.

    Raises:
        ValueError: transformers has no such text model, its files are damaged, or have not all
            weights of the network.
    """
    check_config(read_config(folder), folder / CONFIG)
    check_weights(folder)
    backbone = load(folder) if (folder / METADATA).is_file() else _published(folder)
    check_finite(backbone.network, folder)
    _check_states(backbone, folder)
    backbone.imported = {**backbone.imported, "weights": weights_digest(folder)}
    return backbone


def check_weights(folder: Path) -> None:
    """Checks that weights in safetensors files have the shapes of the network, without loading
    them.

    Raises:
        ValueError: they have not, an index names other files, or as `check_type`.
    """
    check_type(folder)
    if why := index_damage(folder):
        raise ValueError(why)
    is_own = (folder / METADATA).is_file()
    auto = blueprint_in(folder).network if is_own else AUTO[_objective(folder).representation]
    check_shapes(auto, folder)


def _objective(folder: Path) -> Objective:
    objective = OBJECTIVES[objective_name(read_config(folder))]
    assert isinstance(objective, Objective)
    return objective


def _published(folder: Path) -> Backbone:
    objective = _objective(folder)
    representation = objective.representation
    torch.manual_seed(
        0
    )  # for weights that the checkpoint lacks, such as a discriminator's token head
    loaded = _read(folder, representation)
    replaced = objective.output.kind == "replaced_token"
    backbone = _fitted(loaded.network, representation, bool(loaded.missing) and not replaced)
    backbone.objective = objective.model_dump(mode="json")
    backbone.embedding = own = _embedding(folder)
    if own and own.dense:
        backbone.projection = (read_dense(folder, own, backbone.hidden_size),)
    backbone.imported = {"notes": [] if replaced else [*_notes(loaded)]}
    return backbone


def _notes(loaded: Loaded) -> Iterator[str]:
    """What a checkpoint lacks, and what of it is not used, as ends of a sentence."""
    heads = {name for name in loaded.unexpected if not _of_the_pooler(name)}
    if loaded.missing:
        yield f"has no whole token head (no {min(loaded.missing)}), so it predicts no tokens"
    if heads < loaded.unexpected:
        yield (
            "has a pretrained pooler, which is not used: output layers read the states of the last "
            "layer, unlike published fine-tuning of such networks"
        )
    if heads:
        yield f"has weights of other heads, which are not used, such as {min(heads)}"


def _of_the_pooler(name: str) -> bool:
    return ".pooler." in f".{name}"


def _embedding(folder: Path) -> SentenceEmbedding | None:
    """The embedding of a sentence-transformers model, no longer than its positions."""
    own, most = read_embedding(folder), positions(read_config(folder))
    if own is None or (own.max_length or 0) <= most:
        return own
    return own.model_copy(update={"max_length": int(most)})


def check_type(folder: Path) -> None:
    """Checks that transformers has the model type of a checkpoint, before weights are loaded.

    Raises:
        ValueError: the model_type is unknown, needs custom code, or is not a text model; or a field
            has a wrong type.
    """
    config = read_config(folder)
    if (folder / METADATA).is_file():
        described(folder, blueprint_in(folder).network)
        return  # saved by this harness
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
    own = described(folder)
    for name in ("vocab_size", "hidden_size"):
        if not isinstance(getattr(own, name, None), int):  # of models of models
            raise ValueError(f"{folder / CONFIG}: the type {kind} must have a {name}, but has none")


def _read(folder: Path, representation: str) -> Loaded:
    """The network in float32. What it lacks is of the token head, and what it has besides is of
    the pooler and of heads for tasks."""
    options = {"trust_remote_code": False, "weights_only": True, "dtype": torch.float32}
    loaded = read_network(AUTO[representation], folder, **options)
    network = loaded.network
    if body := {name for name in loaded.missing if of_the_body(name, network, representation)}:
        raise ValueError(f"{folder} lacks weights of the network, such as {min(body)}")
    if other := {name for name in loaded.unexpected if of_the_body(name, network, representation)}:
        raise ValueError(
            f"{folder} has weights that its {CONFIG} does not describe, such as {min(other)}: they "
            "do not belong together"
        )
    network.config.use_cache, network.config.return_dict = False, True
    return Loaded(network.eval(), loaded.missing, loaded.unexpected)


def _fitted(network: PreTrainedModel, representation: str, headless: bool) -> Backbone:
    """A backbone with the first blueprint, or else the first head, that reproduces the logits."""
    config: Any = network.config
    if config.is_encoder_decoder and getattr(config, "decoder_start_token_id", None) is None:
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
    inputs = _sample(backbone)
    try:
        theirs = backbone.network(**inputs).logits
        ours = backbone.token_logits(backbone(**inputs).last_hidden_state)
    except UNREADABLE:
        return False
    if ours.shape != theirs.shape:
        return False
    real = inputs["attention_mask"].bool()
    return torch.allclose(ours[real], theirs[real], rtol=TOLERANCE, atol=TOLERANCE)


def _sample(backbone: Backbone) -> dict[str, Tensor]:
    """Inputs [2, 6], the second padded."""
    rows = torch.arange(5, 17).view(2, 6) % int(backbone.network.config.vocab_size)
    inputs = {"input_ids": rows, "attention_mask": torch.tensor([[1] * 6, [1] * 4 + [0] * 2])}
    if backbone.representation == "encoder_decoder":
        inputs["decoder_input_ids"] = rows
    return inputs


@torch.no_grad()
def _check_states(backbone: Backbone, folder: Path) -> None:
    """Checks that the network runs: a configuration may hold values that only fail then.

    Raises:
        ValueError: it fails, or its states are infinite or NaN.
    """
    inputs = _sample(backbone)
    try:
        states = backbone.eval()(**inputs).last_hidden_state
    except UNREADABLE as error:
        raise ValueError(f"the network in {folder} cannot be run: {reason(error)}") from error
    if states is None or not states[inputs["attention_mask"].bool()].isfinite().all():
        raise ValueError(
            f"the network in {folder} must give finite states, but gives infinite ones or NaN: see "
            f"the values in its {CONFIG}"
        )


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
