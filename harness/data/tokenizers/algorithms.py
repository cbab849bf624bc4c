"""Deterministic training of tokenizer models from word counts.

The trainers of the `tokenizers` library iterate over hash maps in an order that varies between
runs. This module makes the affected results deterministic: the ids of characters with a mark (`##`,
`</w>`), which break ties between merges; the limit of the alphabet; the last digits of Unigram's
scores.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

PREFIX = "##"
"""WordPiece's prefix of a piece that continues a word."""
SUFFIX = "</w>"
"""BPE's mark of a piece that ends a word (Sennrich et al. 2016, section 3.2)."""
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""SentencePiece's tokens of the bytes of a character that is not in the vocabulary."""
COVERAGE = 0.9995
"""Share of the characters of the text in the alphabets of subwords, as in SentencePiece; words with
rarer characters are not used for training. Byte-level BPE has all bytes."""
SMALL_ALPHABET = 128
"""Number of characters that are always covered."""
SCORE_DECIMALS = 2
"""Decimals of Unigram's log-probabilities. Runs differ by about 1e-10: two decimals are finer than
the error of the scores, and so coarse that differences almost never change the rounded score."""
TWIN = "\ue000"
"""Private-use character that distinguishes the copy of a word during the training of Unigram."""
SPECIAL_SCORE = -1000.0
"""Log-probability of Unigram's special tokens, so low that text never matches them."""


def learn_wordpiece(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
    """A WordPiece model.

    Args:
        words: word counts.
        vocab_size: size of the vocabulary, special tokens included.
    """
    words = covered(words)
    alphabet = sorted({char for word in words for char in word})
    # As special tokens of the trainer, the ## characters get fixed ids.
    fixed = [*special, *(PREFIX + c for c in sorted({c for word in words for c in word[1:]}))]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        special_tokens=fixed,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        continuing_subword_prefix=PREFIX,
        show_progress=False,
    )
    learned = _run(models.WordPiece(unk_token="[UNK]"), trainer, words)
    return models.WordPiece(learned.get_vocab(with_added_tokens=False), unk_token="[UNK]")


def learn_byte_bpe(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
    """A byte-level BPE model, whose alphabet has all bytes."""
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    model: models.Model = _run(models.BPE(), trainer, words).model
    return model


def learn_bpe(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
    """A BPE model of characters, the last of a word with SUFFIX (Sennrich et al. 2016, 3.2)."""
    words = covered(words)
    # As special tokens of the trainer, the characters with a mark get fixed ids.
    ends = [char + SUFFIX for char in sorted({word[-1] for word in words})]
    merges = _merges(words, vocab_size, [*special, *ends], SUFFIX)
    return models.BPE(*merges, unk_token="<unk>", end_of_word_suffix=SUFFIX)


def learn_sentencepiece_bpe(
    words: Counter[str], vocab_size: int, special: list[str]
) -> models.Model:
    """A BPE model of characters, with BYTES for those that it does not know (Kudo and Richardson
    2018; Touvron et al. 2023, section 2.1)."""
    merges = _merges(covered(words), vocab_size, [*special, *BYTES])
    return models.BPE(*merges, unk_token="<unk>", byte_fallback=True)


def _merges(
    words: Counter[str], vocab_size: int, fixed: list[str], suffix: str = ""
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The vocabulary of a BPE model, which begins with `fixed`, and its merges.

    Args:
        suffix: of the last character of a word.
    """
    alphabet = sorted({char for word in words for char in word})
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=fixed,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        end_of_word_suffix=suffix,
        show_progress=False,
    )
    learned = json.loads(_run(models.BPE(), trainer, words).to_str())["model"]
    return learned["vocab"], [(left, right) for left, right in learned["merges"]]


def learn_most_frequent(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
    """A model of the most frequent words, or characters if these are the words."""
    order = sorted(words.keys() - {*special}, key=lambda word: (-words[word], word))
    tokens = [*special, *order[: vocab_size - len(special)]]
    unknown = next(token for token in special if token in ("<unk>", "[UNK]"))
    return models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token=unknown)


def learn_unigram(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
    """A Unigram model."""
    words = covered(words)
    # The trainer's candidates are substrings of at least two different words, which excludes whole
    # words such as "_the"; a copy of each common word, with count 1, includes them.
    common = sorted(words, key=lambda word: (-words[word], word))[:vocab_size]
    alphabet = {char for word in words for char in word}
    trainer = trainers.UnigramTrainer(
        # Plus its own unknown token and TWIN; with less than the alphabet, it raises an Exception.
        vocab_size=max(vocab_size - len(special) + 2, len(alphabet) + 1),
        unk_token="<unk>",
        show_progress=False,
    )
    learned = _run(models.Unigram(), trainer, words | {word + TWIN: 1 for word in common})
    vocab = json.loads(learned.to_str())["model"]["vocab"]
    pieces = {p: score for p, score in vocab if p not in special and TWIN not in p}
    scored = [(token, SPECIAL_SCORE) for token in special] + settled_scores(pieces)
    return models.Unigram(scored, unk_id=special.index("<unk>"))


def settled_scores(pieces: Mapping[str, float]) -> list[tuple[str, float]]:
    """Pieces with rounded scores, sorted by score.

    The trainer gives characters outside its learned pieces the lowest score plus multiples of
    0.0001 in random order; here they all get the lowest score.
    """
    lowest = min(pieces.values())
    reach = lowest + 1e-4 * (sum(len(piece) == 1 for piece in pieces) + 1)
    settled = {}
    for piece, score in pieces.items():
        alphabet_only = len(piece) == 1 and score <= reach
        settled[piece] = round(lowest if alphabet_only else score, SCORE_DECIMALS)
    return sorted(settled.items(), key=lambda item: (-item[1], item[0]))


def covered(words: Mapping[str, int]) -> Counter[str]:
    """The words with common characters only (COVERAGE), and their counts."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for char in word:
            counts[char] += count
    alphabet: set[str] = set()
    left = counts.total()
    rare = (1 - COVERAGE) * left
    for char, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if left <= rare and len(alphabet) >= SMALL_ALPHABET:
            break
        alphabet.add(char)
        left -= count
    return Counter({word: count for word, count in words.items() if alphabet.issuperset(word)})


def _run(
    model: models.Model, trainer: trainers.Trainer, words: Mapping[str, int]
) -> tokenizers.Tokenizer:
    """A tokenizer trained on each word as often as it occurs."""
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(_repeated(words), trainer)
    return tokenizer


def _repeated(words: Mapping[str, int], longest: int = 10_000) -> Iterator[str]:
    for word, count in sorted(words.items()):
        for start in range(0, count, longest):
            yield f"{word} " * min(longest, count - start)
