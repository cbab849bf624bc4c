"""The files of finished stages, by URI and digest."""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from harness.store.cache import cached, forget
from harness.store.run_files import local_path


@dataclass(frozen=True)
class Artifact:
    """A folder of files in the store."""

    uri: str
    digest: str


def local_folder(artifact: Artifact) -> Path:
    """A local folder with the files of an artifact, which are downloaded from a remote store.

    Raises:
        OSError: the download fails or is damaged.
    """
    if artifact.uri.startswith("file:"):
        return resolve(artifact.uri)  # which the executor has checked
    folder = _intact(artifact.uri, artifact.digest)
    if not folder:
        raise OSError(f"the files downloaded from {artifact.uri} are damaged")
    return folder


def _intact(uri: str, expected: str) -> Path | None:
    """The local folder of files with this digest; null if they have another. A damaged copy of
    remote files is downloaded again.

    Raises:
        OSError: the download fails.
    """
    folder = resolve(uri)
    if digest(folder) == expected:
        return folder
    if uri.startswith("file:"):
        return None
    forget(uri)
    folder = resolve(uri)
    if digest(folder) == expected:
        return folder
    forget(uri)
    return None


def resolve(uri: str) -> Path:
    """The local path of an artifact URI; remote files are downloaded once (`cached`).

    Raises:
        FileNotFoundError: there are no such remote files.
        OSError: the download fails.
    """
    if uri.startswith("file:"):
        return local_path(uri)
    from harness.store.mlflow_runs import download

    return cached(uri, download)


def read_file(uri: str, name: str) -> bytes:
    """The content of one file of an artifact, which alone is downloaded.

    Raises:
        OSError: there is no such file, or the download fails.
    """
    return resolve(f"{uri}/{name}").read_bytes()


def local_size(uri: str) -> int:
    """Bytes of the files of an artifact on this machine; 0 if they are on a server or missing."""
    return folder_size(resolve(uri)) if uri.startswith("file:") else 0


def folder_size(folder: Path) -> int:
    """Bytes of all files below a folder; 0 if it does not exist. What another process deletes
    meanwhile, as at the end of a stage, does not count."""
    size = 0
    for place, _, names in os.walk(folder):  # which passes over folders that are gone
        for name in names:
            with suppress(FileNotFoundError):
                size += (Path(place) / name).stat().st_size
    return size


Stamps = frozenset[tuple[str, int, int]]
"""Path, size and time of the last change of each file."""


def stamps(folder: Path) -> Stamps:
    """What changes when a program changes a file below a folder; faster than `digest`."""
    files = ((path, path.stat()) for path in folder.rglob("*") if path.is_file())
    return frozenset((str(path), one.st_size, one.st_mtime_ns) for path, one in files)


class IntactFiles:
    """Folders of files that were compared with their digests: once in the life of a process, unless
    a program changes a file."""

    def __init__(self) -> None:
        self._known: dict[str, Stamps] = {}

    def find(self, uri: str, expected: str | None) -> Path | None:
        """The local folder of files; null if they are missing or changed.

        Args:
            expected: their digest; null if it is not known.

        Raises:
            OSError: they cannot be downloaded.
        """
        try:
            folder = resolve(uri)
            found = stamps(folder)  # before the digest, so that no later change is missed
            if expected is None or self._known.get(uri) == found:
                return folder
            intact = _intact(uri, expected)
        except FileNotFoundError:  # or the stage has none, of which a server keeps no folder
            return cached(uri, _empty_folder) if expected == digest_of({}) else None
        if intact:
            self._known[uri] = found
        return intact


def _empty_folder(uri: str, folder: Path) -> Path:
    """In place of a download."""
    empty = folder / "empty"
    empty.mkdir()
    return empty


def digest(folder: Path) -> str:
    """SHA-256 over the names and contents of all files below a folder."""
    found: dict[PurePath, str] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            found[path.relative_to(folder)] = hashlib.file_digest(file, "sha256").hexdigest()
    return digest_of(found)


def digest_of(files: Mapping[PurePath, str]) -> str:
    """`digest` of a folder, given the path in the folder of each file and the SHA-256 of its
    content."""
    lines = (f"{path.as_posix()} {content}\n" for path, content in sorted(files.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
