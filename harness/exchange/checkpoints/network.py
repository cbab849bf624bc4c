"""Network and tokenizer in the form that transformers' AutoModel and AutoTokenizer load."""

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import transformers
from transformers import AutoConfig, PreTrainedTokenizerFast

from harness.models import FAMILIES
from harness.models.backbone import Backbone, read_metadata
from harness.models.build import load, wrap
from harness.models.checkpoints.files import positions, read_config
from harness.models.t5 import T5

HEAD_UNTRAINED = (
    "Replaced-token detection trains the body: the token head in these files has learned nothing."
)
HEAD_TIED = (
    "The token head has a matrix of its own, as T5 v1.1's; transformers 5 ties it to the embedding "
    "when it loads one, so that only AutoModel gives this network."
)


def write_network(model: Path, tokenizer: Path, out: Path) -> list[str]:
    """Writes weights, configuration, tokenizer and the harness's own note to `out`.

    Args:
        model: folder that `Backbone.save` wrote.
        tokenizer: folder of its tokenizer.

    Returns:
        What a reader of the files must know, a sentence each.

    Raises:
        ValueError: AutoModel has no class that reads as this network does.
    """
    note = read_metadata(model)
    if why := obstacle(note["family"], note["representation"]):
        raise ValueError(why)
    transformers.logging.disable_progress_bar()
    backbone = untied(load(model))
    backbone.save(out)
    _name_class(backbone, out)
    _write_tokenizer(backbone, tokenizer, out)
    return notes(backbone)


def obstacle(family: str, representation: str) -> str:
    """Why AutoModel cannot stand for a network; empty if it can."""
    facts = FAMILIES[family]
    if facts.kind in ("recurrent", "static", "baseline"):
        return (
            f"export needs a network that transformers' AutoModel has a class for, but {family} is "
            "none: fine-tune it here"
        )
    # XLNet's own stream is read both ways already; every other reading needs a mask of ours.
    every = facts.kind == "checkpoint" or family == "xlnet"
    allowed = facts.representations if every else facts.representations[:1]
    if representation not in allowed:
        return (
            f"export needs a network that AutoModel reads as it was trained, but this {family} was "
            f"trained {representation} and AutoModel reads it {allowed[0]}: fine-tune it here"
        )
    return ""


def untied(backbone: Backbone) -> Backbone:
    """A T5 of shared layers with a copy of them in each half, as transformers' T5 has it; any other
    network as it is."""
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
    """What the files themselves do not say."""
    found = []
    if backbone.objective.get("output", {}).get("kind") == "replaced_token":
        found.append(HEAD_UNTRAINED)
    if backbone.family == "t5" and not backbone.network.config.scale_decoder_outputs:
        found.append(HEAD_TIED)
    if getattr(backbone.network.base_model, "pooler", None) is None and _may_pool(backbone):
        found.append(
            "There is no trained pooler: AutoModel adds one with random weights, so use "
            "`last_hidden_state`, or pass `add_pooling_layer=False`."
        )
    return found


def _may_pool(backbone: Backbone) -> bool:
    return backbone.network.config.model_type in ("bert", "roberta", "albert")


def _name_class(backbone: Backbone, out: Path) -> None:
    """Names a class of transformers in the configuration, where the network's is one of ours."""
    kin = next(c for c in type(backbone.network).__mro__ if c.__module__.startswith("transformers"))
    config = AutoConfig.from_pretrained(out)
    config.architectures = [kin.__name__]
    config.save_pretrained(out)


def _write_tokenizer(backbone: Backbone, folder: Path, out: Path) -> None:
    """With the inputs that the network takes and the longest one."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    most = positions(read_config(out))
    if math.isfinite(most):
        tokenizer.model_max_length = int(most)
    tokenizer.save_pretrained(out)
    path = out / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    segments = ["token_type_ids"] if backbone.facts.segments else []
    settings["model_input_names"] = ["input_ids", *segments, "attention_mask"]  # else not written
    path.write_text(json.dumps(settings, indent=2) + "\n")
