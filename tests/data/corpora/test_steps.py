"""Steps of corpora: cleaning, deduplication, ablations."""

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from harness.data.corpora.steps import ABLATIONS, CLEANING, AnyStep
from harness.data.corpora.steps import cleaned as cleaned_of
from harness.data.corpora.steps.ablations import (
    Duplicate,
    Interchange,
    Noise,
    duplicate,
    interchange,
    noise,
)
from harness.data.corpora.steps.decontamination import Decontaminate
from harness.data.corpora.steps.deduplication import (
    RECALL,
    Deduplicate,
    DeduplicateNear,
    bands,
)
from harness.data.corpora.steps.filters import Language, Length, Normalise, Quality
from harness.data.corpora.steps.step import (
    Documents,
    EvaluationTexts,
    Step,
    ngrams,
    no_evaluation_texts,
    words_of,
)

STEP: TypeAdapter[object] = TypeAdapter(AnyStep)
DOCUMENTS = st.lists(
    st.lists(st.text("ab c", min_size=1).filter(str.strip), min_size=1, max_size=4), max_size=12
)


EVALUATION = (
    "The quick brown fox jumps over the lazy dog , said she .",
    "A short one .",
)


def cleaned(
    steps: tuple[Step, ...],
    documents: Documents,
    evaluation: EvaluationTexts = no_evaluation_texts,
) -> list[list[str]]:
    return list(cleaned_of(steps, documents, evaluation))


@given(documents=DOCUMENTS)
def test_cleaning_keeps_the_order_and_adds_nothing(documents: list[list[str]]) -> None:
    for kind in CLEANING:
        fields = {"suite": "any"} if kind is Decontaminate else {}
        rest = cleaned((kind.model_validate(fields),), documents, lambda suite: EVALUATION)
        if kind is not Normalise:
            position = iter(documents)
            assert all(any(one == other for other in position) for one in rest)


def test_decontamination_finds_planted_evaluation_texts() -> None:
    """In whole, in part, over two sentences and with other punctuation."""
    planted = [
        ["Before.", EVALUATION[0], "After."],
        ["Before.", "(The quick brown Fox jumps over the lazy cat)", "After."],
        ["Before.", "The quick brown fox.", "Jumps over the lazy dog.", "After."],
        ["Before.", "A short one!", "After."],
    ]
    assert cleaned((Decontaminate(suite="any"),), planted, {"any": EVALUATION}.__getitem__) == [
        ["Before.", "After."]
    ] * len(planted)


def test_decontamination_leaves_other_text() -> None:
    kept = [["The quick brown fox jumps over the ugly dog, said she."], ["Not a short one."]]
    removed = [[EVALUATION[0]]]
    step = Decontaminate(suite="any")
    assert cleaned((step,), [*kept, *removed], lambda suite: EVALUATION) == kept
    with pytest.raises(ValueError, match="texts of the suite any"):
        cleaned((step,), kept)


@given(documents=DOCUMENTS, size=st.integers(1, 5))
def test_decontamination_equals_a_search_of_all_ngrams(
    documents: list[list[str]], size: int
) -> None:
    texts = ["a b c a b", "c c", "a a a b"]
    (ours,) = [cleaned((Decontaminate(suite="s", ngram=size),), documents, lambda suite: texts)]
    runs = [text.split() for text in texts]
    long = [run[i : i + size] for run in runs for i in range(len(run) - size + 1)]
    short = [run for run in runs if len(run) < size]
    expected = []
    for document in documents:
        words = [word for sentence in document for word in sentence.split()]
        owner = [i for i, sentence in enumerate(document) for _ in sentence.split()]
        bad = {
            i for i, one in enumerate(document) if len(one.split()) < size and one.split() in short
        }
        for i in range(len(words)):
            if words[i : i + size] in long:
                bad.update(owner[i : i + size])
        if rest := [one for i, one in enumerate(document) if i not in bad]:
            expected.append(rest)
    assert ours == expected


