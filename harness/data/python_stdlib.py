"""The standard library of the running Python: its functions with a docstring, chosen as those of
CodeSearchNet (Husain et al. 2019, arXiv 1909.09436), and its files as text.

Every module is in one split: `train` or `validation`. Another Python has other modules, so that the
version and the content of the files are in the fingerprint.
"""

import ast
import hashlib
import platform
import sys
import sysconfig
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from harness.data.content_cache import content_cache
from harness.data.corpora.sentence_splitter import split_sentences
from harness.data.digests import digest

Columns = dict[str, list[str]]
Part = Literal["train", "validation"]
NAME = f"standard library of Python {platform.python_version()}"
VERSION = 1
"""Of the rules below; raised when they give other functions or files."""
TABLES = ("encodings", "pydoc_data")
"""Modules without functions of interest: tables of characters, and help texts."""
HELD_OUT = 5
"""One of so many modules is in the split `validation`."""
MIN_WORDS, MIN_LINES = 3, 3
"""Of a docstring's first paragraph; of a function without its docstring."""
EXAMPLE = ">>>"
"""In no docstring: the examples of a doctest are no description."""
TEST = "test"
"""In no path (CodeSearchNet, python_parser.py: FILTER_PATHS) and no name of a function."""


class Function(NamedTuple):
    """A function or method."""

    module: str
    """Its top-level module."""
    docstring: str
    """The first paragraph."""
    summary: str
    """The first sentence of it."""
    code: str
    """Source from `def` on, without docstring, comments and decorators (`ast.unparse`)."""


def check_part(part: str) -> None:
    """Raises ValueError if there is no such split."""
    if part not in get_args(Part):
        allowed = " or ".join(get_args(Part))
        raise ValueError(f"a split of the standard library must be {allowed}, but is {part!r}")


def part_of(module: str) -> Part:
    """The split of a top-level module, by its name alone."""
    number = int(hashlib.sha256(module.encode()).hexdigest(), 16)
    return "train" if number % HELD_OUT else "validation"


def root() -> Path:
    """The folder of the standard library."""
    return Path(sysconfig.get_path("stdlib"))


def files(part: str) -> list[Path]:
    """The files of a split's modules, sorted by module and path.

    Raises:
        ValueError: no such split, or the library is not there as source.
    """
    check_part(part)
    top, modules = root(), sorted(sys.stdlib_module_names - set(TABLES))
    found = [file for name in modules if part_of(name) == part for file in _files_of(name, top)]
    if not found:
        raise ValueError(
            f"the standard library must be there as files of Python source, but {top} has none for "
            f"the split {part}; use a Python whose library is no archive"
        )
    return found


def _files_of(module: str, top: Path) -> list[Path]:
    """Of a top-level module: one file, those of a package, or none if it is written in C."""
    found = [top / f"{module}.py", *(top / module).rglob("*.py")]
    paths = {file.relative_to(top).as_posix(): file for file in found if file.is_file()}
    return [file for path, file in sorted(paths.items()) if TEST not in path]


def fingerprint() -> str:
    """A string that identifies the functions and the text.

    Raises:
        ValueError: the library is not there as source.
    """
    content = digest([file for part in get_args(Part) for file in files(part)])
    return f"python_stdlib:{VERSION}/python={platform.python_version()}/{content}"


def functions(part: str) -> Iterator[Function]:
    """The functions of a split, in the order of the files. Of equal code the first is kept, and
    none of the validation split that is in the train split.

    Raises:
        ValueError: no such split, or the library is not there as readable source.
    """
    known = set(columns("train")["code"]) if part == "validation" else set()
    for file in files(part):
        for function in functions_of(file):
            if function.code not in known:
                known.add(function.code)
                yield function


def as_columns(rows: Iterable[Function]) -> Columns:
    """The fields of functions as columns [num_functions]."""
    found = list(rows)
    return {name: [getattr(row, name) for row in found] for name in Function._fields}


def columns(part: str) -> Columns:
    """The fields of `Function` as columns [num_functions]. Reading takes seconds, so that they are
    kept in memory, and on disk for other processes.

    Raises:
        ValueError: no such split, or the library is not there as readable source.
    """
    check_part(part)
    return _columns(part, fingerprint())


@lru_cache(maxsize=2)
def _columns(part: str, content: str) -> Columns:
    """`content`, the fingerprint, is a key of the cache only."""
    import datasets

    datasets.disable_progress_bars()
    with content_cache("python_stdlib", _digest) as cache:
        made = datasets.Dataset.from_generator(_rows, cache_dir=cache, gen_kwargs={"part": part})
    return dict(made[:])


def _digest() -> str:
    """The fingerprint in letters that a folder may have."""
    return hashlib.sha256(fingerprint().encode()).hexdigest()


def _rows(part: str) -> Iterator[dict[str, str]]:
    return (function._asdict() for function in functions(part))


def source(file: Path) -> str:
    """The text of a file, in the encoding that it declares.

    Raises:
        ValueError: the file is no Python source.
    """
    with _clear_errors(file), tokenize.open(file) as stream:
        return stream.read()


@contextmanager
def _clear_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} must be Python source, but {error}") from error


def functions_of(file: Path) -> Iterator[Function]:
    """The functions of a file that pass the filters, in its order.

    Raises:
        ValueError: the file is no Python source.
    """
    module = file.relative_to(root()).parts[0].removesuffix(".py")
    with _clear_errors(file), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of invalid escapes in old modules
        tree = ast.parse(source(file))
    for node in _definitions(tree):
        if not node.name.startswith("__") and TEST not in node.name.lower():
            yield from _function(module, node)


def _definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods, without those defined within another."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        elif isinstance(child, ast.stmt | ast.excepthandler):
            yield from _definitions(child)


def _function(module: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Function]:
    """The function of a definition, if it and its docstring are long enough."""
    docstring = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    if len(docstring.split()) < MIN_WORDS or EXAMPLE in docstring:
        return
    node.body, node.decorator_list = node.body[1:], []
    code = ast.unparse(node)
    if node.body and code.count("\n") + 1 >= MIN_LINES:
        yield Function(module, docstring, split_sentences(docstring)[0], code)
