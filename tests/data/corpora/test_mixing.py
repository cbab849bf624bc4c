"""Mixtures: shares, repeats, held-out documents, ablations."""

import gzip
import json
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from harness.data.corpora.load_corpus import fingerprint, read_documents
from harness.data.corpora.mixing import Document, shares_of, split_corpus, split_source
from harness.data.corpora.sources import (
    Corpus,
    JsonLinesCorpus,
    MicroworldCorpus,
    MixedCorpus,
    clean_text,
)
from harness.data.corpora.token_stream import BY_SOURCE, TokenStream
from harness.data.corpora.tokenization import write_split
from tests.data.corpora.test_token_stream import word_tokenizer

CORPUS: TypeAdapter[Corpus] = TypeAdapter(Corpus)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of 300, 200 and 20 documents of different lengths."""
    folder = tmp_path_factory.mktemp("texts")
    for name, count, words in (("wiki", 300, 40), ("novels", 200, 90), ("speech", 20, 15)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
            for number in range(count):
                text = f"{name}{number} " + " ".join("abcd"[k % 4] for k in range(words))
                file.write(json.dumps({"text": text}) + "\n")
    return folder


def mixture(folder: Path, **fields: object) -> MixedCorpus:
    sources = {
        name: {"source": "jsonl", "path": str(folder / f"{name}.jsonl.gz")}
        for name in ("wiki", "novels", "speech")
    }
    return MixedCorpus.model_validate({"source": "mixture", "sources": sources, **fields})


def training_bytes(documents: list[Document]) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in documents:
        found[one.source] += 0 if one.is_held_out else one.num_bytes
    return found


def test_shares_are_those_of_the_weights_to_a_document(folder: Path) -> None:
    weights = {"wiki": 6, "novels": 3, "speech": 1}
    documents = list(split_corpus(mixture(folder, weights=weights, num_bytes=60_000)))
    sizes = training_bytes(documents)
    longest = max(one.num_bytes for one in documents)
    total = sum(sizes.values())
    assert 60_000 <= total < 60_000 + longest
    for name, weight in weights.items():
        assert abs(sizes[name] - total * weight / 10) <= longest


def test_shares_hold_at_every_point(folder: Path) -> None:
    """So that a budget that ends before the text reads the same mixture."""
    weights = {"wiki": 5, "novels": 4, "speech": 1}
    seen: list[Document] = []
    for one in split_corpus(mixture(folder, weights=weights, num_bytes=40_000)):
        seen.append(one)
        sizes = training_bytes(seen)
        total = sum(sizes.values())
        for name, weight in weights.items():
            assert abs(sizes[name] - total * weight / 10) <= 200


def test_repeats_are_exact_and_leave_out_what_is_held_out(folder: Path) -> None:
    weights = {"wiki": 1, "novels": 1, "speech": 1}
    documents = list(split_corpus(mixture(folder, weights=weights, num_bytes=30_000)))
    speech = [one for one in documents if one.source == "speech"]
    held_out = {one.sentences[0] for one in speech if one.is_held_out}
    training = Counter(one.sentences[0] for one in speech if not one.is_held_out)
    assert len(held_out) == 1 and len(training) == 19
    assert not held_out & set(training)
    assert max(training.values()) - min(training.values()) <= 1
    assert speech[-1].repeat == max(training.values()) - 1 > 3


def test_without_a_size_no_source_is_repeated(folder: Path) -> None:
    documents = list(split_corpus(mixture(folder, weights={"wiki": 1, "novels": 1, "speech": 1})))
    assert not any(one.repeat for one in documents)
    sizes = training_bytes(documents)
    whole = training_bytes(list(split_corpus(mixture(folder))))
    assert sizes["speech"] == whole["speech"]  # the smallest is used up
    assert sizes["wiki"] < whole["wiki"] / 2


def test_without_weights_every_source_is_read_whole_and_evenly(folder: Path) -> None:
    documents = list(split_corpus(mixture(folder)))
    assert Counter(one.source for one in documents) == {"wiki": 300, "novels": 200, "speech": 20}
    half = Counter(one.source for one in documents[: len(documents) // 2])
    assert abs(half["speech"] - 10) <= 1


def test_temperature_flattens_the_shares_of_sizes(folder: Path) -> None:
    """q_i proportional to n_i^(1/T): by hand from the sizes."""
    sizes = training_bytes(list(split_corpus(mixture(folder))))
    roots = {name: size**0.5 for name, size in sizes.items()}
    expected = {name: root / sum(roots.values()) for name, root in roots.items()}
    split_one = partial(split_source, read_documents, False)
    assert shares_of(mixture(folder, temperature=2), split_one) == pytest.approx(expected)


@settings(deadline=None, max_examples=20)
@given(
    weights=st.tuples(*[st.floats(0.05, 20)] * 3),
    size=st.integers(5_000, 60_000),
)
def test_any_weights_give_their_shares(
    folder: Path, weights: tuple[float, float, float], size: int
) -> None:
    named = dict(zip(("wiki", "novels", "speech"), weights, strict=True))
    sizes = training_bytes(list(split_corpus(mixture(folder, weights=named, num_bytes=size))))
    for name, weight in named.items():
        assert abs(sizes[name] - sum(sizes.values()) * weight / sum(weights)) <= 400


def test_streams_have_the_held_out_text_of_each_source(folder: Path, tmp_path: Path) -> None:
    corpus = mixture(folder, weights={"wiki": 2, "novels": 1, "speech": 1}, num_bytes=20_000)
    counts = write_split(split_corpus(corpus), word_tokenizer(tmp_path / "words"), tmp_path)
    names = sorted(path.name for path in (tmp_path / BY_SOURCE).iterdir())
    assert names == ["novels", "speech", "wiki"]
    by_source = [TokenStream.open(tmp_path / BY_SOURCE / name).num_tokens for name in names]
    assert sum(by_source) == TokenStream.open(tmp_path / "validation").num_tokens
    assert counts["source_speech_repeats"] >= 1 and counts["source_wiki_repeats"] == 0
    assert counts["source_wiki_bytes"] == pytest.approx(2 * counts["source_novels_bytes"], abs=400)
    tokens = sum(counts[f"source_{name}_tokens"] for name in names)
    assert tokens == counts["train_tokens"]


def test_a_held_out_corpus_replaces_the_held_out_share(folder: Path) -> None:
    wiki, speech = (
        JsonLinesCorpus(path=str(folder / f"{name}.jsonl.gz")) for name in ("wiki", "speech")
    )
    documents = list(split_corpus(wiki, held_out=speech))
    held_out = [one.sentences[0].split()[0] for one in documents if one.is_held_out]
    assert held_out == [f"speech{number}" for number in range(20)]
    assert sum(not one.is_held_out for one in documents) == 300


def test_ablations_spoil_training_documents_alone_and_not_the_tokenizer(folder: Path) -> None:
    clean = JsonLinesCorpus(path=str(folder / "wiki.jsonl.gz"), validation_fraction=0.1)
    steps = [{"kind": "duplicate", "share": 0.5, "copies": 3}, {"kind": "noise", "rate": 1.0}]
    spoiled = JsonLinesCorpus.model_validate({**clean.model_dump(), "steps": steps})
    first, second = (list(split_corpus(corpus)) for corpus in (clean, spoiled))
    assert [one for one in first if one.is_held_out] == [one for one in second if one.is_held_out]
    assert 1.8 < len(second) / len(first) < 3.2
    assert list(split_corpus(spoiled)) == second  # deterministic
    assert clean_text(spoiled) == clean
    held_out = [one for one in split_corpus(clean, held_out=spoiled) if one.is_held_out]
    assert [one.sentences for one in held_out] == [one.sentences for one in first]


def test_a_mixture_is_identified_by_all_its_texts(folder: Path, tmp_path: Path) -> None:
    sources = {"a": MicroworldCorpus(), "b": MicroworldCorpus(seed=1)}
    one = MixedCorpus(sources=sources)
    other = MixedCorpus(sources={**sources, "b": MicroworldCorpus(seed=2)})
    assert fingerprint(one) != fingerprint(other)


def test_sources_in_sequence_have_their_shares(folder: Path) -> None:
    corpus = mixture(folder, weights={"wiki": 1, "speech": 2, "novels": 1}, num_bytes=20_000)
    corpus = corpus.model_copy(update={"order": "sequence"})
    training = [one for one in split_corpus(corpus) if not one.is_held_out]
    names = list(dict.fromkeys(one.source for one in training))
    assert names == list(corpus.sources)
    assert [one.source for one in training] == sorted(
        (one.source for one in training), key=names.index
    )
    sizes: Counter[str] = Counter()
    for one in training:
        sizes[one.source] += one.num_bytes
    expected = {"wiki": 5_000, "speech": 10_000, "novels": 5_000}
    assert sizes == pytest.approx(expected, abs=400)
    whole = mixture(folder).model_copy(update={"order": "sequence"})
    assert {one.sentences[0] for one in split_corpus(whole)} == {
        one.sentences[0] for one in split_corpus(mixture(folder))
    }


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"order": "sequence", "weights": {"a": 1, "b": 1}}, "num_bytes must be given for order"),
        ({"weights": {"a": 1}}, "weights must name every source"),
        ({"weights": {"a": 1, "b": 1}, "temperature": 2}, "temperature must be 1"),
        ({"weights": {"a": 1, "b": 0}}, "greater than 0"),
        ({"sources": {"a": {"source": "microworld"}}}, "at least 2"),
        (
            {"sources": {"a": {"source": "microworld"}, "../b": {"source": "microworld"}}},
            "pattern",
        ),
    ],
)
def test_bad_mixtures_are_refused(fields: dict[str, object], words: str) -> None:
    sources = {"a": {"source": "microworld"}, "b": {"source": "microworld", "seed": 1}}
    with pytest.raises(ValidationError, match=words):
        CORPUS.validate_python({"source": "mixture", "sources": sources, **fields})


def test_a_source_without_training_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"text": "alone"}\n')
    sources = {"a": MicroworldCorpus(), "b": JsonLinesCorpus(path=str(tmp_path / "one.jsonl"))}
    for fields in ({}, {"weights": {"a": 1.0, "b": 1.0}, "num_bytes": 10_000}):
        corpus = MixedCorpus.model_validate({"sources": sources, **fields})
        with pytest.raises(ValueError, match=r"corpus\.sources\.b must have at least 2 documents"):
            list(split_corpus(corpus))
