"""Published checkpoints: states, logits and tokens equal those of transformers."""

import json
import pickle
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer, pretrained
from harness.data.tokenizers.training import train
from harness.finetuning.heads.text import TextOutput
from harness.finetuning.heads.text_codec import TextCodec
from harness.finetuning.heads.text_model import TextModel
from harness.finetuning.inputs import Ragged
from harness.finetuning.protocol import Protocol
from harness.models import MODELS, SIZES
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.checkpoints import files
from harness.pretraining.checkpoint_import import adopt, agrees, check_tokens, check_type
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.likelihood import log_likelihoods
from harness.pretraining.scoring.requests import Text, make_requests
from harness.tasks.examples import Examples
from harness.tasks.task import Task

VOCAB = 90
SMALL = {"vocab_size": VOCAB, "initializer_range": 0.1}
BERT = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 66,
}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}
T5 = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
BART = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
}
XLNET = {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64}
ROTARY = {**BERT, "num_key_value_heads": 1, "head_dim": 16}
OPT = {**BERT, "ffn_dim": 64, "word_embed_proj_dim": 32}
NEO = {
    "hidden_size": 32,
    "num_layers": 2,
    "num_heads": 2,
    "attention_types": [[["global", "local"], 1]],
}
ENDS = {"bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}

NETWORKS: dict[str, tuple[str, str, dict[str, Any], str, str]] = {
    # name: (configuration, network, fields, family, objective's representation)
    "bert": ("BertConfig", "BertForMaskedLM", BERT, "bert", "bidirectional"),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", BERT, "roberta", "bidirectional"),
    "xlm-roberta": (
        "XLMRobertaConfig",
        "XLMRobertaForMaskedLM",
        BERT,
        "checkpoint",
        "bidirectional",
    ),
    "electra": ("ElectraConfig", "ElectraForPreTraining", BERT, "electra", "bidirectional"),
    "mpnet": ("MPNetConfig", "MPNetForMaskedLM", BERT, "checkpoint", "bidirectional"),
    "xlnet": ("XLNetConfig", "XLNetLMHeadModel", XLNET, "xlnet", "permuted"),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", GPT, "gpt2", "causal"),
    "llama": ("LlamaConfig", "LlamaForCausalLM", BERT, "llama", "causal"),
    "mistral": ("MistralConfig", "MistralForCausalLM", ROTARY, "mistral", "causal"),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", ROTARY, "qwen2", "causal"),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", ROTARY, "gemma", "causal"),
    "opt": ("OPTConfig", "OPTForCausalLM", OPT, "opt", "causal"),
    # These read token types as tokens.
    "gptj": ("GPTJConfig", "GPTJForCausalLM", {**GPT, "rotary_dim": 8}, "checkpoint", "causal"),
    "gpt_bigcode": ("GPTBigCodeConfig", "GPTBigCodeForCausalLM", GPT, "checkpoint", "causal"),
    "ctrl": ("CTRLConfig", "CTRLLMHeadModel", {**GPT, "dff": 64}, "checkpoint", "causal"),
    "gpt_neo": ("GPTNeoConfig", "GPTNeoForCausalLM", NEO, "gpt_neo", "causal"),
    "t5": ("T5Config", "T5ForConditionalGeneration", T5, "t5", "encoder_decoder"),
    "mt5": ("MT5Config", "MT5ForConditionalGeneration", T5, "checkpoint", "encoder_decoder"),
    "bart": ("BartConfig", "BartForConditionalGeneration", BART, "bart", "encoder_decoder"),
    "marian": ("MarianConfig", "MarianMTModel", BART, "transformer", "encoder_decoder"),
}


def make(name: str) -> Any:
    """A tiny network of transformers with random weights."""
    config_name, network_name, fields, _, representation = NETWORKS[name]
    ends = ENDS | ({"decoder_start_token_id": 0} if representation == "encoder_decoder" else {})
    config = getattr(transformers, config_name)(**SMALL, **fields, **ends)
    torch.manual_seed(1)
    return getattr(transformers, network_name)(config).eval()


