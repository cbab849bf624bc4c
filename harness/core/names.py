"""The rule for names that users give to tasks, splits, arms, variants and the like, and parts of
paths made of names."""

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

MAX_LENGTH = 200
"""Characters of a name; a part of a path may have 255 bytes."""
LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТХаеѕіјорсухһԁԛԝ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονι",
    "ABESIJKMHOPCTXaesijopcyxhdqw" + "ABEZHIKMNOPTYXovi",
)
"""Cyrillic, then Greek letters, to the Latin ones that look the same in most fonts (a part of the
table of confusables of Unicode Technical Standard 39)."""
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]"
)
"""Characters without a mark that `str.isprintable` lets pass."""
METRIC_PART = re.compile(r"(?!\.)[\w.: -]{1,120}")
"""MLflow takes 250 characters, and no name that as a path would lead elsewhere."""
WORD = re.compile(r"[^\W\d_]+")


def check_name(name: str) -> str:
    """`name`, if it follows the rule.

    Raises:
        ValueError: it is empty or too long, begins or ends with a space, has a character without a
            mark (a line break, a change of direction), or letters that look like others.
    """
    if not name or name != name.strip(" ") or len(name) > MAX_LENGTH:
        raise ValueError(
            f"must be a name of 1 to {MAX_LENGTH} characters without spaces at its ends, but is "
            f"{shortened(name)}"
        )
    hidden = [char for char in name if not char.isprintable() or INVISIBLE.match(char)]
    if hidden:
        raise ValueError(f"must be a name of visible characters, but has {described(hidden[0])}")
    if (plain := _plain(name)) != name:
        raise ValueError(
            f"must be a name of ordinary letters, but is {shortened(name)}; write {plain!r}"
        )
    for word in WORD.findall(name):
        twins = [char for char in word if ord(char) in LOOKALIKES]
        if twins and re.search("[A-Za-z]", word):
            raise ValueError(
                f"must be a name of letters that cannot be confused, but {word!r} has "
                f"{described(twins[0])} among Latin letters"
            )
    return name


def check_metric_part(name: str) -> str:
    """`name`, if it follows the rule and can stand beside `/` in the names of MLflow's metrics.

    Raises:
        ValueError: it cannot.
    """
    if not METRIC_PART.fullmatch(check_name(name)):
        raise ValueError(
            "must be a name of at most 120 letters, digits, spaces and any of - _ . : that does "
            f"not begin with a point, but is {shortened(name)}"
        )
    return name


def _plain(name: str) -> str:
    """A name with composed accents, and ordinary letters and digits in place of full-width ones,
    mathematical ones and the like."""
    composed = unicodedata.normalize("NFC", name)
    return "".join(
        unicodedata.normalize("NFKC", char) if char.isalpha() or char.isdecimal() else char
        for char in composed
    )


def lookalike(name: str, others: Iterable[str]) -> str | None:
    """The first of the other names that looks the same; null if there is none."""
    seen = name.translate(LOOKALIKES)
    return next((other for other in others if other.translate(LOOKALIKES) == seen), None)


def described(char: str) -> str:
    """`U+202E (RIGHT-TO-LEFT OVERRIDE)`."""
    return f"U+{ord(char):04X} ({unicodedata.name(char, 'a control character')})"


def shortened(name: str) -> str:
    """A name in quotes, of a long one its beginning and length."""
    return ascii(name) if len(name) <= 40 else f"{name[:37]!a}... ({len(name):,} characters)"


def file_name(name: str) -> str:
    """A part of a path for a name: itself where it is short, of ASCII letters, digits and `_.,=+-`,
    else with a digest."""
    safe = re.sub(r"^\.|[^a-zA-Z0-9_.,=+-]", "_", name)[:50]
    return safe if safe == name else f"{safe}-{sha256(name.encode()).hexdigest()[:8]}"


Name = Annotated[str, AfterValidator(check_name)]
"""A name of a user's choice."""
MetricPart = Annotated[str, AfterValidator(check_metric_part)]
"""The name of a split or metric."""
EXPERIMENT_PATTERN = r"^[a-z0-9][a-z0-9_-]*$"
ExperimentName = Annotated[str, StringConstraints(pattern=EXPERIMENT_PATTERN, max_length=64)]
"""A name in commands, addresses of pages and folders."""
SuiteName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)
]
"""As the name of an experiment, with capitals and points."""
SourceName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
"""The name of a source of a mixture, a part of the names of its metrics."""
