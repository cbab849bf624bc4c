"""The source of plug-ins: of a module its files, of an object its class and its members."""

import ast
import hashlib
import inspect
import linecache
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any


def module_files(name: str, module: ModuleType) -> list[Path]:
    """The file of a module, or all Python files of a package.

    Raises:
        ValueError: the module has no file.
    """
    if module.__spec__ is None or not module.__spec__.has_location or not module.__file__:
        raise ValueError(f"the source of the plug-in {name!r} cannot be read: it has no file")
    file = Path(module.__file__)
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]


def joined_source(files: Iterable[Path]) -> bytes:
    """The content of the files that exist."""
    return b"\0".join(file.read_bytes() for file in files if file.is_file())


def digest_of(source: bytes) -> str:
    """16 hexadecimal digits."""
    return hashlib.sha256(source).hexdigest()[:16]


def imported_modules(source: bytes) -> Iterator[str]:
    """Dotted names of the modules that a source imports, without relative imports; of
    `from a import b`, both `a` and `a.b`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def object_source(name: str, parts: Iterable[Any]) -> bytes:
    """The source of classes, functions and values with functions, such as a `Metric`.

    Raises:
        ValueError: the source of one cannot be read.
    """
    try:
        return "\0".join(text for part in parts for text in _sources(part)).encode()
    except (OSError, TypeError) as error:
        raise ValueError(
            f"the source of the plug-in {name!r} cannot be read: put it into a .py file, and list "
            "that file, without its ending, as a plug-in"
        ) from error


def parts_of(plugin: Any, registries: Iterable[str]) -> list[Any]:
    """An object's class, and the classes, functions and values with functions in its registries."""
    parts: list[Any] = [plugin if inspect.isclass(plugin) else type(plugin)]
    for registry in registries:
        members = getattr(plugin, registry, {})
        for pair in members.items() if isinstance(members, Mapping) else ():
            parts += [
                part
                for part in pair
                if inspect.isclass(part) or inspect.isfunction(part) or is_dataclass(part)
            ]
    return parts


def functions_of(member: Any) -> Iterator[FunctionType]:
    """A function and those that it closes over, of a class its methods, of a value such as a
    `Metric` its functions; without those of the harness."""
    if inspect.isclass(member):
        methods = filter(inspect.isfunction, map(_unbound, vars(member).values()))
        yield from (method for method in methods if method.__module__ == member.__module__)
        return
    for function in vars(member).values() if is_dataclass(member) else [member]:
        if inspect.isfunction(function):
            closed = inspect.getclosurevars(function).nonlocals.values()
            found = [function, *filter(inspect.isfunction, closed)]
            yield from (one for one in found if not one.__module__.startswith("harness."))


def _unbound(attribute: Any) -> Any:
    """The function of a static method, class method or property; other attributes themselves."""
    return getattr(attribute, "__func__", getattr(attribute, "fget", attribute))


def _sources(part: Any) -> Iterator[str]:
    if inspect.isclass(part) or inspect.isfunction(part):
        yield _source(part)
    else:
        yield from map(inspect.getsource, functions_of(part))


def _source(part: Callable[..., Any]) -> str:
    """The source of a function or class. `inspect` finds no class of a notebook, but IPython keeps
    its cells in `linecache`, where they have no time of modification."""
    try:
        return inspect.getsource(part)
    except (OSError, TypeError):
        cells = [file for file, entry in linecache.cache.items() if entry[1:2] == (None,)]
        for file in reversed(cells) if inspect.isclass(part) else ():
            if found := _class_in("".join(linecache.getlines(file)), part.__name__):
                return found
        raise


def _class_in(source: str, name: str) -> str | None:
    try:
        nodes = ast.walk(ast.parse(source))
    except SyntaxError:
        return None
    found = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name]
    return ast.get_source_segment(source, found[-1]) if found else None
