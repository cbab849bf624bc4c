"""The token stream: boundaries, held-out documents, counts and files."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as HubTokenizer
from tokenizers import models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from harness.data.corpora.mixing import is_held_out
from harness.data.corpora.token_stream import TokenStream
from tests.token_streams import write_streams

WORDS = ["[PAD]", "[UNK]", "a", "b", "c", "d"]


def word_tokenizer(folder: Path, vocab_size: int = 0) -> Path:
    """A tokenizer of one token a word, with words enough to reach `vocab_size`."""
    words = WORDS + [f"w{i}" for i in range(vocab_size - len(WORDS))]
    model = models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    tokenizer = HubTokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]"])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(folder)
    return folder


def restored(folder: Path) -> list[list[list[int]]]:
    """The documents of a stream as lists of sentences of token numbers."""
    stream = TokenStream.open(folder)
    cuts = stream.sentences.tolist()
    sentences = [stream.tokens[start:end].tolist() for start, end in pairwise(cuts)]
    bounds = stream.documents.tolist()
    return [sentences[start:end] for start, end in pairwise(bounds)]


def test_the_example_of_the_module(tmp_path: Path) -> None:
    folder = word_tokenizer(tmp_path / "tokenizer")
    documents = [["d"], ["a b", "c"], ["d"]]
    counts = write_streams(documents, folder, tmp_path, validation_fraction=0.3)
    stream = TokenStream.open(tmp_path / "train")
    assert stream.tokens.tolist() == [2, 3, 4, 5]
    assert stream.sentences.tolist() == [0, 2, 3, 4]
    assert stream.documents.tolist() == [0, 2, 3]
    assert stream.num_tokens == 4 and stream.tokens.dtype == np.uint16
    assert isinstance(stream.tokens, np.memmap) and not stream.tokens.flags.writeable
    assert restored(tmp_path / "validation") == [[[5]]]
    assert counts["train_tokens"] == 4 and counts["validation_tokens"] == 1


def test_counts(tmp_path: Path) -> None:
    folder = word_tokenizer(tmp_path / "tokenizer")
    documents = [["a"], ["b x", " ", "\u00e4 b"], [" "], ["c"]]
    counts = write_streams(documents, folder, tmp_path, validation_fraction=0.2)
    assert restored(tmp_path / "train") == [[[3, 1], [1, 3]], [[4]]]
    assert {k: v for k, v in counts.items() if k.startswith("train")} == {
        "train_tokens": 5,
        "train_sentences": 3,
        "train_documents": 2,
        "train_bytes": 3 + 4 + 1,
        "train_unk_share": 2 / 5,
        "train_dropped_sentences": 2,
    }


def test_special_tokens_in_text_are_text(tmp_path: Path) -> None:
    folder = word_tokenizer(tmp_path / "tokenizer")
    write_streams([["a"], ["b [PAD] b"]], folder, tmp_path, validation_fraction=0.1)
    assert restored(tmp_path / "train") == [[[3, 0, 3]]]  # as a word of the vocabulary
    counts = write_streams([["a"], ["b[PAD]b"]], folder, tmp_path, validation_fraction=0.1)
    assert counts["train_tokens"] == 1  # one unknown word, not cut at a special token


def test_many_batches_restore_and_match_the_tokenizer(tmp_path: Path) -> None:
    folder = word_tokenizer(tmp_path / "tokenizer")
    rng = np.random.default_rng(0)
    documents = [
        [" ".join(rng.choice(list("abcd"), rng.integers(1, 6))) for _ in range(rng.integers(1, 5))]
        for _ in range(1200)
    ]
    write_streams(documents, folder, tmp_path, validation_fraction=0.05)
    numbers = {word: i for i, word in enumerate(WORDS)}
    expected = [[[numbers[w] for w in s.split()] for s in document] for document in documents]
    assert restored(tmp_path / "train") == [d for i, d in enumerate(expected) if i % 20]
    assert restored(tmp_path / "validation") == [d for i, d in enumerate(expected) if not i % 20]


def test_large_vocabularies_take_four_bytes(tmp_path: Path) -> None:
    folder = word_tokenizer(tmp_path / "tokenizer", vocab_size=65_536)
    write_streams([["a"], ["w65529"]], folder, tmp_path, validation_fraction=0.1)
    stream = TokenStream.open(tmp_path / "train")
    assert stream.tokens.dtype == np.uint32 and stream.tokens.tolist() == [65_535]


@pytest.mark.parametrize("documents", [[], [["a"]], [[" "], ["a"]], [["a"], [" "]]])
def test_both_streams_need_text(tmp_path: Path, documents: list[list[str]]) -> None:
    folder = word_tokenizer(tmp_path / "tokenizer")
    with pytest.raises(ValueError, match="at least 2 documents with text"):
        write_streams(documents, folder, tmp_path, validation_fraction=0.1)


@pytest.mark.parametrize(
    ("documents", "fraction", "message"),
    [([["a"], ["b"]], 0.9, "all 2 with text are held out"),
     ([[" "], ["a"], ["b"]], 0.1, "all 2 with text are for training")],
)  # fmt: skip
def test_documents_that_all_go_to_one_stream_are_refused(
    tmp_path: Path, documents: list[list[str]], fraction: float, message: str
) -> None:
    folder = word_tokenizer(tmp_path / "tokenizer")
    with pytest.raises(ValueError, match=message):
        write_streams(documents, folder, tmp_path, validation_fraction=fraction)


@given(st.floats(0.001, 0.999), st.integers(1, 2000))
def test_held_out_documents_are_spread_evenly(fraction: float, count: int) -> None:
    held_out = [is_held_out(index, fraction) for index in range(count)]
    assert held_out[0]
    assert 0 <= sum(held_out) - count * fraction < 1 + 1e-9
