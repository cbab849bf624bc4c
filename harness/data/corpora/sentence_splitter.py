"""Rule-based splitting of English text into sentences.

A sentence ends at `.`, `!`, `?` or an ellipsis before white space, with closing quotes and
brackets, unless the next word is in lower case or the full stop belongs to an abbreviation, an
initial ("J. Smith") or an acronym ("U.S. Army"). Limits: a sentence that ends in an abbreviation is
joined to the next one; unlisted abbreviations split sentences; text without end marks is one
sentence. Errors matter little, because sentences only delimit the segments of the input formats.
"""

import re

_MARKS = ".!?\u2026"
# Each run of marks is tried once, from its first: from every mark, with all shorter runs, a line of
# 30,000 full stops would take minutes.
_END = re.compile(
    rf"(?<![{_MARKS}])([{_MARKS}]++)[\"'\u201d\u2019)\]]*\s+(?=[\"'\u201c\u2018(\[]*(\S))"
)
_OPENING = "\"'\u201c\u2018([-\u2014"

ABBREVIATIONS = frozenset(
    word
    for line in (
        "mr mrs ms messrs dr prof rev hon sr jr st mt ft",
        "gen col maj capt lt cmdr adm sgt gov pres sen rep",
        "vs etc al approx dept univ assn bros inc ltd corp co",
        "jan feb mar apr jun jul aug sept sep oct nov dec",
    )
    for word in line.split()
)
"""Abbreviations in lower case, whose full stop does not end a sentence."""
NUMBERED = frozenset(("no", "nos", "p", "pp", "vol", "fig", "figs", "ch", "sec", "art", "op", "ca"))
"""Abbreviations only before a digit: "No. 5", but "No. He left."."""


def split_sentences(text: str) -> list[str]:
    """The sentences of a paragraph with white space normalised; empty for blank text.

    >>> split_sentences("Dr. J. Roe paid $3.50. Why?  Nobody knows.")
    ['Dr. J. Roe paid $3.50.', 'Why?', 'Nobody knows.']
    """
    text = " ".join(text.split())
    sentences, start = [], 0
    for match in _END.finditer(text):
        word = max(start, text.rfind(" ", start, match.start()) + 1)
        if _ends_sentence(text[word : match.start()], match[1], match[2]):
            sentences.append(text[start : match.end()].rstrip())
            start = match.end()
    return [*sentences, text[start:]] if text[start:] else sentences


def _ends_sentence(word: str, mark: str, following: str) -> bool:
    """Whether `mark`, between the `word` and the character `following`, ends a sentence."""
    if following.islower():
        return False
    if mark != ".":
        return True
    word = word.lstrip(_OPENING)
    initial = len(word) == 1 and word.isupper() and word != "I"  # "World War I. The ..."
    lower = word.lower()
    return not (
        initial
        or ("." in word and word[0].isalpha())
        or lower in ABBREVIATIONS
        or (lower in NUMBERED and following.isdigit())
    )