def states_of(network: Any, ids: Tensor, mask: Tensor, representation: str) -> Tensor:
    """[B, T, H] what transformers' own forward gives; of a decoder its states."""
    more = {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    more = more if representation == "encoder_decoder" else {}
    with torch.no_grad():
        out: Any = network.base_model(
            input_ids=ids, attention_mask=mask, **more, output_hidden_states=True
        )
    own_base = not hasattr(out, "last_hidden_state")  # T5
    states: Tensor = out.decoder_hidden_states[-1] if own_base else out.last_hidden_state
    return states


@pytest.mark.parametrize("name", NETWORKS)
def test_states_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    *_, family, representation = NETWORKS[name]
    network = make(name)
    network.save_pretrained(tmp_path / "theirs")
    adopt(tmp_path / "theirs").save(tmp_path / "ours")
    ours = load(tmp_path / "ours").eval()
    assert (ours.family, ours.representation) == (family, representation)
    assert ours.hidden_size == 32
    ids = torch.randint(5, VOCAB, (3, 9))
    mask = (torch.arange(9) < torch.tensor([9, 5, 1])[:, None]).long()
    more = {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    with torch.no_grad():
        states = ours(
            ids,
            mask,
            torch.zeros_like(ids),
            **(more if representation == "encoder_decoder" else {}),
        ).last_hidden_state
    expected = states_of(network, ids, mask, representation)
    real = mask.bool()
    torch.testing.assert_close(states[real], expected[real], atol=1e-5, rtol=1e-5)
    if name != "electra":
        assert agrees(ours), "the head gives the network's own logits"


SHIFTED = {
    "roberta": "Roberta",
    "camembert": "Camembert",
    "mpnet": "MPNet",
    "longformer": "Longformer",
    "data2vec-text": "Data2VecText",
    "esm": "Esm",
    "ibert": "IBert",
    "luke": "Luke",
}


@pytest.mark.parametrize("kind", ["bert", "gpt2", "t5", "distilbert", "xlnet", "bart"])
def test_the_hidden_size_is_that_of_transformers(kind: str) -> None:
    config = transformers.AutoConfig.for_model(kind)
    assert files.hidden_size(config.to_dict()) == config.hidden_size


@pytest.mark.parametrize("given", [None, "a", [64], -1])
def test_no_number_is_no_hidden_size(given: Any) -> None:
    assert files.hidden_size({"hidden_size": given}) == 0


@torch.inference_mode()
@pytest.mark.parametrize(
    ("kind", "padding"), [*((kind, 1) for kind in SHIFTED), ("roberta", 3), ("camembert", 5)]
)
def test_an_input_of_all_positions_is_read_and_a_longer_one_is_not(kind: str, padding: int) -> None:
    """rinna/japanese-roberta-base has 3 as padding."""
    fields = SMALL | BERT | ENDS | {"pad_token_id": padding}
    fields |= {"entity_vocab_size": 10} if kind == "luke" else {}
    config = getattr(transformers, f"{SHIFTED[kind]}Config")(**fields)
    network = getattr(transformers, f"{SHIFTED[kind]}ForMaskedLM")(config).eval()
    most = int(files.positions(config.to_dict()))
    network(input_ids=torch.full((1, most), 7))
    with pytest.raises((IndexError, RuntimeError)):
        network(input_ids=torch.full((1, most + 1), 7))


@torch.inference_mode()
@pytest.mark.parametrize("name", ["opt", "mt5", "gpt2", "bart"])
def test_a_checkpoint_writes_by_transformers_search(name: str, tmp_path: Path) -> None:
    make(name).save_pretrained(tmp_path)
    writer = TextModel(adopt(tmp_path).eval(), Protocol(max_target_length=6), end=3, pad=0)
    assert writer.is_native
    mask = (torch.arange(9) < torch.tensor([9, 5, 1])[:, None]).long()
    batch = {"input_ids": torch.randint(5, VOCAB, (3, 9)) * mask, "attention_mask": mask}
    greedy, found = writer.write_greedily(batch), writer.write(batch)
    assert torch.equal(greedy[:, : found.shape[1]], found)
    TextModel(writer.backbone, Protocol(max_target_length=6, num_beams=2), 3, 0).write(batch)


def test_a_network_of_two_networks_is_refused(tmp_path: Path) -> None:
    config: Any = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(
        make("bert").config, make("bert").config
    )
    config.decoder_start_token_id, config.pad_token_id = 2, 0
    transformers.EncoderDecoderModel(config).save_pretrained(tmp_path)
    with pytest.raises(
        ValueError, match="the type encoder-decoder must have a vocab_size, but has none"
    ):
        adopt(tmp_path)


def sharded(folder: Path, weight_map: Any) -> Path:
    """A BERT whose weights are in two files, one of them beside the folder."""
    network = make("bert")
    network.save_pretrained(folder)
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").unlink()
    weights = {name: value.contiguous() for name, value in network.state_dict().items()}
    weights.pop("cls.predictions.decoder.weight")
    weights.pop("cls.predictions.decoder.bias")
    for file in (folder / "model-1.safetensors", folder.parent / "beside.safetensors"):
        save_file(weights, file, {"format": "pt"})
    index = {"metadata": {}, "weight_map": weight_map(weights)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def test_weights_are_read_from_the_folder_alone(tmp_path: Path) -> None:
    """Other files are no part of the fingerprint, so results would stay when they change."""
    whole = sharded(
        tmp_path / "whole", lambda weights: dict.fromkeys(weights, "model-1.safetensors")
    )
    assert not files.problem(whole) and adopt(whole).family == "bert"
    for given, message in (
        ("../beside.safetensors", "must name files of weights in its folder, but names ../beside"),
        (str(tmp_path / "beside.safetensors"), "must name files of weights in its folder"),
        (5, "must name files of weights in its folder, but names 5"),
    ):
        folder = sharded(tmp_path / "other", lambda weights, to=given: dict.fromkeys(weights, to))
        assert message in files.problem(folder)
        with pytest.raises(ValueError, match="must name files of weights in its folder"):
            adopt(folder)
    folder = sharded(tmp_path / "other", lambda _: 3)
    assert "whose weight_map names the file of each weight" in files.problem(folder)


@pytest.mark.parametrize("field", [{"clamp_len": 10**30}, {"is_encoder_decoder": True}])
def test_a_configuration_that_is_odd_for_its_type_is_one_line(
    field: dict[str, Any], tmp_path: Path
) -> None:
    make("xlnet").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | field))
    with suppress(ValueError):
        adopt(tmp_path)


def test_half_precision_becomes_whole(tmp_path: Path) -> None:
    make("llama").to(torch.bfloat16).save_pretrained(tmp_path)
    assert {p.dtype for p in adopt(tmp_path).network.parameters()} == {torch.float32}


def test_a_network_without_a_head_has_states_but_no_logits(tmp_path: Path) -> None:
    make("bert").base_model.save_pretrained(tmp_path / "theirs")
    adopt(tmp_path / "theirs").save(tmp_path / "ours")
    body = load(tmp_path / "ours")
    ids = torch.arange(5, 11)[None]
    assert body(ids).last_hidden_state.shape == (1, 6, 32)
    with pytest.raises(ValueError, match="cannot predict tokens"):
        body.token_logits(torch.zeros(1, 32))


DECODERS = [name for name, (*_, representation) in NETWORKS.items() if representation == "causal"]


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_is_causal_without_its_head(name: str, tmp_path: Path) -> None:
    """Its configuration names `Qwen2Model` or a classifier."""
    make(name).base_model.save_pretrained(tmp_path)
    assert adopt(tmp_path).representation == "causal"


XLM = {"emb_dim": 32, "n_layers": 2, "n_heads": 2, "gelu_activation": True}


@torch.inference_mode()
@pytest.mark.parametrize(
    ("kind", "causal"), [("XLM", False), ("XLM", True), ("Flaubert", False)], ids=str
)
def test_xlm_and_flaubert_are_causal_if_they_say_so(
    kind: str, causal: bool, tmp_path: Path
) -> None:
    config = getattr(transformers, f"{kind}Config")(**SMALL, **XLM, **ENDS, causal=causal)
    network = getattr(transformers, f"{kind}WithLMHeadModel")(config).eval()
    network.save_pretrained(tmp_path)
    backbone = adopt(tmp_path)
    assert backbone.representation == ("causal" if causal else "bidirectional")
    ids = torch.randint(5, VOCAB, (2, 7))
    ours = backbone.token_logits(backbone(ids).last_hidden_state)
    torch.testing.assert_close(ours, network(ids).logits)


def test_half_a_network_is_refused(tmp_path: Path) -> None:
    transformers.T5EncoderModel(make("t5").config).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="lacks weights of the network, such as decoder"):
        adopt(tmp_path)


