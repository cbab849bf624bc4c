"""Disk cache of encoded examples, addressed by content."""

import hashlib
import json
from pathlib import Path

from harness.core.checked_files import is_intact_zip
from harness.core.files import make_once
from harness.data.digests import digest
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Encoded
from harness.tasks.examples import Examples

VERSION = 5
"""Raised when encoding changes, so that older files are ignored."""


def encoded(head: TaskHead, examples: Examples, tokenizer: Path, shared: Path) -> Encoded:
    """`head.encode(examples)`, cached in a file under `shared`.

    The file is named by a hash of all inputs. A damaged one is made again, and the folder may be
    deleted at any time.
    """
    path = shared / "encoded" / f"{_key(head, examples, tokenizer)}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not is_intact_zip(path):
        path.unlink(missing_ok=True)
    make_once(path, lambda draft: head.encode(examples).save(draft))
    return Encoded.load(path)


def _key(head: TaskHead, examples: Examples, tokenizer: Path) -> str:
    labels = [repr(label) for label in examples.labels.tolist()]
    content = {
        "version": VERSION,
        "head": type(head).__name__,
        "task": {"name": head.task.name, **head.task.content},  # text output contains the name
        "protocol": head.protocol.content,
        "tokenizer": digest(sorted(tokenizer.glob("*.json"))),
        "examples": [examples.texts, labels, examples.choices, *_spans(examples)],
    }
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:32]


def _spans(examples: Examples) -> list[object]:
    """The places of marked words; nothing without any, as in files of earlier versions."""
    return [examples.spans] if examples.spans else []
