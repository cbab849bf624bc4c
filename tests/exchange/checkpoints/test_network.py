"""transformers' own classes load an exported network: equal hidden states, equal tokens."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    T5ForConditionalGeneration,
)

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.exchange.checkpoints.network import write_network
from harness.finetuning.protocol import Protocol
from harness.models import FAMILIES, MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.checkpoints.sentence_embeddings import MODULES, Dense, SentenceEmbedding
from harness.pretraining.checkpoint_import import adopt
from tests.models.checkpoints.test_checkpoints import make

TINY = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
TEXTS = ["the cat sat on the mat", "a dog saw the cat run", "the sun is over a red house"] * 5
TEXTS += ["they see many old trees by our river"] * 5
NO_CLASS = (
    *("two_way_gpt2", "lstm", "bilstm", "elmo", "dan", "static"),
    *("bag_of_words", "majority", "lead", "copy"),
)
OWN = [name for name in MODELS if name not in (*NO_CLASS, "checkpoint")]
OTHER_REPRESENTATIONS = [
    (family, representation)
    for family, facts in FAMILIES.items()
    if facts.kind in ("encoder", "decoder", "encoder_decoder") and family != "xlnet"
    for representation in facts.representations[1:]
]


USUAL = {
    "byte_bpe": ("roberta", "gpt2", "opt", "bart", "llama", "modernbert"),
    "unigram": ("t5", "albert", "xlnet", "deberta_v3"),
    "bpe": ("gpt",),
    "sentencepiece_bpe": ("llama", "mistral", "gemma", "bart"),
    "word": ("bert",),
    "character": ("bert",),
}
"""Tokenizers that AutoTokenizer may confuse with those published for a family."""
TOKENIZED = [
    *((name, "wordpiece") for name in OWN if name != "qwen2"),
    *((name, algorithm) for algorithm, names in USUAL.items() for name in names),
]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Algorithm to the folder of a tokenizer."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("wordpiece", *USUAL)}
    for name, folder in folders.items():
        settings = Tokenizer.model_validate({"algorithm": name, "vocab_size": 320})
        train(settings, iter(TEXTS), folder)
    return folders


@pytest.fixture
def wordpiece(tokenizers: dict[str, Path]) -> Path:
    return tokenizers["wordpiece"]


def small(name: str, tokenizer: Path, representation: str = "") -> Backbone:
    known = PreTrainedTokenizerFast.from_pretrained(tokenizer)
    start, end = known("a")["input_ids"][0], known("a")["input_ids"][-1]
    tokens = Tokens(len(known), known.pad_token_id, start, end)
    architecture = MODELS[name].model_copy(update={"max_position": 64, "initializer_range": 0.1})
    representation = representation or FAMILIES[architecture.family].representations[0]
    return build(architecture, TINY, tokens, representation, 0).eval()


def exported(backbone: Backbone, tokenizer: Path, folder: Path) -> list[str]:
    backbone.save(folder / "model")
    return write_network(folder / "model", tokenizer, folder / "out")


@torch.inference_mode()
def compared(backbone: Backbone, auto: PreTrainedModel | Backbone) -> tuple[Tensor, Tensor]:
    """Hidden states [tokens, width] of a padded batch without its padding: ours, transformers'."""
    ids = torch.randint(5, 20, (3, 10), generator=torch.Generator().manual_seed(1))
    mask = (torch.arange(10) < 10 - torch.arange(3)[:, None]).long()
    inputs = {"input_ids": ids, "attention_mask": mask}
    if backbone.representation == "encoder_decoder":
        inputs |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    segments = torch.zeros_like(ids)
    ours = backbone(**inputs, token_type_ids=segments).last_hidden_state
    theirs = auto(**inputs).last_hidden_state
    return ours[mask.bool()], theirs[mask.bool()]


