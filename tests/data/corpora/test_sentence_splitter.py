"""Sentence splitting: what ends a sentence, what does not, and that no text is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.data.corpora.sentence_splitter import split_sentences

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
