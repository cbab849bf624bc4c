"""Tokenization that is interrupted: the next attempt continues it, byte by byte."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.data.corpora import tokenization
from harness.data.corpora.mixing import Document
from harness.data.corpora.tokenization import Progress, prefetched, write_split
from tests.data.corpora.test_token_stream import word_tokenizer


class KilledError(Exception):
    """The end of an attempt."""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return word_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def documents(number: int = 300) -> list[Document]:
    """Of two sources, some of which have no tokens."""
    rng = np.random.default_rng(0)
    return [
        Document(
            [" ".join(rng.choice(list("abcdx"), size)) for size in rng.integers(0, 6, 3)],
            is_held_out=index % 9 == 0,
            source="one" if index % 3 else "two",
            repeat=index // 200,
        )
        for index in range(number)
    ]


def files(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def attempt(tokenizer: Path, out: Path, work: Path, batches: int | None) -> dict[str, float] | None:
    """The counts; null for an attempt that is killed after some batches."""
    done = -1  # a report precedes the first batch

    def report(progress: Progress) -> None:
        nonlocal done
        done += 1
        if done == batches:
            raise KilledError

    for folder in (out, work):
        folder.mkdir(exist_ok=True)
    try:
        return write_split(iter(documents()), tokenizer, out, work, report)
    except KilledError:
        return None


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(kills=st.lists(st.integers(1, 4), max_size=3), seconds=st.sampled_from([-1.0, 1e9]))
def test_killed_attempts_leave_no_trace(
    tokenizer: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    kills: list[int],
    seconds: float,
) -> None:
    """Whether each batch is saved or none, and whatever follows what is saved."""
    monkeypatch.setattr(tokenization, "BATCH_DOCUMENTS", 20)
    monkeypatch.setattr(tokenization, "SAVE_SECONDS", seconds)
    folder = tmp_path_factory.mktemp("streams")
    expected = write_split(iter(documents()), tokenizer, folder / "whole")
    for batches in kills:
        assert attempt(tokenizer, folder / "out", folder / "work", batches) is None
        for array in (folder / "work").rglob("*.npy"):
            with array.open("ab") as file:
                file.write(b"of a batch that was not saved")
    counts = attempt(tokenizer, folder / "out", folder / "work", None)
    assert counts == expected
    assert files(folder / "out") == files(folder / "whole")
    assert not files(folder / "work")


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("state.json", "flipped"),
        ("train/tokens.npy", "flipped"),
        ("train/tokens.npy", "cut"),
        ("train/documents.npy", "missing"),
    ],
)
def test_a_damaged_attempt_begins_again(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, change: str
) -> None:
    monkeypatch.setattr(tokenization, "BATCH_DOCUMENTS", 100)
    expected = write_split(iter(documents()), tokenizer, tmp_path / "whole")
    monkeypatch.setattr(tokenization, "SAVE_SECONDS", -1.0)
    attempt(tokenizer, tmp_path / "out", tmp_path / "work", 2)
    path = tmp_path / "work" / file
    content = path.read_bytes()
    if change == "missing":
        path.unlink()
    elif change == "cut":
        path.write_bytes(content[:-5])
    else:
        path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    seen: list[Progress] = []
    work = tmp_path / "work"
    counts = write_split(iter(documents()), tokenizer, tmp_path / "out", work, seen.append)
    assert counts == expected and [one.documents for one in seen[:2]] == [0, 100]
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def test_saved_documents_are_not_tokenised_again(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenization, "BATCH_DOCUMENTS", 20)
    monkeypatch.setattr(tokenization, "SAVE_SECONDS", -1.0)
    attempt(tokenizer, tmp_path / "out", tmp_path / "work", 10)
    seen: list[Progress] = []
    write_split(iter(documents()), tokenizer, tmp_path / "out", tmp_path / "work", seen.append)
    assert [one.documents for one in seen] == [200, 220, 240, 260, 280, 300]
    assert seen[-1].new_tokens < 0.4 * seen[-1].tokens


def test_long_documents_are_tokenised_in_parts(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = write_split(iter(documents()), tokenizer, tmp_path / "whole")
    monkeypatch.setattr(tokenization, "BATCH_CHARACTERS", 3)
    assert write_split(iter(documents()), tokenizer, tmp_path / "parts") == expected
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


def test_prefetched_items_keep_their_order_and_errors() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise KilledError

    ahead = prefetched(items())
    assert [next(ahead) for _ in range(5)] == list(range(5))
    with pytest.raises(KilledError):
        next(ahead)
    assert list(prefetched(iter(()))) == []
