"""transformers' networks at any shape, built apart from `harness.models.build`: the oracle."""

from collections.abc import Callable
from typing import Any

import transformers
from torch import nn

from harness.models import ROTARY, Architecture, Size

hf: Any = transformers
"""Without its types, which know neither eager attention nor arguments from a dict."""
VOCAB = 97

Arguments = tuple[Architecture, Size]


def _bert_like(architecture: Architecture, size: Size) -> dict[str, Any]:
    return {
        "vocab_size": VOCAB,
        "num_hidden_layers": size.num_layers,
        "hidden_size": size.hidden_size,
        "num_attention_heads": size.num_heads,
        "intermediate_size": size.intermediate_size,
        "max_position_embeddings": architecture.max_position,
        "embedding_size": architecture.embedding_size or size.hidden_size,
        "attn_implementation": "eager",
        "pad_token_id": 0,
    }


def _deberta(architecture: Architecture, size: Size) -> dict[str, Any]:
    return {
        **_bert_like(architecture, size),
        "relative_attention": True,
        "pos_att_type": ["c2p", "p2c"],
        "position_biased_input": False,
        "type_vocab_size": 0,
        "max_relative_positions": architecture.max_position,
    }


def bert(a: Architecture, s: Size) -> Any:
    return hf.BertForMaskedLM(hf.BertConfig(**_bert_like(a, s)))


def roberta(a: Architecture, s: Size) -> Any:
    rows = {"max_position_embeddings": a.max_position + 2, "type_vocab_size": 1}
    return hf.RobertaForMaskedLM(hf.RobertaConfig(**_bert_like(a, s) | rows))


def albert(a: Architecture, s: Size) -> Any:
    return hf.AlbertForMaskedLM(hf.AlbertConfig(**_bert_like(a, s)))


def electra(a: Architecture, s: Size) -> Any:
    return hf.ElectraForMaskedLM(hf.ElectraConfig(**_bert_like(a, s)))


def deberta(a: Architecture, s: Size) -> Any:
    return hf.DebertaForMaskedLM(hf.DebertaConfig(**_deberta(a, s)))


