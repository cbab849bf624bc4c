"""Plug-ins: modules or objects whose dicts (`TASKS`, `RECIPES`, ...) extend the registries."""

import sys
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.core.config import ConfigModel, near_name
from harness.core.errors import MemberError
from harness.experiment.plugin_members import check_members, member_names
from harness.experiment.plugin_names import (
    check_file,
    check_name,
    check_registries,
    modules_in,
)
from harness.experiment.plugin_sources import (
    digest_of,
    functions_of,
    imported_modules,
    joined_source,
    module_files,
    object_source,
    parts_of,
)

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
    "SIZES": "harness.models.sizes",
    "CORPORA": "harness.data.corpora",
    "TOKENIZERS": "harness.data.tokenizers",
    "TASKS": "harness.tasks",
    "SUITES": "harness.tasks",
    "PREPROCESSORS": "harness.tasks.preprocessing",
    "DATASETS": "harness.tasks.loaders",
    "PROBES": "harness.tasks.probes",
    "METRICS": "harness.tasks.metrics",
    "METRICS_OF_KIND": "harness.tasks.custom",
}
"""Dict or list that a plug-in may define, to the module of the registry. Modules are imported on
demand, because metrics and pretraining modules load torch."""


@dataclass(frozen=True)
class Plugin:
    """A loaded plug-in."""

    digest: str
    """Of the source, 16 hexadecimal digits."""
    members: Mapping[str, Collection[str]]
    """Registry to the names of the members that it adds."""
    files: Collection[str]
    """Files of the source, as in tracebacks."""
    module: str | None = None
    """Dotted name; null for an object, which only this process can use."""
    imports: Collection[str] = ()
    """Modules that its source imports."""


_loaded: dict[str, Plugin] = {}
"""All plug-ins loaded in this process, by name."""


class PluginError(ValueError):
    """An error in the code of a plug-in, or in what it returns; see `error_line`."""


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
        check_name(name, points, folder)
        try:
            module = import_module(points[name].module if name in points else name)
            plugin = points[name].load() if name in points else module
        except (Exception, SystemExit) as error:  # whatever the code of others raises
            problem = f"{_in_one_line(error)}{_place(error)}"
            if isinstance(error, ModuleNotFoundError) and error.name == name:
                near = near_name(name, [*points, *modules_in(folder)])
                problem = f"no such module; {near}put its file beside that of the experiment"
            raise ValueError(f"the plug-in {name!r} cannot be imported: {problem}") from error
        files = module_files(name, module)
        check_file(name, folder)
        source = joined_source(files)
        imports = {one for file in files for one in imported_modules(file.read_bytes())}
        _add(name, plugin, source, files, module.__name__, imports)
    check_file(name, folder)
    return _loaded[name].digest


def add_plugin(plugin: Any) -> str:
    """Adds the members of a module, or of an object with dicts as attributes.

    An object defined in a notebook can only be used in its own process: `executor="serial"`.

    Args:
        plugin: a name as for `load_plugin`, a module, a class or an object.

    Returns:
        The plug-in's name, for `Experiment.plugins`.

    Raises:
        ValueError: it has no registry, its source cannot be read or has changed since it was
            imported, or a member's name is taken.
    """
    if isinstance(plugin, str | ModuleType):
        name = plugin if isinstance(plugin, str) else plugin.__name__
        load_plugin(name)
        check_unchanged(name)
        return name
    name = str(getattr(plugin, "__name__", type(plugin).__name__))
    parts = parts_of(plugin, REGISTRIES)
    source = object_source(name, parts)
    if name in _loaded and _loaded[name].digest != digest_of(source):
        raise ValueError(f"another plug-in {name!r} is loaded already; give this one another name")
    if name not in _loaded:
        functions = [function for part in parts for function in functions_of(part)]
        _add(name, plugin, source, {function.__code__.co_filename for function in functions})
    return name


