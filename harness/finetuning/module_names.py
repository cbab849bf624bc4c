"""Module names of transformers networks that adaptations change, and which adaptations a network
type does not support. Known without building a network."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.finetuning.adaptation import Adaptation, Selective, Staged
from harness.finetuning.projection_updates import Rotation, Targeted


@dataclass(frozen=True)
class ModuleNames:
    """Regular expressions of full module names; empty if there is no such module."""

    query_value: str = ""
    """Query and value projections, or a fused projection of queries, keys and values."""
    key_value: str = ""
    """Key and value projections."""
    feed_forward: str = ""
    """Second feed-forward projections, whose input are the inner activations."""
    outputs: str = ""
    """Last projection of each sublayer, before the residual sum."""
    attention: str = ""
    """Self-attention modules that use transformers' interface of attention functions."""
    projections: str = ""
    """Last parts of the names of all linear modules, the possible targets of LoRA and
    other adaptations with targets."""
    transposed: bool = False
    """Whether projections are `Conv1D` modules, whose matrices are [in, out]."""
    has_norms: bool = True
    has_biases: bool = True
    has_layers: bool = True
    shares_layers: bool = False
    """Whether all layers share their weights."""


_BERT = ModuleNames(
    query_value=r".*\.(query|value)",
    key_value=r".*\.(key|value)",
    feed_forward=r".*layer\.\d+\.output\.dense",
    outputs=r".*\.output\.dense",
    attention=r".*attention\.self",
    projections="query key value dense decoder",
)
_BART = ModuleNames(
    query_value=r".*\.(q_proj|v_proj)",
    key_value=r".*\.(k_proj|v_proj)",
    feed_forward=r".*\.fc2",
    outputs=r".*\.(out_proj|fc2)",
    attention=r".*\.self_attn",
    projections="q_proj k_proj v_proj out_proj fc1 fc2 lm_head",
)
_LLAMA = ModuleNames(
    query_value=r".*\.(q_proj|v_proj)",
    key_value=r".*\.(k_proj|v_proj)",
    feed_forward=r".*\.down_proj",
    outputs=r".*\.(o_proj|down_proj)",
    projections="q_proj k_proj v_proj o_proj gate_proj up_proj down_proj lm_head",
    attention=r".*\.self_attn",
    has_biases=False,
)
_GPT = ModuleNames(
    query_value=r".*\.c_attn",
    key_value=r".*\.c_attn",
    feed_forward=r".*\.mlp\.c_proj",
    outputs=r".*\.c_proj",
    projections="c_attn c_fc c_proj lm_head",
    transposed=True,
)

OF_TOKEN_HEADS = (
    *("decoder", "lm_head", "lm_loss", "generator_lm_head", "vocab_transform", "vocab_projector"),
)
"""Last parts of the names of projections that only token heads have."""
RECURRENT = ("harness_lstm", "harness_bilstm", "harness_elmo")

MODULE_NAMES: dict[str, ModuleNames] = {
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "electra": replace(
        _BERT, projections="query key value dense embeddings_project generator_lm_head"
    ),
    "albert": replace(
        _BERT,
        feed_forward=r".*\.ffn_output",
        outputs=r".*\.(attention\.dense|ffn_output)",
        attention=r".*\.attention",
        projections="query key value dense ffn ffn_output embedding_hidden_mapping_in decoder",
        shares_layers=True,
    ),
    "deberta": replace(
        _BERT,
        query_value=r".*\.in_proj",
        key_value=r".*\.in_proj",
        attention="",
        projections="in_proj pos_proj pos_q_proj dense decoder",
    ),
    "deberta-v2": replace(
        _BERT,
        query_value=r".*\.(query_proj|value_proj)",
        key_value=r".*\.(key_proj|value_proj)",
        attention="",
        projections="query_proj key_proj value_proj dense decoder",
    ),
    "distilbert": ModuleNames(
        query_value=r".*\.(q_lin|v_lin)",
        key_value=r".*\.(k_lin|v_lin)",
        feed_forward=r".*\.ffn\.lin2",
        outputs=r".*\.(out_lin|ffn\.lin2)",
        projections="q_lin k_lin v_lin out_lin lin1 lin2 vocab_transform vocab_projector",
        attention=r".*\.attention",
    ),
    "modernbert": ModuleNames(
        query_value=r".*\.Wqkv",
        key_value=r".*\.Wqkv",
        feed_forward=r".*\.mlp\.Wo",
        outputs=r".*\.Wo",
        projections="Wqkv Wo Wi dense decoder",
        attention=r".*\.attn",
        has_biases=False,
    ),
    "xlnet": ModuleNames(projections="layer_1 layer_2 lm_loss"),  # bare parameters in attention
    "openai-gpt": _GPT,
    "gpt2": replace(_GPT, attention=r".*\.attn"),
    "opt": _BART,
    "gpt_neo": ModuleNames(
        query_value=r".*\.(q_proj|v_proj)",
        key_value=r".*\.(k_proj|v_proj)",
        feed_forward=r".*\.mlp\.c_proj",
        outputs=r".*\.(out_proj|c_proj)",
        projections="q_proj k_proj v_proj out_proj c_fc c_proj lm_head",
    ),
    **dict.fromkeys(("llama", "mistral", "gemma"), _LLAMA),
    "qwen2": replace(_LLAMA, has_biases=True),
    "t5": ModuleNames(
        query_value=r".*\.(q|v)",
        key_value=r".*\.(k|v)",
        feed_forward=r".*\.wo",
        outputs=r".*\.(o|wo)",
        projections="q k v o wi wi_0 wi_1 wo lm_head",
        attention=r".*\.SelfAttention",
        has_biases=False,
    ),
    "bart": _BART,
    "mbart": _BART,
    "marian": _BART,
    "harness_two_way_gpt2": replace(_GPT, attention=r".*\.attn", projections="c_attn c_fc c_proj"),
    **dict.fromkeys(RECURRENT, ModuleNames(has_norms=False)),
    "harness_dan": ModuleNames(projections="dense", has_norms=False),
    "harness_static": ModuleNames(has_norms=False, has_biases=False, has_layers=False),
}
"""`model_type` of transformers to its module names."""

