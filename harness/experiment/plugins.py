"""Plug-ins: modules or objects whose dicts (`TASKS`, `RECIPES`, ...) extend the registries."""

import hashlib
import inspect
import sys
import traceback
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.core.config import ConfigModel
from harness.experiment.plugin_members import check_members

ENTRY_POINTS = "pretraining_harness.plugins"
"""Group of entry points under which packages register plug-ins."""

REGISTRIES = {
    "TRANSFORMS": "harness.pretraining.objectives.transforms",
    "COMBINATIONS": "harness.pretraining.objectives.objective",
    "OBJECTIVES": "harness.pretraining.objectives",
    "RECIPES": "harness.pretraining.recipes",
    "MODULES": "harness.pretraining.module",
    "CALLBACKS": "harness.pretraining.trainer",
    "LOGGERS": "harness.pretraining.loggers",
    "MODELS": "harness.models",
    "SIZES": "harness.models",
    "CORPORA": "harness.data.corpora",
    "TOKENIZERS": "harness.data.tokenizers",
    "TASKS": "harness.tasks",
    "SUITES": "harness.tasks",
    "PREPROCESSORS": "harness.tasks.preprocessing",
    "PROBES": "harness.tasks.probes",
    "METRICS": "harness.tasks.metrics",
    "METRICS_OF_KIND": "harness.tasks.custom",
}
"""Dict or list that a plug-in may define, to the module of the registry. Modules are imported on
demand, because metrics and pretraining modules load torch."""

_loaded: dict[str, str] = {}
"""Name to digest of the source, of all plug-ins loaded in this process."""
_only_loggers: set[str] = set()
"""Names of loaded plug-ins that cannot change results."""
_objects: set[str] = set()
"""Names of plug-ins that are objects of this process."""
_files: dict[str, frozenset[str]] = {}
"""Name to the files of the source, as in tracebacks."""


class PluginError(RuntimeError):
    """An error in the code of a plug-in; see `error_line`."""


def load_plugin(name: str, folder: Path | None = None) -> str:
    """Adds the members of an installed plug-in to their registries, once per process.

    Args:
        name: an entry point of the group `pretraining_harness.plugins`, or an importable module.
        folder: that of the experiment file; it is put at the end of the import path, also of worker
            processes.

    Returns:
        The digest of its source, 16 hexadecimal digits.

    Raises:
        ValueError: the module cannot be imported, is not the one in `folder`, has no registry, a
            member does not have the form of its registry, or its name is taken.
    """
    if folder and str(folder) not in sys.path:
        sys.path.append(str(folder))
    if name not in _loaded:
        points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        try:
            module = import_module(points[name].module if name in points else name)
            plugin = points[name].load() if name in points else module
        except Exception as error:  # whatever the code of others raises
            problem = f"{_in_one_line(error)}{_place(error)}"
            if isinstance(error, ModuleNotFoundError) and error.name == name:
                problem = "no such module; put its file beside that of the experiment"
            raise ValueError(f"the plug-in {name!r} cannot be imported: {problem}") from error
        files = _module_files(name, module)
        _check_file(name, folder)
        _add(name, plugin, b"\0".join(file.read_bytes() for file in files), files)
    _check_file(name, folder)
    return _loaded[name]


def add_plugin(plugin: Any) -> str:
    """Adds the members of a module, or of an object with dicts as attributes.

    An object defined in a notebook can only be used in its own process: `executor="serial"`.

    Args:
        plugin: a name as for `load_plugin`, a module, a class or an object.

    Returns:
        The plug-in's name, for `Experiment.plugins`.

    Raises:
        ValueError: it has no registry, its source cannot be read, or a member's name is taken.
    """
    if isinstance(plugin, str | ModuleType):
        name = plugin if isinstance(plugin, str) else plugin.__name__
        load_plugin(name)
        return name
    name = str(getattr(plugin, "__name__", type(plugin).__name__))
    source = _object_source(name, plugin)
    digest = hashlib.sha256(source).hexdigest()[:16]
    if name in _loaded and _loaded[name] != digest:
        raise ValueError(f"another plug-in {name!r} is loaded already; give this one another name")
    if name not in _loaded:
        _add(name, plugin, source, filter(None, map(inspect.getsourcefile, _parts(plugin))))
        _objects.add(name)
    return name


def needs_this_process(name: str) -> bool:
    """Whether a plug-in is an object of this process, which other processes cannot import."""
    return name in _objects


