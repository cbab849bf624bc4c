"""Examples of the micro-world match their version, on which published scores depend.

After the entry of a generator in `microworld.VERSIONS` was raised, run this file as a script.
"""

import hashlib
import json
from pathlib import Path

import pytest

from harness.data import microworld
from harness.data.microworld.examples import GENERATORS, examples
from harness.tasks import TASKS
from harness.tasks.task import MicroworldData

FILE = Path(__file__).parent / "example_digests.json"
"""Generator and its version to the digest of its examples."""


def splits_of() -> dict[str, list[str]]:
    """Generator to all splits that tasks read of it."""
    splits: dict[str, set[str]] = {name: set() for name in GENERATORS}
    for task in TASKS.values():
        if isinstance(task.data, MicroworldData):
            reported = {split.of or split.name for split in (*task.evaluation, *task.test)}
            splits[task.data.generator] |= reported | ({task.train} if task.train else set())
    return {name: sorted(found) for name, found in splits.items()}


SPLITS = splits_of()


def digest(generator: str) -> str:
    """SHA-256 of the rows of all splits, in world 0."""
    rows = {split: dict(examples(generator, split)) for split in SPLITS[generator]}
    text = json.dumps(rows, sort_keys=True, default=lambda value: value.tolist())
    return hashlib.sha256(text.encode()).hexdigest()


def key(generator: str) -> str:
    return f"{generator} {microworld.version(generator)}"


def read() -> dict[str, str]:
    known: dict[str, str] = json.loads(FILE.read_text()) if FILE.is_file() else {}
    return known


def problem(generator: str, known: dict[str, str]) -> str:
    """What to do about a generator; empty if its examples are those of its version."""
    if key(generator) not in known:
        return f"no digest of {key(generator)!r}: python tests/data/microworld/test_versions.py"
    if digest(generator) != known[key(generator)]:
        return (
            f"{generator!r} has other examples than its version {microworld.version(generator)} "
            f"had: raise its entry in microworld.VERSIONS, or scores of both pass for the same"
        )
    return ""


@pytest.mark.parametrize("generator", SPLITS)
def test_examples_are_those_of_their_version(generator: str) -> None:
    assert SPLITS[generator], f"no task reads {generator!r}"
    assert not problem(generator, read()), problem(generator, read())


def test_changed_examples_need_a_new_version(monkeypatch: pytest.MonkeyPatch) -> None:
    known = read() | {key("reading_comprehension"): "of other rows"}
    assert "raise its entry in microworld.VERSIONS" in problem("reading_comprehension", known)
    monkeypatch.setitem(microworld.VERSIONS, "reading_comprehension", "next")
    assert "no digest of 'reading_comprehension next'" in problem("reading_comprehension", known)


if __name__ == "__main__":
    old = read()
    now = {key(name): old.get(key(name)) or digest(name) for name in SPLITS}
    FILE.write_text(json.dumps(now, indent=2) + "\n")
