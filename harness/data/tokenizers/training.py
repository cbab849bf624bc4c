"""Deterministic training of a tokenizer, saved as a Hugging Face tokenizer."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import decoders, models, processors
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.algorithms import PREFIX, SUFFIX
from harness.data.tokenizers.schemes import SCHEMES

SPACE = "\u2581"
"""Unigram's prefix of a piece that starts a word."""
BYTE_SPACE = "\u0120"
"""Byte-level BPE's prefix of a piece that starts a word: its symbol for a space."""
SENTINEL = re.compile(r"<extra_id_(\d+)>")


def train(tokenizer: Tokenizer, texts: Iterator[str], out: Path) -> int:
    """Trains `tokenizer` on `texts` and saves it to `out` for `from_pretrained`.

    The same texts give byte-identical files in any process and with any number of threads.

    Args:
        texts: sentences or longer texts that do not end within a word.

    Returns:
        Entries of the vocabulary, special tokens included: fewer than declared if the texts have
        too few different words.

    Raises:
        ValueError: no text, an alphabet larger than `vocab_size`, or an extra token that is already
            in the vocabulary.
    """
    scheme = SCHEMES[tokenizer.algorithm]
    special = list(dict.fromkeys(scheme.special_tokens.values()))
    built = scheme.build(tokenizer)
    words = count_words(built, texts)
    if not words:
        raise ValueError("a tokenizer needs text to learn from, but the corpus is empty")
    added = list(tokenizer.added)
    room = max(tokenizer.vocab_size - len(added), len(special) + 1)
    built.model = scheme.learn(words, room, special)
    built.add_special_tokens(special)
    if known := [token for token in added if built.token_to_id(token) is not None]:
        raise ValueError(
            f"tokenizer.extra_tokens must not be in the vocabulary already, but these are: {known}"
        )
    built.add_special_tokens(added)
    if built.get_vocab_size() > tokenizer.vocab_size:
        raise ValueError(
            f"tokenizer.vocab_size must have room for the alphabet of the corpus and the special "
            f"tokens, here {built.get_vocab_size()}, but is {tokenizer.vocab_size}"
        )
    ids = [(token, built.token_to_id(token)) for token in special]
    built.post_processor = processors.TemplateProcessing(
        single=scheme.single, pair=scheme.pair, special_tokens=ids
    )
    PreTrainedTokenizerFast(
        tokenizer_object=built,
        clean_up_tokenization_spaces=False,
        extra_special_tokens=added,
        **scheme.special_tokens,
    ).save_pretrained(out)
    return built.get_vocab_size()


def is_sentinel(token: str) -> bool:
    """Whether a special token is a sentinel (`Tokenizer.sentinels`)."""
    return SENTINEL.fullmatch(token) is not None


def tokens_by_id(tokenizer: PreTrainedTokenizerFast) -> list[str]:
    """Token of each id up to the largest; empty for ids that a published tokenizer skips."""
    tokens = [""] * (max(tokenizer.get_vocab().values()) + 1)
    for token, number in tokenizer.get_vocab().items():
        tokens[number] = token
    return tokens


def word_starts(tokenizer: PreTrainedTokenizerFast) -> np.ndarray:
    """[vocab_size] bool: whether a token starts a word; True for special tokens.

    Words of byte-level BPE, Unigram, SentencePiece's BPE and characters are delimited by white
    space, so that punctuation belongs to the preceding word; for WordPiece and words, punctuation
    marks are words. Of BPE with marks of the ends of words, only special tokens are sure to start
    one (`word_ends`).
    """
    tokens = tokens_by_id(tokenizer)
    special = set(tokenizer.all_special_tokens)
    backend = tokenizer.backend_tokenizer
    if isinstance(backend.model, models.WordPiece) or isinstance(
        backend.decoder, decoders.WordPiece
    ):
        starts = [not token.startswith(PREFIX) for token in tokens]
    else:
        starts = [token.startswith((SPACE, BYTE_SPACE)) for token in tokens]
    return np.array([s or token in special for s, token in zip(starts, tokens, strict=True)])


def word_ends(tokenizer: PreTrainedTokenizerFast) -> np.ndarray | None:
    """[vocab_size] bool: whether a token ends a word; null unless tokens have marks of it."""
    model = tokenizer.backend_tokenizer.model
    if not isinstance(model, models.BPE) or model.end_of_word_suffix != SUFFIX:
        return None
    return np.array([token.endswith(SUFFIX) for token in tokens_by_id(tokenizer)])


def around(tokenizer: PreTrainedTokenizerFast) -> tuple[list[int], list[int]]:
    """Ids of the special tokens before and after a single text."""
    plain: list[int] = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole: list[int] = tokenizer("a")["input_ids"]
    size, num_special = len(plain), len(whole) - len(plain)
    first = next(i for i in range(num_special + 1) if whole[i : i + size] == plain)
    return whole[:first], whole[first + size :]


def count_words(tokenizer: tokenizers.Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """Counts of the normalised words.

    Normalisers and pre-tokenisers do not depend on context beyond white space, so each different
    string is processed once.
    """
    strings: Counter[str] = Counter()
    for text in texts:
        strings.update(text.split())
    words: Counter[str] = Counter()
    for string, count in strings.items():
        normal = tokenizer.normalizer.normalize_str(string) if tokenizer.normalizer else string
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal):
            words[word] += count
    return words
