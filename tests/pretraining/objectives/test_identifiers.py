"""The identifiers of a token stream: which tokens they are, under real tokenizers, and rows."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from harness.data import python_stdlib
from harness.data.corpora.load_corpus import paragraphs
from harness.data.corpora.packing import Packing
from harness.data.corpora.token_stream import TokenStream
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.pretraining.budget import Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.batches import BatchMaker, MadeBatch
from harness.pretraining.objectives.expected_lengths import expected_lengths
from harness.pretraining.objectives.held_out import held_out_batches
from harness.pretraining.objectives.identifiers import StreamIdentifiers
from harness.pretraining.objectives.vocabulary import Vocabulary
from tests.token_streams import write_streams

TEXTS = (
    ' def| add|(|self|,| it|em|):\n """| Adds| it|em|.\n """\n self|._|it|em|s|.|add|(|it|em|)',
    " _| =| x|.y|\n it|em| # it|em|\n it|em|",
)
"""Documents of tokens between bars; a token after a line break begins a sentence."""


def stream_of(documents: tuple[str, ...]) -> tuple[TokenStream, Vocabulary]:
    split = [one.replace("\n", "|\n").replace("||", "|").strip("|").split("|") for one in documents]
    pieces = [piece for one in split for piece in one]
    texts = sorted({piece.removeprefix("\n") for piece in pieces})
    ids = np.array([texts.index(piece.removeprefix("\n")) for piece in pieces])
    first = np.cumsum([0, *map(len, split)])
    lines = [i for i, piece in enumerate(pieces) if i in first or piece.startswith("\n")]
    sentences = np.array([*lines, len(pieces)])
    stream = TokenStream(ids, sentences, np.searchsorted(sentences, first))
    is_start = np.array([text.startswith(" ") for text in texts])
    nothing = np.zeros(len(texts), dtype=bool)
    return stream, Vocabulary(len(texts), 0, 0, 0, 0, nothing, is_start, texts=tuple(texts))


def named(texts: tuple[str, ...], tokens: np.ndarray, numbers: np.ndarray) -> list[str]:
    """The texts of the marked tokens, those of one number joined while nothing is between."""
    found: list[str] = []
    last = -1
    for token, number in zip(tokens, numbers, strict=True):
        text = texts[token].strip()
        if number >= 0 and number == last:
            found[-1] += text
        elif number >= 0:
            found.append(text)
        last = number
    return found


def test_by_hand() -> None:
    """Neither keywords, nor strings and comments, nor `y` whose token has a dot."""
    stream, vocabulary = stream_of(TEXTS)
    marks = StreamIdentifiers(stream, vocabulary)
    numbers = marks.at(np.arange(stream.num_tokens))
    assert named(vocabulary.texts, stream.tokens, numbers) == [
        *("add", "self", "item", "self", "items", "add", "item"),
        *("x", "item", "item"),
    ]
    assert sorted(marks.numbers, key=marks.numbers.__getitem__) == [
        *("add", "self", "item", "_items", "x"),
    ]


def test_a_part_of_a_document_has_the_marks_of_the_whole() -> None:
    """Also if it begins within a string, and whatever was read before."""
    stream, vocabulary = stream_of(TEXTS)
    every = np.arange(stream.num_tokens)
    whole = StreamIdentifiers(stream, vocabulary).at(every)
    for start in every:
        part = StreamIdentifiers(stream, vocabulary).at(every[start:])
        assert np.array_equal(part >= 0, whole[start:] >= 0)
        same = part[:, None] == part
        assert np.array_equal(same, whole[start:, None] == whole[start:])


def test_a_vocabulary_without_texts_is_refused() -> None:
    stream, _ = stream_of(TEXTS)
    without = Vocabulary(9, 0, 0, 0, 0, np.zeros(9, bool), np.zeros(9, bool))
    with pytest.raises(ValueError, match="must have its texts"):
        StreamIdentifiers(stream, without)


CODE = [
    "class Cell:",
    '"""A cell of a table."""',
    "def __init__(self, _value2, row_number):",
    "self._value2 = _value2  # the value",
    "self.row_number = row_number + 1",
    "return None",
]
SPLIT_NAMES = ("wordpiece", "word", "bpe")
"""Algorithms for which an underscore is a word."""


@pytest.mark.parametrize(
    "algorithm",
    ["byte_bpe", "unigram", "sentencepiece_bpe", "character", *SPLIT_NAMES],
)
def test_every_tokenizer(algorithm: str, tmp_path: Path) -> None:
    tokenizer = Tokenizer.model_validate(
        {"algorithm": algorithm, "vocab_size": 350, "lowercase": False, "sentinels": 9}
    )
    train(tokenizer, iter(CODE * 3), tmp_path)
    write_streams([CODE, CODE], tmp_path, tmp_path / "tokens", 0.5)
    vocabulary = Vocabulary.load(tmp_path)
    stream = TokenStream.open(tmp_path / "tokens" / "train")
    numbers = StreamIdentifiers(stream, vocabulary).at(np.arange(stream.num_tokens))
    found = "".join(named(vocabulary.texts, stream.tokens, numbers))
    expected = "Cell init self value2 row_number self value2 value2 self row_number row_number"
    expected = expected.replace(" ", "")
    assert found == (expected.replace("_", "") if algorithm in SPLIT_NAMES else expected)


@cache
def library(folder: Path) -> tuple[TokenStream, Vocabulary]:
    """Some files of the standard library, with 1,000 entries."""
    names = ("shlex.py", "queue.py", "tarfile.py", "argparse.py", "optparse.py", "mailbox.py")
    files = [python_stdlib.root() / name for name in names]
    documents = [paragraphs(python_stdlib.source(file)) for file in files]
    tokenizer = Tokenizer(algorithm="byte_bpe", vocab_size=1_000, lowercase=False, sentinels=100)
    train(tokenizer, (line for one in documents for line in one), folder)
    write_streams(documents, folder, folder / "tokens", 0.2)
    return TokenStream.open(folder / "tokens" / "train"), Vocabulary.load(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


((_, MASKED),) = OBJECTIVES["masked_identifiers"].components
LENGTH = 256


def made(folder: Path) -> list[MadeBatch]:
    stream, vocabulary = library(folder)
    phases = (Phase(fraction=1, sequence_length=LENGTH),)
    packing = Packing(format="full_sentences")
    maker = BatchMaker(stream, vocabulary, MASKED, packing, phases, 8, 0, 10)
    return [maker.made(step) for step in range(8)]


def test_programs_are_given_back_but_for_spaces(folder: Path) -> None:
    """A name has a space before it or not, as where it stands first."""
    _, vocabulary = library(folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    names = {int(sentinel) for sentinel in vocabulary.sentinels}
    count = 0
    for one in made(folder):
        assert one.transformed.dropped is not None
        for row, length in enumerate(one.rows.lengths):
            source = one.transformed.inputs[row, : one.transformed.lengths[row]].tolist()
            spans: dict[int, list[int]] = {}
            for token in one.transformed.dropped[0][row, : one.transformed.dropped[1][row]]:
                if int(token) in names:
                    spans[current := int(token)] = []
                else:
                    spans[current].append(int(token))
            again = [token for here in source for token in spans.get(here, [here])]
            texts = [tokenizer.decode(ids) for ids in (again, one.rows.tokens[row, :length])]
            assert texts[0].replace(" ", "") == texts[1].replace(" ", "")
            count += len(spans) - 1
    assert count > 100


def test_expected_lengths_are_those_of_programs(folder: Path) -> None:
    """To a fifth, as files differ."""
    batches = made(folder)
    expected = expected_lengths(MASKED, LENGTH)
    rows = [length for one in batches for length in one.rows.lengths]
    scale = LENGTH / np.mean(rows)
    source = scale * np.mean([n for one in batches for n in one.transformed.lengths])
    target = scale * np.mean([len(one.batch["targets"]) / len(one.rows.lengths) for one in batches])
    assert source == pytest.approx(expected.source, rel=0.2)
    assert target == pytest.approx(expected.target, rel=0.2), (source, expected)


def test_held_out_text_has_masked_identifiers(folder: Path) -> None:
    stream, vocabulary = library(folder)
    batches = held_out_batches(stream, vocabulary, MASKED, 128, decoder_start=0)
    sentinels = np.isin(batches[0]["input_ids"], vocabulary.sentinels)
    assert sentinels.sum() > 2 * len(batches[0]["input_ids"])


def test_the_mixture_alternates_both(folder: Path) -> None:
    """Rows of span corruption have each sentinel once, the others several times."""
    stream, vocabulary = library(folder)
    phases = (Phase(fraction=1, sequence_length=LENGTH),)
    packing = Packing(format="full_sentences")
    maker = BatchMaker(stream, vocabulary, OBJECTIVES["codet5"], packing, phases, 4, 0, 40)
    repeated = {0: False, 1: False}
    drawn = [maker.component(step) for step in range(40)]
    for step in range(10):
        for row in maker.batch(step)["input_ids"]:
            found = row[np.isin(row, vocabulary.sentinels)]
            repeated[drawn[step]] |= len(set(found.tolist())) < len(found)
    assert repeated == {0: True, 1: False}
    assert 10 < sum(drawn) < 30
