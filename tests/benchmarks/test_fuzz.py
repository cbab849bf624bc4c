"""Mutated files of every format that users write are read, or refused with one clear line."""

from pathlib import Path

import pytest

from benchmarks import fuzz
from benchmarks.fuzz import FORMATS, Format, campaign, inputs, outcome

INPUTS = 40
"""Of each format; the campaign has more."""


@pytest.mark.parametrize("name", FORMATS)
def test_a_mutated_file_never_ends_in_a_traceback(name: str) -> None:
    with fuzz.working_folder():
        found = campaign(FORMATS[name], INPUTS, seed=0)
    assert not {number: what for number, (what, _) in found.failures.items()}
    assert found.outcomes["read"] and found.outcomes["refused"]


@pytest.mark.parametrize("name", FORMATS)
def test_the_files_to_mutate_are_valid(name: str) -> None:
    for content in FORMATS[name].valid:
        with fuzz.working_folder():
            assert outcome(FORMATS[name], content, Path.cwd()) == "read"


def test_inputs_are_the_same_for_the_same_seed() -> None:
    one, again, other = (list(inputs(FORMATS["csv"], 20, seed)) for seed in (0, 0, 1))
    assert one == again != other and len(set(one)) > 15


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyError("x"), "KeyError: "),
        (RecursionError("too deep"), "RecursionError: "),
        (ValueError("two\nlines"), "unclear: "),
        (ValueError(""), "unclear: "),
        (ValueError("the file must have a head, but is empty"), "refused"),
    ],
)
def test_other_errors_and_unclear_lines_are_found(
    error: Exception, expected: str, tmp_path: Path
) -> None:
    def fail(path: Path) -> None:
        raise error

    assert outcome(Format("a.txt", (b"x",), fail), b"x", tmp_path).startswith(expected)