def test_our_own_network_is_read_as_it_is(tmp_path: Path) -> None:
    tokens = Tokens(VOCAB, 0, 2, 3)
    for name, representation in (
        *(("elmo", "bilm"), ("two_way_gpt2", "bilm"), ("lstm", "causal")),
        *(("t5", "bidirectional"), ("static", "cbow")),
    ):
        mine = build(MODELS[name], SIZES["nano"], tokens, representation, 0).eval()
        mine.save(tmp_path / name)
        again = adopt(tmp_path / name).eval()
        assert (again.family, again.representation) == (name, representation)
        ids = torch.randint(5, VOCAB, (2, 7))
        assert torch.equal(mine(ids).last_hidden_state, again(ids).last_hidden_state)


def test_log_likelihoods_are_those_of_transformers(tmp_path: Path) -> None:
    network = make("gpt2")
    network.save_pretrained(tmp_path / "theirs")
    tokenizer = trained_tokenizer(tmp_path / "learned", "byte_bpe", 300)
    ids = [tokenizer.bos_token_id, 6, 7, 8, tokenizer.eos_token_id]
    row = torch.tensor([ids])
    loss = network(input_ids=row, labels=row).loss
    vocabulary = Vocabulary.load(tmp_path / "learned")
    (score,) = log_likelihoods(adopt(tmp_path / "theirs"), vocabulary, [Text((6, 7, 8))])
    np.testing.assert_allclose(score, -4 * loss.item(), rtol=1e-5)


