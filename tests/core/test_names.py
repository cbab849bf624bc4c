"""The rule for names of a user's choice, and parts of paths made of names."""

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlflow.utils.validation import _validate_metric

from harness.core.names import (
    LOOKALIKES,
    MAX_LENGTH,
    check_metric_part,
    check_name,
    file_name,
    lookalike,
)


@pytest.mark.parametrize(
    "name",
    ["a", "lr=0.3, λ=2", "Größe", "отзывы", "評判 v2", "α → β", "google-bert/bert-base", "x" * 200],
)
def test_names_of_any_script(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "must be a name of 1 to 200 characters without spaces at its ends, but is ''"),
        (" a", "without spaces at its ends, but is ' a'"),
        ("ab" * MAX_LENGTH, r"but is 'abab.*'\.\.\. \(400 characters\)"),
        ("a\nb", r"visible characters, but has U\+000A \(a control character\)"),
        ("a\x1b[31mb", r"U\+001B \(a control character\)"),
        ("evil\u202etxt", r"U\+202E \(RIGHT-TO-LEFT OVERRIDE\)"),
        ("a\u200bb", r"U\+200B \(ZERO WIDTH SPACE\)"),
        ("a\u3164b", r"U\+3164 \(HANGUL FILLER\)"),
        ("a\ud800", r"U\+D800"),
        ("ｂｅｒｔ", "ordinary letters, but is .*; write 'bert'"),
        ("𝐛ert", "write 'bert'"),
        ("cafe\u0301", "write 'café'"),
        ("b\u0435rt", r"but 'b.rt' has U\+0435 \(CYRILLIC SMALL LETTER IE\) among Latin letters"),
        ("R\u039fUGE", "GREEK CAPITAL LETTER OMICRON"),
    ],
)
def test_names_that_mislead(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        check_name(name)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 200


def test_whole_words_that_look_the_same() -> None:
    cyrillic = "\u0441\u043e\u0440"
    assert lookalike(cyrillic, ["arm", "cop"]) == "cop"
    assert lookalike("cops", ["cop", cyrillic]) is None
    assert all(check_name(chr(char)) and chr(other).isascii() for char, other in LOOKALIKES.items())


@given(st.text(min_size=1))
def test_a_part_of_a_path(name: str) -> None:
    part = file_name(name)
    assert re.fullmatch(r"[\w.,=+-]{1,60}", part, re.ASCII)
    assert PurePosixPath("folder", part).parts == ("folder", part) and part not in (".", "..")


def test_different_names_have_different_files() -> None:
    names = ["a/b", "a_b", "a:b", "../a", ".._a", "x" * 300, "x" * 301, "ä", "ö"]
    assert len({file_name(name) for name in names}) == len(names)
    assert file_name("micro-mrpc") == "micro-mrpc"


@pytest.mark.parametrize("name", ["dev", "dev-2.1 b", "Größe: 評判", "x" * 120])
def test_names_of_metrics_are_those_that_mlflow_takes(name: str) -> None:
    assert check_metric_part(name) == name
    _validate_metric(f"{name}/{name}", 0.5, 0, 0)


@pytest.mark.parametrize("name", ["dev/2020", "dev (hard)", "p@1", ".", "..a", "", "x" * 121])
def test_other_names_of_metrics_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must be a name of"):
        check_metric_part(name)
