"""Items: deterministic, solvable with knowledge of the world, but not from word counts."""

import hashlib
import math
import re
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from harness.data import hub
from harness.data.microworld import lexicon
from harness.data.microworld.documents import documents
from harness.data.microworld.morphology import with_article
from harness.data.microworld.world import Concept, build
from harness.tasks.probes import PROBES
from harness.tasks.probes.accuracy import accuracy_by_category, cloze_values, minimal_pair_values
from harness.tasks.probes.blimp import PHENOMENA
from harness.tasks.probes.items import (
    NUM_ITEMS,
    VERSION,
    Beginning,
    ClozeItem,
    Item,
    MinimalPair,
    fingerprint,
    load_items,
)
from harness.tasks.probes.probe import Probe
from harness.tasks.task import HubData

MICRO_PROBES = [probe for probe in PROBES.values() if not isinstance(probe.data, HubData)]
MICRO = pytest.mark.parametrize("probe", MICRO_PROBES, ids=[probe.name for probe in MICRO_PROBES])
WORDS = re.compile(r"[a-z]+|[.,?]")
RANKED = pytest.mark.parametrize(
    "probe",
    ranked := [probe for probe in MICRO_PROBES if probe.kind != "generation"],
    ids=[probe.name for probe in ranked],
)
BLIMP = PROBES["blimp"]


def has_blimp() -> bool:
    try:
        return hub.mirror("nyu-mll/blimp") is not None
    except ValueError:
        return False


needs_mirror = pytest.mark.skipif(
    not has_blimp(), reason="HARNESS_DATA names no folder with a mirror of nyu-mll/blimp"
)


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    """Sentences of a sample of the corpus."""
    return list(chain(*documents(seed=0, world=0, num_tokens=300_000)))


@pytest.fixture(scope="module")
def counts(corpus: list[str]) -> Counter[str]:
    """Words of that sample."""
    return Counter(word for text in corpus for word in WORDS.findall(text))


def sentences(item: Item) -> tuple[str, ...]:
    if isinstance(item, Beginning):
        return (item.text + item.end,)
    return (item.good, item.bad) if isinstance(item, MinimalPair) else item.sentences


def right(item: Item) -> int:
    return item.answer if isinstance(item, ClozeItem) else 0


def accuracies(items: list[Item], scores: list[list[float]]) -> dict[str, float]:
    """Accuracy by category from the scores of each item's sentences."""
    categories = [item.category for item in items]
    width = max(map(len, scores))
    padded = np.array([row + [-np.inf] * (width - len(row)) for row in scores])
    values = cloze_values(padded, np.array([right(item) for item in items]))
    if isinstance(items[0], MinimalPair):
        values = minimal_pair_values(*padded.T)
    return accuracy_by_category(categories, values)


def any_of(words: tuple[str, ...] | list[str]) -> str:
    return f"(?:{'|'.join(words)})"


def truths() -> re.Pattern[str]:
    """All that is true and well formed in the world, of the forms that the probes use."""
    world = build(0)
    truths = list(chain(*(truths_of(concept) for concept in world.words.concepts)))
    aspect = any_of(lexicon.FILM_ASPECTS + lexicon.FOOD_ASPECTS)
    neutral = any_of(lexicon.NEUTRAL_ADVERBS)
    for positive in (True, False):
        polar, opposite = (any_of(world.words.polar(p)) for p in (positive, not positive))
        truths += [
            f"the {aspect} was {lexicon.OPINIONS[positive]}, {polar} and {polar}",
            f"i {any_of(lexicon.VERDICTS[positive])} the {polar} {aspect}",
            f"the {aspect} was {any_of(lexicon.ADVERBS[positive])} {polar}",
            f"the {aspect} was not {opposite}, it was {neutral} {polar}",
        ]
    return re.compile(rf"(?:{'|'.join(truths)})\.")