@pytest.mark.parametrize(("name", "algorithm"), TOKENIZED)
def test_automodel_and_autotokenizer_agree_with_the_harness(
    name: str, algorithm: str, tokenizers: dict[str, Path], tmp_path: Path
) -> None:
    backbone = small(name, tokenizers[algorithm])
    exported(backbone, tokenizers[algorithm], tmp_path)
    auto, info = AutoModel.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert all("pooler" in missing for missing in info["missing_keys"])
    ours, theirs = compared(backbone, auto.eval())
    torch.testing.assert_close(theirs, ours, atol=1e-5, rtol=1e-4)
    auto_tokens = AutoTokenizer.from_pretrained(tmp_path / "out")
    own_tokens = PreTrainedTokenizerFast.from_pretrained(tokenizers[algorithm])
    for pair in (("the cat sat",), ("a dog saw", "the red cat")):
        assert auto_tokens(*pair)["input_ids"] == own_tokens(*pair)["input_ids"]
    segments = FAMILIES[MODELS[name].family].segments and name != "roberta"  # one type
    assert ("token_type_ids" in auto_tokens("the cat")) == segments
    assert auto_tokens.mask_token == own_tokens.mask_token


@pytest.mark.parametrize("name", ["bert", "gpt", "t5_shared", "t5_v1_1"])
@torch.inference_mode()
def test_the_harness_loads_an_exported_network(name: str, wordpiece: Path, tmp_path: Path) -> None:
    backbone = small(name, wordpiece)
    exported(backbone, wordpiece, tmp_path)
    again = load(tmp_path / "out").eval()
    ours, theirs = compared(backbone, again)
    torch.testing.assert_close(theirs, ours, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(again.token_logits(ours), backbone.token_logits(ours))


def test_those_who_may_read_the_configuration_may_read_the_weights(
    wordpiece: Path, tmp_path: Path
) -> None:
    backbone = small("bert", wordpiece)
    backbone.embedding = SentenceEmbedding(dense=(Dense(in_features=32, out_features=8),))
    backbone.projection = (nn.Sequential(nn.Linear(32, 8), nn.Tanh()),)
    exported(backbone, wordpiece, tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.suffix == ".safetensors" for path in files) == 5
    assert len({path.stat().st_mode for path in files}) == 1


def test_the_token_head_is_exported(wordpiece: Path, tmp_path: Path) -> None:
    backbone = small("bert", wordpiece)
    exported(backbone, wordpiece, tmp_path)
    masked = AutoModelForMaskedLM.from_pretrained(tmp_path / "out").eval()
    ids = torch.arange(5, 15).view(2, 5)
    with torch.inference_mode():
        ours = backbone.token_logits(backbone(ids, token_type_ids=ids * 0).last_hidden_state)
        torch.testing.assert_close(masked(ids).logits, ours)


def test_an_untied_token_head_stays_untied_in_transformers(wordpiece: Path, tmp_path: Path) -> None:
    backbone = small("t5_v1_1", wordpiece)
    exported(backbone, wordpiece, tmp_path)
    theirs = T5ForConditionalGeneration.from_pretrained(tmp_path / "out").eval()
    assert not torch.equal(theirs.lm_head.weight, theirs.shared.weight)
    ids = torch.arange(5, 15).view(2, 5)
    with torch.inference_mode():
        ours = backbone.token_logits(backbone(ids, decoder_input_ids=ids).last_hidden_state)
        torch.testing.assert_close(theirs(ids, decoder_input_ids=ids).logits, ours)


@pytest.mark.parametrize(("pair_format", "with_types"), [(False, False), (True, True)])
def test_a_pair_of_texts_has_the_token_types_of_the_network(
    pair_format: bool, with_types: bool, wordpiece: Path, tmp_path: Path
) -> None:
    """A RoBERTa that was pretrained without pairs embeds one token type only."""
    tokens = Tokens(320, 0, 2, 3, pair_format=pair_format)
    architecture = MODELS["roberta"].model_copy(update={"max_position": 64})
    backbone = build(architecture, TINY, tokens, "bidirectional", 0).eval()
    exported(backbone, wordpiece, tmp_path)
    pair = AutoTokenizer.from_pretrained(tmp_path / "out")("a dog", "the cat", return_tensors="pt")
    assert ("token_type_ids" in pair) == with_types
    auto = AutoModel.from_pretrained(tmp_path / "out").eval()
    with torch.inference_mode():
        ours = backbone(pair["input_ids"], token_type_ids=pair.get("token_type_ids"))
        torch.testing.assert_close(auto(**pair).last_hidden_state, ours.last_hidden_state)


def test_the_configuration_names_a_class_of_transformers(wordpiece: Path, tmp_path: Path) -> None:
    exported(small("gpt", wordpiece), wordpiece, tmp_path)
    auto = AutoModel.from_pretrained(tmp_path / "out")
    assert auto.config.architectures == ["OpenAIGPTLMHeadModel"]


@pytest.mark.parametrize(("name", "has_modules"), [("llama", True), ("qwen2", False)])
def test_a_qwen_is_not_read_by_sentence_transformers(
    name: str, has_modules: bool, wordpiece: Path, tmp_path: Path
) -> None:
    """It would use AutoTokenizer, which builds another tokenizer than that of the files."""
    small(name, wordpiece).save(tmp_path / "model")
    write_network(tmp_path / "model", wordpiece, tmp_path / "out", Protocol(pooling="mean"))
    assert (tmp_path / "out" / MODULES).is_file() == has_modules


def test_notes_warn_of_untrained_and_untied_parts(wordpiece: Path, tmp_path: Path) -> None:
    backbone = small("electra", wordpiece)
    backbone.objective = {"output": {"kind": "replaced_token"}}
    assert "no token head" in exported(backbone, wordpiece, tmp_path / "a")[0]
    heads = [n for n in load_file(tmp_path / "a" / "out" / "model.safetensors") if "lm_head" in n]
    assert not heads
    assert "random weights" in exported(small("bert", wordpiece), wordpiece, tmp_path / "b")[0]
    assert (
        "PreTrainedTokenizerFast"
        in exported(small("qwen2", wordpiece), wordpiece, tmp_path / "e")[0]
    )
    assert "is not tied" in exported(small("t5_v1_1", wordpiece), wordpiece, tmp_path / "c")[0]
    assert exported(small("gpt2", wordpiece), wordpiece, tmp_path / "d") == []


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "mpnet", "electra", "gptj", "t5"])
def test_the_card_says_where_automodel_adds_a_pooler(
    name: str, wordpiece: Path, tmp_path: Path
) -> None:
    make(name).save_pretrained(tmp_path / "theirs")
    notes = exported(adopt(tmp_path / "theirs"), wordpiece, tmp_path)
    _, info = AutoModel.from_pretrained(tmp_path / "out", output_loading_info=True)
    is_added = any("pooler" in missing for missing in info["missing_keys"])
    assert any("no trained pooler" in note for note in notes) == is_added