GPT_2 = {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>"}
TEXTS = ["the cat sat on the mat", "a dog ran after the cat", "mats are flat , dogs are not"]


def trained_tokenizer(folder: Path, algorithm: Any, size: int = 120) -> PreTrainedTokenizerFast:
    train(Tokenizer(algorithm=algorithm, vocab_size=size), iter(TEXTS * 5), folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def _bare(folder: Path, **roles: str) -> None:
    """A byte-level tokenizer as GPT-2's: roles as given, no template, no leading space."""
    from tokenizers import pre_tokenizers, processors

    backend = trained_tokenizer(folder, "byte_bpe", 300).backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    shutil.rmtree(folder)
    PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)


def _started(folder: Path, **roles: str) -> None:
    """As LLaMA's: a start before every text, pairs run together."""
    from tokenizers import processors

    backend = trained_tokenizer(folder, "byte_bpe", 300).backend_tokenizer
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 0)]
    )
    shutil.rmtree(folder)
    PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)


@pytest.mark.parametrize(
    ("write", "roles", "start", "cls"),
    [
        (_bare, GPT_2, 0, "</s>"),
        (_started, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}, 1, "<s>"),
    ],
)
def test_a_tokenizer_gets_what_it_lacks(
    write: Callable[..., None], roles: dict[str, str], start: int, cls: str, tmp_path: Path
) -> None:
    write(tmp_path / "theirs", **roles)
    pretrained.adopt(tmp_path / "theirs", tmp_path / "ours")
    ours = PreTrainedTokenizerFast.from_pretrained(tmp_path / "ours")
    plain = PreTrainedTokenizerFast.from_pretrained(tmp_path / "theirs")
    a, b = (plain(text, add_special_tokens=False)["input_ids"] for text in (" the cat", " a dog"))
    end, first = plain.convert_tokens_to_ids("</s>"), plain.convert_tokens_to_ids("<s>")
    before = [first] * start
    assert ours("the cat")["input_ids"] == [*before, *a, end]
    assert ours("the cat", "a dog")["input_ids"] == [*before, *a, end, *b, end]
    assert ours.pad_token == "</s>"
    vocabulary = Vocabulary.load(tmp_path / "ours")
    assert (vocabulary.sep, vocabulary.pad) == (end, end)
    assert vocabulary.cls == plain.convert_tokens_to_ids(cls)