def truths_of(concept: Concept) -> list[str]:
    world, kind = build(0), concept.kind
    words = world.words
    nouns = any_of([n for c in words.concepts for n in c.names + c.plurals])
    near = f"(?: {any_of(lexicon.NEIGHBOURHOOD)} the {nouns})?"
    one, many, fits = any_of(concept.names), any_of(concept.plurals), any_of(kind.adjectives)
    third, base, did = (
        any_of([getattr(verb, form) for verb in kind.subject_verbs])
        for form in ("third", "base", "past")
    )
    verbs = world.verbs + kind.object_verbs
    done, participle = (any_of([getattr(v, f) for v in verbs]) for f in ("past", "participle"))
    people, (a, b), (c, d) = any_of(words.people), concept.names, concept.plurals
    her = f"{any_of(words.women)} (?:{done} her|said that she {done} the)"
    his = f"{any_of(words.men)} (?:{done} his|said that he {done} the)"
    synonyms = [f"the {x}, or {y}, {third}" for x, y in ((a, b), (b, a))]
    synonyms += [f"{x}, or {y}, are {fits} {kind.plural}" for x, y in ((c, d), (d, c))]
    return [
        f"the (?:{fits} )?{one}{near} (?:{third}|{did})",
        f"the (?:{fits} )?{many}{near} (?:{base}|{did})",
        f"(?:{her}|{his}) {one}",
        f"{people} {done} (?:(?:this|every|the|the {fits}) {one}|(?:these|many) {many})",
        f"the {one} was {participle} by {people}",
        f"the {one}(?:, {with_article(kind.name)},)? is in {concept.city}",
        f"many {many} are found in {concept.city}",
        f"as for the {one}, (?:{concept.colour}|{concept.city})",
        f"(?:the {one} is|most {many} are) {concept.colour}",
        f"{any_of([with_article(a), with_article(b)])} is a kind of {kind.name}",
        f"all {many} are {kind.plural}",
        *synonyms,
    ]


@MICRO
def test_one_who_knows_the_world_answers_all(probe: Probe) -> None:
    items, known = load_items(probe), truths()
    scores = [[float(bool(known.fullmatch(text))) for text in sentences(item)] for item in items]
    assert set(accuracies(items, scores).values()) == {1.0}


@RANKED
def test_counting_words_is_at_chance(probe: Probe, counts: Counter[str]) -> None:
    """The unigram log-probability of a sentence, up to a constant of its length."""
    items = load_items(probe)
    scores = [
        [math.fsum(math.log(counts[word]) for word in WORDS.findall(text)) for text in texts]
        for texts in map(sentences, items)
    ]
    guess = accuracies(items, [[0.0] * len(sentences(item)) for item in items])
    assert accuracies(items, scores) == pytest.approx(guess)
    assert guess["overall"] == pytest.approx(probe.chance)


@MICRO
def test_the_corpus_has_all_words(probe: Probe, counts: Counter[str]) -> None:
    words = {word for item in load_items(probe) for word in " ".join(sentences(item)).split()}
    assert all(counts[word.strip(".,")] >= 20 for word in words)


@MICRO
def test_the_corpus_states_no_wrong_sentence(probe: Probe, corpus: list[str]) -> None:
    wrong = {
        text
        for item in load_items(probe)
        for place, text in enumerate(sentences(item))
        if place != right(item)
    }
    assert not wrong.intersection(corpus)


@MICRO
def test_no_item_twice(probe: Probe) -> None:
    items = load_items(probe)
    assert len({frozenset(sentences(item)) | {item.category} for item in items}) == len(items)
    assert Counter(item.category for item in items) == dict.fromkeys(
        probe.categories, NUM_ITEMS[probe.kind]
    )
    assert all(len(set(sentences(item))) == len(sentences(item)) for item in items)


@MICRO
def test_candidates_differ_in_one_place(probe: Probe) -> None:
    """So that sentences of an item have the same number of words."""
    for item in load_items(probe):
        assert len({len(text.split()) for text in sentences(item)}) == 1, item


def test_a_beginning_has_one_end(corpus: list[str]) -> None:
    """No other sentence of the corpus begins so."""
    for item in load_items(PROBES["micro-generation"]):
        assert isinstance(item, Beginning)
        found = {text for text in corpus if text.startswith(f"{item.text} ")}
        assert found == {item.text + item.end}


def test_every_place_has_the_answer_about_as_often() -> None:
    items = [item for item in load_items(PROBES["micro-cloze"]) if isinstance(item, ClozeItem)]
    for category in PROBES["micro-cloze"].categories:
        these = [item for item in items if item.category == category]
        (num,) = {len(item.candidates) for item in these}
        places = np.bincount([item.answer for item in these], minlength=num) / len(these)
        assert np.all(np.abs(places - 1 / num) < 0.12), category  # 3.4 standard errors at most