def check_unchanged(name: str) -> None:
    """Checks that a loaded plug-in is still that of its files, as an edit in a Python session is
    not imported again.

    Raises:
        ValueError: it is not.
    """
    loaded = _loaded[name]
    module = sys.modules.get(loaded.module or "")
    if module and digest_of(joined_source(module_files(name, module))) != loaded.digest:
        raise ValueError(
            f"the source of the plug-in {name!r} has changed since this process imported it: "
            "start a new process"
        )


def needs_this_process(name: str) -> bool:
    """Whether a plug-in is an object of this process, which other processes cannot import."""
    return name in _loaded and _loaded[name].module is None


def defined(registry: str) -> set[str]:
    """The names of the members that loaded plug-ins add to a registry."""
    return {name for plugin in _loaded.values() for name in plugin.members.get(registry, ())}


def digests(names: Collection[str], used: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Name to digest of the source, of those plug-ins whose members a stage uses, and of those
    that their sources import.

    Args:
        names: the plug-ins of an experiment.
        used: registry to the names of members; of `CALLBACKS`, all are used if it is there.

    Raises:
        ValueError: a plug-in cannot be loaded.
    """
    known = {name: load_plugin(name) for name in names}
    found = {name for name in known if _adds(_loaded[name], used)}
    while more := {name for name in known if name not in found and _is_imported(name, found)}:
        found |= more
    return {name: digest for name, digest in known.items() if name in found}


def _adds(plugin: Plugin, used: Mapping[str, Collection[str]]) -> bool:
    return ("CALLBACKS" in used and "CALLBACKS" in plugin.members) or any(
        name in plugin.members.get(registry, ()) for registry in used for name in used[registry]
    )


def _is_imported(name: str, others: Iterable[str]) -> bool:
    return any(_loaded[name].module in _loaded[other].imports for other in others)


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
    """An error in the code of a plug-in, in one line with the innermost place in it: `KeyError:
    'x', in the plug-in 'mine' (/home/me/mine.py:12)`; of a `MemberError`, the place of the
    function; null for other errors."""
    walked = traceback.walk_tb(error.__traceback__)
    frames = [(frame.f_code.co_filename, line) for frame, line in walked]
    problem = _in_one_line(error)
    if isinstance(error, MemberError) and not any(_owner(file) for file, _ in frames):
        codes = [one.__code__ for part in error.functions for one in functions_of(part)]
        frames = [(code.co_filename, code.co_firstlineno) for code in reversed(codes)]
        problem = str(error)
    places = [
        f"in the plug-in {name!r} ({file}:{line})"
        for file, line in frames
        if (name := _owner(file))
    ]
    return f"{problem}, {places[-1]}" if places else None


@contextmanager
def errors_with_place() -> Iterator[None]:
    """Raises errors that have an `error_line` as a PluginError of that line; also a decorator."""
    try:
        yield
    except Exception as error:  # whatever the code of others raises
        if line := error_line(error):
            raise PluginError(line) from error
        raise


def _in_one_line(error: BaseException) -> str:
    return ": ".join(filter(None, [type(error).__name__, " ".join(str(error).split())]))


def _place(error: BaseException) -> str:
    """The innermost line of a module's own code that an error on import passed."""
    lines = [one for one in traceback.extract_tb(error.__traceback__) if one.name == "<module>"]
    return f" ({lines[-1].filename}:{lines[-1].lineno})" if lines else ""


def _owner(file: str) -> str | None:
    """The plug-in to whose source a file belongs."""
    return next((name for name, one in _loaded.items() if file in one.files), None)


def _add(
    name: str,
    plugin: Any,
    source: bytes,
    files: Iterable[str | Path] = (),
    module: str | None = None,
    imports: Collection[str] = (),
) -> None:
    members = {
        registry: getattr(plugin, registry) for registry in REGISTRIES if hasattr(plugin, registry)
    }
    check_registries(name, plugin, REGISTRIES)
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
    names = {registry: member_names(registry, added) for registry, added in members.items()}
    _loaded[name] = Plugin(digest_of(source), names, set(map(str, files)), module, imports)


def _rebuild(model: type[ConfigModel]) -> None:
    """Rebuilds all subclasses, so that unions of transforms accept new members."""
    for part in model.__subclasses__():
        part.model_rebuild(force=True)
        _rebuild(part)
