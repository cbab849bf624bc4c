"""The folders of runs in a local store."""

from pathlib import Path
from shutil import rmtree
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname


def local_path(uri: str) -> Path:
    """The path of a `file:` address."""
    return Path(url2pathname(urlsplit(uri).path))


class RunFiles(Protocol):
    """A run with files."""

    @property
    def run_id(self) -> str:
        """MLflow's id."""

    @property
    def artifact_uri(self) -> str:
        """Of the files."""


def check_place(run: RunFiles, artifacts: Path) -> None:
    """Checks that the files of a run will be in the folder of a local store.

    Raises:
        OSError: they will not: the addresses are those of another path to the store.
    """
    artifacts.mkdir(exist_ok=True)
    place = local_path(run.artifact_uri).parents[1]
    if not (place.exists() and place.samefile(artifacts)):
        raise OSError(
            f"files would go to {place}, not {artifacts}: another process uses the store by "
            "another path; end it, and give all processes the same --store"
        )


def remove_files(run: RunFiles) -> None:
    """Deletes the files of a run in a local store, with their folder, which is named as the run:
    an address that was changed names no other."""
    if run.artifact_uri.startswith("file:"):
        folder = local_path(run.artifact_uri).parent
        if folder.name == run.run_id:
            rmtree(folder, ignore_errors=True)