@pytest.mark.parametrize("name", NO_CLASS)
def test_a_family_without_a_class_is_refused(name: str, wordpiece: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"it has none for {name}"):
        exported(small(name, wordpiece), wordpiece, tmp_path)


@pytest.mark.parametrize(("family", "representation"), OTHER_REPRESENTATIONS)
def test_a_representation_without_a_class_is_refused(
    family: str, representation: str, wordpiece: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"was trained {representation}"):
        exported(small(family, wordpiece, representation), wordpiece, tmp_path)


def test_another_block_is_refused(wordpiece: Path, tmp_path: Path) -> None:
    """AutoModel would build the published one; another activation alone is in the configuration."""
    tokens = Tokens(300, 0, 2, 3)
    block = {"norm": "pre", "residual": False}
    architecture = MODELS["bert"].model_copy(update=block)
    changed = build(architecture, TINY, tokens, "bidirectional", 0)
    with pytest.raises(
        ValueError, match='none for a bert with positions = "learned", norm = "pre", residual = fal'
    ):
        exported(changed, wordpiece, tmp_path / "a")
    architecture = MODELS["bert"].model_copy(update={"activation": "relu"})
    exported(build(architecture, TINY, tokens, "bidirectional", 0), wordpiece, tmp_path / "b")
    assert AutoModel.from_pretrained(tmp_path / "b" / "out").config.hidden_act == "relu"
