"""The properties of a tokenizer that transforms and layouts use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

NO_TEXT = "\N{REPLACEMENT CHARACTER}"
"""Text of special tokens, such as of unknown words, and of a part of a character."""


@dataclass(frozen=True)
class Vocabulary:
    """Ids of the special tokens, the input template, and word starts."""

    size: int
    pad: int
    cls: int
    sep: int
    mask: int
    special: np.ndarray
    """[size] bool: special tokens, which are never random replacements. Text has no other of them
    than unknown words, which are masked as all words are."""
    word_start: np.ndarray
    """[size] bool: tokens that start a word."""
    template: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """Special tokens before and after a single text; none: `cls` and `sep`."""
    separators_between: int = 1
    """Separators between the two texts of a pair: 1 for BERT, 2 for RoBERTa."""
    second_type: int = 1
    """Segment number of the second text."""
    sentinels: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Ids of the sentinel tokens in order of use."""
    extra: Mapping[str, int] = field(default_factory=dict)
    """Ids of further special tokens by their text."""
    words: tuple[str, ...] = ()
    """[size] the word of a token without its word-start mark; "" for special tokens and for
    continuations of words."""
    pieces: tuple[str, ...] = ()
    """[size] each token as the tokenizer writes it, with its mark of a start, end or continuation
    of a word."""
    texts: tuple[str, ...] = ()
    """[size] the text of a token within a text, with the space that begins or ends its word;
    NO_TEXT for special tokens."""
    word_end: np.ndarray | None = None
    """[size] bool: tokens that end a word, of a tokenizer that marks these and not the starts."""

    def framed(self, tokens: Sequence[int]) -> list[int]:
        """A single text in its template."""
        before, after = self.template or ((self.cls,), (self.sep,))
        return [*before, *tokens, *after]

    def word_starts(self, tokens: np.ndarray, maskable: np.ndarray) -> np.ndarray:
        """[B, T] bool: the first token of each word, or of the rest of a truncated word.

        Args:
            tokens, maskable: [B, T].
        """
        before = np.ones_like(maskable)
        before[:, 1:] = ~maskable[:, :-1]
        if self.word_end is not None:
            before[:, 1:] |= self.word_end[tokens[:, :-1]]
        starts: np.ndarray = maskable & (self.word_start[tokens] | before)
        return starts

    @cached_property
    def ordinary(self) -> np.ndarray:
        """[num_ordinary] ids of the tokens that are not special."""
        return np.flatnonzero(~self.special)

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        """The vocabulary of the tokenizer in `folder`; pairs follow its template."""
        from transformers import PreTrainedTokenizerFast

        return cls.of(PreTrainedTokenizerFast.from_pretrained(folder))

    @classmethod
    def of(cls, tokenizer: "PreTrainedTokenizerFast") -> "Vocabulary":
        """The vocabulary of a tokenizer; pairs follow its template."""
        from harness.data.tokenizers.training import (
            around,
            is_sentinel,
            tokens_by_id,
            word_ends,
            word_starts,
        )

        tokens = tokens_by_id(tokenizer)
        special = np.array([not token for token in tokens])  # what is no token is not ordinary
        special[tokenizer.all_special_ids] = True
        further = {
            token: cast(int, tokenizer.convert_tokens_to_ids(token))
            for token in tokenizer.extra_special_tokens
        }
        # T5's ids count down, but the names give the order of use.
        names = sorted(filter(is_sentinel, further), key=lambda token: int(token[10:-1]))
        starts, ends = word_starts(tokenizer), word_ends(tokenizer)
        before, after = around(tokenizer)
        pair = tokenizer("a", "a", return_token_type_ids=True)
        return cls(
            size=len(tokens),
            pad=tokenizer.pad_token_id,
            cls=tokenizer.cls_token_id,
            sep=tokenizer.sep_token_id,
            mask=tokenizer.mask_token_id,
            special=special,
            word_start=starts,
            template=(tuple(before), tuple(after)),
            separators_between=tokenizer.num_special_tokens_to_add(pair=True) - 2,
            second_type=pair["token_type_ids"][-1],
            sentinels=np.array([further[name] for name in names], dtype=np.int64),
            extra={token: i for token, i in further.items() if not is_sentinel(token)},
            words=_words(tokenizer, tokens, (starts if ends is None else ends) & ~special),
            pieces=tuple(tokens),
            texts=_texts(tokenizer, tokens, ends),
            word_end=ends,
        )


def _words(
    tokenizer: "PreTrainedTokenizerFast", tokens: Sequence[str], marked: np.ndarray
) -> tuple[str, ...]:
    """Word of each token with the mark of a word; byte-level BPE and Unigram have punctuation
    without it."""
    decode = tokenizer.backend_tokenizer.decoder.decode
    special = set(tokenizer.all_special_ids)
    texts = [decode([token]) for token in tokens]
    return tuple(
        text.strip() if marked[i] or (i not in special and not any(map(str.isalnum, text))) else ""
        for i, text in enumerate(texts)
    )


def _texts(
    tokenizer: "PreTrainedTokenizerFast",
    tokens: Sequence[str],
    ends: np.ndarray | None,
) -> tuple[str, ...]:
    """Text of each token; decoders drop the space before the first one, so that each follows an
    "a"."""
    decode = tokenizer.backend_tokenizer.decoder.decode
    special = set(tokenizer.all_special_ids)
    spaces = np.zeros(len(tokens), dtype=bool) if ends is None else ends
    return tuple(
        NO_TEXT if number in special else decode(["a", token])[1:] + " " * int(space)
        for number, (token, space) in enumerate(zip(tokens, spaces, strict=True))
    )
