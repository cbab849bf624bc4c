"""Files that are read again after a kill, with checksums: a damaged one counts as missing."""

import hashlib
import json
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from harness.core.files import write_atomically

CHECKSUM = "sha256"
"""Field of the checksum of the others."""


def write_checked(path: Path, content: dict[str, Any]) -> None:
    """Writes JSON with its checksum, atomically."""
    write_atomically(path, json.dumps({**content, CHECKSUM: _checksum(content)}))


def read_checked(path: Path) -> dict[str, Any] | None:
    """The content of a file; null if it is missing or damaged. Files of earlier versions have no
    checksum."""
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(content, dict):
        return None
    known = content.pop(CHECKSUM, None)
    return content if known is None or known == _checksum(content) else None


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def is_intact_zip(path: Path) -> bool:
    """Whether a zip file, such as those of NumPy and torch, is complete and its members match their
    checksums. What reads only a part of a member does not notice that it is damaged."""
    try:
        with ZipFile(path) as file:
            return file.testzip() is None
    except (BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError):
        return False  # the damage is in the directory of members
