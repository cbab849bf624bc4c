"""Files that ship with the package: experiments, boards and published tables."""

from pathlib import Path


def shipped_folder(name: str, file: str) -> Path:
    """The folder `name` inside an installed package, or beside it in a checkout.

    Args:
        file: a path that exists in it, and tells it from another folder of that name.

    Raises:
        FileNotFoundError: it is in neither place.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "_shipped" / name, package.parent / name):
        if (folder / file).is_file():
            return folder
    raise FileNotFoundError(f"no folder {name} inside {package} or beside it")


def shipped_experiments() -> dict[str, Path]:
    """Name to file of every shipped experiment, and of the bases that they extend."""
    folder = shipped_folder("experiments", "quickstart.yaml")
    files = sorted(folder.rglob("*.yaml"))
    if folder.is_relative_to(Path.cwd()):  # as a user in a checkout would write it
        files = [file.relative_to(Path.cwd()) for file in files]
    return {file.stem: file for file in files}