def _split_first(folder: Path, **roles: str) -> None:
    """As LLaMA 3's: words are split before they become bytes."""
    from tokenizers import Regex, pre_tokenizers

    _bare(folder, **roles)
    backend = PreTrainedTokenizerFast.from_pretrained(folder).backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r" ?\w+| ?[^\s\w]+|\s+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)


def _as_roberta(folder: Path, **roles: str) -> None:
    """With RoBERTa's template, which takes spaces away from the places of words."""
    from tokenizers import processors

    _bare(folder, **roles)
    backend = PreTrainedTokenizerFast.from_pretrained(folder).backend_tokenizer
    ends = (("</s>", backend.token_to_id("</s>")), ("<s>", backend.token_to_id("<s>")))
    backend.post_processor = processors.RobertaProcessing(*ends, add_prefix_space=False)
    PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)


BYTE_LEVEL = [_bare, _split_first, _as_roberta]
TAGGING = Task.model_validate(
    {
        "name": "toy",
        "kind": "tagging",
        "data": {"source": "microworld", "generator": "toy"},
        "text_fields": ("words",),
        "labels": ("not", "dog", "cat"),  # pieces that the vocabulary has
        "metrics": ("accuracy",),
    }
)


def _adopted(write: Callable[..., None], folder: Path) -> PreTrainedTokenizerFast:
    write(folder / "theirs", **GPT_2)
    pretrained.adopt(folder / "theirs", folder / "ours")
    return PreTrainedTokenizerFast.from_pretrained(folder / "ours")


@pytest.mark.parametrize("write", BYTE_LEVEL)
def test_words_are_spelled_alike_wherever_they_stand(
    write: Callable[..., None], tmp_path: Path
) -> None:
    ours = _adopted(write, tmp_path)
    text = "the cat, not the dogs"
    whole = ours(text, add_special_tokens=False, return_offsets_mapping=True)
    given = [["the", "cat", ",", "not", "the", "dogs"], ["the", "cat,", "not", "the", "dogs"]]
    split = ours(given[1], is_split_into_words=True, add_special_tokens=False)
    assert split["input_ids"] == whole["input_ids"]
    pieces = [ours(word, add_special_tokens=False)["input_ids"] for word in given[1]]
    assert list(chain(*pieces)) == whole["input_ids"]
    words = [text[begin:end].strip() for begin, end in whole["offset_mapping"]]
    assert "".join(words) == "".join(given[0])


@pytest.mark.parametrize("write", BYTE_LEVEL)
def test_a_perfect_writer_scores_1_on_tags(write: Callable[..., None], tmp_path: Path) -> None:
    labels = np.empty(2, dtype=object)
    labels[:] = [(0, 1, 2, 0), (1, 0, 0)]
    examples = Examples([("the", "cat", "sat", "on"), ("a", "dog", "ran")], labels)
    head = TextOutput(TAGGING, Protocol(answer="text"), _adopted(write, tmp_path))
    data = head.encode(examples)
    batch = head.collate(data, np.arange(2))
    found = head.predictions(head.decode(batch["target_ids"], batch), data, examples)
    assert list(found) == list(labels)


def _as_t5(folder: Path, **roles: str) -> None:
    """An end after every text, nothing before it."""
    from tokenizers import processors

    backend = trained_tokenizer(folder, "unigram").backend_tokenizer
    end = [("[SEP]", backend.token_to_id("[SEP]"))]
    backend.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B [SEP]", special_tokens=end
    )
    shutil.rmtree(folder)
    PreTrainedTokenizerFast(tokenizer_object=backend, **roles).save_pretrained(folder)


