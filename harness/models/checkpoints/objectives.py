"""The objective and representations of a checkpoint, inferred from its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.models import FAMILIES, ROTARY
from harness.models.checkpoints.files import METADATA, own_family, read_config, read_metadata

TYPES = {
    **{name: name for name in ("bert", "roberta", "albert", "electra", "deberta", "distilbert")},
    **{
        name: name
        for name in ("modernbert", "xlnet", "gpt2", "opt", "gpt_neo", "t5", "bart", *ROTARY)
    },
    "deberta-v2": "deberta_v3",
    "openai-gpt": "gpt",
    "marian": "transformer",
}
"""model_type of transformers to the family with the same class."""

CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel")
ANY_ENDING = "WithLMHeadModel"
"""End of the names of XLM's and FlauBERT's classes, which are of masked networks, too."""
CAUSAL = (
    *("gpt2", "openai-gpt", "gpt_neo", "gpt_neox", "gptj", "gpt_bigcode", "codegen", "opt"),
    *("bloom", "ctrl", "falcon", "mpt", "gemma2", "granite", "mixtral", "olmo", "olmo2", "phi"),
    *("phi3", "qwen3", "stablelm", "starcoder2", *ROTARY),
)
"""Causal model types, for checkpoints whose `architectures` field does not show it, such as those
without a token head."""
BY_TYPE = {
    "xlnet": "plm",
    "electra": "rtd",
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5", "switch_transformers"), "span_corruption"),
}
BY_REPRESENTATION = {
    "causal": "clm",
    "prefix": "clm",
    "bilm": "bilm",
    "permuted": "plm",
    "cbow": "cbow",
    "skipgram": "skipgram",
    "encoder_decoder": "denoising_infill",
}
"""Default objective of a network that the harness trained without recording its objective."""


def objective_name(config: Mapping[str, Any]) -> str:
    """The objective closest to that of a published checkpoint, inferred from its configuration."""
    kind = str(config.get("model_type", ""))
    named = config.get("architectures")
    architecture = str(named[0]) if isinstance(named, list) and named else ""
    if kind == "electra" and architecture.endswith("ForMaskedLM"):
        return "mlm"  # a generator
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    if config.get("is_encoder_decoder"):
        return "denoising_infill"
    is_named = architecture.endswith(CAUSAL_ENDINGS) and not architecture.endswith(ANY_ENDING)
    is_causal = kind in CAUSAL or is_named or config.get("is_decoder") or config.get("causal")
    return "clm" if is_causal else "mlm"


def trained_objective(folder: Path) -> str | dict[str, Any]:
    """The objective of the checkpoint in `folder`: its name, or all fields if the harness trained
    it.

    Raises:
        ValueError: the configuration is not a JSON object.
    """
    if not (folder / METADATA).is_file():
        return objective_name(read_config(folder))
    metadata = read_metadata(folder)
    objective: dict[str, Any] = metadata.get("objective") or {}
    return objective or BY_REPRESENTATION.get(metadata["representation"], "mlm")


def representations(folder: Path) -> tuple[str, ...]:
    """The representations that the checkpoint in `folder` supports.

    Raises:
        ValueError: the configuration is not a JSON object.
    """
    config = read_config(folder)
    family = own_family(folder) or TYPES.get(str(config.get("model_type")), "")
    if family in FAMILIES and family != "checkpoint":
        return FAMILIES[family].representations
    objective = objective_name(config)
    own = [one for one, name in BY_REPRESENTATION.items() if name == objective]
    return tuple(own) or ("bidirectional",)
