"""The text of an experiment file."""

from difflib import get_close_matches
from pathlib import Path

from harness.core.files import file_exists, folder_exists
from harness.core.shipped import shipped_experiments
from harness.experiment.source import DeclarationError


def read_text(path: Path) -> str:
    """The text of an experiment file.

    Raises:
        DeclarationError: the file does not exist, cannot be read, or is not UTF-8.
    """
    if folder_exists(path):
        found = ", ".join(sorted(file.name for file in path.glob("*.yaml"))) or "none"
        raise DeclarationError([f"{path} is a folder; name an experiment file in it: {found}"])
    if not file_exists(path):
        raise DeclarationError([f"{path}: there is no such file{_near_file(path)}"])
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DeclarationError([f"{path}:{line}: the file must be UTF-8 text"]) from error
    except OSError as error:
        raise DeclarationError([f"{path}: cannot be read: {error.strerror}"]) from error


def _near_file(path: Path) -> str:
    files = {file.stem: str(file) for file in path.parent.glob("*.yaml")}
    files |= {name: name for name in shipped_experiments()}
    near = get_close_matches(path.stem, files, n=1)
    return f"; did you mean {files[near[0]]}?" if near else ""
