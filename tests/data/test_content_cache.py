"""Caches of `datasets` by content."""

from pathlib import Path

import datasets
import pytest

from harness.data.content_cache import content_cache


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path))
    return tmp_path


def read(*contents: str) -> Path:
    """The cache of files with these contents, before and after they are read."""
    left = iter(contents)
    with content_cache("file", lambda: f"sha256:{next(left)}") as cache:
        (Path(cache) / "rows").mkdir(parents=True, exist_ok=True)
        return Path(cache)


def test_each_content_has_a_cache_which_is_kept(folder: Path) -> None:
    first, again, other = read("a", "a"), read("a", "a"), read("b", "b")
    assert first == again != other and first.parent == other.parent == folder
    assert (first / "rows").is_dir() and (other / "rows").is_dir()


def test_the_cache_of_content_that_changed_while_it_was_read_is_deleted(folder: Path) -> None:
    """It may hold the rows of both."""
    with pytest.raises(ValueError, match="its content changed while it was read; run again"):
        read("a", "b")
    assert list(folder.iterdir()) == []
