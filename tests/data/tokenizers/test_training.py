"""Trained tokenizers: equal in every process, lossless where they should be, and well-formed."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import TOKENIZERS, Tokenizer
from harness.data.tokenizers.algorithms import covered
from harness.data.tokenizers.schemes import SCHEMES
from harness.data.tokenizers.training import count_words, train, word_starts
from harness.pretraining.objectives.vocabulary import Vocabulary

Algorithm = Literal[
    "wordpiece", "byte_bpe", "unigram", "bpe", "sentencepiece_bpe", "word", "character"
]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
SUBWORDS: tuple[Algorithm, ...] = ALGORITHMS[:5]
ROUND_TRIPS: tuple[Algorithm, ...] = (*SUBWORDS, "character")
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
TEXTS = [s for d in read_documents(MicroworldCorpus(num_tokens=20_000)) for s in d]
BERT_PAIR, ROBERTA_PAIR = "[CLS] the [SEP] the [SEP]", "<s> the </s> </s> the </s>"
PAIRS = {
    "wordpiece": BERT_PAIR,
    "byte_bpe": ROBERTA_PAIR,
    "unigram": BERT_PAIR,
    "bpe": ROBERTA_PAIR,
    "sentencepiece_bpe": ROBERTA_PAIR,
    "word": BERT_PAIR,
    "character": "<s> t h e </s> </s> t h e </s>",
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("tokenizers")
    for algorithm in ALGORITHMS:
        train(Tokenizer(algorithm=algorithm, vocab_size=700), iter(TEXTS), root / algorithm)
    return {algorithm: root / algorithm for algorithm in ALGORITHMS}


def load(folder: Path) -> PreTrainedTokenizerFast:
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    return tokenizer


def digest(folder: Path) -> str:
    parts = [file.name.encode() + file.read_bytes() for file in sorted(folder.iterdir())]
    return hashlib.sha256(b"".join(parts)).hexdigest()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_files_are_equal_in_another_process(
    algorithm: Algorithm, folders: dict[str, Path], tmp_path: Path
) -> None:
    code = (
        "import json, sys; from pathlib import Path; from harness.data.tokenizers import Tokenizer;"
        "from harness.data.tokenizers.training import train;"
        "train(Tokenizer(algorithm=sys.argv[1], vocab_size=700), iter(json.load(sys.stdin)),"
        " Path(sys.argv[2]))"
    )
    subprocess.run(
        [sys.executable, "-c", code, algorithm, str(tmp_path / "again")],
        input=json.dumps(TEXTS[::-1]),
        env={**os.environ, "PYTHONHASHSEED": "7", "RAYON_NUM_THREADS": "1"},
        text=True,
        check=True,
    )
    assert digest(tmp_path / "again") == digest(folders[algorithm])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_vocabulary(algorithm: Algorithm, folders: dict[str, Path]) -> None:
    tokenizer = load(folders[algorithm])
    assert (30 if algorithm == "character" else 400) < len(tokenizer) <= 700
    numbers = [tokenizer.convert_tokens_to_ids(getattr(tokenizer, role)) for role in ROLES]
    assert sorted(numbers) == [0, 1, 2, 3, 4]
    assert set(tokenizer.all_special_ids) == set(numbers)
    assert sorted(tokenizer.get_vocab().values()) == list(range(len(tokenizer)))
    assert AutoTokenizer.from_pretrained(folders[algorithm]).get_vocab() == tokenizer.get_vocab()


def test_a_vocabulary_may_have_a_unit() -> None:
    assert Tokenizer.read({"vocab_size": "1.5k"}) == Tokenizer(vocab_size=1500)


def test_every_scheme_is_tested() -> None:
    assert [*SCHEMES] == [*ALGORITHMS]
    assert get_args(Tokenizer.model_fields["algorithm"].annotation) == ALGORITHMS
    assert {one.algorithm for one in TOKENIZERS.values()} == {*SCHEMES}


@pytest.mark.parametrize("algorithm", ROUND_TRIPS)
def test_known_text_has_no_unknown_token_and_comes_back(
    algorithm: Algorithm, folders: dict[str, Path]
) -> None:
    tokenizer = load(folders[algorithm])
    for text in TEXTS[:200]:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.unk_token_id not in ids
        assert "".join(str(tokenizer.decode(ids)).split()) == "".join(text.split())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_pairs_take_the_published_form(algorithm: Algorithm, folders: dict[str, Path]) -> None:
    tokenizer = load(folders[algorithm])
    pair = tokenizer("the", "the", return_token_type_ids=True)
    tokens = tokenizer.convert_ids_to_tokens(pair["input_ids"])
    plain = " ".join(token.lstrip("\u0120\u2581").removesuffix("</w>") for token in tokens)
    assert " ".join(plain.split()) == PAIRS[algorithm]
    second = len(tokens) - len(tokenizer.tokenize("the")) - 1  # the last text and its separator
    types = [0 if i < second else 1 for i in range(len(tokens))]
    assert pair["token_type_ids"] == types


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_word_has_one_form_wherever_it_stands(
    algorithm: Algorithm, folders: dict[str, Path]
) -> None:
    tokenizer = load(folders[algorithm])
    one, other = tokenizer.tokenize("film"), tokenizer.tokenize("the")
    assert tokenizer.tokenize("film the") == one + other
    assert tokenizer.tokenize("the film") == other + one


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_word_starts_count_the_words(algorithm: Algorithm, folders: dict[str, Path]) -> None:
    tokenizer, vocabulary = load(folders[algorithm]), Vocabulary.load(folders[algorithm])
    starts = word_starts(tokenizer)
    assert starts.shape == (len(tokenizer),) and starts.dtype == np.bool_
    assert starts[tokenizer.all_special_ids].all()
    for text in TEXTS[:50]:
        words = text.replace(".", "").replace(",", "").replace("?", "").split()
        ids = np.array([tokenizer(" ".join(words), add_special_tokens=False)["input_ids"]])
        assert vocabulary.word_starts(ids, np.ones_like(ids, dtype=bool)).sum() == len(words)


def test_lower_case_is_a_choice(tmp_path: Path) -> None:
    texts = ["The Cat sat", "the cat sat"] * 5
    for algorithm in ALGORITHMS:
        for lowercase in (True, False):
            settings = Tokenizer(algorithm=algorithm, vocab_size=400, lowercase=lowercase)
            folder = tmp_path / f"{algorithm}{lowercase}"
            train(settings, iter(texts), folder)
            tokenizer = load(folder)
            ids = [tokenizer(text)["input_ids"] for text in ("The Cat", "the cat")]
            same = ids[0] == ids[1]
            assert same is lowercase


def test_byte_bpe_is_lossless_on_any_text(folders: dict[str, Path], tmp_path: Path) -> None:
    train(Tokenizer(algorithm="byte_bpe", vocab_size=400, lowercase=False), iter(TEXTS), tmp_path)
    tokenizer = load(tmp_path)
    text = "\u00c4rger, \u5927 \U0001f642 x\u0301"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == " " + text


def test_byte_bpe_equals_plain_training_on_the_texts(folders: dict[str, Path]) -> None:
    plain = tokenizers.Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    plain.train_from_iterator((text.lower() for text in TEXTS), trainer)
    assert plain.get_vocab() == load(folders["byte_bpe"]).get_vocab()


def test_wordpiece_learns_the_merges_of_hand_counted_text(tmp_path: Path) -> None:
    # l+##o is the commonest pair (7), then lo+##w (5), lo+##t (2).
    texts = ["low"] * 5 + ["lot"] * 2
    train(Tokenizer(algorithm="wordpiece", vocab_size=64), iter(texts), tmp_path)
    tokens = load(tmp_path).convert_ids_to_tokens(list(range(15)))
    expected = "[PAD] [UNK] [CLS] [SEP] [MASK] ##o ##t ##w l o t w lo low lot"
    assert tokens == expected.split()


def joined(symbols: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """Symbols in which each occurrence of a pair is one symbol."""
    found: list[str] = []
    for symbol in symbols:
        if found and (found[-1], symbol) == pair:
            found[-1] += symbol
        else:
            found.append(symbol)
    return tuple(found)


def test_bpe_merges_the_most_frequent_pairs(tmp_path: Path) -> None:
    """Sennrich et al. 2016, algorithm 1, on the words of its section 3.2."""
    words = {"low": 50, "lower": 21, "newest": 63, "widest": 32}
    texts = [word for word, count in words.items() for _ in range(count)]
    settings = Tokenizer(algorithm="bpe", vocab_size=64, sentinels=36)
    train(settings, iter(texts), tmp_path)
    merges = json.loads((tmp_path / "tokenizer.json").read_text())["model"]["merges"]
    assert len(merges) >= 5
    split = {(*word[:-1], word[-1] + "</w>"): count for word, count in words.items()}
    for left, right in merges:
        pairs: Counter[tuple[str, str]] = Counter()
        for symbols, count in split.items():
            for pair in pairwise(symbols):
                pairs[pair] += count
        assert pairs[left, right] == max(pairs.values())
        split = {joined(symbols, (left, right)): count for symbols, count in split.items()}
    assert load(tmp_path).tokenize("lowest") == ["lo", "w", "est</w>"]


def test_sentencepiece_bpe_is_lossless_on_any_text(tmp_path: Path) -> None:
    settings = Tokenizer(algorithm="sentencepiece_bpe", vocab_size=400, lowercase=False)
    train(settings, iter(TEXTS), tmp_path)
    tokenizer = load(tmp_path)
    text = "\u00c4rger, \u5927 (in 1999) \U0001f642 x\u0301"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text and tokenizer.unk_token_id not in ids
    assert [*tokenizer.get_vocab()].count("<0x41>") == 1
    assert not Vocabulary.load(tmp_path).special[tokenizer.convert_tokens_to_ids("<0x41>")]


def test_words_are_the_most_frequent_ones(tmp_path: Path) -> None:
    texts = ["a cat, a dog"] * 3 + ["a rare cat"]
    train(Tokenizer(algorithm="word", vocab_size=64, sentinels=56), iter(texts), tmp_path)
    tokenizer = load(tmp_path)
    assert tokenizer.convert_ids_to_tokens(list(range(5, 8))) == ["a", "cat", ","]
    assert tokenizer.tokenize("A rare cat, dog") == ["a", "[UNK]", "cat", ",", "[UNK]"]


def test_characters_have_a_space_before_each_word(tmp_path: Path) -> None:
    train(Tokenizer(algorithm="character", vocab_size=64), iter(["ab  ba"]), tmp_path)
    tokenizer = load(tmp_path)
    assert tokenizer.tokenize("Ab bac") == [*"\u2581ab\u2581ba", "<unk>"]
    assert tokenizer.decode(tokenizer("ab ba", add_special_tokens=False)["input_ids"]) == "ab ba"


def test_unigram_keeps_a_word_that_has_only_one_form(tmp_path: Path) -> None:
    train(Tokenizer(algorithm="unigram", vocab_size=64), iter(["was his"] * 50), tmp_path)
    assert load(tmp_path).tokenize("was his") == ["\u2581was", "\u2581his"]


def test_unigram_never_reads_text_as_a_special_token(tmp_path: Path) -> None:
    texts = ["a <unk> b", "a < b >", "unk [MASK]", "[ b ]"] * 20
    train(Tokenizer(algorithm="unigram", vocab_size=64, lowercase=False), iter(texts), tmp_path)
    built = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    built.encode_special_tokens = True
    assert not {1, 4} & set(built.encode("a<unk>b [MASK]", add_special_tokens=False).ids)


def test_words_are_counted_as_whole_texts_would_be() -> None:
    texts = ["It's  \u00c4rger\u00a0-- ``so''!", "\u5927\u5bb6 it's 3.5", "tab\tand\nline"]
    for algorithm in ALGORITHMS:
        built = SCHEMES[algorithm].build(Tokenizer(algorithm=algorithm))
        whole: Counter[str] = Counter()
        for text in texts:
            normal = " ".join(text.split())
            if built.normalizer:
                normal = built.normalizer.normalize_str(normal)
            whole.update(word for word, _ in built.pre_tokenizer.pre_tokenize_str(normal))
        assert count_words(built, texts) == whole


def test_words_with_rare_characters_are_not_learned_from() -> None:
    common = {chr(0x4E00 + i): 1000 for i in range(200)}
    assert covered(common | {"\u03b1\u4e00": 1}) == Counter(common)
    few = {"abc": 100_000, "xyz": 1}
    assert covered(few) == Counter(few)


@pytest.mark.parametrize(
    ("algorithm", "texts", "message"),
    [
        ("wordpiece", [], "the corpus is empty"),
        ("unigram", [" "], "the corpus is empty"),
        ("byte_bpe", ["some text"], "tokenizer.vocab_size must have room.* 261, but is 64"),
        ("wordpiece", ["abcdefghijklmnopqrstuvwxyz" * 3, "ABCDEFGHIJ"], "must have room"),
    ],
)
def test_impossible_vocabularies_are_refused(
    algorithm: Algorithm, texts: list[str], message: str, tmp_path: Path
) -> None:
    settings = Tokenizer(algorithm=algorithm, vocab_size=64, lowercase=False)
    with pytest.raises(ValueError, match=message):
        train(settings, iter(texts), tmp_path)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sentinels_and_extra_tokens_end_the_vocabulary(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    settings = Tokenizer(
        algorithm=algorithm, vocab_size=700, sentinels=12, extra_tokens=("[NLU]", "[S2S]")
    )
    train(settings, iter(TEXTS), tmp_path)
    tokenizer, vocabulary = load(tmp_path), Vocabulary.load(tmp_path)
    size = len(tokenizer)
    assert size <= 700
    assert sorted(tokenizer.get_vocab().values()) == list(range(size))
    assert tokenizer.convert_tokens_to_ids("<extra_id_0>") == size - 1
    assert vocabulary.sentinels.tolist() == [size - 1 - i for i in range(12)]
    assert vocabulary.extra == {"[NLU]": size - 14, "[S2S]": size - 13}
    assert vocabulary.special[size - 14 :].all() and vocabulary.special.sum() == 5 + 14
    assert vocabulary.word_start[vocabulary.sentinels].all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_text_never_makes_sentinels_or_extra_tokens(algorithm: Algorithm, tmp_path: Path) -> None:
    texts = ["a <extra_id_0> b [NLU] c"] * 20 + TEXTS[:200]
    settings = Tokenizer(
        algorithm=algorithm,
        vocab_size=400,
        lowercase=False,
        sentinels=2,
        extra_tokens=("[NLU]",),
    )
    train(settings, iter(texts), tmp_path)
    built = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    built.encode_special_tokens = True  # as the token stream is encoded
    ids = built.encode("a <extra_id_0> b [NLU] c", add_special_tokens=False).ids
    assert not Vocabulary.load(tmp_path).special[ids].any()


def test_without_added_tokens_there_are_none(folders: dict[str, Path]) -> None:
    vocabulary = Vocabulary.load(folders["wordpiece"])
    assert len(vocabulary.sentinels) == 0 and vocabulary.extra == {}


@pytest.mark.parametrize(
    ("extra", "message"),
    [(("the",), "must not be in the vocabulary"), (("[CLS]",), "must not be in the vocabulary")],
)
def test_extra_tokens_that_exist_are_refused(
    extra: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        train(Tokenizer(vocab_size=700, extra_tokens=extra), iter(TEXTS), tmp_path)


@pytest.mark.parametrize("extra", [("[A]", "[A]"), ("",), ("<extra_id_3>",)])
def test_extra_tokens_are_distinct(extra: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="extra_tokens must"):
        Tokenizer(extra_tokens=extra)


@pytest.mark.parametrize("algorithm", SUBWORDS)
def test_a_vocabulary_without_room_for_the_alphabet_says_how_much_it_needs(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    tokenizer = Tokenizer(algorithm=algorithm, vocab_size=110, sentinels=100)
    with pytest.raises(ValueError, match=r"tokenizer.vocab_size must have room .*, but is 110"):
        train(tokenizer, iter(TEXTS), tmp_path)


def test_sentinels_must_fit_the_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="vocab_size must have room for sentinels"):
        Tokenizer(vocab_size=300, sentinels=300)
    with pytest.raises(ValueError, match="must have room for the alphabet"):
        train(Tokenizer(vocab_size=300, sentinels=290), iter(TEXTS), tmp_path)
