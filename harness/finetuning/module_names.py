"""Where the networks of transformers have the parts that an adaptation changes, by the names of
their modules; and what has no place in them. Known without building a network."""

from dataclasses import dataclass, replace

from harness.finetuning.adaptation import Adaptation, Lora, Selective


@dataclass(frozen=True)
class ModuleNames:
    """Regular expressions of whole module names; empty: there is no such module."""

    query_value: str = ""
    """Projections of queries and values, or one of these and the keys: as `peft` has them."""
    key_value: str = ""
    feed_forward: str = ""
    """The second projections of feed-forward layers, which read the inner activations."""
    outputs: str = ""
    """The last projection of each sublayer, before its residual sum."""
    attention: str = ""
    """Self-attention that goes through transformers' interface of attention functions."""
    projections: str = ""
    """Last parts of the names of all its linear modules: what LoRA may be put beside."""
    has_norms: bool = True
    has_biases: bool = True
    has_layers: bool = True
    shares_layers: bool = False
    """Whether all layers are one."""


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
_GPT = ModuleNames(
    query_value=r".*\.c_attn",
    key_value=r".*\.c_attn",
    feed_forward=r".*\.mlp\.c_proj",
    outputs=r".*\.c_proj",
    projections="c_attn c_fc c_proj lm_head",
)

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
    "xlnet": ModuleNames(projections="layer_1 layer_2 lm_loss"),  # its attention has bare matrices
    "openai-gpt": _GPT,
    "gpt2": replace(_GPT, attention=r".*\.attn"),
    "llama": ModuleNames(
        query_value=r".*\.(q_proj|v_proj)",
        key_value=r".*\.(k_proj|v_proj)",
        feed_forward=r".*\.down_proj",
        outputs=r".*\.(o_proj|down_proj)",
        projections="q_proj k_proj v_proj o_proj gate_proj up_proj down_proj lm_head",
        attention=r".*\.self_attn",
        has_biases=False,
    ),
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
    "harness_elmo": ModuleNames(has_norms=False),
    "harness_static": ModuleNames(has_norms=False, has_biases=False, has_layers=False),
}
"""`model_type` of transformers to where things are."""

MODEL_TYPES = {
    "deberta_v3": "deberta-v2",
    "gpt": "openai-gpt",
    "elmo": "harness_elmo",
    "static": "harness_static",
}
"""Families whose `model_type` is not their name."""

RECURRENT_OR_STATIC = ("harness_elmo", "harness_static")


def unsupported_adaptation(adaptation: Adaptation, model_type: str) -> str:
    """Why a network of `model_type` has no place for an adaptation; empty if it has, or if the
    type is not known (empty), too."""
    if not model_type:
        return ""
    kind, places = adaptation.kind, MODULE_NAMES.get(model_type)
    if isinstance(adaptation, Selective):
        return _missing_parts(adaptation, places or ModuleNames(), model_type)
    if isinstance(adaptation, Lora) and adaptation.targets:
        return _missing_targets(adaptation.targets, places, model_type)
    if kind == "prompt_tuning" and model_type == "harness_static":
        return "its vectors do not see one another, so that none before them changes anything"
    needed = {
        "lora": ("query_value", "projections of queries and values that are modules"),
        "ia3": ("key_value", "projections of keys and values that are modules"),
        "adapters": ("outputs", "output projections of its sublayers that are modules"),
        "prefix": ("attention", "attention that takes keys and values from outside"),
    }
    if kind not in needed:
        return ""
    field, what = needed[kind]
    if places is None:
        return f"where a {model_type} has {what} is not known here"
    return "" if getattr(places, field) else f"a {model_type} has no {what}"


def _missing_targets(targets: tuple[str, ...], places: ModuleNames | None, model_type: str) -> str:
    """Of a network that is not known here, its modules are looked at when training begins."""
    if model_type in RECURRENT_OR_STATIC:
        return f"a {model_type} has no projections to put lora into"
    known = places.projections.split() if places else []
    odd = [target for target in targets if known and target.split(".")[-1] not in known]
    if odd:
        return f"the projections of a {model_type} are {', '.join(known)}, but targets has {odd[0]}"
    return ""


def _missing_parts(adaptation: Selective, places: ModuleNames, model_type: str) -> str:
    if adaptation.parts == "layer_norms" and not places.has_norms:
        return f"a {model_type} has no layer norms"
    if adaptation.parts == "biases" and not places.has_biases:
        return f"a {model_type} has no biases"
    if adaptation.top_layers and not places.has_layers:
        return f"a {model_type} has no layers"
    if adaptation.top_layers and places.shares_layers:
        return f"the layers of a {model_type} share their weights, so that none is trained alone"
    return ""