def test_the_version_names_these_items() -> None:
    """A change of the items needs a new VERSION, then a new digest here."""
    text = repr([load_items(PROBES[name]) for name in ("micro-blimp", "micro-cloze")])
    assert VERSION == "1"
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "000462d6dcb49890"
    written = repr(load_items(PROBES["micro-generation"]))
    assert hashlib.sha256(written.encode()).hexdigest()[:16] == "f50fdbf73968509e"
    sides = repr(load_items(PROBES["micro-cloze-sides"]))
    assert hashlib.sha256(sides.encode()).hexdigest()[:16] == "06ab7441d33f6a99"


def test_the_cue_stands_on_its_side() -> None:
    """Of the four verbs, only the right one fits the object."""
    for item in load_items(PROBES["micro-cloze-sides"]):
        assert isinstance(item, ClozeItem)
        cued, other = (item.after, item.before)
        if item.category == "cue_left":
            cued, other = other, cued
        assert re.fullmatch(r" ?the \w+( was)?\.? ?", cued), cued
        assert re.fullmatch(r"( by )?\w+[. ]", other), other


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror of two paradigms with the columns of BLiMP and sentences of our own."""
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path / "hub"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    folder, configs = tmp_path / "hub" / "nyu-mll" / "blimp", ""
    for paradigm in ("passive_1", "transitive"):
        rows = {
            "sentence_good": [f"{paradigm} is well.", "All is well."],
            "sentence_bad": [f"{paradigm} are well.", "All well is."],
            "UID": [paradigm] * 2,
        }
        (folder / paradigm).mkdir(parents=True)
        pq.write_table(pa.table(rows), folder / paradigm / "train-0.parquet")
        configs += (
            f"- config_name: {paradigm}\n  data_files:\n"
            f"  - split: train\n    path: {paradigm}/train-*\n"
        )
    (folder / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    return folder


def two(**changes: object) -> Probe:
    return BLIMP.model_copy(update={"categories": ("transitive", "passive_1"), **changes})


def test_pairs_of_a_mirror(mirror: Path) -> None:
    items = load_items(two())
    assert items[0] == MinimalPair("transitive is well.", "transitive are well.", "transitive")
    assert [item.category for item in items] == ["transitive"] * 2 + ["passive_1"] * 2


def test_absent_columns_and_configs_are_named(mirror: Path) -> None:
    with pytest.raises(ValueError, match=r"config transitive has no wrong; it has sentence_good"):
        load_items(two(fields=("sentence_good", "wrong")))
    with pytest.raises(ValueError, match="adjunct_island"):
        load_items(two(categories=("adjunct_island",)))


def test_the_fingerprint_is_of_the_content(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(two())
    table = pq.read_table(mirror / "passive_1" / "train-0.parquet")
    pq.write_table(table.slice(1), mirror / "passive_1" / "train-0.parquet")
    assert fingerprint(two()) != before
    monkeypatch.delenv("HARNESS_DATA")
    assert isinstance(BLIMP.data, HubData) and BLIMP.data.revision
    assert fingerprint(two()).count(BLIMP.data.revision) == 2


def test_the_card_of_a_mirror_is_read_once(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of BLiMP takes half a second, and each of its 67 configs needs it."""
    read: list[str] = []
    load = yaml.safe_load

    def counted(text: str) -> Any:
        read.append(text)
        return load(text)

    monkeypatch.setattr(yaml, "safe_load", counted)
    fingerprint(two())
    fingerprint(two())
    assert len(read) == 1


@needs_mirror
def test_blimp_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    assert set(BLIMP.categories) == set(chain(*PHENOMENA.values()))
    some = ("passive_1", "principle_A_case_2", *BLIMP.categories[::10])
    items = load_items(BLIMP.model_copy(update={"categories": some}))
    assert Counter(item.category for item in items) == dict.fromkeys(some, 1000)
    identical = Counter(item.category for item in items if len(set(sentences(item))) == 1)
    assert identical == {"passive_1": 2, "principle_A_case_2": 5}
