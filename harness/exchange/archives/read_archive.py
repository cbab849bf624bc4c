"""Reads an archive; what is damaged or no archive is refused in one line."""

import hashlib
import io
import json
import lzma
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

from pydantic import ValidationError

from harness.exchange.archives.manifest import FORMAT, MANIFEST, Manifest
from harness.store.artifacts import digest_of

CHUNK = 2**20
MAX_BYTES = 2**31
"""Of the content: a file that unpacks to more is no archive of results."""
MAX_MANIFEST_BYTES = 2**28
"""Of the manifest, which is read into memory: more than 10,000 stages."""
KEY = re.compile(r"[0-9a-f]{16}")
"""A key of a stage (`harness.plan.keys`)."""
MAX_NAME = 255
"""Bytes of the name of a file or folder."""
MAX_PATH = 1000
"""Characters of the name of a member."""
DAMAGED = (lzma.LZMAError, EOFError, tarfile.TarError, ValueError, ArithmeticError)
"""What the readers of both formats raise, ValueError for numbers in heads that are none."""


@dataclass(frozen=True)
class Archive:
    """An archive whose files were compared with their digests, in a temporary folder."""

    manifest: Manifest
    folder: Path
    """With a folder of files for each key."""


@contextmanager
def opened(path: Path, experiment: str) -> Iterator[Archive]:
    """The archive in a file, as long as the context lasts.

    Args:
        experiment: name of the experiment whose stages it must have.

    Raises:
        ValueError: there is no such file; it is damaged, no archive, of another version of the
            format or of another experiment.
    """
    with TemporaryDirectory() as name, TemporaryFile() as content:
        folder = Path(name) / "stages"
        folder.mkdir()
        with _clear_errors(path):
            _decompress(path, content)
            with tarfile.open(fileobj=content, mode="r:") as tar:
                manifest = _read_manifest(tar)
                _extract(tar, manifest, folder)
        if manifest.experiment != experiment:
            raise ValueError(
                f"{path} must have the stages of {experiment}, but has those of "
                f"{manifest.experiment}"
            )
        yield Archive(manifest, folder)


def read_manifest(path: Path) -> Manifest:
    """What an archive says of its stages; of the rest nothing is read or compared.

    Raises:
        ValueError: as `opened`, but for the name of the experiment.
    """
    with (
        _clear_errors(path),
        lzma.open(path) as content,
        tarfile.open(fileobj=_Limited(content), mode="r|") as tar,
    ):
        return _read_manifest(tar)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Names the file in the error if there is none or it is no archive."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        yield
    except (*DAMAGED, _WrongContentError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path} must be an intact archive, but: {reason}") from None


class _WrongContentError(Exception):
    """An archive has not the content that it must have."""


class _Limited(io.BufferedIOBase):
    """The first bytes of a file: heads of a tar file are read into memory, too, however long they
    say that they are."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.left = file, MAX_MANIFEST_BYTES + CHUNK

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes."""
        found = self.file.read(-1 if size is None else size)
        self.left -= len(found)
        if self.left < 0:
            raise _too_large()
        return found


def _too_large() -> _WrongContentError:
    return _WrongContentError(f"its {MANIFEST} has more than {MAX_MANIFEST_BYTES:,} bytes")


def _decompress(path: Path, out: IO[bytes]) -> None:
    """Writes the whole content, so that its digest is compared."""
    with lzma.open(path) as file:
        while chunk := file.read(CHUNK):
            out.write(chunk)
            if out.tell() > MAX_BYTES:
                raise _WrongContentError(f"its content has more than {MAX_BYTES:,} bytes")
    out.seek(0)


def _read_manifest(tar: tarfile.TarFile) -> Manifest:
    first = tar.next()
    file = _file(tar, first) if first and first.name == MANIFEST else None
    if file is None:
        raise _WrongContentError(f"its first file is not {MANIFEST}")
    if first and first.size > MAX_MANIFEST_BYTES:
        raise _too_large()
    try:
        content = json.loads(file.read())
        version = content.get("format") if isinstance(content, dict) else None
        if version != FORMAT:
            raise _WrongContentError(
                f"it has format {version}, and this version of the harness reads format {FORMAT}"
            )
        return Manifest.model_validate(content)
    except ValidationError as error:
        first_error = error.errors()[0]
        place = ".".join(map(str, first_error["loc"]))
        raise _WrongContentError(f"{MANIFEST}: {place}: {first_error['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise _WrongContentError(f"{MANIFEST} is not JSON: {error}") from None


def _extract(tar: tarfile.TarFile, manifest: Manifest, folder: Path) -> None:
    """Writes the files of the stages below `folder`, and nothing elsewhere."""
    for stage in manifest.stages:
        if not KEY.fullmatch(stage.key):
            raise _WrongContentError(f"{stage.key!r} is no key of a stage")
        (folder / stage.key).mkdir(exist_ok=True)
    found: dict[str, dict[PurePath, str]] = {stage.key: {} for stage in manifest.stages}
    while member := tar.next():
        parts = member.name.split("/")
        file = _file(tar, member)
        if file is None or len(parts) < 2 or parts[0] not in found or not all(map(_is_name, parts)):
            raise _WrongContentError(f"{member.name[:MAX_NAME]!r} is no file of a stage")
        target = folder.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as out:
                found[parts[0]][PurePath(*parts[1:])] = _copy(file, out)
        except (FileExistsError, NotADirectoryError):
            raise _WrongContentError(f"{member.name!r} is there twice") from None
    for stage in manifest.stages:
        if digest_of(found[stage.key]) != stage.digest:
            raise _WrongContentError(f"files of stage {stage.key} are missing or changed")


def _file(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes] | None:
    """The content of a member; null if it is no file, or a sparse one, whose holes are longer than
    any archive."""
    is_file = member.isreg() and not member.issparse() and len(member.name) <= MAX_PATH
    return tar.extractfile(member) if is_file else None


def _copy(file: IO[bytes], out: IO[bytes]) -> str:
    """Copies a file; returns the SHA-256 of its content."""
    content = hashlib.sha256()
    while chunk := file.read(CHUNK):
        out.write(chunk)
        content.update(chunk)
    return content.hexdigest()


def _is_name(part: str) -> bool:
    """Whether a part of a path names a file or folder on every system."""
    if part in ("", ".", "..") or set(part) & set("\\/:\0"):
        return False
    try:
        return len(part.encode()) <= MAX_NAME
    except UnicodeEncodeError:  # bytes that are no text
        return False