MODEL_TYPES = {
    "deberta_v3": "deberta-v2",
    "gpt": "openai-gpt",
    "two_way_gpt2": "harness_two_way_gpt2",
    "lstm": "harness_lstm",
    "bilstm": "harness_bilstm",
    "elmo": "harness_elmo",
    "transformer": "marian",
    "dan": "harness_dan",
    "static": "harness_static",
}
"""Model family to `model_type`, where the two differ."""

_QUERY_VALUE = (("query_value",), "query and value projections as modules")
NEEDED = {
    "lora": _QUERY_VALUE,
    "dora": _QUERY_VALUE,
    "adalora": _QUERY_VALUE,
    "vera": _QUERY_VALUE,
    "oft": _QUERY_VALUE,
    "boft": _QUERY_VALUE,
    "ia3": (("key_value", "feed_forward"), "key, value and feed-forward projections as modules"),
    "adapters": (("outputs",), "sublayer output projections as modules"),
    "prefix": (("attention",), "attention that accepts additional keys and values"),
}
"""Kind of adaptation to the fields of `ModuleNames` that it needs, and what they are."""


def unsupported_adaptation(
    adaptation: Adaptation,
    model_type: str,
    find: Callable[[], ModuleNames | None] = lambda: None,
) -> str:
    """Why a network of `model_type` does not support an adaptation; empty if it does, or if the
    type is unknown (empty).

    Args:
        find: the names in a network whose type is not listed; null if they are not known yet.
    """
    if not model_type:
        return ""
    adaptation = adaptation.parts if isinstance(adaptation, Staged) else adaptation
    if adaptation.kind == "prompt_tuning" and model_type == "harness_static":
        return "its token vectors do not interact, so prepended vectors have no effect"
    if adaptation.kind != "selective" and adaptation.kind not in NEEDED:
        return ""
    names = MODULE_NAMES.get(model_type) or find()
    if isinstance(adaptation, Selective):
        return _missing_parts(adaptation, names or ModuleNames(), model_type)
    if isinstance(adaptation, Rotation) and names and names.transposed:
        kind = adaptation.kind
        return f"the projections of a {model_type} are Conv1D modules, which {kind} does not rotate"
    if isinstance(adaptation, Targeted) and adaptation.targets:
        return _missing_targets(adaptation.kind, adaptation.targets, names, model_type)
    fields, what = NEEDED[adaptation.kind]
    missing = names is not None and not all(getattr(names, field) for field in fields)
    return f"a {model_type} has no {what}" if missing else ""


def unread_targets(adaptation: Adaptation) -> str:
    """Why an adaptation has no effect on a task with an output layer of its own: its targets are of
    the token head alone. Empty if they are not."""
    targets = adaptation.targets if isinstance(adaptation, Targeted) else None
    if not targets or any(one.split(".")[-1] not in OF_TOKEN_HEADS for one in targets):
        return ""
    return f"its targets, {', '.join(targets)}, are of the token head, which the task does not read"


def _missing_targets(
    kind: str, targets: tuple[str, ...], names: ModuleNames | None, model_type: str
) -> str:
    """The error for the first target without a module; types without listed names are checked when
    training begins."""
    if model_type in (*RECURRENT, "harness_static"):
        return f"a {model_type} has no projections for {kind}"
    known = names.projections.split() if names else []
    odd = [target for target in targets if known and target.split(".")[-1] not in known]
    if odd:
        return f"the projections of a {model_type} are {', '.join(known)}, but targets has {odd[0]}"
    return ""


def _missing_parts(adaptation: Selective, names: ModuleNames, model_type: str) -> str:
    if adaptation.parts == "layer_norms" and not names.has_norms:
        return f"a {model_type} has no layer norms"
    if adaptation.parts == "biases" and not names.has_biases:
        return f"a {model_type} has no biases"
    if adaptation.top_layers and not names.has_layers:
        return f"a {model_type} has no layers"
    if adaptation.top_layers and names.shares_layers:
        return f"the layers of a {model_type} share their weights and cannot be trained separately"
    return ""