def test_sources_have_the_template_of_their_tokenizer(tmp_path: Path) -> None:
    _as_t5(tmp_path / "theirs", eos_token="[SEP]", unk_token="<unk>", pad_token="<pad>")
    pretrained.adopt(tmp_path / "theirs", tmp_path / "ours")
    theirs, ours = (
        PreTrainedTokenizerFast.from_pretrained(tmp_path / n) for n in ("theirs", "ours")
    )
    task = TAGGING.model_copy(update={"kind": "generation"})
    targets = np.empty(1, dtype=object)
    targets[0] = ("a dog",)
    head = TextOutput(task, Protocol(max_sequence_length=8), ours)
    data = head.encode(Examples([("the cat sat",)], targets))
    assert isinstance(data.targets, Ragged)
    assert list(data.input_ids[0]) == theirs("the cat sat")["input_ids"]
    assert list(data.targets[0]) == theirs("a dog")["input_ids"]
    long = head.encode(Examples([("the cat sat on the mat " * 9,)], targets)).input_ids[0]
    assert (len(long), long[-1]) == (8, ours.eos_token_id)

    vocabulary = Vocabulary.load(tmp_path / "ours")
    words = tuple(theirs("the cat", add_special_tokens=False)["input_ids"])
    objective = OBJECTIVES["denoising_infill"].components[-1][1]
    (question,) = make_requests(Text(words), objective, vocabulary)
    assert question.source == [vocabulary.mask, ours.eos_token_id]


@pytest.mark.parametrize("algorithm", ["wordpiece", "byte_bpe", "unigram"])
def test_our_own_template_is_of_a_first_and_a_last_token(algorithm: str, tmp_path: Path) -> None:
    ours = trained_tokenizer(tmp_path, algorithm, 300)
    assert TextCodec(ours).framed([7]) == [ours.cls_token_id, 7, ours.sep_token_id]
    assert Vocabulary.load(tmp_path).framed([7]) == TextCodec(ours).framed([7])


def test_a_vocabulary_without_tokenizer_json_is_converted(tmp_path: Path) -> None:
    trained_tokenizer(tmp_path / "learned", "byte_bpe", 300)
    model = json.loads((tmp_path / "learned" / "tokenizer.json").read_text())["model"]
    folder = tmp_path / "theirs"
    make("gpt2").config.save_pretrained(folder)
    vocab = model["vocab"] | {"<|endoftext|>": len(model["vocab"])}
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text("\n".join(" ".join(pair) for pair in model["merges"]))
    pretrained.adopt(folder, tmp_path / "ours")
    ours = PreTrainedTokenizerFast.from_pretrained(tmp_path / "ours")
    tokens = ours.convert_ids_to_tokens(ours("the cat", "a dog")["input_ids"])
    assert [token for token in tokens if token.startswith("<")] == ["<|endoftext|>"] * 2
    assert tokens[-1] == "<|endoftext|>"


@pytest.mark.parametrize("algorithm", ["wordpiece", "byte_bpe", "unigram"])
def test_a_whole_tokenizer_stays_as_it_is(algorithm: str, tmp_path: Path) -> None:
    theirs = trained_tokenizer(tmp_path / "theirs", algorithm, 300)
    pretrained.adopt(tmp_path / "theirs", tmp_path / "ours")
    ours = PreTrainedTokenizerFast.from_pretrained(tmp_path / "ours")
    for texts in (("the cat sat",), ("the cat sat", "a dog")):
        assert ours(*texts)["input_ids"] == theirs(*texts)["input_ids"]
    before, after = (Vocabulary.load(tmp_path / name) for name in ("theirs", "ours"))
    assert before.words == after.words
    assert (before.cls, before.sep, before.mask) == (after.cls, after.sep, after.mask)


@pytest.mark.parametrize("algorithm", ["wordpiece", "byte_bpe", "unigram"])
def test_a_qwen_with_a_tokenizer_of_its_own_keeps_it(algorithm: str, tmp_path: Path) -> None:
    """AutoTokenizer builds that of Qwen."""
    make("qwen2").save_pretrained(tmp_path / "theirs")
    theirs = trained_tokenizer(tmp_path / "theirs", algorithm, 300)
    pretrained.check(tmp_path / "theirs")
    pretrained.adopt(tmp_path / "theirs", tmp_path / "ours")
    ours = PreTrainedTokenizerFast.from_pretrained(tmp_path / "ours")
    for texts in (("The cat sat",), ("the cat sat", "a dog, the mat")):
        assert ours(*texts)["input_ids"] == theirs(*texts)["input_ids"]
    version = files.fingerprint(str(tmp_path / "theirs"), None).partition(":")[0]
    assert version != str(files.IMPORT_VERSION)
    config = tmp_path / "theirs" / "tokenizer_config.json"
    config.write_text(config.read_text().replace("TokenizersBackend", "Qwen2Tokenizer"))
    version = files.fingerprint(str(tmp_path / "theirs"), None).partition(":")[0]
    assert version == str(files.IMPORT_VERSION)


