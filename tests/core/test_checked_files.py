"""What is damaged counts as missing."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.store_damage import flip
from harness.core.checked_files import CHECKSUM, is_intact_zip, read_checked, write_checked

CONTENT = {"steps": 12, "rate": 0.25, "name": "é"}


def test_content_is_read_back(tmp_path: Path) -> None:
    assert read_checked(tmp_path / "x.json") is None
    write_checked(tmp_path / "x.json", CONTENT)
    assert read_checked(tmp_path / "x.json") == CONTENT


def test_any_flipped_bit_of_the_content_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_checked(path, CONTENT)
    size = path.read_bytes().index(CHECKSUM.encode()) - 3
    for bit in range(8 * size):
        flip(path, bit)
        assert read_checked(path) in (None, CONTENT)
        flip(path, bit)
    assert read_checked(path) == CONTENT


@pytest.mark.parametrize("text", ["", "[1]", "{", "7"])
def test_other_content_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert read_checked(tmp_path / "x.json") is None


def test_files_of_versions_without_checksums_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(CONTENT))
    assert read_checked(tmp_path / "x.json") == CONTENT


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_any_flipped_bit_of_an_array_is_noticed(tmp_path: Path, library: str) -> None:
    """Also one that makes an array shorter, which NumPy reads without an error."""
    path, values = tmp_path / "x", np.arange(100, 120)
    if library == "numpy":
        with path.open("wb") as file:
            np.savez(file, values=values)
    else:
        torch.save({"values": torch.from_numpy(values)}, path)
    assert is_intact_zip(path)
    place = path.read_bytes().index(values.tobytes())
    bits = range(8 * place, 8 * (place + values.nbytes), 7)
    header = path.read_bytes().find(b"(20,)")
    for bit in [*bits, *([8 * (header + 1)] if header >= 0 else [])]:
        flip(path, bit)
        assert not is_intact_zip(path)
        flip(path, bit)
    assert is_intact_zip(path)
    path.write_bytes(path.read_bytes()[:-1])
    assert not is_intact_zip(path)
