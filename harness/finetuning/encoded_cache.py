"""Encoded examples kept on disk, by content: every run on a task reads the same ones."""

import hashlib
import json
from functools import cache
from pathlib import Path

from harness.core.files import make_once
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Encoded
from harness.tasks.examples import Examples

VERSION = 2
"""Raised when a head encodes in another way; old files are then not read again."""
FOLDER = "encoded"


def encoded(head: TaskHead, examples: Examples, tokenizer: Path, shared: Path) -> Encoded:
    """`head.encode(examples)`, read from a file under `shared` if it was made before.

    The file is named by all that the result depends on; the folder may be deleted at any time.
    """
    path = shared / FOLDER / f"{_key(head, examples, tokenizer)}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    make_once(path, lambda draft: head.encode(examples).save(draft))
    return Encoded.load(path)


def _key(head: TaskHead, examples: Examples, tokenizer: Path) -> str:
    labels = [repr(label) for label in examples.labels.tolist()]
    content = {
        "version": VERSION,
        "head": type(head).__name__,
        "task": {"name": head.task.name, **head.task.content},  # answers in words name it
        "protocol": head.protocol.model_dump(mode="json"),
        "tokenizer": _digest(tokenizer),
        "examples": [examples.texts, labels, examples.choices],
    }
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:32]


@cache
def _digest(tokenizer: Path) -> str:
    """Of the tokenizer's files; the folder of a finished stage does not change."""
    total = hashlib.sha256()
    for file in sorted(tokenizer.glob("*.json")):
        total.update(file.name.encode() + file.read_bytes())
    return total.hexdigest()
