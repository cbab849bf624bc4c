"""The files of finished stages, by URI and digest."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from harness.store.cache import cached, forget


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
    folder = resolve(artifact.uri)
    if not artifact.uri.startswith("file:") and digest(folder) != artifact.digest:
        forget(artifact.uri)
        raise OSError(f"the files downloaded from {artifact.uri} are damaged")
    return folder


def resolve(uri: str) -> Path:
    """The local path of an artifact URI; remote files are downloaded once (`cached`).

    Raises:
        FileNotFoundError: there are no such remote files.
        OSError: the download fails.
    """
    if uri.startswith("file:"):
        return Path(url2pathname(urlsplit(uri).path))
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
    """Bytes of all files below a folder; 0 if it does not exist."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def digest(folder: Path) -> str:
    """SHA-256 over the names and contents of all files below a folder."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return total.hexdigest()
