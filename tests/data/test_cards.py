"""Cards of data sets: configs and their files in every notation, and damaged ones."""

from pathlib import Path

import pytest

from harness.data import cards

FILES = """
configs:
- config_name: a
  data_files:
  - {split: train, path: a/train.parquet}
  - {split: test, path: [a/one.parquet, a/two.parquet]}
- config_name: b
  data_files: b/*.parquet
- data_files: [c.jsonl]
- config_name: d
"""


def written(folder: Path, header: str) -> Path:
    (folder / "README.md").write_text(f"---\n{header}\n---\n# A data set\n")
    return folder


def test_files_and_splits_in_every_notation(tmp_path: Path) -> None:
    found = {
        cards.name_of(entry): (list(cards.patterns(entry)), cards.splits(entry))
        for entry in cards.configs(cards.card(written(tmp_path, FILES)))
    }
    assert found == {
        "a": (["a/train.parquet", "a/one.parquet", "a/two.parquet"], ["train", "test"]),
        "b": (["b/*.parquet"], ["train"]),
        "default": (["c.jsonl"], ["train"]),
        "d": (["**/*"], []),
    }


def test_a_folder_without_a_card(tmp_path: Path) -> None:
    assert cards.card(tmp_path) == {}
    (tmp_path / "README.md").write_text("# No header")
    assert cards.card(tmp_path) == {}
    assert cards.card(written(tmp_path, "# only a comment")) == {}


@pytest.mark.parametrize(
    "header",
    [
        "configs: [a: b: c",
        "- a list",
        "configs: 5",
        "configs: [a]",
        "configs: [{config_name: 2020}]",
        "configs: [{data_files: [{split: train}]}]",
        "configs: [{data_files: {train: a}}]",
        "\0",
        "date: 2020-13-45",
        "a: " + "[" * 10_000,
    ],
)
def test_a_damaged_card_is_named(tmp_path: Path, header: str) -> None:
    with pytest.raises(ValueError, match=r"README\.md must begin with the card .* but .+; copy"):
        cards.card(written(tmp_path, header))


def test_a_card_in_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes(b"\xff\xfe---")
    with pytest.raises(ValueError, match=r"README\.md must begin with .* can't decode byte 0xff"):
        cards.card(tmp_path)