def test_languages() -> None:
    english = ["This is a sentence of English text about the weather and the sea."]
    german = ["Dies ist ein deutscher Satz \u00fcber das Wetter und das Meer."]
    french = ["Ceci est une phrase fran\u00e7aise sur le temps et sur la mer."]
    documents = [english, german, french]
    assert cleaned((Language(),), documents) == [english]
    assert cleaned((Language(languages=("de", "fr")),), documents) == [german, french]
    assert cleaned((Language(),), [["12 34"]]) == []


@given(documents=DOCUMENTS)
def test_exact_deduplication_equals_a_set_of_texts(documents: list[list[str]]) -> None:
    rest = cleaned((Deduplicate(),), documents)
    texts = [" ".join(" ".join(one).split()).lower() for one in documents]
    assert [" ".join(" ".join(one).split()).lower() for one in rest] == list(dict.fromkeys(texts))


def test_planted_near_duplicates_are_found() -> None:
    """Of 200 random texts, 60 are copied with one word in 100 replaced, whose 5-grams have a
    Jaccard similarity of about 0.9; and 60 with one in 5, where few 5-grams are left."""
    random = Random(0)
    words = [f"w{number}" for number in range(5_000)]
    originals = [[" ".join(random.choices(words, k=400))] for _ in range(200)]

    def copied(document: list[str], every: int) -> list[str]:
        text = document[0].split()
        text[every // 2 :: every] = random.choices(words, k=len(text[every // 2 :: every]))
        return [" ".join(text)]

    near = [copied(one, 100) for one in originals[:60]]
    far = [copied(one, 5) for one in originals[60:120]]
    similarity = [
        len(a & b) / len(a | b)
        for one, other in zip(originals, near, strict=False)
        for a, b in [(ngrams(words_of(one), 5), ngrams(words_of(other), 5))]
    ]
    assert min(similarity) > 0.85
    kept = list(cleaned((DeduplicateNear(threshold=0.7),), [*originals, *near, *far]))
    found = [one for one in near if one not in kept]
    assert len(found) == 60  # recall
    assert all(one in kept for one in [*originals, *far])  # precision


def test_near_duplicates_at_the_threshold_are_found() -> None:
    """One word of 80 is replaced, which leaves a similarity of 0.88; with the bands of datasketch's
    own choice, one pair in five was not compared."""
    random = Random(0)
    words = [f"w{number}" for number in range(5_000)]
    originals = [random.choices(words, k=80) for _ in range(200)]
    copies = [[*one[:40], "new", *one[41:]] for one in originals]
    documents = [[" ".join(one)] for one in (*originals, *copies)]
    assert len(list(cleaned((DeduplicateNear(),), documents))) <= 204


@pytest.mark.parametrize("threshold", [0.01, 0.3, 0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("num_permutations", [16, 128, 512])
def test_bands_find_what_is_at_the_threshold(threshold: float, num_permutations: int) -> None:
    step = DeduplicateNear(threshold=threshold, num_permutations=num_permutations)
    number, size = bands(step)
    assert number >= 2
    assert number * size <= num_permutations
    assert size == 1 or 1 - (1 - threshold**size) ** number >= RECALL


def test_near_duplicates_equal_those_of_all_pairs() -> None:
    """The reference compares each text with all that are kept, by exact Jaccard similarity; no pair
    is near the threshold, where an estimate may err."""
    random = Random(1)
    words = [f"w{number}" for number in range(2_000)]
    documents = [[" ".join(random.choices(words, k=300))] for _ in range(40)]
    for _ in range(80):
        text = random.choice(documents)[0].split()
        for place in random.sample(range(300), random.choice([0, 1, 3, 60])):
            text[place] = random.choice(words)
        documents.append([" ".join(text)])
    random.shuffle(documents)

    def similarity(one: list[str], other: list[str]) -> float:
        a, b = ngrams(words_of(one), 3), ngrams(words_of(other), 3)
        return len(a & b) / len(a | b)

    kept: list[list[str]] = []
    for document in documents:
        found = max((similarity(document, other) for other in kept), default=0)
        assert not 0.55 < found < 0.75
        if found < 0.65:
            kept.append(document)
    step = DeduplicateNear(threshold=0.65, ngram=3, num_permutations=512)
    assert list(cleaned((step,), documents)) == kept
    assert 40 < len(kept) < 120


def test_length_and_normal_form() -> None:
    documents = [["one"], ["one two", "three"], ["a b c d e"]]
    assert list(cleaned((Length(min_words=2, max_words=4),), documents)) == [documents[1]]
    (found,) = cleaned((Normalise(),), [["\ufb01ne\u00a0 \ttext", "e\u0301"]])
    assert found == ["fine text", "\u00e9"]


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("the cat and the dog have been with the bird of the house " * 5, True),
        ("the cat and the dog " * 4, False),  # fewer than 50 words
        ("cat dog bird " * 30, False),  # no stop words
        ("the of " + "# " * 60, False),  # symbols
        ("the of " + "bird " * 89 + "# " * 9 + "... " * 9, True),  # a tenth of the words of neither
        ("the of " + "bird " * 87 + "... … " * 6, False),
        ("the of " + "1 2 3 " * 30, False),  # no letters
        ("the of " + "extraordinarily-long-compound-words " * 60, False),  # word length
    ],
)
def test_quality_rules_of_gopher(text: str, passes: bool) -> None:
    assert bool(list(cleaned((Quality(),), [[text]]))) == passes


def test_ablations_change_as_many_words_and_documents_as_declared() -> None:
    random = Random(0)
    document = ["a b c d e f g h"] * 500
    (found,) = noise(Noise(rate=0.25), document, random)
    pairs = zip(words_of(document), words_of(found), strict=True)
    changed = sum(one != other for one, other in pairs) / 4_000
    assert changed == pytest.approx(0.25 * 7 / 8, abs=0.02)  # one in 8 is replaced by itself
    copies = sum(
        len(duplicate(Duplicate(share=0.2, copies=4), ["a"], random)) for _ in range(2_000)
    )
    assert copies / 2_000 == pytest.approx(1.8, abs=0.15)


def test_interchanged_words_lose_their_places_and_keep_their_number() -> None:
    step = Interchange(words=("good", "bad"))
    document = ["a good day, a bad day.", "goods are not bad-mannered good"] * 500
    (found,) = interchange(step, document, Random(0))
    split = [re.split(r"\b(?:good|bad)\b", sentence) for sentence in found]
    assert split[0] == ["a ", " day, a ", " day."]
    assert split[1] == ["goods are not ", "-mannered ", ""]
    first = Counter(sentence.split()[1] for sentence in found[::2])
    assert first["good"] == pytest.approx(250, abs=50) and first.total() == 500
    assert interchange(step, document, Random(0)) == [found]
    assert interchange(step, ["nothing to change"], Random(0)) == [["nothing to change"]]


def test_phrases_and_words_that_end_with_a_mark_are_interchanged() -> None:
    found: set[str] = set()
    for seed in range(20):
        step = Interchange(words=("Mr.", "Mrs."))
        found.update(*interchange(step, ["So Mr. Roe left."], Random(seed)))
    assert found == {"So Mr. Roe left.", "So Mrs. Roe left."}
    step = Interchange(words=("York", "New York"))
    (left,) = interchange(step, ["New York, New Yorkers"] * 20, Random(0))
    assert {*left} == {"York, New Yorkers", "New York, New Yorkers"}
    step = Interchange(words=("New", "New York"))
    (left,) = interchange(step, ["New York"] * 20, Random(0))
    assert {*left} == {"New", "New York"}


def test_steps_are_read_by_kind_or_by_fields_and_unknown_ones_refused() -> None:
    assert STEP.validate_python("deduplicate") == Deduplicate()
    assert STEP.validate_python({"kind": "noise", "rate": 0.5}) == Noise(rate=0.5)
    lists = {"kind": "language", "languages": ["en", "de"]}
    assert STEP.validate_python(lists) == Language(languages=("en", "de"))
    kinds = {kind.model_fields["kind"].default for kind in [*CLEANING, *ABLATIONS]}
    assert len(kinds) == len(CLEANING) + len(ABLATIONS)
    with pytest.raises(ValidationError, match="deduplicate_near"):
        STEP.validate_python("dedup")
    with pytest.raises(ValidationError, match="max_words must be at least min_words, 5, but is 2"):
        Length(min_words=5, max_words=2)
