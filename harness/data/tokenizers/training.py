"""Learning a vocabulary from text, the same one every time, as a Hugging Face tokenizer folder."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import models, processors
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.algorithms import PREFIX
from harness.data.tokenizers.schemes import SCHEMES

SPACE = "\u2581"
"""Unigram's mark of a piece that starts a word."""
BYTE_SPACE = "\u0120"
"""The same of byte-level BPE: a space as it is written in that vocabulary."""
SENTINEL = re.compile(r"<extra_id_(\d+)>")


def train(tokenizer: Tokenizer, texts: Iterator[str], out: Path) -> None:
    """Learns `tokenizer`'s vocabulary from `texts` and writes it to `out` for `from_pretrained`.

    The same texts give the same files, byte for byte, in any process, with any number of threads.
    A text is a sentence or any longer stretch that is not cut inside a word.

    Raises:
        ValueError: there is no text, its alphabet alone exceeds `vocab_size`, or an extra token is
            one that the vocabulary has in any case.
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
            f"tokenizer.extra_tokens must not be tokens of the text or special already: {known}"
        )
    built.add_special_tokens(added)
    if built.get_vocab_size() > tokenizer.vocab_size:
        raise ValueError(
            f"tokenizer.vocab_size must have room for the alphabet of the corpus and the special "
            f"tokens, here {built.get_vocab_size()}, but is {tokenizer.vocab_size}"
        )
    numbers = [(token, built.token_to_id(token)) for token in special]
    built.post_processor = processors.TemplateProcessing(
        single=scheme.single, pair=scheme.pair, special_tokens=numbers
    )
    PreTrainedTokenizerFast(
        tokenizer_object=built,
        clean_up_tokenization_spaces=False,
        extra_special_tokens=added,
        **scheme.special_tokens,
    ).save_pretrained(out)


def is_sentinel(token: str) -> bool:
    """Whether a special token stands for a span that was taken out (`Tokenizer.sentinels`)."""
    return SENTINEL.fullmatch(token) is not None


def word_starts(tokenizer: PreTrainedTokenizerFast) -> np.ndarray:
    """[vocab_size] bool: whether a token starts a word; True for special tokens.

    For byte-level BPE and Unigram a word is what white space bounds, so that punctuation belongs to
    the word before it; for WordPiece punctuation marks are words.
    """
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    special = set(tokenizer.all_special_tokens)
    if isinstance(tokenizer.backend_tokenizer.model, models.WordPiece):
        starts = [not token.startswith(PREFIX) for token in tokens]
    else:
        starts = [token.startswith((SPACE, BYTE_SPACE)) for token in tokens]
    return np.array([s or token in special for s, token in zip(starts, tokens, strict=True)])


def count_words(tokenizer: tokenizers.Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """How often each normalised word occurs.

    No normaliser or pre-tokeniser here looks beyond white space, so each form is worked on once.
    """
    forms: Counter[str] = Counter()
    for text in texts:
        forms.update(text.split())
    words: Counter[str] = Counter()
    for form, count in forms.items():
        normal = tokenizer.normalizer.normalize_str(form) if tokenizer.normalizer else form
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal):
            words[word] += count
    return words
