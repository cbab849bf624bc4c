"""Checks of the names of plug-ins and of what they define."""

import sys
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from harness.core.config import near_name

NEAR = 0.8
"""Similarity, as of difflib, from which on a name is a misspelt registry: `MODULE`, `COMBINATION`;
below it are names such as `MY_TASKS`."""


def check_name(name: str, points: Collection[str], folder: Path | None) -> None:
    """Checks that the name of a plug-in is not the path of a file.

    Args:
        points: names of entry points.
        folder: that of the experiment file.

    Raises:
        ValueError: it is.
    """
    stem = name.removesuffix(".py")
    if name not in points and (stem != name or "/" in name or "\\" in name):
        near = near_name(Path(stem).name, [*points, *modules_in(folder)])
        raise ValueError(
            f"a plug-in is named by its module, without folder or ending, but is {name!r}; {near}"
            "put its file beside that of the experiment"
        )


def modules_in(folder: Path | None) -> list[str]:
    """Names of the modules in a folder."""
    return sorted(file.stem for file in folder.glob("*.py")) if folder else []


def check_file(name: str, folder: Path | None) -> None:
    """Checks that no other module of its name hides a module in the folder of the experiment.

    Raises:
        ValueError: one does.
    """
    file = getattr(sys.modules.get(name), "__file__", None)
    if folder is None or file is None:
        return
    path = folder.joinpath(*name.split("."))
    for beside in (path.with_suffix(".py"), path / "__init__.py"):
        if beside.is_file() and not beside.samefile(file):
            raise ValueError(
                f"the plug-in {name!r} must be {beside}, but a module of this name is {file}: "
                "rename one of them"
            )


def check_registries(name: str, plugin: Any, known: Collection[str]) -> None:
    """Checks that no dict or list has nearly the name of a registry, as it would not be read.

    Args:
        known: names of the registries.

    Raises:
        ValueError: one has.
    """
    for given, value in getattr(plugin, "__dict__", {}).items():
        is_constant = given.isupper() and not given.startswith("_") and given not in known
        near = get_close_matches(given, known, n=1, cutoff=NEAR) if is_constant else []
        if near and isinstance(value, dict | list):
            raise ValueError(
                f"the plug-in {name!r} has {given}, which is no registry; did you mean {near[0]}? "
                "If not, give it another name"
            )