def test_a_tokenizer_that_is_none_is_refused(tmp_path: Path) -> None:
    make("bert").save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="cannot be read"):
        pretrained.adopt(tmp_path, tmp_path / "out")


def test_tokens_that_the_network_does_not_embed_are_refused(tmp_path: Path) -> None:
    make("bert").save_pretrained(tmp_path / "model")
    trained_tokenizer(tmp_path / "tokenizer", "byte_bpe", 300).save_pretrained(
        tmp_path / "tokenizer"
    )
    path = tmp_path / "tokenizer" / "tokenizer.json"
    content = json.loads(path.read_text())
    content["added_tokens"][-1]["id"] = VOCAB
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="do not belong together"):
        check_tokens(adopt(tmp_path / "model"), tmp_path / "tokenizer")


class Code:
    """What unpickles to a call."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def test_a_pickle_with_code_is_refused_and_never_run(tmp_path: Path) -> None:
    folder, marker = tmp_path / "model", tmp_path / "run"
    make("bert").save_pretrained(folder)
    (folder / "model.safetensors").unlink()
    state = {"bert.embeddings.word_embeddings.weight": Code(marker)}
    torch.save(state, folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="cannot be loaded"):
        adopt(folder)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Code(marker), protocol=2))
    with pytest.raises(ValueError, match="cannot be loaded"):
        adopt(folder)
    assert not marker.exists()


def test_a_pickle_of_tensors_is_read(tmp_path: Path) -> None:
    network = make("bert")
    network.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    torch.save(network.state_dict(), tmp_path / "pytorch_model.bin")
    mine = adopt(tmp_path).network.state_dict()
    assert all(torch.equal(mine[name], value) for name, value in network.state_dict().items())


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "vit"}, "a vit is no model of text"),
        ({"model_type": "mymodel"}, "'mymodel' is unknown"),
        ({"model_type": "mine", "auto_map": {"AutoConfig": "x.Y"}}, "code of its own"),
        ({}, "is unknown"),
    ],
)
def test_what_is_no_model_of_text_is_refused(
    config: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message):
        check_type(tmp_path)


def test_problems_of_files_are_seen_without_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "find_spec", lambda _: None)  # no sentencepiece
    folder = tmp_path / "model"
    assert "there is no folder" in files.problem(folder)
    folder.mkdir()
    assert "has no config.json" in files.problem(folder)
    make("bert").save_pretrained(folder)
    assert "has no tokenizer.json" in files.problem(folder)
    (folder / "spiece.model").touch()
    assert "SentencePiece model but no tokenizer.json" in files.problem(folder)
    trained_tokenizer(folder, "wordpiece")
    assert files.problem(folder) == ""
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    for cut in (4, 100, len(whole) - 10):
        weights.write_bytes(whole[:cut])
        assert "damaged or truncated" in files.problem(folder), cut
    weights.unlink()
    assert "neither" in files.problem(folder)
    (folder / "config.json").write_text("[")
    assert "is not JSON" in files.problem(folder)
    with pytest.raises(ValueError, match=r"config\.json must be readable, but: No such file"):
        files.read_config(tmp_path / "absent")


def test_the_fingerprint_is_of_the_content_alone(tmp_path: Path) -> None:
    make("bert").save_pretrained(tmp_path / "one")
    trained_tokenizer(tmp_path / "one", "wordpiece")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (tmp_path / "two" / "README.md").write_text("a card changes nothing")
    one, two = (files.fingerprint(str(tmp_path / name), None) for name in ("one", "two"))
    assert one == two
    (tmp_path / "two" / "tokenizer_config.json").write_text("{}")
    assert files.fingerprint(str(tmp_path / "two"), None) != one


def test_an_id_of_the_hub_is_distinguished_from_a_folder(tmp_path: Path) -> None:
    for path in ("./my-bert", "/a/b", "~/b", "a/b/c", str(tmp_path)):
        assert files.is_folder(path), path
    for name in ("gpt2", "google-bert/bert-base-uncased"):
        assert not files.is_folder(name), name