def digests(names: tuple[str, ...]) -> dict[str, str]:
    """Name to digest of the source; part of the keys of stages that can use plug-ins. Plug-ins with
    loggers alone cannot change results, and are left out.

    Raises:
        ValueError: a plug-in cannot be loaded.
    """
    found = {name: load_plugin(name) for name in names}
    return {name: digest for name, digest in found.items() if name not in _only_loggers}


def require(expected: Mapping[str, str]) -> None:
    """Loads the plug-ins of a stage.

    Args:
        expected: name to digest, as when the stage was planned.

    Raises:
        ValueError: a plug-in cannot be loaded, or its source has changed since.
    """
    for name, digest in expected.items():
        if load_plugin(name) != digest:
            raise ValueError(f"the source of the plug-in {name!r} has changed: plan again")


def error_line(error: BaseException) -> str | None:
    """An error that passed through the code of a plug-in, in one line with the innermost place in
    it: `KeyError: 'x', in the plug-in 'mine' (/home/me/mine.py:12)`; null for other errors."""
    places = [
        f"in the plug-in {name!r} ({frame.f_code.co_filename}:{line})"
        for frame, line in traceback.walk_tb(error.__traceback__)
        for name, files in _files.items()
        if frame.f_code.co_filename in files
    ]
    return f"{_in_one_line(error)}, {places[-1]}" if places else None


def _in_one_line(error: BaseException) -> str:
    return ": ".join(filter(None, [type(error).__name__, " ".join(str(error).split())]))


def _place(error: BaseException) -> str:
    """The innermost line of a module's own code that an error on import passed."""
    lines = [one for one in traceback.extract_tb(error.__traceback__) if one.name == "<module>"]
    return f" ({lines[-1].filename}:{lines[-1].lineno})" if lines else ""


def _check_file(name: str, folder: Path | None) -> None:
    """Checks that no other module of its name hides a module in the folder of the experiment."""
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


def _add(name: str, plugin: Any, source: bytes, files: Iterable[str | Path] = ()) -> None:
    members = {
        registry: getattr(plugin, registry) for registry in REGISTRIES if hasattr(plugin, registry)
    }
    if not members:
        raise ValueError(f"the plug-in {name!r} must have a dict named {', '.join(REGISTRIES)}")
    homes = {registry: import_module(REGISTRIES[registry]) for registry in members}
    check_members(name, homes, members)  # all before the first is added
    known = {registry: getattr(home, registry) for registry, home in homes.items()}
    for registry, added in members.items():
        if isinstance(known[registry], list):
            known[registry].extend(added)
        elif registry == "METRICS_OF_KIND":
            known[registry].update({kind: (*known[registry][kind], *added[kind]) for kind in added})
        else:
            known[registry].update(added)
    if "TRANSFORMS" in members:
        _rebuild(ConfigModel)
    if members.keys() == {"LOGGERS"}:
        _only_loggers.add(name)
    _loaded[name] = hashlib.sha256(source).hexdigest()[:16]
    _files[name] = frozenset(map(str, files))


def _rebuild(model: type[ConfigModel]) -> None:
    """Rebuilds all subclasses, so that unions of transforms accept new members."""
    for part in model.__subclasses__():
        part.model_rebuild(force=True)
        _rebuild(part)


def _module_files(name: str, module: ModuleType) -> list[Path]:
    """The file of a module, or all Python files of a package."""
    if module.__spec__ is None or not module.__spec__.has_location or not module.__file__:
        raise ValueError(f"the source of the plug-in {name!r} cannot be read: it has no file")
    file = Path(module.__file__)
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]


def _parts(plugin: Any) -> list[Any]:
    """An object's class, and the classes and functions in its registries."""
    parts: list[Any] = [plugin if inspect.isclass(plugin) else type(plugin)]
    for registry in REGISTRIES:
        members = getattr(plugin, registry, {})
        for pair in members.items() if isinstance(members, Mapping) else ():
            parts += [part for part in pair if inspect.isclass(part) or inspect.isfunction(part)]
    return parts


def _object_source(name: str, plugin: Any) -> bytes:
    try:
        return "\0".join(inspect.getsource(part) for part in _parts(plugin)).encode()
    except (OSError, TypeError) as error:
        raise ValueError(f"the source of the plug-in {name!r} cannot be read: {error}") from error