def deberta_v3(a: Architecture, s: Size) -> Any:
    more = {
        "position_buckets": min(256, a.max_position // 2),
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
    }
    return hf.DebertaV2ForMaskedLM(hf.DebertaV2Config(**_deberta(a, s), **more))


def distilbert(a: Architecture, s: Size) -> Any:
    config = hf.DistilBertConfig(
        vocab_size=VOCAB,
        n_layers=s.num_layers,
        dim=s.hidden_size,
        n_heads=s.num_heads,
        hidden_dim=s.intermediate_size,
        max_position_embeddings=a.max_position,
        attn_implementation="eager",
    )
    return hf.DistilBertForMaskedLM(config)


def modernbert(a: Architecture, s: Size) -> Any:
    ids = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id"), 1)
    return hf.ModernBertForMaskedLM(hf.ModernBertConfig(**_bert_like(a, s), **ids))


def xlnet(a: Architecture, s: Size) -> Any:
    config = hf.XLNetConfig(
        vocab_size=VOCAB,
        d_model=s.hidden_size,
        n_layer=s.num_layers,
        n_head=s.num_heads,
        d_inner=s.intermediate_size,
    )
    return hf.XLNetLMHeadModel(config)


def _gpt(a: Architecture, s: Size) -> dict[str, Any]:
    return {
        "vocab_size": VOCAB,
        "n_positions": a.max_position,
        "n_embd": s.hidden_size,
        "n_layer": s.num_layers,
        "n_head": s.num_heads,
        "attn_implementation": "eager",
    }


def gpt(a: Architecture, s: Size) -> Any:
    """transformers fixes the feed-forward layer at 4 x hidden."""
    return hf.OpenAIGPTLMHeadModel(hf.OpenAIGPTConfig(**_gpt(a, s)))


def gpt2(a: Architecture, s: Size) -> Any:
    return hf.GPT2LMHeadModel(hf.GPT2Config(**_gpt(a, s), n_inner=s.intermediate_size))


def opt(a: Architecture, s: Size) -> Any:
    config = hf.OPTConfig(
        vocab_size=VOCAB,
        hidden_size=s.hidden_size,
        ffn_dim=s.intermediate_size,
        num_hidden_layers=s.num_layers,
        num_attention_heads=s.num_heads,
        max_position_embeddings=a.max_position,
        attn_implementation="eager",
    )
    return hf.OPTForCausalLM(config)


def gpt_neo(a: Architecture, s: Size) -> Any:
    types = [["global", "local"][number % 2] for number in range(s.num_layers)]
    config = hf.GPTNeoConfig(
        vocab_size=VOCAB,
        hidden_size=s.hidden_size,
        intermediate_size=s.intermediate_size,
        num_layers=s.num_layers,
        num_heads=s.num_heads,
        attention_types=[[types, 1]],
        window_size=a.sliding_window or 256,
        max_position_embeddings=a.max_position,
    )
    return hf.GPTNeoForCausalLM(config)


def _llama(a: Architecture, s: Size) -> dict[str, Any]:
    shared = {name: value for name, value in _bert_like(a, s).items() if name != "embedding_size"}
    return {
        **shared,
        "num_key_value_heads": a.num_kv_heads or s.num_heads,
        "head_dim": s.attention_size // s.num_heads,
        "tie_word_embeddings": a.tie_embeddings,
    }


def llama(a: Architecture, s: Size) -> Any:
    return hf.LlamaForCausalLM(hf.LlamaConfig(**_llama(a, s)))


def mistral(a: Architecture, s: Size) -> Any:
    return hf.MistralForCausalLM(hf.MistralConfig(**_llama(a, s)))


def qwen2(a: Architecture, s: Size) -> Any:
    return hf.Qwen2ForCausalLM(hf.Qwen2Config(**_llama(a, s)))


def gemma(a: Architecture, s: Size) -> Any:
    return hf.GemmaForCausalLM(hf.GemmaConfig(**_llama(a, s)))


def _t5(a: Architecture, s: Size) -> Any:
    return hf.T5Config(
        vocab_size=VOCAB,
        d_model=s.hidden_size,
        d_kv=s.attention_size // s.num_heads,
        d_ff=s.intermediate_size,
        num_layers=s.num_layers,
        num_decoder_layers=a.num_decoder_layers or s.num_layers,
        num_heads=s.num_heads,
        feed_forward_proj="gated-gelu" if a.gated_feed_forward else "relu",
    )


def t5(a: Architecture, s: Size) -> Any:
    """transformers 5 always ties the output matrix; a shared decoder takes the encoder's layers."""
    network = hf.T5ForConditionalGeneration(_t5(a, s))
    if not a.tie_embeddings:
        network.lm_head.weight = nn.Parameter(network.lm_head.weight.detach().clone())
    if a.share_decoder:
        for ours, theirs in zip(network.decoder.block, network.encoder.block, strict=True):
            ours.layer[0], ours.layer[2] = theirs.layer[0], theirs.layer[1]
        network.decoder.final_layer_norm = network.encoder.final_layer_norm
    return network


def t5_stack(a: Architecture, s: Size) -> Any:
    return hf.T5EncoderModel(_t5(a, s))


def _bart(a: Architecture, s: Size) -> dict[str, Any]:
    return {
        "vocab_size": VOCAB,
        "max_position_embeddings": a.max_position,
        "d_model": s.hidden_size,
        "encoder_layers": s.num_layers,
        "decoder_layers": a.num_decoder_layers or s.num_layers,
        "encoder_attention_heads": s.num_heads,
        "decoder_attention_heads": s.num_heads,
        "encoder_ffn_dim": s.intermediate_size,
        "decoder_ffn_dim": s.intermediate_size,
        "attn_implementation": "eager",
    }


def bart(a: Architecture, s: Size) -> Any:
    return hf.BartForConditionalGeneration(hf.BartConfig(**_bart(a, s)))


def transformer(a: Architecture, s: Size) -> Any:
    ends = {"pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 0}
    return hf.MarianMTModel(hf.MarianConfig(**_bart(a, s), **ends, activation_function="relu"))


REFERENCE: dict[str, Callable[[Architecture, Size], Any]] = {
    "bert": bert,
    "roberta": roberta,
    "albert": albert,
    "electra": electra,
    "deberta": deberta,
    "deberta_v3": deberta_v3,
    "distilbert": distilbert,
    "modernbert": modernbert,
    "xlnet": xlnet,
    "gpt": gpt,
    "gpt2": gpt2,
    "opt": opt,
    "gpt_neo": gpt_neo,
    "llama": llama,
    "mistral": mistral,
    "qwen2": qwen2,
    "gemma": gemma,
    "t5": t5,
    "bart": bart,
    "transformer": transformer,
}


SHAPES = [
    Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=64),
    Size(num_layers=3, hidden_size=24, num_heads=3, intermediate_size=96),
    Size(num_layers=2, hidden_size=40, num_heads=1, intermediate_size=160),
]

VARIANTS: list[Architecture] = [
    *(Architecture(family=name, max_position=32) for name in REFERENCE),
    Architecture(family="albert", embedding_size=8, max_position=64),
    Architecture(family="electra", embedding_size=12, max_position=64),
    *(Architecture(family=name, num_kv_heads=1) for name in ROTARY),
    *(Architecture(family=name, tie_embeddings=False) for name in ROTARY),
    Architecture(family="t5", gated_feed_forward=True),
    Architecture(family="t5", gated_feed_forward=True, tie_embeddings=False),
    Architecture(family="t5", num_decoder_layers=4),
    Architecture(family="t5", share_decoder=True),
    Architecture(family="bart", num_decoder_layers=1, max_position=64),
    Architecture(family="transformer", num_decoder_layers=1, max_position=64),
    Architecture(family="gpt_neo", sliding_window=3, max_position=64),
]
