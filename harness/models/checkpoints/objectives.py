"""What a checkpoint was trained on, as far as its files say."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.models import FAMILIES
from harness.models.checkpoints.files import NOTE, own_family, read_config

TYPES = {
    **{name: name for name in ("bert", "roberta", "albert", "electra", "deberta", "distilbert")},
    **{name: name for name in ("modernbert", "xlnet", "gpt2", "llama", "t5", "bart")},
    "deberta-v2": "deberta_v3",
    "openai-gpt": "gpt",
}
"""transformers' model_type to the family here that is built of the same class."""

CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel")
CAUSAL = ("gpt2", "openai-gpt", "gpt_neo", "gpt_neox", "gptj", "opt", "bloom", "llama", "mistral")
"""Model types that read left to right, for checkpoints whose architectures do not say so."""
BY_TYPE = {
    "xlnet": "plm",
    "electra": "rtd",
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5", "switch_transformers"), "span_corruption"),
}
BY_READING = {
    "causal": "clm",
    "prefix": "clm",
    "bilm": "bilm",
    "permuted": "plm",
    "cbow": "cbow",
    "encoder_decoder": "denoising_infill",
}
"""Objectives of networks of our own that do not say what they were trained on."""


def objective_name(config: Mapping[str, Any]) -> str:
    """The objective here that is nearest to what a network was trained on, by its configuration."""
    kind = str(config.get("model_type", ""))
    architecture = next(iter(config.get("architectures") or ()), "")
    if kind == "electra" and architecture.endswith("ForMaskedLM"):
        return "mlm"  # a generator
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if config.get("is_encoder_decoder"):
        return "denoising_infill"
    reads_on = kind in CAUSAL or architecture.endswith(CAUSAL_ENDINGS) or config.get("is_decoder")
    return "clm" if reads_on else "mlm"


def learned(folder: Path) -> str | dict[str, Any]:
    """The objective of the checkpoint in `folder`: its name, or, of a network of our own, all of
    it."""
    if not (folder / NOTE).is_file():
        return objective_name(read_config(folder))
    note = json.loads((folder / NOTE).read_text())
    objective: dict[str, Any] = note.get("objective") or {}
    return objective or BY_READING.get(note["representation"], "mlm")


def readings(folder: Path) -> tuple[str, ...]:
    """How the network of the checkpoint in `folder` can be read, as far as its files say."""
    config = read_config(folder)
    family = own_family(folder) or TYPES.get(str(config.get("model_type")), "")
    if family in FAMILIES and family != "checkpoint":
        return FAMILIES[family].representations
    learned_by = objective_name(config)
    own = [reading for reading, name in BY_READING.items() if name == learned_by]
    return tuple(own) or ("bidirectional",)
