"""Downloads of data sets, with the checksums of their files."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from harness.core.files import write_atomically
from harness.data import hub
from harness.tasks.datasets.catalog import DataSet

SUMS = "SHA256SUMS.txt"
"""File at the root of the mirrors in the format of `sha256sum`, with the commits in comments."""
DEFAULT_FOLDER = Path("data")
OWN_COPY: Mapping[str, str] = {
    "ontonotes/conll2012_ontonotesv5": "the Linguistic Data Consortium (LDC2013T19)",
}
"""Repository of data that each user must obtain to who licenses them."""


def fetch(sets: Sequence[DataSet], to: Path) -> Iterator[tuple[str, str]]:
    """Downloads pinned commits to folders in `to`.

    Yields:
        Repository and error message, empty on success.
    """
    ordered = sorted(sets, key=lambda one: (one.path, str(one.revision)))
    for (path, revision), group in groupby(ordered, key=lambda one: (one.path, one.revision)):
        configs = [config for one in group for config in one.configs]
        if owner := OWN_COPY.get(path):
            yield (
                path,
                f"it cannot be fetched, as each user needs the licence of {owner}: put the files "
                f"of your copy into {to / path} (docs/tasks.md, Data)",
            )
            continue
        try:
            _fetch(path, revision, configs, to)
            yield path, ""
        except (OSError, ValueError) as error:
            yield path, _explained(error)


def _explained(error: Exception) -> str:
    from huggingface_hub.errors import LocalEntryNotFoundError

    if isinstance(error, ConnectionError | TimeoutError | LocalEntryNotFoundError):
        reason = hub.one_line(error).partition(". ")[0]
        return (
            f"the Hub cannot be reached ({reason}): connect, or copy the repository to the "
            f"folder in {hub.MIRROR}"
        )
    return hub.one_line(error)


def _fetch(path: str, revision: str | None, configs: Sequence[str | None], to: Path) -> None:
    """Downloads the card first, because it lists the files of each config."""
    from huggingface_hub import snapshot_download

    folder, sums = to / path, read_sums(to)
    for file, digest in sums.items():  # a damaged file would count as downloaded
        if file.startswith(f"{path}/") and (to / file).is_file() and sha256(to / file) != digest:
            (to / file).unlink()

    def download(patterns: list[str] | None) -> None:
        snapshot_download(
            path,
            repo_type="dataset",
            revision=revision,
            local_dir=folder,
            allow_patterns=patterns,
        )

    download(["README.md"])
    patterns = hub.patterns_of(folder, configs)
    download(["README.md", *patterns] if patterns else None)
    for config in configs:
        hub.config_files(folder, config)
    _write_sums(to, path, revision or _latest(folder))


def _latest(folder: Path) -> str:
    """The commit of a finished download, from its metadata."""
    metadata = folder / ".cache/huggingface/download/README.md.metadata"
    return metadata.read_text().split()[0] if metadata.is_file() else "unknown"


def read_sums(root: Path) -> dict[str, str]:
    """Path relative to `root` to the declared SHA-256; empty without a file of checksums."""
    path = root / SUMS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    pairs = (line.split(maxsplit=1) for line in lines if line.strip() and line[0] != "#")
    return {file.lstrip("*"): digest for digest, file in pairs}


def _write_sums(root: Path, path: str, commit: str) -> None:
    """Adds or updates the checksums of one repository."""
    old = root / SUMS
    before = old.read_text(encoding="utf-8").splitlines() if old.is_file() else []
    kept = [n for n in before if f"  {path}/" not in n and not n.startswith(f"# {path} ")]
    files = sorted(hub.visible(root / path, "**/*"))
    new = [f"{sha256(file)}  {file.relative_to(root).as_posix()}" for file in files]
    write_atomically(old, "\n".join([*kept, f"# {path} commit {commit}", *new, ""]))


def sha256(file: Path) -> str:
    """The SHA-256 of a file in hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
