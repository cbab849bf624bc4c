"""Sentences that are encoded together have the tokens that each has by itself."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from harness.data.corpora import sentence_encoder
from harness.data.corpora.mixing import Document
from harness.data.corpora.sentence_encoder import SEPARATOR, SentenceEncoder
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.schemes import SCHEMES
from harness.data.tokenizers.training import train

TEXTS = ["The old house, by the sea.", "  two  spaces ", "Don't (ever) say “naïve”!", "x" * 30]
SENTENCES = st.lists(
    st.one_of(st.sampled_from([*TEXTS, "", " ", "[SEP]", "<unk> </s>", SEPARATOR]), st.text()),
    max_size=8,
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tokenizers by algorithm."""
    found = {name: tmp_path_factory.mktemp(name) for name in SCHEMES}
    for name, folder in found.items():
        train(Tokenizer(algorithm=name, vocab_size=300), iter(TEXTS * 20), folder)
    return found


def expected(folder: Path, sentences: Sequence[str]) -> list[list[int]]:
    """Tokens of the library, sentence by sentence."""
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    library.encode_special_tokens = True
    return [library.encode(one, add_special_tokens=False).ids for one in sentences]


def check(folder: Path, documents: Sequence[Sequence[str]]) -> None:
    encoder = SentenceEncoder(folder)
    given = [Document(list(sentences), False) for sentences in documents]
    found = list(encoder.documents(given, encoder.encodings(given)))
    assert len(found) == len(documents)
    for sentences, document in zip(documents, found, strict=True):
        lists = expected(folder, sentences)
        assert document.tokens.tolist() == [token for tokens in lists for token in tokens]
        assert document.lengths.tolist() == [len(tokens) for tokens in lists if tokens]
        assert document.num_dropped == sum(not tokens for tokens in lists)
        kept = [one for one, tokens in zip(sentences, lists, strict=True) if tokens]
        assert document.bytes.tolist() == [len(one.encode()) for one in kept]


@pytest.mark.parametrize("name", SCHEMES)
@given(documents=st.lists(SENTENCES, max_size=4))
def test_equals_the_library_by_sentences(
    name: str, folders: dict[str, Path], documents: list[list[str]]
) -> None:
    check(folders[name], documents)


@pytest.mark.parametrize("name", SCHEMES)
def test_more_sentences_than_are_joined(
    name: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_encoder, "JOINED", 3)
    check(folders[name], [TEXTS * 2, [], ["", *TEXTS]])


@pytest.mark.parametrize("scheme", ["first", "always", "never"])
def test_a_tokenizer_with_other_tokens_at_the_start_of_a_text(scheme: str, tmp_path: Path) -> None:
    """As by Llama 2, whose first word alone has a leading space: nothing is joined."""
    words = {"<unk>": 0, "▁one": 1, "one": 2, "▁": 3}
    built = tokenizers.Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    built.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=True)
    PreTrainedTokenizerFast(tokenizer_object=built, unk_token="<unk>").save_pretrained(tmp_path)
    check(tmp_path, [["one", "one"], ["one one"]])
    encoder = SentenceEncoder(tmp_path)
    joins = encoder.encodings([Document(["one", "one"], False)]).separator is not None
    assert joins == (scheme != "first")


def test_tokens_are_stored_in_as_few_bytes_as_they_need(folders: dict[str, Path]) -> None:
    encoder = SentenceEncoder(folders["wordpiece"])
    documents = [Document(["the sea"], False)]
    (found,) = encoder.documents(documents, encoder.encodings(documents))
    assert found.tokens.dtype == encoder.dtype == np.uint16


@pytest.mark.parametrize("last", [3, 4, 2**16 - 1, 2**16, 70_000])
def test_a_tokenizer_that_skips_ids(tmp_path: Path, last: int) -> None:
    """The number of its tokens, 3, is neither a free id nor more than its largest one."""
    library = tokenizers.Tokenizer(models.WordLevel({"?": 0, "a": 1, "b": last}, unk_token="?"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=library, unk_token="?")
    fast.save_pretrained(tmp_path)
    encoder = SentenceEncoder(tmp_path)
    documents = [Document(["a b a", "b b", "a"], False)]
    (found,) = encoder.documents(documents, encoder.encodings(documents))
    assert found.tokens.tolist() == [1, last, 1, last, last, 1]
    assert found.lengths.tolist() == [3, 2, 1]


def test_a_tokenizer_without_unknown_tokens(tmp_path: Path) -> None:
    """As of Llama 3 and Qwen, whose bytes spell every text."""
    library = tokenizers.Tokenizer(models.BPE(dict(zip("abc", range(3), strict=True)), []))
    PreTrainedTokenizerFast(tokenizer_object=library, eos_token="c").save_pretrained(tmp_path)
    encoder = SentenceEncoder(tmp_path)
    documents = [Document(["ab", "a"], False)]
    (found,) = encoder.documents(documents, encoder.encodings(documents))
    assert found.tokens.tolist() == [0, 1, 0]
    assert found.num_unk == 0
