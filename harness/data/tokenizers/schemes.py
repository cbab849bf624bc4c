"""Tokenizer schemes: algorithms with normalisers, special tokens and input templates."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.algorithms import (
    PREFIX,
    SUFFIX,
    learn_bpe,
    learn_byte_bpe,
    learn_most_frequent,
    learn_sentencepiece_bpe,
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


def _bpe(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Sennrich et al. 2016, section 3.2, on words and punctuation marks, split as by `_wordpiece`:
    as GPT's (Radford et al. 2018, section 4.1)."""
    built = _wordpiece(tokenizer)
    built.model = models.BPE(unk_token="<unk>", end_of_word_suffix=SUFFIX)
    no_space = decoders.Replace(tokenizers.Regex(" (?=[.,?!])"), "")  # as WordPiece's decoder
    built.decoder = decoders.Sequence([decoders.BPEDecoder(SUFFIX), decoders.Fuse(), no_space])
    return built


def _sentencepiece_bpe(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Touvron et al. 2023, section 2.1: digits by themselves, and bytes of unknown characters.

    As in SentencePiece, which splits between scripts, no piece joins punctuation to a word.
    """
    built = tokenizers.Tokenizer(models.BPE(byte_fallback=True))
    built.normalizer = _one_space(tokenizer)
    built.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(),
            pre_tokenizers.Punctuation("isolated"),
            pre_tokenizers.Digits(individual_digits=True),
        ]
    )
    built.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return built


def _word(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Words and punctuation marks, split as by `_wordpiece`."""
    built = _wordpiece(tokenizer)
    built.model = models.WordLevel(unk_token="[UNK]")
    return built


def _character(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Characters, and a space before each word."""
    built = tokenizers.Tokenizer(models.WordLevel(unk_token="<unk>"))
    built.normalizer = _one_space(tokenizer)
    any_character = pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    built.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), any_character])
    built.decoder = decoders.Metaspace()
    return built


def _one_space(tokenizer: Tokenizer) -> normalizers.Normalizer:
    lower: list[normalizers.Normalizer] = [normalizers.Lowercase()] if tokenizer.lowercase else []
    return normalizers.Sequence([*lower, normalizers.Replace(tokenizers.Regex(r"\s+"), " ")])


BERT_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
ROBERTA_TOKENS = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
ROBERTA_TEMPLATES = {
    "single": "<s>:0 $A:0 </s>:0",
    "pair": "<s>:0 $A:0 </s>:0 </s>:0 $B:1 </s>:1",
}

SCHEMES: dict[str, Scheme] = {
    "wordpiece": Scheme(_wordpiece, learn_wordpiece, BERT_TOKENS),
    "byte_bpe": Scheme(_byte_bpe, learn_byte_bpe, ROBERTA_TOKENS, **ROBERTA_TEMPLATES),
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
    "bpe": Scheme(_bpe, learn_bpe, ROBERTA_TOKENS, **ROBERTA_TEMPLATES),
    "sentencepiece_bpe": Scheme(
        _sentencepiece_bpe, learn_sentencepiece_bpe, ROBERTA_TOKENS, **ROBERTA_TEMPLATES
    ),
    "word": Scheme(_word, learn_most_frequent, BERT_TOKENS),
    "character": Scheme(_character, learn_most_frequent, ROBERTA_TOKENS, **ROBERTA_TEMPLATES),
}
