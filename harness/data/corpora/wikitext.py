"""WikiText (Merity et al. 2017), whose rows are lines, as articles."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

from harness.data.corpora.sentence_splitter import split_sentences

WIKITEXT = "Salesforce/wikitext"
"""The data set whose rows are lines; a row of any other Hub data set is a document."""
_HEADING = re.compile(r"=((?: =)*) (.*?)((?: =)*) =")
_ESCAPES = ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."))
"""Escapes of marks in words and numbers (Merity et al. 2017, section 4.3)."""


def wikitext_articles(lines: Iterable[str]) -> Iterator[list[str]]:
    """The articles of WikiText, which start with ` = Title = ` between blank lines.

    Headings of all levels become sentences without their marks. `<unk>`, which replaces rare words,
    remains as text.

    Args:
        lines: the rows of the data set.
    """
    article: list[str] = []
    before = ""
    for line, after in pairwise(chain(lines, ("",))):
        line = _unescape(line.strip())
        # Tables have lines like " = Played , W = " between other lines.
        heading = None if before or after.strip() else _HEADING.fullmatch(line)
        if heading is None:
            article += split_sentences(line)
        else:
            if heading[1] == heading[3] == "":
                yield article
                article = []
            article.append(heading[2])
        before = line
    yield article


def _unescape(line: str) -> str:
    for escaped, mark in _ESCAPES:
        line = line.replace(escaped, mark)
    return line
