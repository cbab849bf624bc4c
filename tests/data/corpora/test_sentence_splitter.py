"""Sentence splitting: what ends a sentence, what does not, and that no text is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.data.corpora import sentence_splitter
from harness.data.corpora.sentence_splitter import _END, split_sentences

CASES = {
    "two": ("It rained. We stayed in.", ["It rained.", "We stayed in."]),
    "marks": ("Why? Nobody knows! So be it.", ["Why?", "Nobody knows!", "So be it."]),
    "title": ("Dr. Roe met Mrs. Poe. They talked.", ["Dr. Roe met Mrs. Poe.", "They talked."]),
    "initials": ("J. R. Roe wrote it. Then he left.", ["J. R. Roe wrote it.", "Then he left."]),
    "numeral": ("After World War I. The town grew.", ["After World War I.", "The town grew."]),
    "acronym": ("The U.S. Army came. It left.", ["The U.S. Army came.", "It left."]),
    "decimal": ("It cost 3.50 marks. Cheap.", ["It cost 3.50 marks.", "Cheap."]),
    "numbered": ("See No. 5 there. No. He left.", ["See No. 5 there.", "No.", "He left."]),
    "quotes": ('"Stop!" He ran. (We too.) Fine.', ['"Stop!"', "He ran.", "(We too.)", "Fine."]),
    "lower case": ("It was e.g. small. ok", ["It was e.g. small. ok"]),
    "ellipsis": ("Well... Perhaps.", ["Well...", "Perhaps."]),
    "spaced marks": ("He went . She stayed .", ["He went .", "She stayed ."]),
    "white space": ("  One \n two.\t Three. ", ["One two.", "Three."]),
    "blank": (" \n ", []),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_cases(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@given(st.text(alphabet="aBI.?! \"')(\n\u20261,", max_size=60))
def test_keeps_every_character_but_white_space(text: str) -> None:
    sentences = split_sentences(text)
    assert " ".join(sentences).split() == text.split()
    assert all(sentence == sentence.strip() and sentence for sentence in sentences)


@given(st.text(alphabet="aBI.?! \"')(\u20261,", max_size=60))
def test_a_run_of_marks_is_found_from_its_first(text: str) -> None:
    """As by a pattern that tries every mark as the first, whose time grows with the square."""
    plain = re.compile(r"([.!?\u2026]+)[\"'\u201d\u2019)\]]*\s+(?=[\"'\u201c\u2018(\[]*(\S))")
    ours = [(match.span(), match.groups()) for match in _END.finditer(text)]
    assert ours == [(match.span(), match.groups()) for match in plain.finditer(text)]


def test_a_long_run_of_marks_takes_no_time() -> None:
    """It would take hours if every mark were tried as the first of a run."""
    leader = "." * 500_000
    assert split_sentences(f"Preface {leader}x Index {leader}") == [
        f"Preface {leader}x Index {leader}"
    ]


def test_the_word_before_a_mark_is_read_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a long text without ends of sentences is not read again at each mark."""
    words = []

    def ends(word: str, mark: str, following: str) -> bool:
        words.append(word)
        return following == "T"

    monkeypatch.setattr(sentence_splitter, "_ends_sentence", ends)
    split_sentences("see e.g. a thing. Then. The U.S. Army. one. two.")
    assert words == ["e.g", "thing", "Then", "U.S", "Army", "one"]
