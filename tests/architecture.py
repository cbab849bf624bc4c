"""The import graph of a package, and what is wrong with it."""

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


def read_modules(root: Path, package: str) -> dict[str, str]:
    """Module name to source, of all modules of `package` in the folder `root`."""
    files = sorted((root / package).rglob("*.py"))
    return {_module(file.relative_to(root)): file.read_text() for file in files}


def imports(source: str, modules: Mapping[str, str]) -> set[str]:
    """Those of `modules` that a source imports anywhere: lazily and for types, too."""
    return {_known(name, modules) for name in imported_names(source)} - {""}


@cache
def imported_names(source: str) -> tuple[str, ...]:
    """Dotted names that a source imports: a module, or a module and what it holds."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports are not used"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


def upward_imports(modules: Mapping[str, str], rooms: Sequence[str]) -> list[str]:
    """Imports of a room that stands later in `rooms` than the importing one."""
    floor = {room: index for index, room in enumerate(rooms)}
    return [
        f"{name} imports {other}"
        for name, source in modules.items()
        for other in sorted(imports(source, modules))
        if floor[_room(other)] > floor[_room(name)]
    ]


def import_circle(modules: Mapping[str, str]) -> list[str]:
    """Modules that import each other in a circle; empty if there is none.

    To import a module is to import the packages that it stands in, which run first, except those of
    the importing module, which run already.
    """
    graph = {}
    for name, source in modules.items():
        found = imports(source, modules)
        outer = {package for other in found for package in _packages(other)}
        graph[name] = (found | outer - set(_packages(name))) - {name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def num_floors(modules: Mapping[str, str]) -> int:
    """Rooms on the longest chain of imports between rooms."""
    graph: dict[str, set[str]] = {}
    for name, source in modules.items():
        below = {_room(other) for other in imports(source, modules)} - {_room(name)}
        graph.setdefault(_room(name), set()).update(below)
    height: dict[str, int] = {}
    for room in TopologicalSorter(graph).static_order():
        height[room] = 1 + max((height[below] for below in graph[room]), default=0)
    return max(height.values())


def _module(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _packages(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _known(name: str, modules: Mapping[str, str]) -> str:
    """The module that `name` is or stands in; empty if it is another package's."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def _room(name: str) -> str:
    """The second part of a dotted name; empty for the package itself."""
    return name.split(".")[1] if "." in name else ""
