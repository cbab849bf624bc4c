"""The plug-ins of an experiment file: their names, and their import before the fields are read."""

from collections.abc import Sequence
from pathlib import Path

from harness.experiment.composition import compose, find
from harness.experiment.experiment_file import read_text
from harness.experiment.plugins import check_unchanged, load_plugin
from harness.experiment.source import Source


def named_plugins(
    path: Path, overrides: Sequence[str] = (), variants: Sequence[str] = ()
) -> set[str]:
    """The plug-ins that `harness.experiment.declaration.load` would import; imports none.

    Raises:
        DeclarationError: the file cannot be read, is no mapping or extends an unknown one.
    """
    path = find(str(path), Path()) or path
    source = compose(Source.parse(path, read_text(path)), variants, overrides)
    return {name for _, name in _named(source)}


def load_plugins(source: Source) -> None:
    """Loads the plug-ins, so that the fields can name their members.

    Raises:
        DeclarationError: one cannot be loaded, or has changed since; the names of its members would
            be reported, too.
    """
    for index, name in _named(source):
        try:
            file = source.place(("plugins", index)).file or source.path
            folder = file.resolve().parent if file.is_file() else Path.cwd()  # of no file
            load_plugin(name, folder)
            check_unchanged(name)
        except ValueError as error:
            source.report(("plugins", index), f"plugins: {error}")
            source.raise_problems()


def _named(source: Source) -> list[tuple[int, str]]:
    """Place and name; what is no name is an error of the fields."""
    names = source.data.get("plugins", [])
    places = enumerate(names if isinstance(names, list) else [])
    return [(place, name) for place, name in places if isinstance(name, str)]
