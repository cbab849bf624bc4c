"""Models learned from word counts, the same ones every time.

The trainers of the `tokenizers` library iterate over hash maps in an order that changes from run
to run. What that order can reach is fixed here: the numbers of WordPiece's `##` characters, which
break ties between merges; the limit of the alphabet; the last digits of Unigram's scores.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

import tokenizers
from tokenizers import models, pre_tokenizers, trainers

PREFIX = "##"
"""WordPiece's mark of a piece that continues a word."""
COVERAGE = 0.9995
"""Share of the characters of the text that the alphabets of WordPiece and Unigram cover, as in
SentencePiece; words with a rarer character are not learned from."""
SMALL_ALPHABET = 128
"""So many characters are covered in any case."""
SCORE_DECIMALS = 2
"""Of Unigram's log-probabilities. Runs differ by about 1e-10: two decimals are finer than the
scores' own error, and so coarse that hardly a score ever lies on the edge of a rounding."""
TWIN = "\ue000"
"""Private character that tells a word's twin from it while Unigram is trained."""
SPECIAL_SCORE = -1000.0
"""Log-probability of Unigram's special tokens: text that looks like one is never read as one."""


def learn_wordpiece(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
    """Pieces of words; those that do not start one are marked."""
    words = covered(words)
    alphabet = sorted({char for word in words for char in word})
    # As special tokens of this trainer, the ## characters get their numbers before it starts.
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
    """Merges of bytes, all of which are there from the start."""
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    model: models.Model = _run(models.BPE(), trainer, words).model
    return model


def learn_unigram(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
    """Pieces with their log-probabilities."""
    words = covered(words)
    # The trainer's first candidates are the substrings of at least two different words, so that
    # "_the" would be none; a twin of each common word, seen once, makes it one.
    common = sorted(words, key=lambda word: (-words[word], word))[:vocab_size]
    trainer = trainers.UnigramTrainer(
        vocab_size=vocab_size - len(special) + 2,  # with its own unknown token, and the twins' mark
        unk_token="<unk>",
        show_progress=False,
    )
    learned = _run(models.Unigram(), trainer, words | {word + TWIN: 1 for word in common})
    vocab = json.loads(learned.to_str())["model"]["vocab"]
    pieces = {p: score for p, score in vocab if p not in special and TWIN not in p}
    scored = [(token, SPECIAL_SCORE) for token in special] + settled_scores(pieces)
    return models.Unigram(scored, unk_id=special.index("<unk>"))


def settled_scores(pieces: Mapping[str, float]) -> list[tuple[str, float]]:
    """Pieces with rounded scores in a fixed order, the likeliest first.

    The trainer gives characters that only the alphabet keeps its lowest score, and adds 0.0001 for
    each one before them in a random order; here they all get the lowest score.
    """
    lowest = min(pieces.values())
    reach = lowest + 1e-4 * (sum(len(piece) == 1 for piece in pieces) + 1)
    settled = {}
    for piece, score in pieces.items():
        alphabet_only = len(piece) == 1 and score <= reach
        settled[piece] = round(lowest if alphabet_only else score, SCORE_DECIMALS)
    return sorted(settled.items(), key=lambda item: (-item[1], item[0]))


def covered(words: Mapping[str, int]) -> Counter[str]:
    """The words that are spelled with common characters alone."""
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
    """Trains on each word as often as it occurs."""
    blank = tokenizers.Tokenizer(model)
    blank.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    blank.train_from_iterator(_repeated(words), trainer)
    return blank


def _repeated(words: Mapping[str, int], longest: int = 10_000) -> Iterator[str]:
    for word, count in sorted(words.items()):
        for start in range(0, count, longest):
            yield f"{word} " * min(longest, count - start)
