"""Learning a vocabulary from text, the same one every time, as a Hugging Face tokenizer folder.

The trainers of the `tokenizers` library iterate over hash maps in an order that changes from run
to run. What that order can reach is fixed here: the numbers of WordPiece's `##` characters, which
break ties between merges; the limit of the alphabet; the last digits of Unigram's scores.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from harness.tokenizers import Tokenizer

PREFIX = "##"
"""WordPiece's mark of a piece that continues a word."""
SPACE = "\u2581"
"""Unigram's mark of a piece that starts a word."""
BYTE_SPACE = "\u0120"
"""The same of byte-level BPE: a space as it is written in that vocabulary."""
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

SENTINEL = re.compile(r"<extra_id_(\d+)>")


@dataclass(frozen=True)
class Scheme:
    """An algorithm with its special tokens and the form of its inputs."""

    build: Callable[[Tokenizer], tokenizers.Tokenizer]
    """Normaliser, pre-tokeniser and decoder around an empty model."""
    learn: Callable[[Counter[str], int, list[str]], models.Model]
    """(word counts, vocab_size, special tokens) to the model, special tokens first."""
    special_tokens: dict[str, str]
    """Role to token, in the order of their numbers."""
    single: str
    pair: str
    """Templates of an input of one text, and of two."""


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


def _wordpiece(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Devlin et al. 2019: clean text, lower case without accents, punctuation split off."""
    built = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    built.normalizer = normalizers.BertNormalizer(lowercase=tokenizer.lowercase)
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    built.decoder = decoders.WordPiece(prefix=PREFIX)
    return built


def _byte_bpe(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Radford et al. 2019: byte-level BPE on words with their leading space.

    Every text gets a leading space, in the stream and in fine-tuning alike, so that a word has one
    form wherever it stands. RoBERTa adds none and spells the first word of an input differently;
    here sentences are tokenised one by one, and every sentence would start with such a word.
    """
    built = tokenizers.Tokenizer(models.BPE())
    built.normalizer = normalizers.Lowercase() if tokenizer.lowercase else None
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    built.decoder = decoders.ByteLevel()
    return built


def _unigram(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """Lan et al. 2020: quotes made plain, accents stripped with lower case, NFKC; no piece joins a
    punctuation mark to a word, as in SentencePiece, which splits between scripts."""
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


def _learn_wordpiece(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
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


def _learn_byte_bpe(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    model: models.Model = _run(models.BPE(), trainer, words).model
    return model


def _learn_unigram(words: Counter[str], vocab_size: int, special: list[str]) -> models.Model:
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


SCHEMES: dict[str, Scheme] = {
    "wordpiece": Scheme(
        _wordpiece,
        _learn_wordpiece,
        {
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
        },
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
    ),
    "byte_bpe": Scheme(
        _byte_bpe,
        _learn_byte_bpe,
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
        _learn_unigram,
        {
            "pad_token": "<pad>",
            "unk_token": "<unk>",
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "mask_token": "[MASK]",
        },
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
    ),
}
