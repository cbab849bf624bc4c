"""Plug-ins: modules or objects whose dicts (`TASKS`, `RECIPES`, ...) extend the registries."""

import hashlib
import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.core.config import ConfigModel, unknown_name

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


def load_plugin(name: str) -> str:
    """Adds the members of an installed plug-in to their registries, once per process.

    Args:
        name: an entry point of the group `pretraining_harness.plugins`, or an importable module.

    Returns:
        The digest of its source, 16 hexadecimal digits.

    Raises:
        ValueError: the module cannot be imported, has no registry, or a member's name is taken.
    """
    if name not in _loaded:
        points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        try:
            module = import_module(points[name].module if name in points else name)
            plugin = points[name].load() if name in points else module
        except Exception as error:  # whatever the code of others raises
            problem = f"{type(error).__name__}: {error}"
            if isinstance(error, ModuleNotFoundError) and error.name == name:
                problem = "no such module; put the folder of its file on PYTHONPATH"
            raise ValueError(f"the plug-in {name!r} cannot be imported: {problem}") from error
        _add(name, plugin, _module_source(name, module))
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
        _add(name, plugin, source)
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


def _add(name: str, plugin: Any, source: bytes) -> None:
    members = {
        registry: getattr(plugin, registry) for registry in REGISTRIES if hasattr(plugin, registry)
    }
    if not members:
        raise ValueError(f"the plug-in {name!r} must have a dict named {', '.join(REGISTRIES)}")
    known = {
        registry: getattr(import_module(REGISTRIES[registry]), registry) for registry in members
    }
    for registry, added in members.items():  # all before the first is added
        _check(f"{name}.{registry}", registry, known[registry], added)
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


def _check(name: str, registry: str, known: Any, added: Any) -> None:
    if not isinstance(added, type(known)):
        kind = type(known).__name__
        raise ValueError(f"{name} must be a {kind}, but is a {type(added).__name__}")
    for member in added if isinstance(known, dict) else ():
        if registry == "METRICS_OF_KIND" and member not in known:
            raise ValueError(f"{name}: {unknown_name('the kind of task', member, known)}")
        if registry != "METRICS_OF_KIND" and member in known:
            raise ValueError(f"{name}: {member!r} is the name of another member")


def _rebuild(model: type[ConfigModel]) -> None:
    """Rebuilds all subclasses, so that unions of transforms accept new members."""
    for part in model.__subclasses__():
        part.model_rebuild(force=True)
        _rebuild(part)


def _module_source(name: str, module: ModuleType) -> bytes:
    """The bytes of the module's file, or of all Python files of the package."""
    if module.__spec__ is None or not module.__spec__.has_location or not module.__file__:
        raise ValueError(f"the source of the plug-in {name!r} cannot be read: it has no file")
    file = Path(module.__file__)
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    return b"\0".join(file.read_bytes() for file in files)


def _object_source(name: str, plugin: Any) -> bytes:
    """The source of the object's class and of the classes and functions in its registries."""
    parts: list[Any] = [plugin if inspect.isclass(plugin) else type(plugin)]
    for registry in REGISTRIES:
        members = getattr(plugin, registry, {})
        for pair in members.items() if isinstance(members, Mapping) else ():
            parts += [part for part in pair if inspect.isclass(part) or inspect.isfunction(part)]
    try:
        return "\0".join(inspect.getsource(part) for part in parts).encode()
    except (OSError, TypeError) as error:
        raise ValueError(f"the source of the plug-in {name!r} cannot be read: {error}") from error
