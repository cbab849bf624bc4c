"""The identifiers of Python text, found by their form alone, so that the text may be a part of a
file or lack its line breaks."""

import re
from collections.abc import Iterator
from keyword import iskeyword
from typing import NamedTuple

_TOKEN = re.compile(
    r'''
    [rRbBuUfF]{0,2} (?:
        """ (?: \\. | [^\\] )*? (?: """ | \Z )
      | \'\'\' (?: \\. | [^\\] )*? (?: \'\'\' | \Z )
      | " (?: \\. | [^"\\\n] )* "
      | ' (?: \\. | [^'\\\n] )* '
    )
    | \# [^\n]*
    | \d \w*
    | (?P<name> [^\W\d] \w* )
    ''',
    re.VERBOSE | re.DOTALL,
)
"""A string, a comment, a number, or a name."""


class Identifier(NamedTuple):
    """An occurrence of a name in a text."""

    name: str
    start: int
    """Index of its first character."""
    end: int
    """Index after its last character."""


def identifiers(text: str) -> Iterator[Identifier]:
    """The names in a text in their order, without keywords, strings and comments.

    Of a whole file they are those of `tokenize`, but for names in f-strings, which count as
    strings. Soft keywords, such as `match`, and built-in functions are names. A comment ends with
    its line, an open string in triple quotes with the text.

    >>> [one.name for one in identifiers("def area(r): return pi * r**2  # of a circle")]
    ['area', 'r', 'pi', 'r']
    """
    for match in _TOKEN.finditer(text):
        name = match["name"]
        if name and not iskeyword(name):
            yield Identifier(name, *match.span())
