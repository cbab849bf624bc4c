"""Tokenizer schemes: algorithms with normalisers, special tokens and input templates."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.algorithms import (
    PREFIX,
    learn_byte_bpe,
    learn_unigram,
    learn_wordpiece,
)


@dataclass(frozen=True)
class Scheme:
    """An algorithm with its special tokens and input templates."""

    build: Callable[[Tokenizer], tokenizers.Tokenizer]
    """A tokenizer with normaliser, pre-tokeniser and decoder, and an empty model."""
    learn: Callable[[Counter[str], int, list[str]], models.Model]
    """(word counts, vocab_size, special tokens) to the trained model; special tokens come first."""
    special_tokens: dict[str, str]
    """Role to token in the order of the ids."""
    single: str = "[CLS]:0 $A:0 [SEP]:0"
    pair: str = "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
    """Templates of inputs of one and of two texts."""


def _wordpiece(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Devlin et al. 2019: cleaned text, lower case without accents, separate punctuation."""
    built = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    built.normalizer = normalizers.BertNormalizer(lowercase=tokenizer.lowercase)
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    built.decoder = decoders.WordPiece(prefix=PREFIX)
    return built


def _byte_bpe(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Radford et al. 2019: byte-level BPE on words with their leading space.

    Every text gets a leading space, in pretraining and fine-tuning, so that a word has the same
    tokens in all positions. RoBERTa adds none and encodes the first word of an input differently;
    here every sentence would start with such a word, because sentences are tokenised one by one.
    """
    built = tokenizers.Tokenizer(models.BPE())
    built.normalizer = normalizers.Lowercase() if tokenizer.lowercase else None
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    built.decoder = decoders.ByteLevel()
    return built


def _unigram(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Lan et al. 2020: plain quotes, NFKC, and no accents in lower case.

    As in SentencePiece, which splits between scripts, no piece joins punctuation to a word.
    """
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace("``", '"'),
        normalizers.Replace("''", '"'),
    ]
    if tokenizer.lowercase:
        steps += [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    steps += [normalizers.NFKC(), normalizers.Replace(tokenizers.Regex(r"\s+"), " ")]
    built = tokenizers.Tokenizer(models.Unigram())
    built.normalizer = normalizers.Sequence(steps)
    built.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation("isolated")]
    )
    built.decoder = decoders.Metaspace()
    return built


SCHEMES: dict[str, Scheme] = {
    "wordpiece": Scheme(
        _wordpiece,
        learn_wordpiece,
        {
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
        },
    ),
    "byte_bpe": Scheme(
        _byte_bpe,
        learn_byte_bpe,
        {
            "bos_token": "<s>",
            "cls_token": "<s>",
            "pad_token": "<pad>",
            "eos_token": "</s>",
            "sep_token": "</s>",
            "unk_token": "<unk>",
            "mask_token": "<mask>",
        },
        single="<s>:0 $A:0 </s>:0",
        pair="<s>:0 $A:0 </s>:0 </s>:0 $B:1 </s>:1",
    ),
    "unigram": Scheme(
        _unigram,
        learn_unigram,
        {
            "pad_token": "<pad>",
            "unk_token": "<unk>",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
        },
    ),
}
