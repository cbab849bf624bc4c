"""Identifiers of Python text: by hand, and against `tokenize`."""

import io
import tokenize
from keyword import iskeyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.data import python_stdlib
from harness.data.python_identifiers import identifiers

FILES = ("heapq.py", "bisect.py", "textwrap.py", "shlex.py")
PIECES = ("def", "name", "_x1", "'", '"', '"""', "'''", "#", "\n", "\\", " ", "(", "7", "é")


def names(text: str) -> list[str]:
    return [one.name for one in identifiers(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = y1 + _z if not None else True", ["x", "y1", "_z"]),
        ("self._items.__init__(len)", ["self", "_items", "__init__", "len"]),
        ("a = 'b' + \"c\" + rb'd' + f'{e}'", ["a"]),
        ("a = 'it\\'s' + b", ["a", "b"]),
        ('"""c\nd "e" \'f\' """ + g', ["g"]),
        ("'''c\n\"\"\" d''' + g", ["g"]),
        ("a  # b 'c\nd", ["a", "d"]),
        ("'#' + a", ["a"]),
        ("it's b\nc", ["it", "s", "b", "c"]),  # no string: it does not end on the line
        ('a = """ open to the end', ["a"]),
        ("0xAF + 1e5 + 1_000 + 2j + e5", ["e5"]),
        ("buffer'a'", ["buffer"]),
        ("match print", ["match", "print"]),
        ("größe = ñ", ["größe", "ñ"]),
        ("", []),
    ],
)
def test_by_hand(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize("file", FILES)
def test_whole_files_as_by_tokenize(file: str) -> None:
    text = python_stdlib.source(python_stdlib.root() / file)
    lines = text.splitlines(keepends=True)
    before = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    expected = [
        (token.string, before[token.start[0] - 1] + token.start[1])
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME and not iskeyword(token.string)
    ]
    assert "f'" not in text and 'f"' not in text, "of which later versions find the names"
    assert [(one.name, one.start) for one in identifiers(text)] == expected
    assert len(expected) > 50


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_has_names_in_order(text: str) -> None:
    found = list(identifiers(text))
    assert all(text[one.start : one.end] == one.name for one in found)
    assert all(one.name.isidentifier() and not iskeyword(one.name) for one in found)
    places = [place for one in found for place in (one.start, one.end)]
    assert places == sorted(places)
