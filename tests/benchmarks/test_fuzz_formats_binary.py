"""The fuzzer of checkpoints and compressed text, with a few inputs of each format."""

import random
from pathlib import Path

import pytest

from benchmarks import fuzz_formats_binary as fuzz

INPUTS = 20
"""Mutated inputs of each format; `benchmarks/fuzz_formats_binary.py` takes any number."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Valid files are made in it once."""
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.filterwarnings("ignore")  # of torch, for layers of width 0
@pytest.mark.parametrize("name", fuzz.FORMATS)
def test_mutated_files_are_read_or_refused_in_one_line(name: str, folder: Path) -> None:
    found = [fuzz.outcome(name, seed, folder) for seed in range(INPUTS)]
    assert any(line != "read" for line in found)


@pytest.mark.parametrize("name", fuzz.FORMATS)
def test_files_without_a_mutation_are_read(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mutation in ("mutated_bytes", "mutated_json", "mutated_safetensors"):
        monkeypatch.setattr(fuzz, mutation, lambda rng, content: content)
    assert fuzz.outcome(name, 0, folder) == "read"


def test_an_input_does_not_depend_on_those_before() -> None:
    odd = repr(fuzz.ODD)
    for seed in range(2_000):
        fuzz.mutated_json(random.Random(seed), b'{"a": {}, "b": [[3], {"c": 1}]}')
    assert repr(fuzz.ODD) == odd


def test_inputs_follow_from_their_seed() -> None:
    content = b'{"a": 1, "b": {"c": [2, 3]}}'
    for mutation in (fuzz.mutated_bytes, fuzz.mutated_json):
        first, again = (
            [mutation(random.Random(seed), content) for seed in range(20)] for _ in range(2)
        )
        assert first == again and len(set(first)) > 5
